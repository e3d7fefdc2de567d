// SPDX-License-Identifier: Apache-2.0
// The data that the files of src/instrument share: the state of one call of instrument_ptx, the
// functions of the module, and the plan for each of their memory instructions. Internal to
// src/instrument.
//
// A clone is the original's statements printed again with code between them. Nothing is inserted
// into the IR, so one parse serves the analyses and all clones. Names in that code begin with
// "glint$"; a module that already has such names gets no clones.
#ifndef GLINT_INSTRUMENT_WORK_H
#define GLINT_INSTRUMENT_WORK_H

#include "instrument.h"
#include "ptx/ptx.h"

#define GLINT_SUFFIX "$glint"
#define GLINT_PREFIX "glint$"

// The device functions that a text may need; see library.h.
enum instrument_helper {
    HELPER_TOUCH = 1 << 0,   // objects: marks the table's entry of an address
    HELPER_LEAVE = 1 << 1,   // elements: adds bytes to those of an entry
    HELPER_ENTER = 1 << 2,   // elements: makes the entry of an address the current one
    HELPER_ACCESS = 1 << 3,  // elements: looks up an access of any size
    HELPER_SWEEP = 1 << 4,   // elements: marks what a loop touched
    HELPER_COUNT = 1 << 5,   // counts: counts an access of each lane
    HELPER_RANGE = 1 << 6,   // bits: marks what a loop touched without a gap
    HELPER_STORE = 1 << 7,   // values: marks the piece of an address
    HELPER_REQUEST = 1 << 8, // requests: counts what a warp's request takes
    HELPER_LOCAL = 1 << 9,   // requests: the same on local memory; only with HELPER_REQUEST
    HELPER_REUSE = 1 << 10,  // shared: counts what a block loads of global memory
};

// How a site is probed: not at all, by its root, or by looking up its address in the table.
enum instrument_how { HOW_NOT, HOW_ROOT, HOW_LOOKUP };

// How many bytes an instruction touches from its address on.
enum instrument_shape {
    SHAPE_FIXED, // site->bytes
    SHAPE_SIZED, // as many as an operand says; none if a predicate operand says so
    // Objects: bytes of the tensor whose map is at the address. The tensor's address, which the map
    // begins with, says which object they are in.
    SHAPE_MAPPED,
};

// What is certain about the addresses of a warp's lanes; see lanes.c.
enum instrument_lanes {
    LANES_APART, // nothing
    LANES_ONE,   // all active lanes have the same address
    LANES_STEP,  // in a whole warp that is a piece of a row, addresses grow by a fixed step
};
enum { INSTRUMENT_MOST_STEP = 16 };

// Values: a store whose old value is loaded before an earlier instruction; see early.c.
struct instrument_early {
    uint32_t probe;                 // its index
    uint32_t word;                  // number of the first register that holds the old value
    const struct ptx_instr *branch; // that decides whether it executes, or NULL
    bool taken;                     // it does if the branch is taken
    int64_t step;                   // from lane to lane
    uint32_t behind; // 1 + the earlier member whose address must be lower by what lanes reach, or 0
    bool fixed;      // it is known that it writes other bytes than earlier members of its root
    uint32_t sure;   // number of the predicate under which it was loaded; 0: it always was
};

// Values: stores whose old values are loaded together.
enum { INSTRUMENT_BUNDLE = 8 };
struct instrument_bundle {
    const struct ptx_instr *at; // before which they are loaded
    struct instrument_early members[INSTRUMENT_BUNDLE];
    uint32_t count, words;
};

// The plan for one memory instruction.
struct instrument_probe {
    const struct ptx_site *site;
    uint8_t how;        // enum instrument_how
    uint8_t shape;      // enum instrument_shape
    uint8_t size;       // SHAPE_SIZED: index of the operand
    bool check_space;   // the address is generic and may be shared or local
    uint32_t root;      // HOW_ROOT
    uint32_t flag;      // objects: the flag of a guarded site, or INSTRUMENT_NONE
    bool bounded;       // objects: bounds are checked
    bool walks;         // objects: they are checked where the loop is entered and left; see walks.c
    int64_t low;        // objects: the check begins so many bytes behind the address
    uint32_t span;      // objects: and covers so many bytes
    uint32_t reach;     // objects: `reach` of the root
    uint32_t tally;     // elements: INSTRUMENT_NONE if every thread executes the access once
    bool from_one;      // the tally is one less than the count of every thread
    bool counts_itself; // the tally is counted at the instruction, not at its block
    uint8_t lanes;      // enum instrument_lanes
    uint32_t step;      // LANES_STEP: bytes, at most INSTRUMENT_MOST_STEP
    bool check;         // many warps may touch the same elements
    // The bytes that the thread touches here and by other accesses of the block at other offsets
    // from the same register, which are marked with this one: so many before the address, and so
    // many from the address on.
    uint32_t before, behind;
    uint32_t next; // 1 + the index of the next of these accesses, or 0
    bool joined;   // an earlier access marks this one, too
    uint32_t with; // 1 + the index of the previous member of its group, or 0
    bool held;     // the last member of its group marks this one, too
    bool waits;    // marked where its loop is left; see hoist.c
    bool doubted;  // correct only if 32-bit parts of the address do not wrap around
    bool keeps;    // stores its address in the register with the number `kept`
    bool left;     // the address is known where the loop is left
    uint32_t kept;
    bool writes;     // values: the pieces that it writes are marked; see stores.c
    bool marked;     // values: an earlier instruction of the block marks them
    int64_t lowest;  // values: otherwise it marks from so many bytes behind its address on
    uint32_t extent; // values: so many bytes
    bool examined;   // values: what it writes is compared with what was there
    uint32_t silent; // values: the tally of executions that changed nothing, or INSTRUMENT_NONE
    uint32_t still;  // values: of those, in whose sector the warp's instruction changed nothing
    const struct instrument_early
        *early;        // values: where the old value is loaded; NULL: at the store
    uint32_t place;    // accessed values: where in the root's structure its first byte lies, or
                       // INSTRUMENT_NONE
    bool observed;     // accessed values: what it moves is combined; see accesses.c
    uint32_t requests; // the first of the tallies of its requests, or INSTRUMENT_NONE
    bool sums;         // requests: its tallies are counted in one register; see find_sums
    uint32_t whole;    // requests: the tally of whole warps, or INSTRUMENT_NONE
    const struct instrument_form *form; // requests: NULL if `whole` is INSTRUMENT_NONE
    uint32_t masked; // requests: 1 + the tally of whole warps in the regular clone, if its point is
                     // masked and it has a form; else 0
    uint32_t excess; // requests: the tally of what a warp's place adds, or INSTRUMENT_NONE
    uint32_t warp_span; // requests: bytes that a warp reaches at such a site, from first to last
    const struct ptx_var *named; // requests: the array of shared memory that it leads to, or NULL
    uint32_t saved; // requests: number of the register that keeps the address, or INSTRUMENT_NONE
    bool words;     // shared: it counts the words that it touches
    bool together;  // shared: the first lane counts for all that are here, which have one address
    uint32_t array; // shared: the only one that it leads to, or INSTRUMENT_NONE
    const struct instrument_form *offset; // shared: in that array; NULL: unknown to the launch
    uint32_t times; // shared, if offset is not NULL: the tally of its executions, or
                    // INSTRUMENT_NONE if every thread executes it once
    // Shared, if offset is not NULL: as in struct instrument_word_site, and the trip that they
    // follow from.
    const struct instrument_form *rounds;
    int64_t round_step;
    bool tested;
    const struct ptx_trip *trip;
    uint32_t begins; // shared: 1 + the index of its site among those that begin live ranges, or 0
    bool drains;     // shared: what it loads is stored to global memory as it is
    const struct instrument_described *described; // shared: what it counts; NULL: its site's access
    uint32_t looked; // shared: 1 + its number among the kernel's sites if blocks that are looked at
                     // count it, or 0
    uint32_t traced; // cache: 1 + its number among the kernel's sites, or 0
    uint32_t traced_with; // cache: 1 + the index of the previous member of its run, or 0
    bool traced_later;    // cache: where the last member of its run is; see trace_runs.c
};

// Shared: what an instruction accesses beside or instead of what its sites say; see described.c.
struct instrument_described {
    const struct ptx_operand *descriptor; // of a matrix, or NULL
    struct ptx_matrix matrix;
    const struct ptx_operand *size; // in bytes, of memory that is copied, or NULL
    uint32_t copies;                // 1 + the index of the copy's own probe, or 0
    struct ptx_site site;           // the accesses that it is counted as
    struct instrument_probe probe;
};

// Requests: a place where requests of a block are counted, there or behind it; see points.c.
struct instrument_point {
    const struct ptx_instr *instr;
    bool behind;        // the instruction, else before it
    uint32_t from, end; // the probes of these requests
    uint32_t ran;       // 1 + the index in `ran` of their block, or 0 if it is always executed
    uint32_t whole;     // 1 + the tally of whole warps, if a site has a form, or 0
    bool masked;        // in the regular clone, sites that have a form are counted by masks
    uint32_t together;  // 1 + the index in `loops` of a loop in which it is, or 0
    uint32_t lead;      // masked: the first of the points that are counted together with it
};

// Requests: a loop that is in no other, in which the lanes that enter it together stay together.
struct instrument_loop {
    uint32_t number; // in ptx_cfg
};

// Requests: a block that need not be executed where its requests are counted.
struct instrument_ran {
    uint32_t block;
    uint32_t from; // the block at whose start it has not been executed
};

// What accesses that are executed equally often touch from round to round: `chunk` bytes each time.
struct instrument_sweep {
    uint32_t order; // in which sweeps were found
    uint32_t loop;
    uint32_t value;        // of ptx_ssa: the register of the address
    uint32_t kept;         // number of the register that holds the address in the last round
    const char *left;      // the register that holds it where the loop is left; NULL: `kept` does
    int64_t left_distance; // how much larger `left` is than the address
    uint32_t root, tally;
    uint8_t access;         // enum ptx_access
    uint32_t bytes, chunk;  // of one access, of all accesses of a round
    int64_t offset;         // of the chunk's first byte from the register
    struct ptx_linear form; // of the register
    uint32_t phi;           // from which the register has an exact distance, or PTX_NO_VALUE
    struct ptx_linear step;
    uint32_t times; // steps in one round
    bool doubted;   // correct only if 32-bit parts of the address do not wrap around
    bool columns;   // threads that differ only in y and z touch the same bytes
    bool check;     // many warps may touch the same elements
};

// Objects: a value at a loop's header or before it, plus registers that the loop does not change.
struct instrument_sum {
    uint32_t base; // of ptx_ssa
    int64_t constant;
    BASE_ARRAY(struct instrument_term {
        const struct ptx_reg *reg;
        bool minus;
    })
    terms;
};

// Objects: an access whose bounds are checked where its loop is entered and left; see walks.c.
struct instrument_walk {
    uint32_t loop;
    const struct instrument_probe *probe;
    struct instrument_sum at; // its address
    // Where it is checked: other walks of the loop may make one of the checks redundant, and an
    // address that is the same in all rounds is only checked where the loop is entered.
    bool entered, left;
    const struct ptx_reg *own;  // holds the address where the loop is left; NULL: no register does
    struct instrument_sum step; // what a round adds to the base
    uint32_t set_in;            // the block in which it does
};

// Accessed values: where a thread needs the registers of one number; see spans.c.
struct instrument_span {
    uint32_t from; // the block at whose start they are initialised; PTX_NO_BLOCK: at the entry
    uint32_t to;   // the block in which they are combined with memory; PTX_NO_BLOCK: at the ends
    bool behind;   // at its end, else at its start
    bool alone;    // all accesses of the number are in one block outside of loops
    bool early;    // memory is looked at where they are initialised
    bool wide;     // the field has 64 bits
};

// Requests: tallies of a site that are counted in one register, whose number is that of the first.
enum instrument_split { SPLIT_NOT, SPLIT_REGISTER, SPLIT_REST };

// A function of the module that has a body.
struct instrument_body {
    struct ptx_function *function;
    // What the function does, and, except for the first two, what the functions that it calls do;
    // see calls.c.
    bool has_memory;           // global or generic accesses
    bool has_exit;             // ends its thread
    bool touches;              // it needs a clone for its accesses to be seen
    bool may_exit;             // a function that it calls may end the thread
    bool is_taken;             // its address is taken
    bool allocates;            // calls malloc() or free()
    bool textures;             // reads through textures
    bool tensors;              // copies tensors
    const char *calls_outside; // a function without a body, whose accesses are not seen, or NULL
    const char *launches;      // a function by which it launches kernels, or NULL
    bool calls_any;            // calls by pointer
    bool other_effects;        // may do more than access memory: print, allocate, write surfaces
    bool may_wait;             // for other blocks; see waits.c
    bool reads_sizes;          // of shared memory; see spare.c
    uint32_t *callees;         // indices of bodies, each once
    uint32_t callee_count;
    // Launches, if the code says of all which kernels they are of: see children.c.
    BASE_ARRAY(uint32_t) children;              // indices of the bodies of these kernels
    BASE_ARRAY(const struct ptx_reg *) buffers; // for their parameters
    uint32_t inner; // of a kernel that is launched by kernels: the index of its body as such, or 0
    bool is_child;  // it is such a body

    struct instrument_kernel *kernel; // of a requested kernel, else NULL
    bool cloned;                      // a device function that clones call
    bool failed;                      // it, or a function that it calls, has no clone
    bool tied;                        // it, or a function that it calls, must stay in the module
    uint32_t helpers;                 // enum instrument_helper: those that its clone calls
    size_t start, end;                // of its clone in work->out
    struct instrument_site *sites;    // its rows
    uint32_t site_count;

    // The following are valid only while the function is processed.
    struct ptx_facts *facts;
    struct instrument_probe *probes; // one per site, in text order
    uint32_t probe_count;
    const char *why_not;  // why it cannot be cloned; NULL: it can
    const char *unmarked; // values: why pieces that it writes may not be marked; NULL: all are
    bool looks_up;        // a probe looks up its address
    bool looks_up_stores; // values: of an instruction that writes
    uint32_t *flag_at;    // objects, by block: 1 + the flag that is set there, or 0
    BASE_ARRAY(struct instrument_walk) walks;
    uint32_t counted;     // tallies that are counted in registers; the others are in memory
    uint32_t *tally_at;   // elements, by block: 1 + the tally that is counted there, or 0
    uint32_t *tally_from; // by tally that is no bit: the block at whose start it is initialised;
                          // PTX_NO_BLOCK: at the entry
    BASE_ARRAY(struct instrument_point) points; // requests, in the order of the text
    uint32_t saved_count;                       // requests: registers that keep addresses
    BASE_ARRAY(struct instrument_ran) ran;      // requests: a bit of registers for each
    bool has_masks;                             // requests: some points are masked
    BASE_ARRAY(struct instrument_loop) loops;   // requests: a register for each, of masked points
    uint32_t *words_at;  // shared, by block: 1 + the tally that is counted there, or 0
    bool *from_one;      // by tally
    bool *once;          // by tally: at most 1 in each thread
    uint32_t *by_thread; // by tally: as in struct instrument_word_site
    uint8_t *split;      // by tally: enum instrument_split
    uint32_t split_count;
    uint32_t *bit_of; // by tally, if from_one or once: the bit that holds it
    uint32_t bit_count;
    // Shared: the kind of accesses, loads 1 or stores 2, whose counters of 32 bits in spare memory
    // are less by those of the other kind; 0: none.
    uint32_t difference;
    BASE_ARRAY(struct instrument_sweep) sweeps;     // sorted by tally
    BASE_ARRAY(struct instrument_bundle *) bundles; // values
    uint32_t early_words, early_count;              // registers and predicates of bundles
    uint32_t kept_count;
    bool *leaves;            // by block: an edge to it leaves a loop that has sweeps
    uint32_t accessed_words; // accessed values: 32-bit registers that hold them
    bool *observes;          // accessed values, by block: it may follow an access that is combined
    struct instrument_span *spans;                       // accessed values, by number
    const struct ptx_var **arrays;                       // shared: of the kernel's `arrays`
    BASE_ARRAY(struct instrument_described *) described; // shared
};

// The state of one call of instrument_ptx.
struct instrument_work {
    const char *text;
    size_t length;
    const struct instrument_request *request;
    struct instrument_module *module;
    struct base_arena *arena;  // the module's, for what is returned
    struct base_arena scratch; // for everything else
    struct ptx_module *ptx;
    struct instrument_body *bodies;
    uint32_t body_count;
    struct base_map by_name; // name to 1 + the index of its body
    struct base_buf out;     // the clones
    struct base_buf ways;    // code that branches of the current clone lead to; see walks.c
    struct base_map texts;   // the texts of rows, each once
    struct base_map names;   // .loc to the name of the inlined function
    void *heap;              // freed at the end
    uint32_t sm;             // the target, 75 for sm_75
    uint32_t helpers;        // enum instrument_helper
    uint32_t labels;         // used so far
    bool elements, counts, values, accessed, requests, words, trace;
    bool light;              // the clone is the second one of its kernel
    bool regular;            // which is that for regular launches
    bool allocates;          // a function of the module calls malloc() or free()
    uint32_t heap_functions; // set of those that are called; see heap.c
    bool raised;             // the target of parts is raised to sm_80
    bool clusters;           // generic addresses may point to shared memory of other blocks
    bool param_addresses;    // generic addresses may point to kernel parameters
    struct base_error *error;
    jmp_buf escape;
};

// Returns whether the target has match.sync.
static inline bool instrument_has_match(const struct instrument_work *work)
{
    return work->sm >= 70;
}

// Returns whether the module's PTX version is at least major.minor.
static inline bool instrument_version_from(const struct ptx_module *ptx, uint32_t major,
                                           uint32_t minor)
{
    return ptx->version_major > major ||
           (ptx->version_major == major && ptx->version_minor >= minor);
}

// Returns the next of the accesses that are marked as one with the probe, or NULL.
static inline const struct instrument_probe *instrument_next(const struct instrument_body *body,
                                                             const struct instrument_probe *probe)
{
    return probe->next ? &body->probes[probe->next - 1] : NULL;
}

// Returns the previous member of the probe's group, or NULL.
static inline const struct instrument_probe *
instrument_previous(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return probe->with ? &body->probes[probe->with - 1] : NULL;
}
// Accesses of at most so many bytes are aligned to their size, and views have a span for them.
enum { INSTRUMENT_NATURAL = 16 };

// Returns log2 of the size of elements, which is at least 4 and at most 16 bytes.
static inline uint32_t instrument_shift(uint32_t element_bytes)
{
    return element_bytes < 8 ? 2 : element_bytes < 16 ? 3 : 4;
}

// Return the offset of a root's bounds, or view, in the launch context.
static inline uint32_t instrument_bounds_offset(uint32_t root)
{
    return (uint32_t)sizeof(struct instrument_context) +
           root * (uint32_t)sizeof(struct instrument_bounds);
}

static inline uint32_t instrument_slot_offset(uint32_t root)
{
    return (uint32_t)sizeof(struct instrument_context) +
           root * (uint32_t)sizeof(struct instrument_view);
}

// Values: returns the offset of a root's pieces. They are behind the bounds or views of all roots.
static inline uint32_t instrument_pieces_offset(const struct instrument_work *work,
                                                const struct instrument_kernel *kernel,
                                                uint32_t root)
{
    return (work->elements ? instrument_slot_offset(kernel->root_count)
                           : instrument_bounds_offset(kernel->root_count)) +
           root * (uint32_t)sizeof(struct instrument_pieces);
}

#endif
