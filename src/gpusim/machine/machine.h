// SPDX-License-Identifier: Apache-2.0
// The data structures of the machine: decoded code, and the state of warps, blocks and launches
// while they run. decode.c makes code from PTX, and ops_*.c implement each instruction for 32 lanes
// at once. warp.c runs a warp through divergence, calls and waits. grid.c distributes blocks over
// workers.
//
// A warp executes one instruction for 32 lanes. A register is an array of 32 values, so that a loop
// over lanes compiles to vector code; a predicate is a 32-bit mask. Registers of 8 and 16 bits
// occupy 32-bit lanes whose upper bits are 0.
//
// Lanes that diverge form separate paths. A join, at the branch's immediate post-dominator, waits
// until all its lanes have arrived or ended; any path may run while others wait. PTX does not
// promise that lanes reconverge, so no thread may depend on a join:
//   - a path that has run for long yields to the others;
//   - a path that has repeated a loop many times is no longer waited for (rounds.h), if the loop
//   may
//     wait for other threads (waits.h); paths that separate so run as one again when they stand at
//     the same place;
//   - when all paths of a warp wait at barriers or for other lanes, the lanes at joins continue
//     without the missing ones.
// Threads that branch to the kernel's end therefore count as ended for those that wait for them.
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

// What a handler returns to the dispatch loop.
enum sim_step {
    STEP_NEXT = 0, // continue with the next instruction
    STEP_JUMP,     // continue at the path's pc, which the handler has set
    STEP_STOP,     // the path ended, waits or must yield, or the launch failed
};

typedef enum sim_step sim_handler(struct sim_warp *warp, const struct sim_uop *op);

// Names 32 lanes of a value: an offset in bytes into the frame's registers or, with POOL set, into
// the code's constants.
typedef uint32_t slot;
#define POOL    0x80000000u
#define NO_SLOT 0x7FFFFFFFu

#define GUARD_NEGATED 0x80000000u

// One decoded instruction.
struct sim_uop {
    sim_handler *run;
    slot d, a, b, c, e; // destination and sources; the handler defines which is which
    uint32_t guard;     // 1 + slot of the predicate, perhaps with GUARD_NEGATED; 0: none
    uint32_t target;    // of a branch: index of the instruction to jump to
    uint32_t rejoin;    // of a branch: where its paths rejoin, or PC_RETURN; of an indexed address:
                        // the size of an element
    int64_t offset;     // offset of an address, or an immediate
    uint8_t bytes;      // size of one element in memory
    uint8_t count;      // elements of a vector
    uint8_t space;      // enum ptx_space
    uint8_t mode;       // meaning depends on the handler
    uint8_t spins;      // of a branch: lanes at its join once stopped waiting for lanes that spin
    bool warned;        // its invalid access was reported, and did not end the launch
    bool may_wait;      // of a branch: it repeats a loop that may wait for other threads
    uint8_t flags;      // meaning depends on the handler
    uint8_t seen;       // index into a worker's tables of objects
    const slot *list;   // slots of a vector, or of a call
    const void *extra;  // meaning depends on the handler
    const struct ptx_instr *instr;
};

#define PC_RETURN 0xFFFFFFFFu

// The slot of a register, other than a predicate, is a multiple of this.
enum { SLOT_UNIT = LANES * 4 }; // bytes

// The instructions between which a register may be live.
struct sim_life {
    slot at;
    uint32_t bytes;
    uint32_t first, last; // indices of instructions
};

// A register that a call passes or receives, and the place of its value among the frame's
// parameters during the call.
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
    uint32_t register_bytes; // bytes of registers in a frame
    uint32_t slot_bytes;     // register_bytes without the predicates, which come last
    const struct sim_life *lives;
    const struct sim_life *unset; // registers that may be read before they are set; they are 0
    uint32_t unset_count;
    uint32_t life_count, last_place;
    unsigned char *pool; // constants: 32 lanes each
    uint32_t pool_bytes;
    uint32_t param_bytes;     // parameters in a frame: those of calls, and a device function's own
    uint32_t local_bytes;     // bytes of .local variables
    bool allocates;           // uses alloca
    uint32_t own_param_bytes; // without the parameters of calls
    uint32_t return_offset, return_bytes; // where its parameters hold its result
    const struct sim_param *params;
    uint32_t param_count;
    const struct sim_passed *given; // parameters that are registers
    uint32_t given_count;
    struct sim_passed result;      // a result that is a register; bytes 0: none
    uint64_t identity;             // its address in PTX
    struct sim_shared_var *shared; // the shared variables that it refers to
    uint32_t shared_count;
    uint32_t static_shared_bytes; // of a kernel: its own and those of all functions it may call
    uint32_t placed_shared_bytes; // the same, with gaps for functions of other kernels
    uint32_t dynamic_shared;      // where dynamic shared memory starts
    const bool *reaches;          // of a kernel: the codes of its module that it may run, by index
    bool endless;                 // of a kernel: it may recurse, or call by address
    const char *refused;          // why it cannot be executed; NULL: it can
};

struct sim_shared_var {
    const struct ptx_var *var;
    uint32_t offset;
};

struct sim_kernel {
    struct sim_module *module;
    struct sim_code *code;
    struct sim_kernel_info info;
    const void *owner;     // sim_kernel_set_owner()
    uint32_t shared_bytes; // rounded static size, where dynamic shared memory starts
};

struct sim_variable {
    const char *name;
    uint64_t address, size_bytes;
    const struct ptx_var *var;
    bool managed, owned;
    bool shared; // its memory is that of the twin's variable
};

struct sim_module {
    struct sim_device *device;
    const struct sim_module *twin; // the same texts on another device; NULL: none
    struct base_arena arena;
    struct ptx_module **texts;
    size_t text_count;
    struct sim_code **codes;
    size_t code_count;
    struct sim_kernel *kernels;
    uint32_t kernel_count;
    size_t code_capacity;
    struct base_map code_names; // name to index into codes
    struct sim_variable *variables;
    size_t variable_count, variable_capacity;
    struct base_map variable_names; // name to index into variables
    void *data;                     // memory of the variables
    uint64_t data_bytes;
    uint64_t const_bytes;
};

// The arguments and the result of a call, as places among the caller's parameters.
struct sim_call_plan {
    uint32_t argument_count;
    const struct sim_param *arguments;
    uint32_t result_offset, result_bytes;
    const struct sim_passed *given; // arguments that are registers or numbers
    uint32_t given_count;
    struct sim_passed taken;     // a result that is stored in a register; bytes 0: none
    const struct sim_code *code; // NULL: called by address, or a builtin
    int builtin;                 // enum sim_builtin, or 0
};

// A function's activation for the lanes of a path. Paths that diverge inside the function share it.
struct sim_frame {
    _Alignas(16) struct sim_frame *caller; // aligned for the parameters that follow a frame
    const struct sim_code *code;
    uint32_t return_pc;
    uint32_t local_offset; // offset of its .local variables in each lane's stack
    uint32_t depth;
    uint32_t lanes;                  // lanes that are in it or in functions called from it
    uint32_t register_room;          // bytes of registers
    uint32_t *allocated;             // bytes by alloca, by lane; NULL: alloca was never called
    const struct sim_uop *call;      // the call that created it
    struct sim_frame *next, *before; // in the warp's list
    size_t room_bytes;               // after the frame, for `params` and `allocated`
    unsigned char *registers; // register_bytes, aligned to 64; NULL: packed, or the frame is unused
    unsigned char *packed;    // the packed registers (packing.h), or NULL
    unsigned char *params;    // LANES * param_bytes
};

enum sim_path_state {
    PATH_FREE = 0,
    PATH_READY,
    PATH_BARRIER,  // waits at a block-wide barrier
    PATH_TOGETHER, // waits for the other members of a warp-wide instruction
    PATH_CLUSTER,  // waits for the other threads of the cluster
};

// Loops that a path is in, outermost first. See rounds.h.
enum { KNOWN_LOOPS = 6 };
struct sim_rounds {
    uint32_t count;
    struct sim_loop {
        uint32_t depth; // of the frame
        uint32_t to;    // the instruction that it repeats from
        uint32_t rounds;
    } loops[KNOWN_LOOPS];
};

// Lanes of a warp that run together.
struct sim_path {
    uint8_t state;   // enum sim_path_state
    uint8_t barrier; // the barrier at which it waits
    uint32_t mask;
    uint32_t pc;
    uint32_t rejoin; // where it joins other paths, in frame `rejoin_frame`
    struct sim_frame *frame;
    struct sim_frame *rejoin_frame;
    int32_t join;         // index, or -1
    uint32_t members;     // PATH_TOGETHER: lanes it waits for
    uint32_t taking_part; // PATH_TOGETHER: its own lanes whose guard is true
    bool released;        // released from a barrier; the instruction runs again to complete
    bool loose;           // others did not wait for it at a join, or it did not wait for them
    uint32_t result;      // result of bar.red.popc; all and any are those of bar.red.and and .or
    bool all, any;
    struct sim_rounds rounds; // while others may wait for it
};

// Where the paths of a branch reconverge.
struct sim_join {
    bool used;
    const struct sim_uop *branch; // the branch that created it; NULL: a return
    uint32_t expected;            // lanes that have arrived or may still arrive
    uint32_t arrived;
    uint32_t pc;
    struct sim_frame *frame;
    // The join of the path that continues when all lanes have arrived.
    uint32_t rejoin;
    struct sim_frame *rejoin_frame;
    int32_t join;
};

// A cooperative launch keeps thousands of warps at once, few of which diverge much. A warp starts
// with room for few paths and joins, and grows when it needs more.
enum { FEW_PATHS = 4, MOST_PATHS = LANES + 1, FEW_JOINS = 4, MOST_JOINS = 2 * LANES };

enum { BARRIERS = 16 }; // barriers of a block

struct sim_warp {
    // The fields that handlers use come first.
    uint32_t mask;            // lanes that execute now
    unsigned char *registers; // registers of the running path's frame
    const unsigned char *pool;
    uint32_t lanes[LANES]; // the mask as 0 and ~0
    struct sim_path *path; // the running one
    struct sim_block *block;
    struct sim_seen *seen; // cache of the worker that runs the block
    bool logged;           // accesses go to the log, or to who watches the launch
    bool packed;           // some of its frames are packed
    uint32_t index;        // index in its block
    uint32_t live;         // lanes that have not ended
    uint64_t warp_instructions, thread_instructions, global_bytes, shared_bytes;
    uint64_t repeats;             // jumps back in loops that may wait for other threads
    const uint32_t (*tid)[LANES]; // x, y, z
    uint32_t carry;               // the condition code register, one bit per lane
    uint32_t group_products;      // products of its warpgroup that it has executed; it may wrap
    uint32_t came[BARRIERS]; // lanes that wait at a barrier with a count, until all live ones do
    uint32_t cluster_came;   // lanes that have arrived at the cluster's barrier, and not waited
    uint32_t cluster_phase;  // the lowest bit of the phase in which a lane has arrived
    unsigned char *local;    // LANES stacks of launch->local_bytes each
    struct sim_path few[FEW_PATHS]; // the first paths; warp_path() finds any
    struct sim_path *more;          // the others; NULL until they are needed
    struct sim_join *joins;
    int32_t join_room;        // grows, up to MOST_JOINS
    uint32_t path_count;      // 1 + highest index in use
    uint32_t next_path;       // the path that runs next
    struct sim_frame *frames; // frames in use
    struct sim_frame *spare;  // ended frames, for reuse
    uint16_t *errors;         // the last error of each lane's calls of the device runtime, or NULL
};

enum { LEAST_FRAME = 32 }; // bytes of a thread's stack for a call

struct sim_barrier {
    uint32_t arrived;  // threads that have arrived
    uint32_t absent;   // lanes that ended or never existed, of warps that have arrived
    uint32_t expected; // 0: all live threads of the block; else a number that includes `absent`
    uint32_t all, any, count; // results of bar.red
};

// The object that an instruction touched last, by sim_uop.seen.
enum { SEEN = 256 };

struct sim_seen {
    uint64_t start, size;
};

// The registers that are live at an instruction, cached for the next warp that waits there
// (packing.h).
enum { ALIVE_PLACES = 32 };

struct sim_alive {
    const struct sim_code *code;
    uint32_t place;
    unsigned char *units;
};

// A thread that runs blocks.
struct sim_worker {
    struct sim_log_writer *log; // NULL: nothing to write
    struct sim_seen seen[SEEN]; // objects other than the heap's, which live until the launch ends
    struct sim_seen heap[SEEN]; // objects of the device heap, which any thread may free
    uint64_t heap_ends;         // sim_memory.heap_ends when `heap` was filled
    uint64_t texture;           // the texture that was looked up last, or 0
    struct room *rooms;         // unused memory for registers
    struct sim_alive alive[ALIVE_PLACES];
};

// Blocks that run together: one worker runs them all, so that only it accesses this structure.
// Without clusters, each block is a cluster of its own.
//
// The window of shared memory holds that of all blocks of the cluster, each 2^CLUSTER_WINDOW_BITS
// bytes behind the one before it. So 32-bit addresses of a block's own variables begin at its own
// place in the window, and mean the same in all blocks. Code has offsets in a block's memory as
// constants, and block->window is added where an address is made of them.
enum { CLUSTER_BLOCKS = 16, CLUSTER_WINDOW_BITS = 24 };

struct sim_cluster {
    struct sim_block *blocks[CLUSTER_BLOCKS]; // by rank; valid until all have ended
    uint32_t count, running;                  // blocks that have started, and of these not ended
    uint32_t live_threads;
    uint32_t arrived; // live threads that have arrived at its barrier in this phase
    uint32_t phase;
};

struct sim_block {
    struct sim_run *launch;
    struct sim_worker *worker;
    uint32_t index[3];
    uint64_t number;
    struct sim_cluster *cluster;    // that of the block with rank 0
    struct sim_cluster own_cluster; // used if its rank is 0
    uint32_t rank;                  // in its cluster
    uint32_t window;                // where its shared memory begins in the cluster's window
    bool ended;
    bool stuck; // no path of it can run until the cluster's barrier is released
    unsigned char *shared;
    uint32_t shared_bytes;
    struct sim_warp *warps;
    uint32_t warp_count, live_threads;
    struct sim_barrier barriers[BARRIERS];
    uint32_t warp_turn; // instructions that a warp may run before the next warp's turn; 0: a
                        // barrier was released, so turns end now and are short again
    bool progressed;
    bool gave_way; // a path slept, perhaps to wait for another block
    bool waits;    // in its last turn, all its warps that ran seemed to wait for others
    struct sim_stream *streams; // default streams of the device runtime (children.h)
    bool wants_slot;            // a path waits until a launch that it requests has a slot
    struct sim_block *next;     // in a worker's list of unused blocks
};

// A launch while it runs: of the host, or of a kernel.
struct sim_run {
    struct sim_device *device;
    struct sim_run *root;      // the host's launch that it belongs to, perhaps itself
    struct sim_family *family; // of the root
    struct sim_task *task;     // its place in the family
    uint64_t first_block;      // in the log, where the blocks of a family are numbered in one row
    const struct sim_launch *request;
    const struct sim_code *code;
    const unsigned char *params;
    uint64_t block_total;
    uint64_t block_bytes; // memory that a running block needs
    uint32_t cluster[3];  // size of a cluster, in blocks
    uint32_t cluster_blocks;
    uint64_t cluster_total;
    atomic_uint_fast64_t next_cluster;
    atomic_uint_fast64_t done_blocks;
    uint32_t threads_per_block, warps_per_block;
    uint32_t (*tids)[3][LANES]; // by warp of a block
    uint32_t shared_bytes;
    uint32_t local_bytes; // size of each thread's stack
    // Of a root only.
    atomic_bool stop;
    pthread_mutex_t lock;    // guards fault and work
    pthread_cond_t finished; // goes with device->lock: a helper has left, or a task became ready
    struct sim_fault fault;
    struct sim_work work;
    unsigned helpers;            // workers that run blocks of it now
    uint64_t grid_sync;          // address of the cooperative workspace
    struct sim_objects *objects; // in each run of the family
    struct sim_run *next;        // in the device's list
};

// A live object, and the devices that may access it besides its own: a bit for each. For kinds that
// are not set one by one, the device's setting counts.
struct sim_object {
    struct gpusim_object object;
    uint32_t admitted;
};

// A snapshot of the live objects for the accesses of kernels: sorted by address, immutable,
// reference-counted.
struct sim_objects {
    atomic_uint references;
    size_t count;
    uint32_t admitted[SIM_DEVICES_MAX]; // by device: sim_device_admit()
    struct sim_object items[];
};

// What the devices of a machine share: the map of objects, and the output of printf.
struct sim_memory {
    atomic_uint_fast64_t heap_ends; // objects of heaps that kernels have freed
    pthread_mutex_t lock;           // guards all fields below
    uint32_t device_count;          // that were created; `live_devices` of them still exist
    uint32_t live_devices;
    struct base_intervals *live;  // address to struct sim_object
    struct sim_objects *snapshot; // NULL: stale
    uint32_t admitted[SIM_DEVICES_MAX];
    uint64_t next_object;
    struct base_map textures;        // addresses of struct sim_texture
    struct gpusim_object freed[256]; // the objects that ended last, for messages
    unsigned freed_next;
    struct base_buf output; // output of printf that the driver has not taken yet
};

struct sim_device {
    const struct sim_preset *preset;
    struct log_file *log;
    struct sim_memory *memory;
    uint32_t number; // in the machine, from 0
    // Set before the first launch: see sim_device_set_lenient(). NULL: invalid accesses end
    // launches.
    bool (*is_mapped)(uint64_t address, uint64_t size_bytes);
    void (*warn)(const char *text);
    const struct sim_host *host; // NULL: kernels that ask it get errors
    unsigned worker_limit;       // threads that run blocks, with the one that launches
    _Atomic unsigned worker_count;
    pthread_t *threads;
    pthread_mutex_t lock; // guards all fields below, and the start of workers
    pthread_cond_t work;
    bool stopping;
    struct sim_run *launches;
    uint64_t heap_bytes, heap_used;
    uint64_t stack_bytes;  // size of a thread's stack for calls
    uint64_t slots;        // for launches of kernels that have not begun
    struct sim_said *said; // texts of errors that kernels asked for (device_runtime.c)
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

#endif
