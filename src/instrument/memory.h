// SPDX-License-Identifier: Apache-2.0
// What lies in device memory while a clone runs: what the caller fills in before the launch, and
// what probes write. Part of instrument.h.
#ifndef GLINT_INSTRUMENT_MEMORY_H
#define GLINT_INSTRUMENT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

// One object, divided into elements, and its shadow memory. An access of n bytes at address a
// touches elements (a - base) >> shift to (a + n - 1 - base) >> shift. Accesses are aligned to
// their size, and base is aligned to at least 128 elements, so the bits of one access lie in one
// 32-bit word.
//
// A word describes 32 elements. Without counts it has one bit per element, set if the element was
// touched. With counts, its low 31 bits are the number of accesses to all 32 elements together. Its
// top bit says that elements also have counts of their own; if it is clear, their counters are 0:
//     count(e) = (word[e / 32] & 0x7fffffff) + (word[e / 32] >> 31 ? counts[e] : 0)
enum { INSTRUMENT_BEHIND = 5 };
struct instrument_slot {
    uint64_t base;  // at or below the object's first byte, a multiple of 128 << shift
    uint64_t bytes; // from base to the object's end; 0: no object
    uint64_t
        bits; // address of one 32-bit word per 32 elements from base, zeroed; probes may
              // execute operations on the INSTRUMENT_BEHIND words behind, but set no bits there
    uint64_t counts; // address of one 32-bit counter per element from base, zeroed, a multiple of
                     // 8; 0 without counts
    uint32_t shift;  // log2 of the element's size in bytes, at least 2
    uint32_t lead;   // bytes from base to the object's first byte
    uint32_t looks;  // not 0: most accesses touch elements that were touched before, so probes read
                     // a word before they set bits in it
    uint32_t reserved;
};

// A root's object as the probes of one kernel see it. Accesses inside a span are marked in place;
// all others are looked up in the table. Spans are 0 if the slot's elements are not those that the
// kernel's accesses move.
struct instrument_view {
    struct instrument_slot slot;
    uint64_t first;    // the object's first byte
    uint64_t spans[3]; // an aligned access of up to 4, of 8 and of 16 bytes that begins in so many
                       // bytes from there on lies entirely in the object
    uint32_t ahead;    // elements between base and `first`
    uint32_t reserved;
};
// Returns the view for a root with elements of that size.
struct instrument_view instrument_view_of(const struct instrument_slot *slot,
                                          uint32_t element_bytes);

// Every object that kernels may touch, including those of slots, which have the same values in both
// places. Probes search it for addresses that come from no root, that leave their root's object, or
// for which the slot's view has no span. Entries ascend by address, and their objects do not
// overlap. Everything but `count` and the addresses is zeroed before the launch.
struct instrument_table {
    uint64_t count;
    uint64_t entries; // address of struct instrument_slot[count]
    uint64_t touched; // address of uint8_t[count][2]: not 0 if read, if written
    uint64_t moved;   // address of uint64_t[count][2]: bytes read and written by accesses that were
                      // looked up; elements only
    uint64_t strayed; // address of uint64_t[slots][2]: bytes that tallies attribute to the slot but
                      // that are counted in `moved` or `strays` instead; elements only
    uint64_t strays;  // address of struct instrument_strays
    uint64_t heap; // address of struct instrument_heap; 0: memory that kernels allocate is ignored
    uint64_t recent; // 1 + the index of the entry that was found last
    uint64_t pieces; // values: address of struct instrument_pieces[count]
    uint64_t stored; // values: address of uint64_t[count][2]: bytes that stores that were looked up
                     // wrote, where loads are allowed; of these, those of silent stores. Atomic
                     // operations and stores that are not examined are not included
};

// Accesses to memory outside all objects. The high half of `count` counts those among them whose
// address is unknown; they are reported at address 0.
#define INSTRUMENT_WRAPPED ((uint64_t)1 << 32)
enum { INSTRUMENT_STRAYS = 29 };
struct instrument_strays {
    uint64_t count;
    uint64_t next;   // addresses stored, or dropped because the array is full
    uint64_t looked; // elements: not 0 if an entry of the table was touched
    uint64_t addresses[INSTRUMENT_STRAYS];
};

// Memory that kernels allocate themselves. Clones of functions that call malloc() or free()
// maintain a map of the blocks in use, which all launches of a context share, and log which blocks
// begin and end. In modules that allocate, addresses that are in no entry of the table are looked
// up in that map. A block is identified by its serial number.

// A piece of a block: 1 << n bytes, aligned to its size, n >= 4.
struct instrument_heap_piece {
    uint64_t key;          // its address | half its size; 0: never used; 1: free again
    uint64_t start, bytes; // of the block
    uint64_t serial;
};

struct instrument_heap_blocks {
    uint64_t pieces; // address of struct instrument_heap_piece[1 << (64 - shift)], zeroed
    uint32_t shift;
    uint32_t reach; // the largest distance of a piece from its hashed place; zeroed, as all below
    uint64_t sizes; // bit n: pieces of 1 << n bytes have been used
    uint64_t count; // blocks so far, which is the last serial number
};

enum instrument_heap_what {
    INSTRUMENT_HEAP_BEGAN = 1,
    INSTRUMENT_HEAP_ENDED,
    INSTRUMENT_HEAP_UNPLACED, // it began, but the table is full: some of its accesses are not
                              // reported
};

struct instrument_heap_entry {
    uint64_t what; // serial << 2 | enum instrument_heap_what
    uint64_t address, bytes;
};

// Elements: what accesses did to 128 bytes of a block, at a multiple of 128 bytes from its start.
// Page n of the block with serial s has the key s << 28 | n. Without counts, a page ends before
// `counts`.
enum {
    INSTRUMENT_HEAP_PAGE_BITS = 28,
    INSTRUMENT_HEAP_PAGE_ELEMENTS = 32,
    INSTRUMENT_HEAP_GROUP_BITS = 6, // log2 of the number of pages in a group
};
struct instrument_heap_page {
    uint64_t key;      // 0: unused
    uint64_t moved[2]; // bytes read and written by accesses that begin here
    uint32_t bits;     // elements of 4 bytes that were touched
    uint32_t reserved;
    uint32_t counts[INSTRUMENT_HEAP_PAGE_ELEMENTS];
};

// The state of one launch. At object level a page has 8 bytes: serial << 2 | 1 if the block was
// read | 2 if it was written.
struct instrument_heap {
    uint64_t blocks;   // address of struct instrument_heap_blocks
    uint64_t log;      // address of struct instrument_heap_entry[log_room]
    uint64_t log_room; // entries
    uint64_t pages;    // address of 1 << (64 - page_shift) pages, zeroed
    uint64_t
        groups; // address of one byte per group of pages, zeroed: not 0 if a page of it is used
    uint32_t page_shift;
    uint32_t reserved;
    uint64_t logged; // entries written, or dropped because the log is full; zeroed, as below
    uint64_t lost;   // accesses that found no free page
};

// Objects: the bytes in which accesses of a root are expected to stay.
struct instrument_bounds {
    uint64_t first; // address
    uint64_t room; // an access of the root's `reach` bytes may begin in so many bytes from there on
};
// Returns the bounds of the object that the root points into. bytes 0: there is no object, and no
// access leaves the bounds.
static inline struct instrument_bounds instrument_bounds_of(uint64_t first, uint64_t bytes,
                                                            uint32_t reach)
{
    if (!bytes)
        return (struct instrument_bounds){0, UINT64_MAX - reach};
    // Smaller than one access: every access leaves the bounds.
    return bytes < reach ? (struct instrument_bounds){0, 0}
                         : (struct instrument_bounds){first, bytes - reach + 1};
}

// Values: the pieces of an object, as the probes of stores see them. Piece p is the bytes from base
// + (p << INSTRUMENT_PIECE_SHIFT) on. A store to it sets the byte of `marks` at index p *
// INSTRUMENT_PIECE_STEP & mask; neighbouring pieces have distant bytes, because stores to one cache
// line wait for each other.
enum { INSTRUMENT_PIECE_SHIFT = 12, INSTRUMENT_PIECE_STEP = 0x9e3779b1 & 0x7fffffff };
struct instrument_pieces {
    uint64_t base;  // the object's first byte, rounded down to a multiple of 16
    uint64_t bytes; // from base to the object's end; 0: stores are neither marked nor examined
    uint64_t marks; // address of mask + 1 bytes, zeroed
    uint32_t mask;  // a power of two minus 1, at least the number of the last piece
    uint32_t loads; // 1: probes may load what a store overwrites; 0: they do not. The highest bit
                    // must not be set, on which the order of a store and the load before it depends
};

// Launch options. ROWS: the 32 lanes of a warp are neighbours in x, because the block's width is a
// multiple of 32 or its height and depth are 1; and every slot has less than 2^32 bytes.
enum { INSTRUMENT_ROWS = 1 };
// Returns whether the 32 lanes of a warp are neighbours in x.
static inline bool instrument_are_rows(const uint32_t block[3])
{
    return block[0] % 32 == 0 || (block[1] == 1 && block[2] == 1);
}

// The launch context: the clone's last parameter, passed by value. It is followed, for each root,
// by a struct instrument_view at element level and by a struct instrument_bounds at object level.
// With values, a struct instrument_pieces for each root follows these.
struct instrument_context {
    uint64_t flags;   // address of INSTRUMENT_FLAG_ROWS rows of bytes, kernel->flag_row_bytes
                      // apart, zeroed; a flag is set if it is set in any row
    uint64_t tallies; // address of INSTRUMENT_TALLY_ROWS rows of uint64_t, kernel->tally_row_bytes
                      // apart, zeroed; a tally is the sum over all rows, modulo 2^64
    uint64_t table; // address of a struct instrument_table; 0 only if kernel->needs_table is false
    uint32_t options; // INSTRUMENT_ROWS
    // Requests: UINT32_MAX: whole warps are only counted at sites that have a tally `whole`, on
    // global and on shared memory; else 0.
    uint32_t whole[2];
    uint32_t dense;    // requests: UINT32_MAX: warps are pieces of rows; else 0
    uint64_t accessed; // address of INSTRUMENT_TALLY_ROWS rows of struct instrument_accessed_words,
                       // kernel->accessed_row_bytes apart, zeroed if they are needed; 0 only if
                       // kernel->accessed_count is 0
    uint64_t words;    // shared: address of struct instrument_word[1 + instrument_word_count],
                       // zeroed; 0: words are not counted
    uint32_t dynamic_bytes; // shared: dynamic shared memory of a block
    uint32_t known; // shared: not 0: accesses of kernel->word_sites are not counted, but follow
                    // from the launch
    uint32_t spare; // where spare shared memory begins, in bytes from the start of dynamic shared
                    // memory, a multiple of INSTRUMENT_SPARE_ALIGN; 0: there is none
    uint32_t spare_bytes; // of each block, a multiple of INSTRUMENT_SPARE_ALIGN
    uint32_t spare_word;  // bytes of it for each word that is counted: those of the kernel
    // Where counters of pairs and of quads of words begin in it, in bytes behind its head. Those of
    // words end where the first begin.
    uint32_t spare_units[2];
    uint32_t tags;   // shared: where tags of words begin, as `spare`, behind that memory
    uint64_t ranges; // shared: address of struct instrument_range[instrument_range_count], zeroed;
                     // 0: live ranges are not traced, and there are no tags
    uint32_t tag_count; // shared: 1 + instrument_word_count
    uint32_t traced;    // shared: of which arrays, a sum of instrument_array_bit
    uint64_t reuse;     // shared: address of a struct instrument_reuse; 0: no block is looked at
    uint64_t masks;     // requests, of the second clone: address of struct instrument_mask[1 +
                        // INSTRUMENT_MASKS], zeroed
    uint64_t threads;   // shared: address of kernel->thread_tallies rows of uint64_t, one for each
                        // thread of a block, zeroed; 0 unless `known` is set
    uint64_t trace;     // cache: address of a struct instrument_trace, zeroed; 0: nothing is traced
    // Cache: address of struct instrument_traced[INSTRUMENT_TRACE_LEVELS][last_shelf + 1][room].
    uint64_t trace_records;
    uint64_t trace_blocks; // cache: of struct instrument_traced_block[blocks of the grid], zeroed
    uint32_t trace_limit;  // cache: the greatest hash of lines that are looked at: 2^n - 1
    uint32_t trace_room;   // cache: of a shelf
    uint32_t trace_last_shelf; // cache: a power of two minus 1
    uint32_t reserved;
};

// Cache: which lines of global memory warps reached. The hash of a line, which is an address / 128,
// is its product with INSTRUMENT_TRACE_HASH, modulo 2^32. Of the lines that are looked at, those of
// level n have a hash with n more zeros before its first one than the limit has. The last level has
// all others. Levels have room for equally many records, in several *shelves*: block b writes into
// shelf b & last_shelf, so that few of them wait for one counter, and all shelves are used.
#define INSTRUMENT_TRACE_HASH 0x9e3779b1u
enum {
    INSTRUMENT_TRACE_LEVELS = 8,
    INSTRUMENT_TRACE_SHELVES = 32,
    INSTRUMENT_TRACED_SECTORS_AT = 42,
    INSTRUMENT_TRACED_SITE_AT = 50,
    INSTRUMENT_TRACED_SITES = (1 << 14) - 1,
    INSTRUMENT_TRACED_PROCESSORS = 1 << 10,
    INSTRUMENT_TRACED_STEPS = (1 << 22) - 1,
};
struct instrument_trace_shelf {
    uint32_t next; // records written, or dropped because there was no room
    uint32_t reserved[31];
};
struct instrument_trace {
    struct instrument_trace_shelf shelves[INSTRUMENT_TRACE_LEVELS][INSTRUMENT_TRACE_SHELVES];
};
// What one instruction of a warp took of one line. From its lowest bit on, `what` has the line, its
// sectors, those of them that a store wrote as a whole, and the number of the site, from 1.
struct instrument_traced {
    uint64_t what;
    uint32_t warp;  // number of its block * warps of a block + its number in the block
    uint32_t steps; // basic blocks that its first thread in the line had executed
};
struct instrument_traced_block {
    uint32_t began;  // %globaltimer_lo
    uint32_t length; // its multiprocessor + INSTRUMENT_TRACED_PROCESSORS * the most basic blocks
                     // that one of its threads executed, at most INSTRUMENT_TRACED_STEPS
};

// Requests, of the second clone: how often warps came by with some of their lanes only. The number
// of a warp in its block, modulo INSTRUMENT_PLACES, is its *place*. Row r of tallies is about warps
// of place r % INSTRUMENT_PLACES. Masks are a hash table; the entry behind it counts those for
// which there was no room near their place.
enum { INSTRUMENT_PLACES = 8, INSTRUMENT_MASK_BITS = 9, INSTRUMENT_MASKS = 1 << 9 };
struct instrument_mask {
    uint32_t lanes;
    uint32_t key;   // 0: unused; else (1 + the sites' `whole`) * INSTRUMENT_PLACES + place
    uint64_t count; // warps
};

// Spare shared memory is dynamic shared memory of a clone's blocks beyond what the program asked
// for. It lies behind the program's.
enum { INSTRUMENT_SPARE_ALIGN = 16 };
// Returns where it begins. This is not 0, which would mean that there is none.
static inline uint32_t instrument_spare_at(uint32_t dynamic_bytes)
{
    const uint32_t all = dynamic_bytes ? dynamic_bytes : 1;
    return (all + INSTRUMENT_SPARE_ALIGN - 1) / INSTRUMENT_SPARE_ALIGN * INSTRUMENT_SPARE_ALIGN;
}

// Shared: how often threads of the launch loaded and stored a word; an atomic operation does both.
// An access of several words counts in each. Word w of an array is its bytes from 4 * w on.
enum { INSTRUMENT_WORD_BYTES = 4 };
struct instrument_word {
    uint64_t loads, stores;
};
// This bit is set in a number if one of the counts that it sums up has reached its limit.
#define INSTRUMENT_WORD_LIMITED ((uint64_t)1 << 63)

// Shared: what stores of one site to one word began. A live range of a word begins with a store and
// ends with the next store to the word by any thread of the block. Each load of the word belongs to
// the range in which it is; an atomic operation loads in the old range and begins a new one.
enum instrument_load_kind {
    INSTRUMENT_LOAD_AGAIN = 2, // not the first load of its range
    INSTRUMENT_LOAD_OWN = 1,   // by the thread that stored the word
    INSTRUMENT_LOAD_KINDS = 4
};
struct instrument_range {
    uint64_t ranges;
    uint64_t loads[INSTRUMENT_LOAD_KINDS];
    uint64_t drained; // loads of a value that is stored to global memory as it is
};
// The parts of a tag: see probes/ranges.ptx. Threads are 1 to 1024; the others stand for what is of
// no thread: rows of matrices, which belong to several lanes, bulk copies and barriers.
enum {
    INSTRUMENT_TAG_BYTES = 4,
    INSTRUMENT_TAG_BITS = 11,
    INSTRUMENT_TAG_BASE_BITS = 20,
    INSTRUMENT_TAG_STORED = 2047,
    INSTRUMENT_TAG_LOADED = 2046,
    INSTRUMENT_MOST_RANGES = 1 << 18, // counters; tags have room for more, but memory is short
};

// Shared: what some blocks of a launch load of objects in global memory, to find what would gain
// from being in shared memory. Of `blocks` blocks, `looked` are looked at: those with the numbers
// instrument_looked_block. Loads are ordinary ones: no atomic operations and no copies. A word is 4
// bytes of an object, at a multiple of 4 bytes, and a load counts once for each word that it
// touches. Accesses to other memory are not counted.
struct instrument_reuse_set { // of one object
    uint64_t first, bytes;    // where it lies; less than 2^34 bytes
    // Address of uint32_t[looked][1 << (32 - shift)], zeroed: for each block, a hash table of the
    // words that it has loaded.
    uint64_t words;
    uint32_t shift;
    uint32_t most; // words that a table takes at least. A block that has loaded more has more
                   // than this in `words` of struct instrument_reused, but maybe not all
};
struct instrument_reuse {
    uint64_t blocks;
    uint64_t sites;  // address of uint64_t[kernel->site_count][set_count], zeroed: loads of words
    uint64_t counts; // address of struct instrument_reused[looked][set_count], zeroed
    uint32_t looked, set_count;
    struct instrument_reuse_set sets[]; // of objects that do not overlap
};
struct instrument_reused { // what one block did to one object
    uint64_t loads;
    uint64_t moved;  // the same, but lanes of a warp that load the same word at once count as one;
                     // before sm_70, each counts
    uint64_t words;  // different ones that it loaded
    uint64_t stores; // also by atomic operations; a store counts once for each word
    // The words that it accessed lie between UINT32_MAX - before and end, if end is not 0. They are
    // counted from the word that holds the object's first byte.
    uint32_t before, end;
};

enum { INSTRUMENT_LOOKED = 64 };
// Returns how many blocks are looked at.
static inline uint32_t instrument_looked(uint64_t blocks)
{
    return blocks < INSTRUMENT_LOOKED ? (uint32_t)blocks : INSTRUMENT_LOOKED;
}
// Returns the number of one of them. Blocks are counted by x, then by y, then by z.
static inline uint64_t instrument_looked_block(uint64_t blocks, uint32_t i)
{
    return i * blocks / instrument_looked(blocks);
}

// What loads, or stores, of a root moved in one field of its layout: struct instrument_accessed.
// Values are the bits of the field, zero-extended. Rows are joined by OR, `most` by the maximum. If
// `any` and `none` are both 0, nothing was moved.
struct instrument_accessed_words {
    // Bits that are set in some value, and bits that are clear in some value. Bits of `none` beyond
    // those of the field mean nothing.
    uint32_t any, none;
    // The greatest magnitude: of unsigned numbers and raw words the value, of signed ones its
    // absolute value, of floats the value without its sign bit. A NaN is greater than infinity; it
    // need not be one that was moved.
    uint64_t most;
    uint32_t any_high, none_high; // the same of bits 32 to 63
    uint64_t reserved;
};

// There are several rows so that multiprocessors do not wait for each other's cache lines. Probes
// choose the row.
enum { INSTRUMENT_FLAG_ROWS = 16, INSTRUMENT_TALLY_ROWS = 128 };

#endif
