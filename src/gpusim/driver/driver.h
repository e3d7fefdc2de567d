// SPDX-License-Identifier: Apache-2.0
// What the files of the simulated GPU's driver (libcuda.so.1) share: the process's state, contexts,
// streams as queues of commands, events, allocations, modules. The machine below is machine/sim.h;
// the API above is cudaabi's. Internal to src/gpusim/driver_*.c.
//
// One lock, driver.lock, guards everything here unless a field says otherwise. Commands run without
// it. A function whose comment says "locked" expects the caller to hold it.
#ifndef GLINT_GPUSIM_DRIVER_DRIVER_H
#define GLINT_GPUSIM_DRIVER_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"
#include "gpusim/locks.h"
#include "gpusim/machine/sim.h"

struct driver_context;
struct driver_stream;
struct driver_command;
struct driver_event;
struct driver_allocation;
struct driver_pool;
struct driver_module;
struct driver_function;
struct driver_array;
struct driver_graph;
struct driver_node;
struct driver_exec;
struct driver_capture;

enum {
    DRIVER_VERSION = 13000,
    DRIVER_ALIGNMENT = 512,
    DRIVER_GRANULARITY = 2 << 20, // of the virtual memory API
    DRIVER_CONTEXT_STACK = 64,
};

// --- The process ---------------------------------------------------------------------------------

struct driver_process {
    pthread_mutex_t lock;
    pthread_cond_t work;      // a stream has become ready: for idle workers
    pthread_cond_t completed; // a command has completed: for those who wait

    _Atomic bool initialised, forked, finished;
    // What a command ended with, a kernel's fault mostly: from then on the process is dead on the
    // device, in all contexts, and stays so. CUDA_SUCCESS while all is well.
    _Atomic int error;
    const struct sim_preset *preset;
    struct sim_device *device;
    struct log_file *log; // NULL: no logging. Set before the first call is served
    bool log_failed;      // it could not be opened

    // Guards the primary context, how often it is retained and its flags; taken before lock.
    pthread_mutex_t primary_lock;
    struct driver_context *primary; // NULL before the first retain
    unsigned primary_flags;
    struct driver_context *contexts;      // all, the primary one included
    struct driver_context *dead_contexts; // kept, because a thread may still have one current
    struct driver_module *libraries;      // modules that belong to no context
    struct driver_array *dead_arrays;     // ended by a reset, kept because the program has handles
    uint64_t next_id;
    uint64_t sequence; // of the newest command
    uint64_t host_ns;  // the host's place on the simulated clock: it never runs back

    struct driver_stream *ready, *ready_last; // streams a worker may take
    uint64_t delay_ns; // that work waits for, to be noticed if the program does not wait for it
    bool strict;       // a handle that is none ends the program
    unsigned workers, idle_workers, blocked; // blocked: streams whose head waits for others
    unsigned running;                        // commands being run now

    struct base_intervals memory; // every allocation by address, as the host sees it at call time
    uint64_t used_bytes;          // of the device's memory
    struct driver_pool *default_pool, *current_pool, *pools;

    _Atomic uint64_t staged_bytes;   // of pageable memory, copied for copies to come
    _Atomic bool graph_memory_loose; // graphs have let go of some since it was last looked for

    // Blocks for small allocations (block.c): those that are free, newest first, by size; and the
    // chunk that the next new one is cut from.
    struct base_map free_blocks;
    struct driver_chunk *newest_chunk;

    // The virtual memory API (vmm.c). The file is never shortened: offsets are used once, and what
    // is freed is punched out, so that there is no bookkeeping of holes.
    struct base_intervals reserved, mapped; // ranges of addresses
    int physical_file;                      // -1 before the first allocation
    uint64_t physical_bytes;                // used in the file

    _Atomic unsigned captures;            // under way; written with the lock
    struct driver_capture *first_capture; // all of them

    pthread_mutex_t reported_lock; // of the next; nothing else is locked while it is held
    struct base_map reported;      // what was printed on stderr already

    pthread_once_t log_once;
    _Atomic uint64_t threads, logged_threads; // that have called the driver; that have logged calls
    _Atomic uint64_t launches;                // numbers given to launches
};

extern struct driver_process driver;

// What a thread has of its own.
struct driver_thread {
    struct driver_context *stack[DRIVER_CONTEXT_STACK]; // current is the last
    unsigned depth;
    CUcontext current;                // NULL: none. struct cudaabi_sim tells where it is
    bool in_callback;                 // API calls are not permitted
    bool working;                     // runs a command
    unsigned per_thread;              // above 0: stream 0 is the thread's own (_ptds and _ptsz)
    CUstreamCaptureMode capture_mode; // cuThreadExchangeStreamCaptureMode
    uint64_t id;                      // 0: not given yet
    // For the log: its number there (0: not given yet), the API call that it is in, and of the
    // command that it runs the stream and the call that submitted it.
    uint64_t log_id, call;
    struct driver_stream *running_on;
    uint64_t running_for;
};

struct driver_thread *driver_thread(void);
const CUcontext *driver_current_place(void); // of the calling thread
int driver_at(void);                         // struct cudaabi_sim's

// Opens the log where the environment asks for one, once.
CUresult driver_log_open(void);
void driver_log_end(void);
// Logs a call whose arguments are not known.
void driver_log_missing(const char *name, CUresult result);

// Begins an API function: says whether the driver can serve at all.
CUresult driver_begin(void);

#define DRIVER_TRY(expression)         \
    do {                               \
        CUresult tried = (expression); \
        if (tried != CUDA_SUCCESS)     \
            return tried;              \
    } while (0)
#define DRIVER_BEGIN() DRIVER_TRY(driver_begin())
#define DRIVER_REJECT(condition, code) \
    do {                               \
        if (condition)                 \
            return (code);             \
    } while (0)

// One line on stderr, "glint: ...". The second form says each distinct text once in a process.
void driver_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void driver_say_once(const char *format, ...) __attribute__((format(printf, 1, 2)));
CUresult driver_not_there(const char *function);
// The error of a handle that is none, or whose thing is gone. GPUs' drivers may crash there.
void driver_end_if_strict(const char *what);
static inline CUresult driver_no_handle(const char *what)
{
    driver_end_if_strict(what);
    return CUDA_ERROR_INVALID_HANDLE;
}

// Writes what kernels have printed to the program's stdout. Called where a real driver does: by
// launches, calls that wait for the device, blocking copies, loading and unloading, before host
// functions, with an error and at exit; never by a kernel's own thread, so that the host's lines
// and the kernels' stay in order. Not locked.
void driver_flush_output(void);

CUresult driver_init_process(void);
// What cuGetProcAddress does.
CUresult driver_proc_find(const char *symbol, void **pfn, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status);
CUresult driver_code_of_fault(enum sim_fault_kind kind);

static inline void driver_lock(void)
{
    gpusim_lock(&driver.lock, GPUSIM_RANK_DRIVER);
}

static inline void driver_unlock(void)
{
    gpusim_unlock(&driver.lock, GPUSIM_RANK_DRIVER);
}

// --- Contexts ------------------------------------------------------------------------------------

struct driver_context {
    _Atomic uint64_t magic; // 0: destroyed, or a primary one that nobody has retained since a reset
    struct driver_context *next;
    uint64_t id;
    unsigned retained; // the primary context: how often
    bool is_primary;
    unsigned flags;
    unsigned api_version;
    CUfunc_cache cache_config;
    size_t limits[16];                // by CUlimit
    struct driver_stream *streams;    // all but the destroyed, the default ones included
    struct driver_stream *legacy;     // the legacy default stream
    struct driver_event *events;      // all
    struct driver_module *modules;    // loaded into it
    struct driver_stream *per_thread; // list of per-thread default streams, by next_per_thread
};

// The calling thread's context, if it is alive and the device has met no error.
CUresult driver_current(struct driver_context **context);
// The same without the look at the error.
CUresult driver_current_any(struct driver_context **context);
bool driver_context_valid(const struct driver_context *context); // locked
CUresult driver_context_create(bool primary, unsigned flags, struct driver_context **context);
// Waits for its work, then frees all that belongs to it. Not locked.
void driver_context_clear(struct driver_context *context);

#define DRIVER_CONTEXT(context) DRIVER_TRY(driver_current(&(context)))

// --- Operations: what a command or a graph's node does -------------------------------------------

enum driver_op_kind {
    DRIVER_OP_EMPTY,
    DRIVER_OP_LAUNCH,
    DRIVER_OP_COPY,
    DRIVER_OP_FILL,
    DRIVER_OP_HOST,
    DRIVER_OP_CALLBACK,
    DRIVER_OP_RECORD, // in graphs; on a stream the command itself is what the event refers to
    DRIVER_OP_WAIT,   // in graphs
    DRIVER_OP_ALLOC,
    DRIVER_OP_FREE,
    DRIVER_OP_GRAPH,
    DRIVER_OP_WRITE_VALUE,
    DRIVER_OP_WAIT_VALUE,
};

// Rows of bytes, in slices, from one place to another.
struct driver_box {
    char *dst;
    const char *src;
    size_t dst_pitch, src_pitch, dst_slice, src_slice;
    size_t width, height, depth; // bytes, rows, slices
};

struct driver_op {
    enum driver_op_kind kind;
    union {
        struct {
            struct driver_function *function;
            uint32_t grid[3], block[3];
            uint32_t shared_bytes;
            bool cooperative;
            void *params; // owned, packed
        } launch;
        struct {
            struct driver_box box;
            void *staging;  // owned: the source as it was at the call; NULL: none
            bool on_device; // both ends
        } copy;
        struct {
            char *dst;
            size_t pitch, width, height; // width in elements
            uint32_t value;
            uint8_t element_bytes;
        } fill;
        struct {
            CUhostFn function;
            void *user;
        } host;
        struct {
            CUstreamCallback function;
            CUstream stream;
            void *user;
        } callback;
        struct {
            struct driver_event *event;
            struct driver_command *command; // held; set at the launch of the graph
        } mark;
        struct {
            uint64_t address, size_bytes;
            struct driver_pool *pool;
            struct driver_graph_memory *of_graph; // held; NULL on a stream
        } memory;
        struct {
            struct driver_exec *exec; // held
            // Of its event-record nodes, in order, what their events refer to: held, and the array
            // is owned. NULL: nobody waits for them before they run.
            struct driver_command **records;
            size_t record_count;
            bool frees_first; // what launches before allocated and nobody freed
        } graph;
        struct {
            uint64_t address, value;
            unsigned flags;
            bool is_64;
        } value;
    };
};

// Deep: parameters are copied. False when memory ran out.
bool driver_op_copy(struct driver_op *to, const struct driver_op *from);
void driver_op_fini(struct driver_op *op);
// Does it, on the calling thread, without the lock. *duration_ns is simulated time.
CUresult driver_op_run(struct driver_op *op, uint64_t start_ns, uint64_t *duration_ns);

// --- Streams and commands ------------------------------------------------------------------------

struct driver_command {
    unsigned references;
    bool done;
    uint64_t sequence;          // in order of submission, in all streams
    uint64_t call;              // that submitted it, for the log
    uint64_t submit_ns, end_ns; // on the simulated clock; the end once done
    uint64_t not_before_ns;     // by the real one, where nobody waits for it
    struct driver_stream *stream;
    struct driver_command *next;
    struct driver_command **waits; // held; all must be done before this one starts
    size_t wait_count;
    struct driver_op op;
};

struct driver_stream {
    uint64_t magic;
    struct driver_context *context;
    struct driver_stream *next;
    uint64_t id;
    uint64_t thread; // of a per-thread default stream; else 0
    unsigned flags;
    int priority;
    unsigned references; // the handle, and each command not done
    bool destroyed, running, queued, is_blocked;
    bool delayed; // a worker waits to begin its head
    struct driver_stream *next_ready;
    struct driver_command *current;     // begun and not done
    struct driver_command *head, *tail; // not begun
    unsigned pending;                   // how many those are
    struct driver_command *last;        // held: the newest submitted; NULL: none
    uint64_t clock_ns;                  // when its last completed command ended
    struct driver_capture *capture;     // NULL: not capturing
    struct driver_node **latest;        // of a capture: what the next node follows
    size_t latest_count;
    CUstreamAttrValue attributes[16];
};

// From a handle; 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are the context's. Locked.
CUresult driver_stream_of(struct driver_context *context, CUstream handle,
                          struct driver_stream **stream);
struct driver_stream *driver_stream_create(struct driver_context *context, unsigned flags,
                                           int priority); // locked; NULL: no memory
void driver_stream_free(struct driver_stream *stream);    // locked; its queue is empty
void driver_stream_retire(struct driver_stream *stream);  // locked; destroyed, and its work done

// Takes over *op in every case. The command is held for the caller where command is not NULL.
// waits: commands it must follow beside what its stream demands; none is taken over. Locked.
CUresult driver_submit(struct driver_stream *stream, struct driver_op *op,
                       struct driver_command *const *waits, size_t wait_count,
                       struct driver_command **command);
void driver_hold(struct driver_command *command);    // locked
void driver_release(struct driver_command *command); // locked; NULL is allowed

// Returns when it is done; runs it on the calling thread where that is quicker. Locked, and lets go
// of the lock meanwhile.
void driver_wait(struct driver_command *command);
void driver_wait_stream(struct driver_stream *stream);    // for all submitted so far
void driver_wait_context(struct driver_context *context); // the same for all its streams
void driver_wait_device(void);                            // and for all contexts

// For a function that takes a stream: finds context and stream and takes the lock, which is held
// where CUDA_SUCCESS is returned.
CUresult driver_enter_stream(CUstream handle, struct driver_context **context,
                             struct driver_stream **stream);
// Submits, or adds to the graph being captured on the stream. Takes over *op. Locked.
CUresult driver_enqueue(struct driver_stream *stream, struct driver_op *op);
// For a call that waits: an error where the thread's captures forbid it.
CUresult driver_forbid_in_capture(struct driver_stream *stream); // locked
// For work of the legacy stream while blocking streams are captured. Locked.
CUresult driver_forbid_implicit(struct driver_stream *stream);
CUresult driver_unsafe_in_capture(void); // not locked

// --- Events --------------------------------------------------------------------------------------

struct driver_event {
    uint64_t magic;
    struct driver_context *context;
    struct driver_event *next;
    unsigned flags;
    bool gone;                       // with what was in its context
    struct driver_command *recorded; // held; NULL: never
    // Recorded into a capture: the nodes a waiting stream is to follow.
    struct driver_capture *capture;
    uint64_t capture_id;
    struct driver_node **nodes;
    size_t node_count;
};

bool driver_event_valid(const struct driver_event *event);

// --- Memory --------------------------------------------------------------------------------------

enum driver_memory_kind {
    DRIVER_MEMORY_DEVICE,
    DRIVER_MEMORY_MANAGED,
    DRIVER_MEMORY_HOST,       // cuMemHostAlloc
    DRIVER_MEMORY_REGISTERED, // cuMemHostRegister
    DRIVER_MEMORY_POOL,
    DRIVER_MEMORY_MAPPED, // virtual memory API, once accessible
    DRIVER_MEMORY_ARRAY,
};

// What makes an allocation a graph's: its address stays the graph's own as long as a node or an
// executable allocates it, however often it is freed and launched again.
struct driver_graph_memory {
    _Atomic unsigned references; // the allocation, and each node and step that allocates it
    bool given;                  // the program has it: launched, and not freed since
    struct driver_command *last; // held: the launch or free that touched it last
};

struct driver_allocation {
    uint64_t address, size_bytes;
    enum driver_memory_kind kind;
    unsigned flags;
    uint64_t id;
    struct driver_context *context;
    struct driver_pool *pool;
    struct driver_array *array;           // whose memory this is; NULL: none
    struct driver_graph_memory *of_graph; // held; NULL: not a graph's
    uint64_t capacity_bytes;              // of a pool's block
    bool sync_memops;
};

// Host memory that stands for device memory, aligned to DRIVER_ALIGNMENT; 0: none left. Locked.
uint64_t driver_block_take(uint64_t size_bytes);
void driver_block_give(uint64_t address, uint64_t size_bytes);

// Makes, enters into the maps and tells the machine. Locked.
CUresult driver_memory_add(struct driver_context *context, enum driver_memory_kind kind,
                           uint64_t size_bytes, unsigned flags, struct driver_allocation **made);
// Enters one whose fields are set, and whose memory is somebody's care, into the maps. Locked.
CUresult driver_memory_enter(struct driver_allocation *allocation);
// Ends it everywhere and frees it. Locked.
void driver_memory_remove(struct driver_allocation *allocation);
struct driver_allocation *driver_memory_find(uint64_t address); // locked; NULL: none holds it
// Counts device memory; CUDA_ERROR_OUT_OF_MEMORY beyond the preset's. Locked.
CUresult driver_memory_charge(uint64_t size_bytes);
uint64_t driver_memory_usable(void);

enum driver_place {
    DRIVER_PLACE_PAGEABLE, // host memory the driver does not know
    DRIVER_PLACE_PINNED,
    DRIVER_PLACE_DEVICE,
    DRIVER_PLACE_MANAGED,
    DRIVER_PLACE_BEYOND, // begins in an object and ends outside it
};

// What a range of addresses is. Locked.
enum driver_place driver_place_of(uint64_t address, uint64_t size_bytes);

struct driver_array {
    uint64_t magic;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    struct driver_allocation *allocation; // NULL for a level of a mipmap, which borrows
    uint64_t data;
    size_t texel_bytes, pitch_bytes, slice_bytes;
    size_t rows, slices; // at least 1
    struct driver_array *levels;
    unsigned level_count;
    struct driver_array *next; // of the dead
};

bool driver_array_valid(const struct driver_array *array);
void driver_array_end(struct driver_array *array); // locked; its handle means nothing any more

// Pools: see pool.c. Locked.
CUresult driver_pool_alloc(struct driver_pool *pool, struct driver_stream *stream,
                           uint64_t size_bytes, uint64_t *address);
// The same without a command: a graph's node takes it into use.
CUresult driver_pool_reserve(struct driver_pool *pool, struct driver_stream *stream,
                             struct driver_context *context, uint64_t size_bytes,
                             struct driver_allocation **made);
void driver_pool_discard(struct driver_allocation *allocation); // gives it back at once
CUresult driver_pool_free(struct driver_stream *stream, struct driver_allocation *allocation);
// The command frees it: others may have it after that, or its graph again.
void driver_pool_freed(struct driver_allocation *allocation, struct driver_command *command);
void driver_pools_trim(void);  // at synchronisation points
void driver_pools_reset(void); // keeps nothing, by whatever threshold
struct driver_pool *driver_pool_default(void);

// Memory of graphs: see graph_memory.c. Locked, but for hold and release.
// Makes an allocation of a pool a graph's, and the operation its node's.
CUresult driver_graph_memory_make(struct driver_allocation *allocation, struct driver_op *op);
void driver_graph_memory_hold(struct driver_graph_memory *memory);
void driver_graph_memory_release(struct driver_graph_memory *memory);
void driver_graph_memory_touch(struct driver_graph_memory *memory, struct driver_command *command);
void driver_graph_memory_freed(struct driver_graph_memory *memory, struct driver_command *command);
// False: a graph's that no launch has allocated, or not since it was freed.
bool driver_graph_memory_there(uint64_t address);
// Gives back what no graph allocates any more and the program does not have.
void driver_graph_memory_collect(void);

// --- Copies --------------------------------------------------------------------------------------

// Does a copy of known ends through the stream, with the waiting that a real driver does. wait: the
// call is one of the synchronous ones. Takes the lock itself.
CUresult driver_copy(CUstream handle, const struct driver_box *box, enum driver_place dst,
                     enum driver_place src, bool wait);
// Checks a description and turns it into a box. Locked.
CUresult driver_box_of_3d(const CUDA_MEMCPY3D *copy, struct driver_box *box, enum driver_place *dst,
                          enum driver_place *src);
CUresult driver_fill_check(uint64_t address, size_t pitch, size_t row_bytes, size_t height);

// --- Modules -------------------------------------------------------------------------------------

struct driver_function {
    uint64_t magic;
    struct driver_module *module;
    struct sim_kernel *kernel;
    const struct sim_kernel_info *info;
    uint32_t max_dynamic_shared; // cuFuncSetAttribute
    int carveout;
    CUfunc_cache cache;
    int cluster_policy, cluster[3];
};

struct driver_module {
    uint64_t magic;
    struct driver_context *context; // NULL: a library, which belongs to none
    struct driver_module *next;     // of the context, or of the libraries
    struct sim_module *module;
    struct driver_function *functions; // one for each kernel
    unsigned function_count;
};

// name serves messages. log, where not NULL, gets the text of what went wrong.
CUresult driver_module_load(const void *image, const char *name, struct base_buf *log,
                            struct driver_module **module);
CUresult driver_module_load_file(const char *path, struct base_buf *log,
                                 struct driver_module **module);
void driver_module_free(struct driver_module *module); // not locked; nothing of it runs
bool driver_module_valid(const struct driver_module *module);
// Variables and attributes of all libraries as they were when loaded. Nothing of them runs.
void driver_libraries_reset(void);
struct driver_function *driver_function_of(const void *handle); // NULL: not one
CUresult driver_module_function(struct driver_module *module, const char *name,
                                struct driver_function **function);
// CUDA_ERROR_NOT_SUPPORTED where the machine cannot execute it, which is then said on stderr.
CUresult driver_function_ready(const struct driver_function *function);
// What cuLinkComplete makes, and cuModuleLoadData takes.
#define DRIVER_LINKED_MAGIC "glint linked PTX"
struct driver_linked {
    char magic[16];
    uint64_t count;
    uint64_t lengths[]; // then the texts, each with a NUL
};

// The PTX texts of an image, for linking or loading; the caller frees them. One text a unit.
struct driver_texts {
    BASE_ARRAY(struct sim_ptx) texts;
};
CUresult driver_texts_add(struct driver_texts *texts, const void *image, const char *name,
                          struct base_buf *log);
CUresult driver_texts_add_file(struct driver_texts *texts, const char *path, struct base_buf *log);
void driver_texts_fini(struct driver_texts *texts);

// --- Launches ------------------------------------------------------------------------------------

struct driver_launch {
    struct driver_function *function;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    bool cooperative;
    void **params, **extra;
};

// Checks the sizes and copies the parameters into an operation.
CUresult driver_launch_op(const struct driver_launch *launch, struct driver_op *op);
unsigned driver_blocks_per_sm(const struct driver_function *function, unsigned threads,
                              size_t dynamic_shared_bytes);

// --- Graphs --------------------------------------------------------------------------------------

// Adds the operation as a node after the stream's last ones. Takes over *op. Locked.
CUresult driver_capture_op(struct driver_stream *stream, struct driver_op *op);
CUresult driver_capture_record(struct driver_stream *stream, struct driver_event *event);
CUresult driver_capture_wait(struct driver_stream *stream, struct driver_event *event);
void driver_capture_spoil(struct driver_stream *stream); // a call that a capture forbids
// The stream is about to go: the capture that it began ends, one that it joined goes on without it.
// The caller frees the graph that is returned, once it has let go of the lock; NULL: none. Locked.
struct driver_graph *driver_capture_desert(struct driver_stream *stream);
void driver_captures_abandon(const struct driver_context *context); // not locked
// Ends what launches before allocated and nobody freed.
void driver_exec_free_memory(const struct driver_exec *exec);
CUresult driver_exec_run(struct driver_exec *exec, struct driver_command *const *records,
                         uint64_t start_ns, uint64_t *duration_ns);
void driver_exec_hold(struct driver_exec *exec);
void driver_exec_release(struct driver_exec *exec);

#endif
