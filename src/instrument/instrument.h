// SPDX-License-Identifier: Apache-2.0
// Adds probes to PTX. instrument_ptx is a pure function: it takes PTX and returns PTX with probes,
// and a table that says how to read their results.
//
// Each requested kernel gets a *clone* with probes, which takes one more parameter, its launch
// context. The kernels themselves do not change, so the program's handles, attributes and launches
// without probes stay valid, and the caller decides for each launch which of the two runs. Clones
// of kernels that use variables of the module share these with the original, so they are appended
// to the module's text. All other clones can go into texts of their own, *parts*, which are
// compiled in parallel and leave the program's module unchanged.
//
//     struct instrument_request request = {.facts = INSTRUMENT_OBJECTS};
//     if (instrument_ptx(text, length, &request, &module, &error) == BASE_OK) { ...
//         instrument_destroy(module);
//     }
//
// What probes report for one launch:
// - objects: a kernel has *roots*, the pointers from which its addresses are computed: parameters
//   and variables. A *use* says that a root was read or written, always or if a flag is set. The
//   context holds the *bounds* of the root's object. One more flag is set if an access left them;
//   what the launch touched is then unknown. Addresses from elsewhere (loaded from memory, selected
//   among roots, returned by calls) are looked up in a table of objects, whose entries are marked.
// - elements: each root has a *slot* in the context: the object that it points into, and the
//   object's shadow memory, in which every access sets the bits of the elements that it touches.
//   Addresses outside the slot's object are looked up in the table. *Tallies* count how often
//   threads execute an access. A site names its tally, from which follow the bytes it moved and
//   which objects were read or written, so there are no uses at this level.
// - counts: every access increments the counter of each element that it touches.
// - values: every instruction that writes an object marks the *piece* of the object that it writes.
//   If the launch allows it, a store also loads what it overwrites, and is *silent* if it writes
//   the same bytes. Tallies count the silent stores of each site that has a root, and its atomic
//   operations that do not change the word. Stores that are looked up are summed up in the table.
// - accessed values, with values: every load and store of a root combines the values that it moves
//   in registers of the thread, for each field of the root's layout. They are combined over the
//   launch when threads leave.
// - shared: every access to shared memory increments the counters of each word that it touches.
//   They are summed up over the blocks of the launch. Of some blocks, the words of global memory
//   that they load are counted, too.
// Accesses through generic addresses that turn out to be shared or local are not counted, except
// for shared memory as the last item says.
#ifndef GLINT_INSTRUMENT_INSTRUMENT_H
#define GLINT_INSTRUMENT_INSTRUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "facts/facts.h"

enum instrument_facts { FACTS_PROBE_FACTS(FACTS_VALUE, INSTRUMENT_) };

#define INSTRUMENT_NONE UINT32_MAX

// --- What lies in device memory ------------------------------------------------------------------

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
    uint64_t masks;     // requests, of kernel->regular: address of struct instrument_mask[1 +
                        // INSTRUMENT_MASKS], zeroed
};

// Requests, of kernel->regular: how often warps came by with some of their lanes only. The number
// of a warp in its block, modulo INSTRUMENT_PLACES, is its *place*. Row r of tallies is about warps
// of place r % INSTRUMENT_PLACES. Masks are a hash table; if it is full, the entry behind it counts
// what is lost.
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
// The parts of a tag: see probes/ranges.ptx. Threads are 1 to 1024; the others are those of rows of
// matrices, which belong to several lanes.
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

// --- The result ----------------------------------------------------------------------------------

enum instrument_root_kind { INSTRUMENT_ROOT_PARAM, INSTRUMENT_ROOT_VARIABLE };

// Values: how the memory that a root points to is divided into structures, and their fields. If it
// is unknown: one field of type RAW, and a stride of 4.
enum instrument_type { FACTS_VALUE_TYPES(FACTS_VALUE, INSTRUMENT_TYPE_) };
enum { INSTRUMENT_LAYOUT_FIELDS = 8 };
struct instrument_layout {
    uint32_t stride; // bytes
    uint32_t field_count;
    struct {
        uint32_t offset;
        uint32_t type; // enum instrument_type
    } fields[INSTRUMENT_LAYOUT_FIELDS];
};

struct instrument_root {
    uint8_t kind;           // enum instrument_root_kind
    uint32_t offset;        // of a parameter: byte offset of the pointer in the kernel's parameters
    const char *variable;   // of a variable: its name in the module
    uint32_t element_bytes; // size of the smallest scalar that accesses of this root move
    uint32_t reach;         // objects: the most bytes that one bounds check covers
    struct instrument_layout layout; // values; else all zero
    // Accessed values: some loads, or stores, of the root are not among the kernel's `accessed`.
    // Accesses that are looked up are not counted here.
    bool unobserved[2];
};

// Accessed values: what is known about one field of a root, of loads or of stores.
struct instrument_accessed {
    uint32_t root;
    uint32_t field; // of its layout
    bool written;   // what stores wrote; else what loads read
};

// The root's object was read or written if the flag is set.
struct instrument_use {
    uint32_t root;
    uint32_t flag; // INSTRUMENT_NONE: in every launch
    // Values: 1 + a tally that takes the place of the flag; 0: none does. It counts executions,
    // plus one for each thread of the launch if from_one is set.
    uint32_t counted;
    bool from_one;
    bool read, written;
};

// Requests: what is counted of an instruction by which a warp reaches global or local memory.
// NEEDED: the sectors that as many bytes would take at one place, but never more than the request
// takes; of local memory, those that the same lanes take if all have one offset.
enum instrument_request_tally {
    INSTRUMENT_REQUEST_COUNT,
    INSTRUMENT_REQUEST_SECTORS, // of 32 bytes
    INSTRUMENT_REQUEST_NEEDED,
    INSTRUMENT_REQUEST_LINES, // of 128 bytes
    INSTRUMENT_REQUEST_TALLIES
};
// The same of an instruction on shared memory: wavefronts take the place of sectors.
enum { INSTRUMENT_SHARED_TALLIES = INSTRUMENT_REQUEST_LINES };

// How the addresses of a warp's lanes follow from what a launch knows: a constant, plus terms. A
// term is a coefficient times factors, times what it is of.
enum instrument_factor_kind {
    INSTRUMENT_FACTOR_NTID, // with a component: x, y, z
    INSTRUMENT_FACTOR_NCTAID,
    INSTRUMENT_FACTOR_PARAM, // a signed integer or a pointer of so many bytes among the parameters
    INSTRUMENT_FACTOR_ROOT,  // the address of the site's root
};
enum instrument_term_of {
    INSTRUMENT_TERM_FIXED, // the same in all of the launch
    INSTRUMENT_TERM_X,     // an index of the thread
    INSTRUMENT_TERM_Y,
    INSTRUMENT_TERM_Z,
    INSTRUMENT_TERM_LANE,
    INSTRUMENT_TERM_VARIES, // something that only the lanes of a warp have in common
};
enum { INSTRUMENT_TERM_FACTORS = 4 };
struct instrument_factor {
    uint8_t kind; // enum instrument_factor_kind
    uint8_t component;
    uint8_t bytes;
    uint32_t offset;
};
struct instrument_form_term {
    int64_t coefficient;
    uint8_t of; // enum instrument_term_of
    uint8_t factor_count;
    struct instrument_factor factors[INSTRUMENT_TERM_FACTORS];
};
struct instrument_form {
    int64_t constant;
    bool rows; // it holds only if the lanes of a warp are neighbours in x
    uint32_t term_count;
    struct instrument_form_term *terms;
};

struct instrument_site {
    uint32_t index; // of the instruction in its function, from 0
    uint32_t ptx_line;
    const char *function; // that contains it: the kernel or a device function
    const char *opcode;   // "ld.global.v4.f32"
    const char *type;     // as which the bytes are used, "f32"
    uint8_t type_count;
    uint8_t access; // 0 load, 1 store, 2 atomic: reads and writes
    bool generic;
    uint32_t bytes; // that one thread moves; 0: the instruction does not determine it
    uint32_t root;  // INSTRUMENT_NONE: looked up and reported in the table
    // Valid if root is not INSTRUMENT_NONE. Threads executed the access as often as the tally says,
    // plus once per thread of the launch if tally_from_one is set. INSTRUMENT_NONE: every thread
    // executed it once.
    uint32_t tally;
    bool tally_from_one;
    // Values, of a store or atomic operation whose root's pieces allow loads: the tally of
    // executions that changed nothing, to which nothing is added for other roots. INSTRUMENT_NONE:
    // the site is not examined. Of an examined site, every execution is examined unless it left
    // its root's object: `tally` is valid at object level, too, and a launch in which an access
    // left its object does not have these numbers (at element level: if strayed[root][1] is not 0).
    uint32_t silent;
    // Of an examined atomic operation, the tally of those silent executions in whose sector of 32
    // bytes no lane of the warp's instruction changed anything. INSTRUMENT_NONE: not counted.
    uint32_t still;
    // Requests: the first of the tallies of enum instrument_request_tally, which are sums over the
    // requests of all warps. INSTRUMENT_NONE: they are not counted.
    uint32_t requests;
    // Requests of whole warps, if the launch's context says that they are only counted: the tally
    // of threads that made one, plus one for each thread of the launch if whole_from_one is set.
    // The tallies above then add nothing. INSTRUMENT_NONE: all requests of the site are in these.
    uint32_t whole;
    bool whole_from_one;
    const struct instrument_form *form; // NULL: whole is INSTRUMENT_NONE
    // Global memory, where lanes reach `span` bytes without a gap of a sector, if whole warps do
    // not all take the same and the context says that warps are pieces of rows: the tally of whole
    // warps counts them, too, and this tally sums up what they take beyond the fewest sectors and,
    // in its high half, lines that may hold the span. INSTRUMENT_NONE: there is no such tally.
    uint32_t excess, span;
    // In kernel->regular, all requests are counted by masks, and by this tally - 1 in the place of
    // `whole`. 0: they are not.
    uint32_t masked;
    bool local;    // on local memory
    bool observed; // accessed values: everything that it moves is in the kernel's `accessed`
    // Source position; file NULL: unknown. at_*: where the function was inlined.
    const char *file;
    uint32_t line, column;
    const char *inlined_function; // NULL: not inlined
    const char *array; // of shared memory, whose requests are counted; NULL: unknown, or none
    const char *at_file;
    uint32_t at_line, at_column;
};

// An array of shared memory. The counters of its words begin at index `first`, a multiple of
// INSTRUMENT_QUAD; index 0 is that of accesses to shared memory that are in no array.
enum { INSTRUMENT_QUAD = 4 };
struct instrument_array {
    const char *name; // in the PTX; of dynamic arrays, one of those that the kernel names
    uint32_t bytes;   // 0: dynamic, the last one
    uint32_t first;
};

// Shared: an access whose place in its array follows from the launch and the thread, and which all
// threads of a block execute equally often.
struct instrument_word_site {
    uint32_t array; // index
    uint32_t bytes; // 1, 2, or whole words
    bool loads, stores;
    // Of executions by all threads, plus one for each thread if from_one is set; INSTRUMENT_NONE:
    // every thread executes it once.
    uint32_t tally;
    bool from_one;
    const struct instrument_form *form; // its offset in the array; nothing in it varies
};

// Shared: a site that stores to shared memory, and so begins live ranges. With n words of dynamic
// shared memory, the counters of word w are at index base + times * n + w; words are counted as by
// struct instrument_array.
struct instrument_range_site {
    uint32_t array; // index; INSTRUMENT_NONE: any
    bool fills;     // it stores what was loaded from global memory
    bool listed;    // its row is kernel->shared[site]; else kernel->sites[site]
    uint32_t site;
    uint32_t first; // word that has a counter
    uint32_t base, times;
};

struct instrument_kernel {
    const char *name;
    const char *clone;       // name; NULL: the kernel has no clone, and `reason` says why
    const char *regular;     // requests: name of a second clone, for regular launches; NULL: none
    const char *reason;      // what the clone's probes do not see; NULL: they see everything
    uint32_t param_count;    // of the kernel, without the context
    uint32_t context_offset; // byte offset of the context among the clone's parameters
    uint32_t context_bytes;  // including views or bounds
    uint32_t flag_count, flag_row_bytes;
    uint32_t left_flag; // set if an access left the bounds of its root; INSTRUMENT_NONE: none can
    uint32_t left_counted; // values: 1 + a tally of such threads, which takes its place; 0: none
    uint32_t tally_count, tally_row_bytes;
    // Accessed values; the index is that of struct instrument_accessed_words in a row.
    struct instrument_accessed *accessed;
    uint32_t accessed_count, accessed_row_bytes;
    const char *unmarked; // values: what it writes without marking pieces; NULL: nothing
    // It may do more than access memory: print, allocate, trap, write surfaces, or call functions
    // that are not in the text.
    bool other_effects;
    bool needs_table;
    bool allocates; // calls malloc() or free(), or functions that do
    bool heap;      // looks up memory that kernels allocated: table.heap must be set
    bool outside;   // calls functions that are not in the text and that may access any memory
    bool textures;  // reads through textures, which probes do not see
    bool may_wait;  // its blocks may wait for each other through memory; false only if the code
                    // proves that they do not. Blocks of cooperative launches and of clusters may
                    // wait in any case
    bool may_spare; // its clone may be launched with spare shared memory: nothing that it executes
                    // reads how much shared memory a block has
    struct instrument_root *roots; // in the order of views or bounds in the context
    uint32_t root_count;
    struct instrument_use *uses;
    uint32_t use_count;
    struct instrument_site *sites;
    uint32_t site_count;
    // Instructions on shared and local memory whose requests are counted or that begin live ranges.
    struct instrument_site *shared;
    uint32_t shared_count;
    struct instrument_array *arrays; // shared: that it declares or names
    uint32_t array_count;
    struct instrument_word_site *word_sites;
    uint32_t word_site_count;
    struct instrument_range_site *range_sites;
    uint32_t range_site_count;          // 0: its live ranges are not traced
    uint32_t ranges_base, ranges_times; // of all counters, as in struct instrument_range_site
    const char *uncounted; // shared: which accesses to shared memory are not counted; NULL: none
    // Spare shared memory that the clone has a use for: bytes of each block, and for each word that
    // is counted; fewer, if these do not fit. 0: none.
    uint32_t spare_head, spare_word, spare_small;
    bool pairs, quads; // with spare_word: there are counters for two, and for four words together
    // Shared: 1 + the tally of how often counters were incremented, or 0. If their sum is less,
    // counts were lost.
    uint32_t made;
    bool racy;            // shared: counts of words may be lost at any time
    bool counts_rest;     // shared: some accesses are counted that are not among the word_sites
    bool looks;           // shared: blocks can be looked at
    bool loads_ordered;   // shared: some of their loads are volatile or ordered, and must stay so
    const char *unlooked; // shared: which accesses of these blocks are not counted; NULL: none
    uint32_t part;        // that holds the clone; INSTRUMENT_NONE: the module's `ptx` holds it
};

struct instrument_part {
    const char *ptx; // NUL-terminated
    size_t ptx_bytes;
};

struct instrument_module {
    struct base_arena arena; // owns everything below
    char *ptx;               // NUL-terminated; equal to the input if all clones are in parts
    size_t ptx_bytes;
    struct instrument_part *parts;
    uint32_t part_count;
    struct instrument_kernel *kernels;
    uint32_t kernel_count;
    const char **allocators; // all kernels of the text, requested or not, that allocate or call
                             // functions outside the text
    uint32_t allocator_count;
};

// Shared: how words are counted. Without any of these, each access increments counters in device
// memory. GMProf calls them SA, NA, SM and TH.
enum instrument_word_ways {
    INSTRUMENT_WORDS_KNOWN = 1, // not at all where the launch knows the counts
    INSTRUMENT_WORDS_RACY = 2,  // without atomic operations, so that some counts are lost
    INSTRUMENT_WORDS_SPARE = 4, // in spare shared memory of the block, if it has some
    INSTRUMENT_WORDS_SMALL = 8, // in 16 bits of it, up to a limit, if it has no room for 32
    INSTRUMENT_WORDS_BEST = INSTRUMENT_WORDS_KNOWN | INSTRUMENT_WORDS_SPARE, // of those that are
                                                                             // exact
    INSTRUMENT_WORDS_RANGES = 16, // and live ranges are traced, if there is spare memory for tags
};

struct instrument_request {
    uint32_t facts;                                // enum instrument_facts
    bool (*wants)(void *user, const char *kernel); // selects by mangled name; NULL: all kernels
    void *user;
    size_t limit_bytes; // bound on memory; 0: none
    uint32_t word_ways; // shared: set of enum instrument_word_ways
    uint32_t
        parts;    // the most parts to make; 0: all clones go into `ptx`, for texts that are linked
    uint32_t gpu; // compute capability of the GPU, 90 for 9.0; 0: unknown. If it is at least 80
                  // and all clones are in parts, parts for sm_70 to sm_79 are raised to sm_80
};

// Returns how many bytes of spare shared memory a block of the kernel's clone has a use for if each
// word takes word_bytes, spare_word or spare_small of the kernel; 0: none, or the kernel might
// notice. The program asks for dynamic_bytes of dynamic shared memory.
uint32_t instrument_spare_bytes(const struct instrument_kernel *kernel, uint32_t dynamic_bytes,
                                uint32_t word_bytes);
// Fills in what the context says about so much spare memory, which the launch has.
void instrument_set_spare(const struct instrument_kernel *kernel, uint32_t dynamic_bytes,
                          uint32_t word_bytes, struct instrument_context *context);

// Requests: what a launch says about its warps.
struct instrument_launch {
    uint32_t grid[3], block[3];
    const unsigned char *params; // as the kernel has them, without the context
    const uint64_t *roots;       // their addresses
};

// What each request of a whole warp takes, as in enum instrument_request_tally.
struct instrument_cost {
    uint32_t taken, needed, lines;
    bool has_stride; // all neighbouring lanes have the same distance
    int64_t stride;  // bytes
};

// Finds what requests of whole warps take at the sites of the kernel, and behind these at those on
// shared and local memory, as far as sites have forms. Sets `whole` and `dense` of the context.
// Where `whole` is 0, because the costs are unknown for some site or not the same for all warps,
// only strides of the costs are valid.
void instrument_whole_costs(const struct instrument_kernel *kernel,
                            const struct instrument_launch *launch, struct instrument_cost *costs,
                            struct instrument_context *context);

// How whole warps are counted in a launch.
enum instrument_counted {
    INSTRUMENT_ONE_BY_ONE,
    INSTRUMENT_DENSE, // at sites that have a tally `excess`: by their tallies
    INSTRUMENT_WHOLE, // at all sites that have a form: by the cost that all warps have
};
static inline enum instrument_counted
instrument_counted_by(const struct instrument_context *context, bool shared)
{
    return context->whole[shared] ? INSTRUMENT_WHOLE
           : context->dense       ? INSTRUMENT_DENSE
                                  : INSTRUMENT_ONE_BY_ONE;
}

// Sums up the requests of a site of the kernel, or (shared) on shared or local memory, from all
// tallies of a launch and the number of its threads. cost is only needed for INSTRUMENT_WHOLE. A
// site that is not counted has none, and neither has one whose tallies overflowed.
void instrument_sum_requests(const struct instrument_site *site, bool shared,
                             const uint64_t *tallies, uint64_t threads,
                             enum instrument_counted counted, const struct instrument_cost *cost,
                             uint64_t sums[INSTRUMENT_REQUEST_TALLIES]);

// Where a site is in a launch: the address in the block's first thread, but for what moves those of
// whole warps to places that cost the same; and by how much each index of the thread moves it.
struct instrument_site_place {
    uint64_t first;
    int64_t x, y, z, lane;
};
// Finds the places of the kernel's sites, and behind these of those on shared memory, that are
// masked. Returns whether the launch is regular: what each of their requests takes follows from the
// warp's place and its lanes.
bool instrument_find_places(const struct instrument_kernel *kernel,
                            const struct instrument_launch *launch,
                            struct instrument_site_place *places);
// Sums up the requests of a masked site in a launch of kernel->regular: as instrument_sum_requests,
// from tallies of each place, and `count` masks.
void instrument_sum_masked(const struct instrument_site *site, bool shared,
                           const struct instrument_site_place *place, const uint32_t block[3],
                           uint64_t blocks, const uint64_t (*tallies)[INSTRUMENT_PLACES],
                           const struct instrument_mask *masks, uint32_t count,
                           uint64_t sums[INSTRUMENT_REQUEST_TALLIES]);

// Returns how many words have counters in a launch with so much dynamic shared memory.
uint64_t instrument_word_count(const struct instrument_kernel *kernel, uint32_t dynamic_bytes);
// Returns the bytes of an array in such a launch.
uint32_t instrument_array_bytes(const struct instrument_array *array, uint32_t dynamic_bytes);

// Returns how many counters of live ranges such a launch needs; 0: live ranges are not traced,
// because the kernel has no sites for that or they would need too many counters.
uint64_t instrument_range_count(const struct instrument_kernel *kernel, uint32_t dynamic_bytes);
// Returns the index of the counters of word 0 at a site, to which the index of a word of the site's
// array is added.
uint64_t instrument_range_row(const struct instrument_kernel *kernel, uint32_t site,
                              uint32_t dynamic_bytes);
// Returns the bit of an array in `traced`.
uint32_t instrument_array_bit(uint32_t array);
// Returns how many bytes of shared memory the tags of a block need, a multiple of
// INSTRUMENT_SPARE_ALIGN; 0: live ranges are not traced, or the kernel might notice.
uint32_t instrument_tag_bytes(const struct instrument_kernel *kernel, uint32_t dynamic_bytes);
// Says that tags begin at `tags`, and what else is needed to trace the live ranges of all arrays.
// `ranges`: address of the counters.
void instrument_place_tags(const struct instrument_kernel *kernel, uint32_t tags, uint64_t ranges,
                           struct instrument_context *context);

// What stores of one site began in an array. `words` of an array are counted for each site.
struct instrument_range_sum {
    uint64_t ranges, loads, again, own, drained, words;
};
// The live ranges of an array: FACTS_SHARED_LIVES has the fields.
struct instrument_lives {
    struct instrument_range_sum sum;
    uint64_t unstored, fills, fills_min, fills_max, fill_loads;
    uint64_t least_loads, least_fills, most_loads, most_fills;
    uint32_t filled_words;
};
// Sum up the counters of a launch.
struct instrument_range_sum instrument_sum_site(const struct instrument_kernel *kernel,
                                                uint32_t site, uint32_t array,
                                                uint32_t dynamic_bytes,
                                                const struct instrument_range *ranges);
struct instrument_lives instrument_sum_array(const struct instrument_kernel *kernel, uint32_t array,
                                             uint32_t dynamic_bytes,
                                             const struct instrument_range *ranges);

// Where an access of kernel->word_sites is: bytes from the array's start in the block's first
// thread, and by how much each index of the thread moves it.
struct instrument_word_place {
    int64_t first, x, y, z;
};
// Finds the places of all kernel->word_sites, of which there are as many. Returns the value of
// `known` for the context: 0 if a place is not in its array.
uint32_t instrument_word_places(const struct instrument_kernel *kernel,
                                const struct instrument_launch *launch, uint32_t dynamic_bytes,
                                struct instrument_word_place *places);
// Sums up the counters of a launch, before the counts of these accesses are added, and clears
// INSTRUMENT_WORD_LIMITED in them. Returns how many counts were lost, and whether each array has
// counts that have reached their limit; UINT64_MAX: it is unknown.
uint64_t instrument_lost_counts(const struct instrument_kernel *kernel, const uint64_t *tallies,
                                uint32_t dynamic_bytes, struct instrument_word *words,
                                bool *limited);
// Adds the counts of these accesses to the counters of a launch. Returns false if the tallies
// contradict the places, so that counts are missing.
bool instrument_add_words(const struct instrument_kernel *kernel, const uint32_t block[3],
                          uint64_t blocks, const struct instrument_word_place *places,
                          const uint64_t *tallies, struct instrument_word *words);

// Fills in a set, but for the address of its words, which take (4 << 32 - shift) bytes for each
// block. A table has at most 1 << most_bits entries, 13 <= most_bits <= 31. Returns false if the
// object is too large.
bool instrument_reuse_set(uint64_t first, uint64_t bytes, uint32_t most_bits,
                          struct instrument_reuse_set *set);

// Instruments a PTX text. On success *module belongs to the caller, who destroys it. Fails if the
// text is not PTX or memory runs out. A kernel that cannot have probes is listed with the reason;
// if no kernel has probes, `ptx` equals the input. Thread-safe: there is no state outside the
// module.
enum base_code instrument_ptx(const char *text, size_t length,
                              const struct instrument_request *request,
                              struct instrument_module **module, struct base_error *error);
void instrument_destroy(struct instrument_module *module);

// Serialises a module for caches, and reads it back. instrument_save returns false if memory runs
// out. instrument_load checks everything; it returns BASE_INVALID if instrument_save of this
// version did not write the bytes.
bool instrument_save(const struct instrument_module *module, struct base_buf *out);
enum base_code instrument_load(const void *bytes, size_t length, struct instrument_module **module,
                               struct base_error *error);

#endif
