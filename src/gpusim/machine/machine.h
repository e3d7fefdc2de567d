// SPDX-License-Identifier: Apache-2.0
// The inside of the machine: decoded code, and the state of warps, blocks and launches while they
// run. decode*.c makes code from PTX, ops_*.c hold what each instruction does to 32 lanes at once,
// warp.c runs a warp through divergence, calls and waits, grid.c spreads blocks over workers.
// Internal.
//
// A warp executes one instruction for 32 lanes. Registers are arrays of 32 values, so that a loop
// over lanes is a vector operation; predicates are 32-bit masks. Registers of 8 and 16 bits take
// 32-bit lanes whose upper bits are 0.
//
// Lanes that diverge become paths of their own; a join waits at the branch's immediate
// post-dominator until all its lanes have come or ended. Any path may run while others wait. A join
// keeps lanes together for speed, and for accesses that belong together; PTX knows none, so nobody
// waits there in vain: a path that has run for long gives way, and where all paths of a warp wait
// at barriers or for other lanes, those at joins go on alone. So threads that branch to the
// kernel's end have ended for those that wait for them.
#ifndef GLINT_GPUSIM_MACHINE_MACHINE_H
#define GLINT_GPUSIM_MACHINE_MACHINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "gpusim/locks.h"
#include "ptx/ptx.h"
#include "sim.h"

enum { LANES = 32 };
#define ALL_LANES UINT32_MAX

struct sim_warp;
struct sim_uop;

// What a handler tells the dispatch loop.
enum sim_step {
    STEP_NEXT = 0, // go on behind this instruction
    STEP_JUMP,     // the path's pc was set
    STEP_STOP,     // the path ended, waits, or must give way; or the launch failed
};

typedef enum sim_step sim_handler(struct sim_warp *warp, const struct sim_uop *op);

// A reference to 32 lanes of something: bytes into the frame's registers, or, with POOL set, into
// the code's constants.
typedef uint32_t slot;
#define POOL    0x80000000u
#define NO_SLOT 0x7FFFFFFFu

#define GUARD_NEGATED 0x80000000u

// One decoded instruction.
struct sim_uop {
    sim_handler *run;
    slot d, a, b, c, e; // destination and sources, as the handler takes them
    uint32_t guard;     // 1 + slot of the predicate, perhaps with GUARD_NEGATED; 0: none
    uint32_t target;    // of a branch: index of an instruction
    uint32_t rejoin;    // of a branch: where its ways meet again, or PC_RETURN; or an element's
                        // size
    int64_t offset;     // of an address; or an immediate
    uint8_t bytes;      // of one element in memory
    uint8_t count;      // elements of a vector
    uint8_t space;      // enum ptx_space
    uint8_t mode;       // the handler's own
    uint8_t spins;      // of a branch: lanes that left waited in vain for others that spin
    uint8_t flags;      // the handler's own
    uint8_t seen;       // its place in a worker's table of objects
    const slot *list;   // slots of a vector, or of a call
    const void *extra;  // the handler's own
    const struct ptx_instr *instr;
};

#define PC_RETURN 0xFFFFFFFFu

// A register's slot is one or more of these, but for predicates.
enum { SLOT_UNIT = LANES * 4 }; // bytes

// Where in the text a register may be alive.
struct sim_life {
    slot at;
    uint32_t bytes;
    uint32_t first, last; // indices of instructions
};

// A register that a call passes or gets, and the place among a frame's parameters that stands for
// it meanwhile.
struct sim_passed {
    slot reg;
    uint32_t offset;
    uint8_t bytes, lane_bytes;
};

// A function ready to run.
struct sim_code {
    const char *name;
    struct sim_code_log *log; // NULL: not logged
    struct ptx_function *function;
    struct ptx_module *module;
    struct sim_uop *ops;
    uint32_t op_count;
    uint32_t register_bytes; // of a frame
    uint32_t slot_bytes;     // of these: all but predicates, which come last
    const struct sim_life *lives;
    uint32_t life_count, last_place;
    unsigned char *pool; // constants: 32 lanes each
    uint32_t pool_bytes;
    uint32_t param_bytes;     // of a frame: parameters, but a kernel's own, and of calls
    uint32_t local_bytes;     // of .local variables
    bool allocates;           // with alloca
    uint32_t own_param_bytes; // of its parameters alone
    uint32_t return_offset, return_bytes; // of its result among its parameters
    const struct sim_param *params;
    uint32_t param_count;
    const struct sim_passed *given; // parameters that are registers
    uint32_t given_count;
    struct sim_passed result;      // the same of its result; bytes 0: none
    uint64_t identity;             // its address as PTX sees it
    struct sim_shared_var *shared; // the shared variables that it names
    uint32_t shared_count;
    uint32_t static_shared_bytes; // of a kernel: its own, and those of all that it calls
    uint32_t placed_shared_bytes; // the same with the gaps that other kernels' functions leave
    uint32_t dynamic_shared;      // where dynamic shared memory starts
    const bool *reaches; // of a kernel, by index of the module's codes: what it may run, itself too
    bool endless;        // of a kernel: its calls may go in circles, or by address
    const char *refused; // why it cannot be executed; NULL: it can
};

struct sim_shared_var {
    const struct ptx_var *var;
    uint32_t offset;
};

struct sim_kernel {
    struct sim_module *module;
    struct sim_code *code;
    struct sim_kernel_info info;
    uint32_t shared_bytes; // static, where dynamic shared memory starts
};

struct sim_variable {
    const char *name;
    uint64_t address, size_bytes;
    const struct ptx_var *var;
    bool managed, owned;
};

struct sim_module {
    struct sim_device *device;
    struct base_arena arena;
    struct ptx_module **texts;
    size_t text_count;
    struct sim_code **codes;
    size_t code_count;
    struct sim_kernel *kernels;
    uint32_t kernel_count;
    size_t code_capacity;
    struct base_map code_names; // to an index into codes
    struct sim_variable *variables;
    size_t variable_count, variable_capacity;
    struct base_map variable_names; // to an index into variables
    void *data;                     // where the variables are
    uint64_t data_bytes;
    uint64_t const_bytes;
};

// What a call passes and gets, as places among the caller's parameters.
struct sim_call_plan {
    uint32_t argument_count;
    const struct sim_param *arguments;
    uint32_t result_offset, result_bytes;
    const struct sim_passed *given; // arguments that are registers or numbers
    uint32_t given_count;
    struct sim_passed taken;     // a result that goes to a register; bytes 0: none
    const struct sim_code *code; // NULL: called by address, or one of the machine's own functions
    int builtin;                 // enum sim_builtin, or 0
};

// A function's activation for the lanes of a path. Paths that diverge inside share it.
struct sim_frame {
    _Alignas(16) struct sim_frame *caller; // so that the parameters behind a frame are aligned
    const struct sim_code *code;
    uint32_t return_pc;
    uint32_t local_offset; // of its .local variables in each lane's stack
    uint32_t depth;
    uint32_t lanes;             // that are in it, or in what they call from it
    uint32_t register_room;     // bytes of registers
    uint32_t *allocated;        // by alloca, behind the .local variables, by lane; NULL: none ever
    const struct sim_uop *call; // that made it
    struct sim_frame *next, *before; // among the warp's
    size_t room_bytes;               // behind it, for parameters and allocated
    unsigned char *registers; // register_bytes, aligned to 64; NULL: packed, or a spare one's
    unsigned char *packed;    // what is kept of them, see packing.c; else NULL
    unsigned char *params;    // LANES times param_bytes
};

enum sim_path_state {
    PATH_FREE = 0,
    PATH_READY,
    PATH_BARRIER,  // waits at a block-wide barrier
    PATH_TOGETHER, // waits for lanes of its mask at a warp-wide instruction
};

// Lanes of a warp that run together.
struct sim_path {
    uint8_t state;   // enum sim_path_state
    uint8_t barrier; // where it waits
    uint32_t mask;
    uint32_t pc;
    uint32_t rejoin; // where it meets the others of its join, in frame `rejoin_frame`
    struct sim_frame *frame;
    struct sim_frame *rejoin_frame;
    int32_t join;         // index, or -1
    uint32_t members;     // PATH_TOGETHER: whom it waits for
    uint32_t taking_part; // and its lanes that wait: all but those whose guard says no
    uint32_t spent;       // instructions since it last met others
    bool released;        // a barrier let it go; its instruction runs once more to finish
    uint32_t result;      // of bar.red: how many, and whether all or any
    bool all, any;
};

// Where paths meet again.
struct sim_join {
    bool used;
    const struct sim_uop *branch; // that made it; NULL: a return
    uint32_t expected;            // lanes that are on their way or here
    uint32_t arrived;
    uint32_t pc;
    struct sim_frame *frame;
    // What the path goes back to when all have come.
    uint32_t rejoin;
    struct sim_frame *rejoin_frame;
    int32_t join;
};

// A cooperative launch keeps thousands of warps at once, few of which diverge much: so they have
// room for few paths and joins until they need more.
enum { FEW_PATHS = 4, MOST_PATHS = LANES + 1, FEW_JOINS = 4, MOST_JOINS = 2 * LANES };

enum { BARRIERS = 16 }; // of a block

struct sim_warp {
    // What handlers use, first.
    uint32_t mask;            // lanes that execute now
    unsigned char *registers; // of the running path's frame
    const unsigned char *pool;
    uint32_t lanes[LANES]; // the mask as 0 and ~0
    struct sim_path *path; // the running one
    struct sim_block *block;
    struct sim_seen *seen; // of the worker that runs the block
    bool logged;           // accesses go to the log
    bool packed;           // some of its frames are
    uint32_t index;        // in its block
    uint32_t live;         // lanes that have not ended
    uint64_t warp_instructions, thread_instructions, global_bytes, shared_bytes;
    const uint32_t (*tid)[LANES]; // x, y, z
    uint32_t carry;               // the condition code register, a bit a lane
    uint32_t came[BARRIERS];      // lanes, to a barrier with a count, where not all that live have
    unsigned char *local;         // LANES stacks of launch->local_bytes each
    struct sim_path few[FEW_PATHS]; // the first; warp_path() gives any
    struct sim_path *more;          // the others, once they are needed
    struct sim_join *joins;
    int32_t join_room;        // grows, up to MOST_JOINS
    uint32_t path_count;      // highest used + 1
    uint32_t next_path;       // whose turn it is
    struct sim_frame *frames; // all that are in use
    struct sim_frame *spare;  // ended ones, to be used again
};

enum { LEAST_FRAME = 32 }; // bytes of a thread's stack for a call

struct sim_barrier {
    uint32_t arrived;         // threads
    uint32_t absent;          // lanes that ended or never were, of warps that came as a whole
    uint32_t expected;        // 0: all of the block that live; else `absent` count too
    uint32_t all, any, count; // of bar.red
};

// The object that an instruction touched last.
enum { SEEN = 256 }; // as many as struct sim_uop's seen can name

struct sim_seen {
    uint64_t start, size;
};

// What is alive at a place, kept for the next warp that waits there; see packing.c.
enum { ALIVE_PLACES = 32 };

struct sim_alive {
    const struct sim_code *code;
    uint32_t place;
    unsigned char *units;
};

// A thread that runs blocks.
struct sim_worker {
    struct sim_log_writer *log; // NULL: nothing to write
    struct sim_seen seen[SEEN]; // objects that outlive their launch: none of the heap
    struct sim_seen heap[SEEN]; // objects of the heap, which any thread may end
    uint64_t heap_ends;         // how many had ended when those were found
    uint64_t texture;           // the object that was found last, or 0
    struct room *rooms;         // for registers, which no frame uses
    struct sim_alive alive[ALIVE_PLACES];
};

struct sim_block {
    struct sim_run *launch;
    struct sim_worker *worker;
    uint32_t index[3];
    uint64_t number;
    unsigned char *shared;
    uint32_t shared_bytes;
    struct sim_warp *warps;
    uint32_t warp_count, live_threads;
    struct sim_barrier barriers[BARRIERS];
    uint32_t warp_turn; // instructions that a warp may run before the next
    bool progressed;
    bool gave_way;          // a path slept: others may be waited for
    struct sim_block *next; // among a worker's spare ones
};

// A launch while it runs.
struct sim_run {
    struct sim_device *device;
    const struct sim_launch *request;
    const struct sim_code *code;
    const unsigned char *params;
    uint64_t block_total;
    uint64_t block_bytes; // that a block takes while it runs
    atomic_uint_fast64_t next_block;
    atomic_uint_fast64_t done_blocks;
    atomic_bool stop;
    pthread_mutex_t lock; // fault, work, finished
    pthread_cond_t finished;
    struct sim_fault fault;
    struct sim_work work;
    unsigned helpers; // workers on it now
    uint32_t threads_per_block, warps_per_block;
    uint32_t (*tids)[3][LANES]; // by warp of a block
    uint32_t shared_bytes;
    uint32_t local_bytes; // of each thread's stack
    uint64_t grid_sync;   // address of the cooperative workspace
    struct sim_objects *objects;
    struct sim_run *next; // in the device's list
};

// The object map as kernels see it: sorted, immutable, counted.
struct sim_objects {
    atomic_uint references;
    size_t count;
    struct gpusim_object items[];
};

struct sim_device {
    const struct sim_preset *preset;
    struct log_file *log;
    unsigned worker_count;
    pthread_t *threads;
    atomic_uint_fast64_t heap_ends; // objects of the heap that kernels have freed
    pthread_mutex_t lock;           // all below
    pthread_cond_t work;
    bool stopping;
    struct sim_run *launches;
    struct base_intervals *live;  // address to struct gpusim_object
    struct sim_objects *snapshot; // NULL: stale
    uint64_t next_object;
    struct base_map textures;        // addresses of struct sim_texture
    struct gpusim_object freed[256]; // the last ones that ended, for messages
    unsigned freed_next;
    struct base_buf output; // of printf
    uint64_t heap_bytes, heap_used;
    uint64_t stack_bytes; // of a thread, for calls
    uint64_t start_ns;
};

// --- For handlers --------------------------------------------------------------------------------

static inline const void *source(const struct sim_warp *warp, slot at)
{
    return at & POOL ? warp->pool + (at & ~POOL) : warp->registers + at;
}

static inline void *target(const struct sim_warp *warp, slot at)
{
    return warp->registers + at;
}

static inline uint32_t predicate(const struct sim_warp *warp, slot at)
{
    return *(const uint32_t *)source(warp, at);
}

static inline void set_predicate(struct sim_warp *warp, slot at, uint32_t bits)
{
    if (at == NO_SLOT)
        return;
    uint32_t *place = target(warp, at);
    *place = (*place & ~warp->mask) | (bits & warp->mask);
}

static inline struct sim_path *warp_path(struct sim_warp *warp, uint32_t index)
{
    return index < FEW_PATHS ? &warp->few[index] : &warp->more[index - FEW_PATHS];
}

// warp.c
void sim_warp_set_mask(struct sim_warp *warp, uint32_t mask);
enum sim_step sim_warp_fault(struct sim_warp *warp, const struct sim_uop *op,
                             enum sim_fault_kind kind, int lane, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
enum sim_step sim_warp_exit_lanes(struct sim_warp *warp, uint32_t lanes);
// Lanes `taken` go to `to`, the others to `next`; where both are some, they part until op->rejoin.
enum sim_step sim_warp_branch(struct sim_warp *warp, const struct sim_uop *op, uint32_t taken,
                              uint32_t to, uint32_t next);
enum sim_step sim_warp_return(struct sim_warp *warp);
// Some lanes call; the others of the path go to `others`. All meet behind the call.
enum sim_step sim_warp_call_some(struct sim_warp *warp, const struct sim_uop *op, uint32_t lanes,
                                 uint32_t others, const struct sim_code *code);
enum sim_step sim_warp_arrive(struct sim_warp *warp, const struct sim_uop *op);
// Lanes of the running path that do not execute this instruction go on behind it, by themselves.
// False: there is no memory, and the launch is over.
bool sim_warp_part(struct sim_warp *warp, const struct sim_uop *op);
// For instructions of several lanes: true where all members are here and the instruction may run
// with warp->mask set to them; false where the path now waits.
bool sim_warp_together(struct sim_warp *warp, const struct sim_uop *op, uint32_t members);
// Ends such an instruction.
enum sim_step sim_warp_apart(struct sim_warp *warp);
// A warp begins, lives through many blocks of its launch, one after the other, and ends.
bool sim_warp_init(struct sim_warp *warp, struct sim_block *block, uint32_t index);
bool sim_warp_start(struct sim_warp *warp);
void sim_warp_stop(struct sim_warp *warp);
void sim_warp_fini(struct sim_warp *warp);
uint64_t sim_warp_bytes(const struct sim_run *launch);
// Runs until all paths wait or ended, or the budget is spent. False: the launch is over.
bool sim_warp_run(struct sim_warp *warp, uint64_t budget);
// Lanes of the warp have ended: lets go who waits at the barrier for them alone.
void sim_warp_left_barrier(struct sim_warp *warp, unsigned id);

// frame.c
// Registers start as zeros: what a program reads without having written it is the same in every
// run. NULL: there is no memory.
struct sim_frame *sim_frame_new(struct sim_warp *warp, const struct sim_code *code,
                                struct sim_frame *caller);
// It is a spare one then.
void sim_frame_end(struct sim_warp *warp, struct sim_frame *frame);
void sim_frame_free(struct sim_frame *frame); // a spare one
// Bytes behind a frame of the function.
size_t sim_frame_room_bytes(const struct sim_code *code);
// Gets and loses the room for its registers. False: there is no memory.
bool sim_frame_take_room(struct sim_worker *worker, struct sim_frame *frame);
void sim_frame_give_room(struct sim_worker *worker, struct sim_frame *frame);
// Frees what a worker has for the warps of a launch.
void sim_worker_clear(struct sim_worker *worker);
// Registers of the lanes to their places among the frame's parameters, and back.
void sim_frame_store_params(struct sim_frame *frame, const struct sim_passed *passed,
                            uint32_t count, uint32_t lanes);
void sim_frame_load_params(struct sim_frame *frame, const struct sim_passed *passed, uint32_t count,
                           uint32_t lanes);
// The running path enters the function, and leaves its frame for the caller's with its result.
enum sim_step sim_frame_call(struct sim_warp *warp, const struct sim_uop *op,
                             const struct sim_code *code);
void sim_frame_leave(struct sim_warp *warp);

// packing.c: registers in little memory while their warp waits. Whatever cannot be packed for lack
// of memory stays as it is.
void sim_warp_pack(struct sim_warp *warp);
// False: there is no memory.
bool sim_warp_unpack(struct sim_warp *warp);

// objects.c
struct sim_objects *sim_objects_get(struct sim_device *device);
void sim_objects_put(struct sim_objects *objects);
// The first live object of that kind beyond object->address, into *object. False: none.
bool sim_objects_next(struct sim_device *device, enum gpusim_object_kind kind,
                      struct gpusim_object *object);
const struct gpusim_object *sim_objects_find(const struct sim_objects *objects, uint64_t address);
bool sim_objects_is_texture(struct sim_device *device, const struct sim_texture *texture);
// Where an address lies, for people; returns how far it is from the object that it names.
uint64_t sim_objects_describe(struct sim_device *device, uint64_t address, char *out,
                              size_t out_bytes);

// decode.c
enum base_code sim_code_decode(struct sim_module *module, struct sim_code *code,
                               struct base_error *error);
struct sim_code *sim_module_code(const struct sim_module *module, const char *name);
const struct sim_variable *sim_module_variable(const struct sim_module *module, const char *name);
// shared.c: lays out the shared variables of all functions. Leaves by the module arena's escape
// when memory runs out. BASE_INVALID: a kernel has more than a block may have.
enum base_code sim_module_place_shared(struct sim_module *module, struct base_error *error);

struct sim_decoder;

// Each family fills an op for instructions that are its own and returns true.
bool sim_choose_integer(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_float(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op);
bool sim_choose_half(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct sim_uop *op);
struct sim_contraction;
// The same for a sum with its product.
bool sim_choose_float_contracted(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                 const struct sim_contraction *contraction, struct sim_uop *op);
bool sim_choose_half_contracted(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                const struct sim_contraction *contraction, struct sim_uop *op);
bool sim_choose_convert(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_compare(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_move(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct sim_uop *op);
bool sim_choose_memory(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op);
bool sim_choose_atomic(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op);
bool sim_choose_warp(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct sim_uop *op);
bool sim_choose_texture(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_surface(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_matrix(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op);
bool sim_choose_async(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op);
bool sim_choose_stack(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op);
bool sim_choose_video(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op);
bool sim_choose_control(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_wide(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct sim_uop *op);

#endif
