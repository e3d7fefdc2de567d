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
#include "memory.h"

enum instrument_facts { FACTS_PROBE_FACTS(FACTS_VALUE, INSTRUMENT_) };

#define INSTRUMENT_NONE UINT32_MAX

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
    // In a path only: an index of the block.
    INSTRUMENT_TERM_BLOCK_X,
    INSTRUMENT_TERM_BLOCK_Y,
    INSTRUMENT_TERM_BLOCK_Z,
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

// Accesses of a root that differ in a constant: they reach the bytes from `low` up to `high`, from
// the address on that the form says for the thread, the block and the round. Only some accesses
// have one, and 32-bit parts of addresses may wrap around, so it is what to expect, and no proof.
struct instrument_path {
    struct instrument_form form;
    int64_t low, high;
};

struct instrument_root {
    uint8_t kind;           // enum instrument_root_kind
    uint32_t offset;        // of a parameter: byte offset of the pointer in the kernel's parameters
    const char *variable;   // of a variable: its name in the module
    uint32_t element_bytes; // size of the smallest scalar that accesses of this root move
    uint32_t reach;         // objects: the most bytes that one bounds check covers
    struct instrument_path *paths; // where its accesses go, as far as a launch knows
    uint32_t path_count;
    struct instrument_layout layout; // values; else all zero
    // Accessed values: some loads, or stores, of the root are not among the kernel's `accessed`.
    // Accesses that are looked up are not counted here.
    bool unobserved[2];
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
    // In the second clone, if by_masks, all requests are counted by masks, and by this tally - 1 in
    // the place of `whole`. 0: they are not.
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
    // 0: all threads of a block execute it equally often. Otherwise, executions of each thread of a
    // block are counted apart, by the tally of this number - 1 in the context's `threads`.
    uint32_t by_thread;
    const struct instrument_form *form; // its offset in the array; nothing in it varies
    // If `rounds` is not NULL, it moves by `step` in each round of a loop, and is executed once in
    // each. In them a counter makes steps of `stride` as long as they are in `rounds`, and one more
    // round begins; `inclusive`: also if they end there; `tested`: not in that one.
    const struct instrument_form *rounds;
    int64_t step, stride;
    bool inclusive, tested;
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

struct instrument_param { // of a kernel
    uint32_t offset, bytes;
};

struct instrument_kernel {
    const char *name;
    const char *clone;  // name; NULL: the kernel has no clone, and `reason` says why
    const char *light;  // name of a second clone, which does less; NULL: none
    bool by_masks;      // requests: that is for regular launches; else for untraced ones
    const char *reason; // what the clone's probes do not see; NULL: they see everything
    const struct instrument_param *params; // of the kernel, without the context
    uint32_t param_count;
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
    bool tensors;   // copies tensors, of which probes see the object in which they begin
    bool may_wait;  // its blocks may wait for each other through memory; false only if the code
                    // proves that they do not. Blocks of cooperative launches and of clusters may
                    // wait in any case
    bool repeats; // which places in memory it accesses, and how often, follows from its parameters
                  // and the sizes of grid and blocks; true only if the code proves it, of
                  // launches without clusters
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
    bool racy;               // shared: counts of words may be lost at any time
    uint32_t thread_tallies; // shared: number of tallies by thread
    bool counts_rest;        // shared: some accesses are counted that are not among the word_sites
    bool looks;              // shared: blocks can be looked at
    bool loads_ordered;   // shared: some of their loads are volatile or ordered, and must stay so
    const char *unlooked; // shared: which accesses of these blocks are not counted; NULL: none
    bool traces;          // cache: the lines that its warps reach can be traced
    const char *untraced; // cache: why not; NULL: they can, or there are none
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
    bool lines;   // clones keep their source lines, for the simulated GPU, which names them
    bool maps;    // tensor maps begin with the address of their tensor
};

// Returns how many bytes of spare shared memory a block of the kernel's clone has a use for if each
// word takes word_bytes, spare_word or spare_small of the kernel; 0: none, or the kernel might
// notice. The program asks for dynamic_bytes of dynamic shared memory.
uint32_t instrument_spare_bytes(const struct instrument_kernel *kernel, uint32_t dynamic_bytes,
                                uint32_t word_bytes);
// Fills in what the context says about so much spare memory, which the launch has.
void instrument_set_spare(const struct instrument_kernel *kernel, uint32_t dynamic_bytes,
                          uint32_t word_bytes, struct instrument_context *context);

// What a launch says.
struct instrument_launch {
    uint32_t grid[3], block[3];
    const unsigned char *params; // as the kernel has them, without the context
    const uint64_t *roots;       // their addresses
};

// An object, or a piece of one.
struct instrument_extent {
    uint64_t first, bytes;
};
// Finds what holds the address. Returns false if nothing does.
typedef bool instrument_finds(void *user, uint64_t address, struct instrument_extent *found);
// Returns an address in the object that accesses of the root are expected in: the root's own,
// unless it points into no object or all accesses are expected in another one.
uint64_t instrument_aim(const struct instrument_kernel *kernel, uint32_t root,
                        const struct instrument_launch *launch, instrument_finds *find, void *user);

// Where a site is in a launch, as far as costs depend on it: the address in the block's first
// thread, bits that vary, and how far each index of the thread moves it. Places can be compared by
// their bytes.
struct instrument_site_place {
    int64_t x, y, z, lane;
    uint32_t first;            // in its line
    uint16_t varies, is_known; // 0: the site has no form, or lanes are too far apart
};
// Finds the places of the kernel's sites, and behind these of those on shared and local memory.
void instrument_find_places(const struct instrument_kernel *kernel,
                            const struct instrument_launch *launch,
                            struct instrument_site_place *places);

// What each request of a whole warp takes, as in enum instrument_request_tally.
struct instrument_cost {
    uint32_t taken, needed, lines;
    bool has_stride; // all neighbouring lanes have the same distance
    int64_t stride;  // bytes
};
// Finds what requests of whole warps take at these places, as far as sites have forms. Where
// `whole`, of global and of shared memory, becomes false, because the costs are unknown for some
// site or not the same for all warps, only strides of the costs are valid.
void instrument_whole_costs(const struct instrument_kernel *kernel, const uint32_t block[3],
                            const struct instrument_site_place *places,
                            struct instrument_cost *costs, bool whole[2]);
// Returns whether the launch is regular: what each request of a masked site takes follows from the
// warp's place and its lanes.
bool instrument_is_regular(const struct instrument_kernel *kernel, const uint32_t block[3],
                           const struct instrument_site_place *places);
// Says how whole warps are counted: sets `whole` and `dense` of the context.
void instrument_set_whole(const uint32_t block[3], const bool whole[2],
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

// Sums up the requests of a masked site in a launch of the second clone: as
// instrument_sum_requests, from tallies of each place, and `count` masks.
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
// thread, by how much each index of the thread moves it, and in how many rounds of a loop.
struct instrument_word_place {
    int64_t first, x, y, z;
    uint32_t rounds;
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
// What the counts of these accesses follow from: a launch, and what it counted.
struct instrument_word_counts {
    uint32_t block[3];
    uint64_t blocks;
    uint32_t dynamic_bytes;
    const struct instrument_word_place *places;
    const uint64_t *tallies;
    const uint64_t *threads; // kernel->thread_tallies rows, one for each thread of a block
};
// Adds them to the counters of the launch. Returns false if tallies contradict the places, so that
// counts are missing.
bool instrument_add_words(const struct instrument_kernel *kernel,
                          const struct instrument_word_counts *counts,
                          struct instrument_word *words);

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
