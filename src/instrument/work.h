// SPDX-License-Identifier: Apache-2.0
// What the files of src/instrument share: one call's work, the functions that are cloned in it, and
// what is planned for each of their memory instructions. Internal to src/instrument.
//
// A clone is the original's statements printed again with text between them; nothing is inserted
// into the IR, so that one parse serves the analyses and all clones. Names in that text begin with
// "glint$"; a module that has such names already gets no clones.
#ifndef GLINT_INSTRUMENT_WORK_H
#define GLINT_INSTRUMENT_WORK_H

#include "instrument.h"
#include "ptx/ptx.h"

#define GLINT_SUFFIX "$glint"
#define GLINT_PREFIX "glint$"

// Functions of glint's own that a module may need; see library.c.
enum instrument_helper {
    HELPER_TOUCH = 1 << 0,  // objects: marks the entry of an address
    HELPER_LEAVE = 1 << 1,  // elements: adds bytes to an entry's
    HELPER_ENTER = 1 << 2,  // elements: goes over to the entry of another address
    HELPER_ACCESS = 1 << 3, // elements: a whole access of any size, looked up
    HELPER_SWEEP = 1 << 4,  // elements: what a loop touched
    HELPER_COUNT = 1 << 5,  // counts: an access of each lane
    HELPER_RANGE = 1 << 6,  // bits: what a loop touched without a gap
};

enum instrument_how { HOW_NOT, HOW_ROOT, HOW_LOOKUP };

// Which bytes an instruction touches from its address on.
enum instrument_shape {
    SHAPE_FIXED, // site->bytes
    SHAPE_SIZED, // so many as an operand says, or none, as a predicate there says
};

// What the lanes of a warp surely do together; see lanes.c.
enum instrument_lanes {
    LANES_APART,
    LANES_ONE,  // all that are there have one address
    LANES_STEP, // addresses grow by a step, in a whole warp that is a piece of a row
};
enum { INSTRUMENT_MOST_STEP = 16 };

struct instrument_probe {
    const struct ptx_site *site;
    uint8_t how;        // enum instrument_how
    uint8_t shape;      // enum instrument_shape
    uint8_t size;       // SHAPE_SIZED: the operand
    bool check_space;   // a generic address that may be shared or local
    uint32_t root;      // HOW_ROOT
    uint32_t flag;      // objects: a guarded site's own
    bool bounded;       // objects: it is checked that accesses stay in the root's bounds,
    bool walks;         // where the loop is entered and left; see walks.c
    int64_t low;        // from this many bytes behind its address on
    uint32_t span;      // and for so many;
    uint32_t reach;     // the root's
    uint32_t tally;     // elements: INSTRUMENT_NONE where every thread passes once
    bool from_one;      // its tally holds one less for every thread
    bool counts_itself; // its tally is counted at the instruction, not at its block
    uint8_t lanes;      // enum instrument_lanes
    uint32_t step;      // LANES_STEP: bytes, at most INSTRUMENT_MOST_STEP
    bool check;         // many warps may touch the same
    // What the thread touches here, with other accesses of the block at other offsets from the same
    // register: so many bytes before the address, and from it on. Theirs are marked with it.
    uint32_t before, behind;
    uint32_t next; // 1 + the next of these accesses
    bool joined;   // marked with an earlier one
    uint32_t with; // 1 + the one before it in its group
    bool held;     // marked with a later one, its group's last
    bool waits;    // marked where its loop is left; see hoist.c
    bool doubted;  // rests on 32-bit parts not to wrap round
    bool keeps;    // notes where it was, in the register that has the number `kept`
    bool left;     // which is known where the loop is left
    uint32_t kept;
};

// What one or more accesses that happen equally often touch from round to round: `chunk` bytes each
// time.
struct instrument_sweep {
    uint32_t order; // in which they were found
    uint32_t loop;
    uint32_t value;        // of ptx_ssa: the register of the address
    uint32_t kept;         // the register that holds it in the last round
    const char *left;      // the register that has it where the loop is left; NULL: it is kept
    int64_t left_distance; // which is so much more
    uint32_t root, tally;
    uint8_t access;         // enum ptx_access
    uint32_t bytes, chunk;  // of an access, of all
    int64_t offset;         // of the chunk's first byte from the register
    struct ptx_linear form; // of the register
    uint32_t phi;           // from which it has an exact distance, or PTX_NO_VALUE
    struct ptx_linear step;
    uint32_t times; // so many steps in a round
    bool doubted;   // rests on 32-bit parts not to wrap round
    bool columns;   // threads that differ in y and z only do the same
    bool check;     // many warps may touch the same
};

// Objects: what registers that a loop does not change add to a value from its header or before it.
struct instrument_sum {
    uint32_t base; // of ptx_ssa
    int64_t constant;
    BASE_ARRAY(struct instrument_term {
        const struct ptx_reg *reg;
        bool minus;
    })
    terms;
};

// Objects: an access that is compared where its loop is entered and left; see walks.c.
struct instrument_walk {
    uint32_t loop;
    const struct instrument_probe *probe;
    struct instrument_sum at; // its address
    // Which is compared there, as others of the loop may tell as much; one that is the same in all
    // rounds only where the loop is entered.
    bool entered, left;
    const struct ptx_reg *own;  // holds the address where the loop is left; NULL: none does
    struct instrument_sum step; // what the base gets in a round
    uint32_t set_in;            // in this block
};

// A function of the module that has a body.
struct instrument_body {
    struct ptx_function *function;
    // What its text says, and, but for the first two, what it calls too; see calls.c.
    bool has_memory;           // global or generic accesses
    bool has_exit;             // ends its thread
    bool touches;              // a clone is needed to see its accesses
    bool may_exit;             // what it calls may end the thread
    bool is_taken;             // there are pointers to it
    bool allocates;            // calls malloc() or free()
    bool textures;             // reads through textures
    const char *calls_outside; // a function without a body whose accesses nobody sees, or NULL
    const char *launches;      // a function by which it launches kernels, or NULL
    bool calls_any;            // calls by pointer
    bool may_wait;             // for other blocks; see waits.c
    uint32_t *callees;         // bodies, each once
    uint32_t callee_count;

    struct instrument_kernel *kernel; // of an entry that is wanted
    bool cloned;                      // a device function that clones call
    bool failed;                      // for which, or for what it calls, there is no clone
    bool tied;                        // it, or what it calls, needs the module it stands in
    uint32_t helpers;                 // enum instrument_helper: those that its clone calls
    size_t start, end;                // of its clone in work->out
    struct instrument_site *sites;    // its rows
    uint32_t site_count;

    // From here on only while it is worked on.
    struct ptx_facts *facts;
    struct instrument_probe *probes; // one for each site, in text order
    uint32_t probe_count;
    const char *why_not; // no clone can be made, for this reason
    bool looks_up;       // some probe
    uint32_t *flag_at;   // objects, by block: 1 + the flag that is set there
    BASE_ARRAY(struct instrument_walk) walks;
    uint32_t *tally_at; // elements, by block: 1 + the tally that is counted there
    bool *from_one;     // by tally
    uint32_t *bit_of;   // by tally that is from one: which bit stands for it
    uint32_t bit_count;
    BASE_ARRAY(struct instrument_sweep) sweeps; // by tally
    uint32_t kept_count;
    bool *leaves; // by block: loops with sweeps are left for it
};

struct instrument_work {
    const char *text;
    size_t length;
    const struct instrument_request *request;
    struct instrument_module *module;
    struct base_arena *arena;  // the module's: what is told
    struct base_arena scratch; // what is not
    struct ptx_module *ptx;
    struct instrument_body *bodies;
    uint32_t body_count;
    struct base_map by_name; // 1 + the body of that name
    struct base_buf out;     // the clones
    struct base_buf ways;    // of the clone at hand: what its branches lead to; see walks.c
    struct base_map texts;   // those that rows have, once
    struct base_map names;   // by .loc: the name of the function that was inlined
    void *heap;              // freed at the end
    uint32_t sm;             // of the target: 75
    uint32_t helpers;        // enum instrument_helper
    uint32_t labels;         // given so far
    bool elements, counts;
    bool allocates;          // some function of the module does
    uint32_t heap_functions; // of heap.c, that are called
    bool raised;             // the target of parts is made sm_80
    bool clusters;           // shared memory of other blocks has addresses
    bool param_addresses;    // kernel parameters have
    struct base_error *error;
    jmp_buf escape;
};

static inline bool instrument_version_from(const struct ptx_module *ptx, uint32_t major,
                                           uint32_t minor)
{
    return ptx->version_major > major ||
           (ptx->version_major == major && ptx->version_minor >= minor);
}

// calls.c: every function with a body, and what calls what. Fills work->bodies.
void instrument_find_calls(struct instrument_work *work);
// The body of the function of that name, or NULL.
struct instrument_body *instrument_body_of(const struct instrument_work *work, const char *name);
// True where a call by pointer may lead to the function.
bool instrument_may_lead_to(const struct instrument_body *body, const struct ptx_call *call);

// Adds a sentence to what a kernel's probes do not see.
void instrument_add_reason(struct instrument_work *work, const char **reason, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

// plan.c: roots, and how each site is probed; fills body->probes, and the kernel's roots.
void instrument_plan(struct instrument_work *work, struct instrument_body *body);
// waits.c: whether the body, whose facts are there, may wait for other blocks by its own code, into
// body->may_wait; then the same with what it calls, for all device functions, and for a kernel.
void instrument_find_waits(struct instrument_body *body);
void instrument_spread_waits(struct instrument_work *work);
// table.c: the rows of a body's sites; then a kernel's, with those of what it calls.
void instrument_list_sites(struct instrument_work *work, struct instrument_body *body);
void instrument_join_sites(struct instrument_work *work, const struct instrument_body *body);
// flags.c: which uses need flags, and where.
void instrument_place_flags(struct instrument_work *work, struct instrument_body *body);
void instrument_emit_flag(struct instrument_work *work, uint32_t flag); // the thread came by
void instrument_emit_flags(struct instrument_work *work, const struct instrument_body *body);
// bounds.c: where it is checked that accesses stay in the objects of their roots, and the text.
void instrument_plan_bounds(struct instrument_work *work, struct instrument_body *body);
void instrument_emit_bounds(struct instrument_work *work, const struct instrument_probe *probe);
// The same for an address of the probe's, with its `low`, that is in %glint$a; changes %glint$d0 to
// d1.
void instrument_emit_within(struct instrument_work *work, const struct instrument_probe *probe);
// walks.c: true where the probe's access is compared where its loop is entered and left.
bool instrument_plan_walk(struct instrument_work *work, struct instrument_body *body,
                          const struct instrument_probe *probe);
// Then: takes out what others tell as well, of walks, and of what is compared in a round.
void instrument_join_walks(struct instrument_body *body);
void instrument_thin_rounds(struct instrument_work *work, struct instrument_body *body);
// What is due where a branch leads, before it; true where the branch was printed, too.
bool instrument_emit_branch(struct instrument_work *work, const struct instrument_body *body,
                            const struct ptx_instr *instr);
// What is due where control goes on behind the instruction, behind it.
void instrument_emit_passing(struct instrument_work *work, const struct instrument_body *body,
                             const struct ptx_instr *instr);
// tally.c: what is counted where.
void instrument_place_tallies(struct instrument_work *work, struct instrument_body *body);
void instrument_emit_tally(struct instrument_work *work, const struct instrument_body *body,
                           uint32_t tally); // the thread came by
void instrument_emit_no_tallies(struct instrument_work *work, const struct instrument_body *body);
void instrument_emit_tallies(struct instrument_work *work, const struct instrument_body *body);

// hoist.c: which accesses are marked where their loop is left, and the text for it.
void instrument_plan_sweeps(struct instrument_work *work, struct instrument_body *body);
void instrument_emit_waiting_entry(struct instrument_work *work,
                                   const struct instrument_body *body);
void instrument_emit_sweeps(struct instrument_work *work, const struct instrument_body *body,
                            uint32_t inside, uint32_t to);
// lanes.c: what the lanes of a warp do together.
void instrument_plan_lanes(struct instrument_body *body);
// At an access that waits.
void instrument_emit_waiting(struct instrument_work *work, const struct instrument_probe *probe);
// steps.c: true where what the register of the address changes by from round to round comes from
// 64-bit additions, of what small parameters are with their sign. *phi becomes the value at the
// loop's header from which the register has an exact distance, or PTX_NO_VALUE.
bool instrument_steps_are_wide(const struct instrument_body *body, const struct ptx_site *site,
                               uint32_t *phi);
// left.c: what the only instruction in the loop that sets the register gives it, or PTX_NO_VALUE;
// false where there are several, or one that may leave it as it was.
bool instrument_find_only(const struct instrument_body *body, uint32_t loop,
                          const struct ptx_reg *reg, uint32_t *value);
// How much more the register of the address has, where the site's loop is left, than it had
// at the last access; false: that is not known. value: what it has at accesses.
bool instrument_find_left(const struct instrument_body *body, const struct ptx_site *site,
                          uint32_t value, int64_t *distance);
// Makes one sweep of those that unrolling made of one, and of those that follow each other without
// a gap.
void instrument_join_sweeps(struct instrument_body *body);
// unions.c: which accesses are marked together.
void instrument_plan_unions(const struct instrument_work *work, struct instrument_body *body);
// probe.c: the text of one site's probe.
void instrument_emit_probe(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe);
// The bytes that were counted in registers for the entry at hand go to memory.
void instrument_emit_leave(struct instrument_work *work, const struct instrument_body *body);

// The next of the accesses that are marked as one with the probe, and the one before it in its
// group; NULL: there is none.
static inline const struct instrument_probe *instrument_next(const struct instrument_body *body,
                                                             const struct instrument_probe *probe)
{
    return probe->next ? &body->probes[probe->next - 1] : NULL;
}
static inline const struct instrument_probe *
instrument_previous(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return probe->with ? &body->probes[probe->with - 1] : NULL;
}
// The address, and so many bytes from there, into the register of that name, and number if that is
// not INSTRUMENT_NONE.
void instrument_emit_address(struct base_buf *out, const struct ptx_operand *address,
                             const char *into, uint32_t number, int64_t offset);
// Looks up all accesses that are marked with the probe, each by itself.
void instrument_emit_slow(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe);
static inline uint32_t instrument_kinds(const struct ptx_site *site) // bit 0: reads, 1: writes
{
    return site->access == PTX_ACCESS_LOAD ? 1 : site->access == PTX_ACCESS_STORE ? 2 : 3;
}

// groups.c: which accesses of a block are marked where the last of them stands.
enum { INSTRUMENT_GROUP_MOST = 4 };
void instrument_plan_groups(const struct instrument_work *work, struct instrument_body *body);
// True where the instruction sets what addresses or guards of the group that ends there are made
// of.
bool instrument_sets_address(const struct instrument_body *body, const struct ptx_instr *instr,
                             const struct instrument_probe *last);
// mark.c: marks the accesses of the group that ends there, at an instruction of no guard or behind
// its check.
void instrument_emit_group(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *last);
bool instrument_go_together(const struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *one,
                            const struct instrument_probe *other);
// Counts: whether whole warps have short ways for the accesses that are joined to this one.
bool instrument_is_run(const struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_probe *probe);
static inline bool instrument_in_group(const struct instrument_probe *probe)
{
    return probe->how == HOW_ROOT && probe->shape == SHAPE_FIXED && probe->site->bytes <= 16 &&
           !probe->waits;
}
// lookup.c: an access of no root, of at most 16 bytes, whose address is in %glint$a.
void instrument_emit_lookup(struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *probe);
// The bytes that were counted in registers for the entry at hand go to memory.
void instrument_emit_leave(struct instrument_work *work, const struct instrument_body *body);

// led.c: calls. What comes before a statement that is a call, or the scope of one; behind it; and
// the call itself, where a clone is called instead. led lasts through the function.
struct instrument_led {
    const struct ptx_stmt *call;  // the last one before which all was put
    const struct ptx_stmt *close; // behind which a label is due
    uint32_t done;                // which
};
void instrument_emit_before_call(struct instrument_work *work, const struct instrument_body *body,
                                 const struct ptx_stmt *stmt, struct instrument_led *led);
// The call that a statement is, or that stands in the scope that it opens, and where that closes.
const struct ptx_instr *instrument_call_of(const struct ptx_stmt *stmt,
                                           const struct ptx_stmt **close);
void instrument_emit_after_call(struct instrument_work *work, const struct ptx_stmt *stmt,
                                struct instrument_led *led);
bool instrument_emit_led(struct instrument_work *work, const struct instrument_body *body,
                         const struct ptx_instr *instr);

// pressure.c: the registers that the clone of a kernel may have, or 0.
uint32_t instrument_register_limit(struct instrument_work *work,
                                   const struct instrument_body *body);
// clone.c: prints the clone.
void instrument_emit_clone(struct instrument_work *work, struct instrument_body *body);
// All that a thread has in registers goes to memory.
void instrument_emit_rest(struct instrument_work *work, const struct instrument_body *body);
// The declaration of a device function's clone, which may be called before it is defined.
void instrument_emit_declaration(struct instrument_work *work, const struct instrument_body *body,
                                 struct base_buf *out);

// heap.c: memory that kernels allocate. Whether a function without a body gives or takes it, so
// that clones call its name with GLINT_SUFFIX behind, and that some function calls it.
bool instrument_is_heap(const struct instrument_work *work, const struct ptx_function *function);
void instrument_note_heap(struct instrument_work *work, const struct ptx_function *function);
// What clones call instead of the functions that the module calls.
void instrument_emit_heap_calls(const struct instrument_work *work, struct base_buf *out);

// library.c: functions of glint's own, and those for memory that kernels allocate.
void instrument_emit_library(const struct instrument_work *work, uint32_t helpers,
                             struct base_buf *out);

// texts.c: which functions need their module, and, when all clones are made, the texts.
void instrument_find_ties(struct instrument_work *work);
void instrument_put_texts(struct instrument_work *work);

// Registers that hold a thread's flags, a byte each.
static inline uint32_t instrument_flag_words(const struct instrument_kernel *kernel)
{
    return (kernel->flag_count + 3) / 4;
}

// What is said of an access to glint$access: bits 0 and 1 that it reads and writes, 2 to 7 the step
// from lane to lane, from 8 on 1 + the root, or 0.
static inline uint32_t instrument_access_word(uint32_t root, uint32_t kinds, uint32_t step)
{
    return (root + 1) << 8 | step << 2 | kinds; // INSTRUMENT_NONE + 1 is 0
}

// Accesses of up to so many bytes are aligned to their size, and have a span in views.
enum { INSTRUMENT_NATURAL = 16 };

// What the size of elements is shifted by: they have 4 bytes at least, and 16 at most.
static inline uint32_t instrument_shift(uint32_t element_bytes)
{
    return element_bytes < 8 ? 2 : element_bytes < 16 ? 3 : 4;
}

// Shared memory as clones declare it: where a text is linked, its place is not known before, and
// only what is said of it lets the compiler read several words at once.
static inline struct ptx_var instrument_shared(const struct ptx_var *var)
{
    enum { ALIGN = 16 };
    struct ptx_var shared = *var;
    if (shared.space == PTX_SPACE_SHARED && shared.align && shared.align < ALIGN &&
        shared.size_bytes % ALIGN == 0)
        shared.align = ALIGN;
    return shared;
}

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

#endif
