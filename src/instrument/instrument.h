// SPDX-License-Identifier: Apache-2.0
// PTX in, PTX with probes and a table of what they tell out: a pure function. Each wanted kernel
// gets a clone with probes, which takes one more parameter, its launch context; the kernels
// themselves stay as they are. So the program's own handles, attributes and launches without probes
// stay what they were, and whoever launches decides for each launch which of the two runs. Clones
// of kernels that use variables of the module, which both must share, stand behind its text; all
// others can stand in texts of their own, *parts*, which are compiled side by side and leave the
// program's module alone.
//
//     struct instrument_request request = {.facts = INSTRUMENT_OBJECTS};
//     if (instrument_ptx(text, length, &request, &module, &error) == BASE_OK) { ...
//         instrument_destroy(module);
//     }
//
// What the probes tell, for one launch:
// - objects: a kernel has *roots*, the pointers from which its addresses come: parameters and
//   variables. A *use* says that a root was read or written if a flag was set, or in any case. The
//   root's object has *bounds* in the context; one more flag says that an access left them, and
//   then it is not known what the launch touched. Addresses that come from elsewhere (loaded from
//   memory, chosen among roots, results of calls) are looked up in a table of objects, whose
//   entries get marks.
// - elements: each root has a *slot* in the context, the object it points into with its shadow
//   memory, where every access sets the bits of the elements that it touches; addresses outside the
//   slot's object are looked up in the table. *Tallies* count how often threads came by; sites say
//   which tally counts them, so bytes follow, and with them which objects were read or written:
//   there are no uses beside them.
// - counts: every access adds one to the counter of each element that it touches.
// Generic addresses that turn out to be shared or local are not counted.
#ifndef GLINT_INSTRUMENT_INSTRUMENT_H
#define GLINT_INSTRUMENT_INSTRUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

enum instrument_facts {
    INSTRUMENT_OBJECTS = 1 << 0,
    INSTRUMENT_ELEMENTS = 1 << 1,
    INSTRUMENT_COUNTS = 1 << 2, // with ELEMENTS only
};

#define INSTRUMENT_NONE UINT32_MAX

// --- What lies in device memory ------------------------------------------------------------------

// The bytes between the elements of one object and their shadow. An access of n bytes at address a
// touches elements (a - base) >> shift to (a + n - 1 - base) >> shift. Accesses are aligned to
// their size and base to 128 elements' bytes or more, so the bits of one access lie in one 32-bit
// word.
//
// A word stands for 32 elements. Without counts it has a bit for each, set where it was touched.
// With counts its low 31 bits say how often all 32 were touched together, and where its top bit is
// set, some were also touched apart, as their own counters say; where it is not, those are 0:
//     count(e) = (word[e / 32] & 0x7fffffff) + (word[e / 32] >> 31 ? counts[e] : 0)
enum { INSTRUMENT_BEHIND = 5 };
struct instrument_slot {
    uint64_t base;   // at or below the object's first byte, a multiple of 128 << shift
    uint64_t bytes;  // from base to the object's end; 0: no object
    uint64_t bits;   // address of a 32-bit word for each 32 elements from base, zeroed; in the next
                     // INSTRUMENT_BEHIND words no bits may be set, but operations may say so
    uint64_t counts; // address of a 32-bit counter for each element from base, zeroed, a multiple
                     // of 8; 0 without counts
    uint32_t shift;  // of the element's size, at least 2
    uint32_t lead;   // bytes from base to the object's first byte
    uint32_t looks;  // not 0: most accesses come to elements again, so that it is worth to look at
                     // words before bits are set
    uint32_t reserved;
};

// What a kernel's probes have of a root's object. Where the elements are those that the kernel's
// accesses move, all that lies in a span is marked right there, and the rest is looked up: 0 where
// they are not.
struct instrument_view {
    struct instrument_slot slot;
    uint64_t first;    // the object's first byte
    uint64_t spans[3]; // bytes from there on that accesses of up to 4, of 8 and of 16 bytes, being
                       // aligned, reach only if all of them is in the object
    uint32_t ahead;    // elements between base and there
    uint32_t reserved;
};
// For a root that says so of its elements.
struct instrument_view instrument_view_of(const struct instrument_slot *slot,
                                          uint32_t element_bytes);

// For addresses that come from no root, for those that leave a root's object, and for what a slot's
// probes do not expect: every object that kernels may touch, those of slots, as they are there,
// included. Zeroed before the launch, but for count and the addresses. Entries ascend and their
// objects do not overlap.
struct instrument_table {
    uint64_t count;
    uint64_t entries; // address of struct instrument_slot[count]
    uint64_t touched; // address of uint8_t[count][2]: not 0 where read, where written
    uint64_t moved;   // address of uint64_t[count][2]: bytes read, written by accesses that were
                      // looked up; elements only
    uint64_t
        strayed; // address of uint64_t[slots][2]: bytes that tallies tell for the slot and that
                 // went elsewhere: counted in moved or in strays, not in the slot; elements only
    uint64_t strays; // address of struct instrument_strays
    uint64_t heap;   // address of struct instrument_heap; 0: what kernels allocate is not told
    uint64_t recent; // 1 + the entry that was found last
};

// Accesses to memory that is no object, and in the high half of `count` those among them of which
// it is not known what they touched: at address 0.
#define INSTRUMENT_WRAPPED ((uint64_t)1 << 32)
enum { INSTRUMENT_STRAYS = 29 };
struct instrument_strays {
    uint64_t count;
    uint64_t next;   // addresses that were written, or wanted to be
    uint64_t looked; // elements: not 0 where an entry of the table was touched
    uint64_t addresses[INSTRUMENT_STRAYS];
};

// Memory that kernels allocate themselves. Clones of functions that call malloc() or free() keep
// the map of the blocks that there are, which all launches of a context share, and log what begins
// and ends; accesses to memory that is in no entry of the table are looked for in that map. Blocks
// are known by their serials. Only modules that allocate look there.

// A piece of a block: 1 << n bytes, aligned to that, n being 4 at least.
struct instrument_heap_piece {
    uint64_t key;          // its address | half its size; 0: never used; 1: free
    uint64_t start, bytes; // of the block
    uint64_t serial;
};

struct instrument_heap_blocks {
    uint64_t pieces; // address of struct instrument_heap_piece[1 << (64 - shift)], zeroed
    uint32_t shift;
    uint32_t reach; // so far at most are pieces from where they should be; zeroed, as all below
    uint64_t sizes; // bit n: there were pieces of 1 << n bytes
    uint64_t count; // blocks so far: the last serial that was given
};

enum instrument_heap_what {
    INSTRUMENT_HEAP_BEGAN = 1,
    INSTRUMENT_HEAP_ENDED,
    INSTRUMENT_HEAP_UNPLACED, // it began, but not all its pieces found a place: not all is told
};

struct instrument_heap_entry {
    uint64_t what; // serial << 2 | enum instrument_heap_what
    uint64_t address, bytes;
};

// Elements: what was done to 128 bytes of a block, from a multiple of 128 bytes of its start on. A
// page of the number n of the block of the serial s has the key s << 28 | n. Its counts are only
// there if there are counts: else pages are as long as what comes before.
enum {
    INSTRUMENT_HEAP_PAGE_BITS = 28,
    INSTRUMENT_HEAP_PAGE_ELEMENTS = 32,
    INSTRUMENT_HEAP_GROUP_BITS = 6, // of the number of pages in a group
};
struct instrument_heap_page {
    uint64_t key;      // 0: not used
    uint64_t moved[2]; // bytes read, written by accesses that begin here
    uint32_t bits;     // elements of 4 bytes that were touched
    uint32_t reserved;
    uint32_t counts[INSTRUMENT_HEAP_PAGE_ELEMENTS];
};

// One launch's, and what it is about to tell. At object level a page is 8 bytes: serial << 2 | 1
// where the block was read | 2 where it was written.
struct instrument_heap {
    uint64_t blocks;   // address of struct instrument_heap_blocks
    uint64_t log;      // address of struct instrument_heap_entry[log_room]
    uint64_t log_room; // entries
    uint64_t pages;    // address of 1 << (64 - page_shift) pages, zeroed
    uint64_t groups; // address of a byte for each group of pages, zeroed: not 0 where some is used
    uint32_t page_shift;
    uint32_t reserved;
    uint64_t logged; // entries that were written, or wanted to be; zeroed, as below
    uint64_t lost;   // accesses for which there was no page
};

// Objects: of each root the bytes that accesses which come from it are expected to stay in.
struct instrument_bounds {
    uint64_t first; // address
    uint64_t room;  // in so many bytes from there on an access of the root's `reach` may begin
};
// For the object that the root points into. bytes 0: there is none, and nothing is expected.
static inline struct instrument_bounds instrument_bounds_of(uint64_t first, uint64_t bytes,
                                                            uint32_t reach)
{
    if (!bytes)
        return (struct instrument_bounds){0, UINT64_MAX - reach};
    // No access fits: all are outside of what is at address 0.
    return bytes < reach ? (struct instrument_bounds){0, 0}
                         : (struct instrument_bounds){first, bytes - reach + 1};
}

// Options. ROWS: a warp's lanes are neighbours in x, 32 to a row, the block's width being a
// multiple of 32, or its height and depth 1; and the bytes of all slots are less than 2^32.
enum { INSTRUMENT_ROWS = 1 };

// The launch context: the clone's last parameter, by value. For each root there follows, for
// elements a struct instrument_view, else a struct instrument_bounds.
struct instrument_context {
    uint64_t flags;   // address of the launch's flags, zeroed: rows of bytes, INSTRUMENT_FLAG_ROWS
                      // of them, kernel->flag_row_bytes apart; set where any row has it set
    uint64_t tallies; // address of rows of uint64_t, zeroed: INSTRUMENT_TALLY_ROWS of them,
                      // kernel->tally_row_bytes apart; a tally is the sum over rows, modulo 2^64
    uint64_t table; // address of a struct instrument_table; 0 only if kernel->needs_table is false
    uint32_t options; // INSTRUMENT_ROWS
    uint32_t reserved;
};

// Rows are there so that multiprocessors do not wait for one another's cache lines; which is
// written is the probes' affair.
enum { INSTRUMENT_FLAG_ROWS = 16, INSTRUMENT_TALLY_ROWS = 128 };

// --- What is told of a module --------------------------------------------------------------------

enum instrument_root_kind { INSTRUMENT_ROOT_PARAM, INSTRUMENT_ROOT_VARIABLE };

struct instrument_root {
    uint8_t kind;           // enum instrument_root_kind
    uint32_t offset;        // of a parameter: of the pointer in the kernel's parameters, in bytes
    const char *variable;   // of a variable: its name in the module
    uint32_t element_bytes; // the smallest scalar that accesses from here move
    uint32_t reach;         // objects: the most bytes that are checked at once
};

// Where the flag is set, or in any case, the root's object was read or written.
struct instrument_use {
    uint32_t root;
    uint32_t flag; // INSTRUMENT_NONE: in any case
    bool read, written;
};

struct instrument_site {
    uint32_t index; // of the instruction in its function
    uint32_t ptx_line;
    const char *function; // in which it stands: the kernel, or a device function
    const char *opcode;   // "ld.global.v4.f32"
    const char *type;     // what the bytes are used as, "f32"
    uint8_t type_count;
    uint8_t access; // 0 load, 1 store, 2 atomic, which is both
    bool generic;
    uint32_t bytes; // that a thread moves; 0: not fixed by the instruction
    uint32_t root;  // INSTRUMENT_NONE: looked up, and told by the table
    // How often threads came by: the tally, and once more for every thread of the launch where
    // tally_from_one is set; INSTRUMENT_NONE: once by every thread. Holds where root is one.
    uint32_t tally;
    bool tally_from_one;
    // Where it is in the source; file NULL: not known. Inlined code has where it was inlined.
    const char *file;
    uint32_t line, column;
    const char *inlined_function; // NULL: not inlined
    const char *at_file;
    uint32_t at_line, at_column;
};

struct instrument_kernel {
    const char *name;
    const char *clone;       // NULL: none was made, for this reason
    const char *reason;      // or what its probes do not see; NULL: nothing
    uint32_t param_count;    // of the kernel, without the context
    uint32_t context_offset; // of the context among the clone's parameters, in bytes
    uint32_t context_bytes;  // with its slots
    uint32_t flag_count, flag_row_bytes;
    uint32_t
        left_flag; // set where an access left the bounds of its root; INSTRUMENT_NONE: none can
    uint32_t tally_count, tally_row_bytes;
    bool needs_table;
    bool allocates; // calls malloc() or free(), or functions that do
    bool heap;      // looks for what kernels allocated: its table must say where
    bool outside;   // calls functions that are not in the text and may do anything
    bool textures;  // reads through textures, which no probe sees
    bool may_wait;  // its blocks may wait for each other through memory; false only where the code
                    // shows that they do not. Cooperative launches and clusters may wait as well
    struct instrument_root *roots; // views are in this order
    uint32_t root_count;
    struct instrument_use *uses;
    uint32_t use_count;
    struct instrument_site *sites;
    uint32_t site_count;
    uint32_t part; // that holds the clone; INSTRUMENT_NONE: the module's ptx does
};

struct instrument_part {
    const char *ptx; // ended by NUL
    size_t ptx_bytes;
};

struct instrument_module {
    struct base_arena arena; // holds all of it
    char *ptx;               // ended by NUL; as it went in where all clones are in parts
    size_t ptx_bytes;
    struct instrument_part *parts;
    uint32_t part_count;
    struct instrument_kernel *kernels;
    uint32_t kernel_count;
    const char *
        *allocators; // all kernels of the text, wanted or not, that allocate or call outside
    uint32_t allocator_count;
};

struct instrument_request {
    uint32_t facts;                                // enum instrument_facts
    bool (*wants)(void *user, const char *kernel); // by mangled name; NULL: all
    void *user;
    size_t limit_bytes; // of memory; 0: none
    uint32_t parts;     // at most so many; 0: all clones are in ptx, for texts that are linked
    uint32_t gpu; // compute capability of the GPU that will run it, 90 for 9.0; 0: not known. Where
                  // that is at least 80 and all clones are in parts, those are raised from sm_70 to
                  // sm_79 to sm_80
};

// Fails where the text is no PTX or memory runs out. Kernels that cannot have probes are in the
// table with their reason; where no kernel has any, ptx is as long as it went in.
enum base_code instrument_ptx(const char *text, size_t length,
                              const struct instrument_request *request,
                              struct instrument_module **module, struct base_error *error);
void instrument_destroy(struct instrument_module *module);

// One module as bytes, and back, for caches. Loading checks everything; BASE_INVALID says that the
// bytes are none that instrument_save of this version wrote.
bool instrument_save(const struct instrument_module *module, struct base_buf *out);
enum base_code instrument_load(const void *bytes, size_t length, struct instrument_module **module,
                               struct base_error *error);

#endif
