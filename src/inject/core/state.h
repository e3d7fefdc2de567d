// SPDX-License-Identifier: Apache-2.0
// The inner face of libglint.so: the hooked functions and the real ones behind them, the one
// mutable state, and numbers of what the driver knows by handle.
#ifndef GLINT_INJECT_CORE_STATE_H
#define GLINT_INJECT_CORE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"
#include "event/event.h"
#include "inject/stack/stack.h"
#include "inject/util/clock.h"
#include "inject/util/latency.h"
#include "objects.h"

// --- Hooked functions ----------------------------------------------------------------------------

#define HOOK(name, version, symbol, kind, how)              HOOK_##symbol,
#define HOOK_BOTH(name, version, symbol, suffix, kind, how) HOOK_##symbol, HOOK_##symbol##suffix,
#define USED(symbol)
#define TOLD(name, kind)
enum hook {
#include "hooks.def"
    HOOK_COUNT,
    HOOK_LAST = HOOK_COUNT - 1,
#undef HOOK
#undef HOOK_BOTH
#undef USED
#define HOOK(name, version, symbol, kind, how)
#define HOOK_BOTH(name, version, symbol, suffix, kind, how)
#define USED(symbol) HOOK_##symbol,
#include "hooks.def"
    HOOK_AND_USED_COUNT,
    HOOK_BEFORE_TOLD = HOOK_AND_USED_COUNT - 1,
#undef USED
#undef TOLD
#define USED(symbol)
#define TOLD(name, kind) HOOK_##name,
#include "hooks.def"
    HOOK_ROWS,
};
#undef HOOK
#undef HOOK_BOTH
#undef USED
#undef TOLD

enum { HOOK_ASYNC = 1, HOOK_WAITS = 2, HOOK_TIMED = 4, HOOK_HIDDEN = 8, HOOK_UNSURE = 16 };

struct hook_row {
    const char *name; // as cuGetProcAddress takes it
    const char *symbol;
    int version;
    bool per_thread; // stream 0 is the thread's own
    uint8_t kind;    // enum event_call_kind
    uint8_t how;     // HOOK_*
    void *wrapper;
};

extern const struct hook_row hook_rows[HOOK_ROWS]; // without wrapper: only used, or told

// The driver's function. One that this driver does not have fails with CUDA_ERROR_NOT_SUPPORTED.
// Once found it is kept for good, and its address is all there is to know.
extern void *_Atomic door_found[HOOK_AND_USED_COUNT]; // NULL: not found yet
void *door_find(enum hook hook);
static inline void *door_real(enum hook hook)
{
    void *real = atomic_load_explicit(&door_found[hook], memory_order_relaxed);
    return real ? real : door_find(hook);
}
#define REAL(symbol) ((__typeof__(&(symbol)))door_real(HOOK_##symbol))

// Finds all of the driver's functions, so that door_real never again enters the loader: a thread
// that holds the loader's lock may be waiting for one of ours. Tells what the driver is.
struct door_driver {
    int version;                       // 0: not known
    bool simulated;                    // the simulated GPU of glint
    const CUcontext *(*current)(void); // which tells it; NULL: ask cuCtxGetCurrent
    int (*at)(void);                   // what the thread is at, of struct cudaabi_sim; NULL: none
};
struct door_driver door_prepare(void);

// The next dlsym after ours in the order of loading.
void *door_next_dlsym(void);
// Whether the address is in CUDA's own libraries, or in this one. Takes no lock.
bool door_is_below(const void *address);

// --- What the driver knows by handle -------------------------------------------------------------

// Numbers are given out under state.lock and announced in the ring before they are returned.
// Structures are never freed, so that a thread may hold one across calls of the driver; those of
// streams are used again.

struct timing { // of work whose GPU time is not known yet
    uint64_t call;
    uint64_t start_ns, end_ns; // of the call
    CUevent before;            // NULL: its beginning is told by its end and by what is known else
    CUevent after;             // NULL: it is not timed
    bool launch;
};

// The GPU times of a stream, under its context's timing lock: see gpu_time.c.
struct stream_times {
    BASE_ARRAY(struct timing) timings; // in stream order
    size_t first;                      // that is not read yet
    uint32_t now;                      // calls between gpu_time_before and gpu_time_after
    uint64_t work;                     // value of enqueued behind the last of the timings
    uint64_t legacy_work;              // and of the legacy stream's
    bool end_known;
    double end_ns; // of the last timing that was read
    struct latency latency;
    uint32_t sampled;    // beginnings that had an event of their own
    uint32_t unsampled;  // and since the last such, those that had none
    uint64_t sampled_ns; // when the last such was
};

struct stream {
    uint32_t number;
    uint32_t flags;     // EVENT_STREAM_*
    uint32_t thread;    // of a thread's own default stream
    bool green;         // runs on a part of the GPU's multiprocessors
    bool foreign;       // made in a way that is not hooked, and perhaps destroyed in one
    _Atomic bool ended; // it is being destroyed, or was
    CUstream handle;    // as any thread (or for a default stream that thread) may say it
    struct context *context;
    struct stream *next;       // of the context; or of those to be used again
    _Atomic uint64_t enqueued; // pieces of work that were given to it, by the program or glint
    _Atomic uint64_t last;     // the last of these that is the program's; 0: none
    _Atomic uint64_t idle;     // so many of these, the oldest, are known to be done
    // What glint puts behind the program's work: see tail.h.
    pthread_mutex_t mark_lock; // protects the two below
    CUevent mark;              // NULL: none was needed yet
    uint64_t marked;           // so many pieces of work are ahead of it; 0: it was not recorded
    _Atomic uint64_t fenced;   // see correct/memory/pool.c
    struct stream_times times;
};

struct context {
    uint32_t number, device;
    CUcontext handle;
    _Atomic bool primary;          // of its device
    _Atomic bool ending;           // a call may end it, or has: only who is at that may use it
    struct stream *streams;        // state.lock protects the list
    struct stream *legacy;         // its legacy default stream
    _Atomic bool busy;             // work may be pending on its streams; false: on none
    _Atomic uint32_t timings_left; // of its streams, that are not read yet
    // GPU times, under this lock: see gpu_time.c.
    pthread_mutex_t timing_lock;
    bool timing_failed;
    CUevent base;   // an event that happens, or has happened
    bool base_seen; // to have happened
    double base_ns; // when
    BASE_ARRAY(CUevent) spare_events;
    size_t made_events;
    struct shadow *_Atomic shadow; // see shadow.h; NULL: nothing of it was watched yet
};

// The current context's; NULL where there is none.
struct context *context_current(void);
struct context *context_of(CUcontext handle, CUdevice device); // device of a new one; < 0: ask
struct context *context_known(CUcontext handle);               // NULL: never met
// The context is gone: its streams, modules and objects end with it, by the call.
void context_end(struct context *context, uint64_t call);

// The stream that a function means by the handle. NULL: no context. per_thread: 0 is the thread's.
struct stream *stream_of(CUstream handle, bool per_thread, struct context *current);
struct stream *stream_new(CUstream handle, struct context *context);
// Forgets the handle, before the driver ends it and may give it out again; nobody asks about it any
// more. When nobody tells of it any more, its structure is used again.
void stream_end(CUstream handle);
void stream_recycle(struct stream *stream);
static inline void stream_raise(_Atomic uint64_t *number, uint64_t least)
{
    uint64_t now = atomic_load_explicit(number, memory_order_relaxed);
    while (now < least && !atomic_compare_exchange_weak(number, &now, least))
        ;
}
// A piece of work was given to it, by glint, or by the program. Counted afterwards, so that what is
// counted is in the stream.
static inline uint64_t stream_work(struct stream *stream)
{
    const uint64_t number = atomic_fetch_add(&stream->enqueued, 1) + 1;
    if (!atomic_load_explicit(&stream->context->busy, memory_order_relaxed))
        atomic_store(&stream->context->busy, true);
    return number;
}
static inline void stream_program_work(struct stream *stream)
{
    stream_raise(&stream->last, stream_work(stream));
}
// All work up to that piece is done.
static inline void stream_idle(struct stream *stream, uint64_t enqueued)
{
    stream_raise(&stream->idle, enqueued);
}
// Up to `most` streams of the context; of those that the legacy stream waits for only if blocking.
size_t streams_of(struct context *context, bool blocking, struct stream **out, size_t most);
// Whether this thread, whose context is `current`, can tell the driver which stream it means. A
// default stream has no name outside of its context, nor a thread's own outside of the thread; a
// foreign one may be gone, but where the call is about it, as about `own`.
bool stream_can_name(const struct stream *stream, const struct stream *own,
                     const struct context *current);

uint64_t event_number(CUevent event);                   // made where there is none
uint32_t event_record_number(CUevent event, bool next); // how often it was recorded, with this one
void event_end(CUevent event);

// Modules and libraries share one numbering.
uint32_t module_new(const void *handle, struct context *context, const struct event_module *about,
                    const char *path);
uint32_t module_of(const void *handle); // 0: not known
void module_alias(const void *handle, const void *of);
void module_end(const void *handle, uint64_t call);

struct probes;
struct probe_kernel;

// A function's handle, or with `library` a CUkernel, and how it was named.
void kernel_note(const void *handle, uint32_t module, const char *name, bool library);
uint32_t kernel_alias(const void *handle, const void *of); // its module; 0: not known
// Its number, announced where it is launched for the first time. `library`: of a handle that is not
// known yet it is said that it is a CUkernel.
uint32_t kernel_of(const void *handle, bool library);
// The same for one that is being launched in the current context, where its module's variables
// become objects with that.
uint32_t kernel_launched(const void *handle, struct context *context);

// The function of a handle in the current context: the handle's own, or that of a CUkernel.
CUfunction kernel_function(const void *handle);
// What probes know of the kernel of a handle; NULL: nothing is known of the handle.
struct probe_kernel *kernel_probe(const void *handle);

// What the functions of before CUDA 4 set on it for its next launch.
void kernel_set_shape(const void *handle, const unsigned block[3]);
void kernel_set_shared(const void *handle, unsigned bytes);
void kernel_shape(const void *handle, unsigned block[3], unsigned *shared_bytes);

// --- Objects -------------------------------------------------------------------------------------

// Announces an object and enters it into the map: ends what still stands where it is. Fields
// number, context, device and call are filled in. Returns its number, 0 where memory ran out.
uint64_t object_begin(struct event_object *object, struct context *context, uint64_t call,
                      uint32_t owner);
// The same of one that the call's record tells of (struct event_alloc), which comes before anybody
// else can know of the memory.
uint64_t object_begin_with_call(uint8_t kind, uint64_t address, uint64_t bytes,
                                const struct context *context, uint64_t call);
uint64_t object_begin_array(struct event_object *object, uint64_t handle, struct context *context,
                            uint64_t call);
void object_end(const struct object *object, uint64_t call, uint32_t stream);
// All parts that lie in the range, by the call.
void object_end_parts(uint64_t start, uint64_t bytes, uint64_t call);
// What the program calls it.
void object_name(uint64_t number, const char *name);

// Parts of objects, which the program tells, are in parts.h.

// --- Variables of modules ------------------------------------------------------------------------

// A module was loaded from an image in memory, or from a file: its variables' names are remembered.
// preserved: the image can still be read until it is unloaded, so that this can wait.
void variables_note(uint32_t module, const struct context *context, const void *image,
                    const char *path, bool preserved);
// A function of the module was got or is launched in the context, the current one: the module's
// variables there become objects, where they are not yet (wanted).
bool variables_wanted(uint32_t module, const struct context *context);
void variables_tell(uint32_t module, CUfunction function, struct context *context);
void variables_end(uint32_t module);

// --- State ---------------------------------------------------------------------------------------

enum phase { PHASE_NEW, PHASE_STARTING, PHASE_ON, PHASE_OFF };

struct thread_state {
    uint32_t number;
    uint32_t generation; // of the process that gave the number
    uint32_t depth;      // inside a hook: what the driver calls then is its own affair
    struct call *call;   // the hook's; NULL: in none
    uint32_t asking;     // how often it has begun to query, and not ended
    uint32_t turn;       // in which it began
    bool tracking;       // has the lock of guard/inner.h
    bool segv_blocked;   // as the program sees it
    bool segv_pending;   // and one was sent to it meanwhile
    const volatile uint64_t *segv_frame; // see guard/signals.c
    uint32_t last_query; // hook of a query that was recorded last and said "not ready"
    const void *last_handle;
    const CUcontext *current; // where the driver keeps it, if it tells; NULL: not known
    // The context that was looked up last, while state.context_changes is as it was then.
    CUcontext context_handle;
    struct context *context;
    uint64_t context_changes;
};

struct state {
    // In a page that a child of fork finds zeroed, whichever way it was forked: a child begins anew
    // at its first call.
    _Atomic int *phase; // enum phase
    // From here on zeroed at the start.
    struct event_ring *ring;
    uint32_t generation; // counts processes: this one, and those forked from it
    bool timestamps;
    bool simulated;                    // the driver is glint's own
    _Atomic bool linear_textures;      // some texture reads linear memory, now or earlier
    struct probes *probes;             // NULL: none are asked for
    const CUcontext *(*current)(void); // of struct door_driver
    _Atomic uint64_t calls, events_made;
    _Atomic uint64_t objects_untold; // numbers that were given out for nothing
    _Atomic uint32_t threads_made;
    _Atomic uint32_t captures; // streams under capture, or about to be: nothing may be queried
    // Threads that are just querying, by the turn in which they began.
    _Atomic uint32_t asking[2], turn;
    _Atomic bool no_memory;     // said so
    _Atomic bool no_place;      // said that a region of NVTX is left out
    _Atomic uint64_t untimed;   // pieces of work whose GPU time was not taken
    _Atomic uint64_t estimated; // launches whose beginning on the GPU was
    _Atomic uint32_t shadows;   // contexts in which launches were watched
    struct latency_errors latency_errors;
    struct clock_rate clock;
    struct objects objects;
    struct stack_table *stacks; // NULL: no memory for it

    pthread_mutex_t variables_lock; // protects the variables; the driver is asked under it
    struct base_map variables;      // number of a module to struct variables

    _Atomic uint64_t context_changes; // how often one ended; begins at another number in a child
    pthread_mutex_t lock;             // protects all below
    uint32_t contexts_made, streams_made, modules_made, kernels_made, devices_said, heaps_made;
    uint64_t graphs_made;
    struct base_map contexts;       // CUcontext to struct context
    struct base_map streams;        // CUstream to struct stream
    struct base_map thread_streams; // context and thread number to struct stream
    struct base_map events;         // CUevent to number << 32 | times recorded
    struct base_map modules;        // CUmodule, CUlibrary to number
    struct base_map kernels;        // CUfunction, CUkernel to struct kernel
    struct base_map graphs;         // CUgraphExec to struct graph
    struct base_map allocations;    // CUmemGenericAllocationHandle to struct allocation
    struct base_map heaps;          // of NVTX: handle to number
    struct base_map region_names;   // of NVTX: address to text
    struct stream *spare_streams;
};

extern struct state state;

// One of state.contexts.count, with state.lock where there may be other threads; NULL: it is gone.
static inline struct context *context_at(size_t i)
{
    const struct base_map_entry *entry = &state.contexts.entries[i];
    return entry->removed ? NULL : (struct context *)(uintptr_t)entry->value; // NOLINT
}

// Initial-exec: a hook must not call the loader, which allocates, for a thread's first use.
extern __thread struct thread_state inject_thread __attribute__((tls_model("initial-exec")));

uint32_t thread_number_new(void);
static inline uint32_t thread_number(void) // announced where it is new
{
    return inject_thread.generation == state.generation ? inject_thread.number
                                                        : thread_number_new();
}

// Whether the process is recorded; meets the recorder where it has not yet.
bool state_on_slowly(void);
static inline bool state_on(void)
{
    int phase =
        state.phase ? atomic_load_explicit(state.phase, memory_order_acquire) : (int)PHASE_NEW;
    return phase >= PHASE_ON ? phase == PHASE_ON : state_on_slowly();
}
// The same, but a process that has not met the recorder yet does not for this.
static inline bool state_is_on(void)
{
    return state.phase && atomic_load_explicit(state.phase, memory_order_acquire) == PHASE_ON;
}
bool state_wanted(void); // GLINT_SOCKET is set
// Memory ran out: what is recorded from now on has gaps. Says so once.
void state_no_memory(void);
void state_note(enum event_severity severity, const char *text);

// program.c: "executable\0folder\0argument\0argument\0", as far as there is room; returns its
// bytes.
size_t program_describe(char *text, size_t room);

// Around questions to the driver that would break a capture, of whichever thread, or that are about
// streams which another thread may destroy: those that streams_of tells from then on are there
// until the end. False: there is a capture, and nothing may be asked; else state_asked ends it,
// soon.
static inline void state_asked(void)
{
    if (!--inject_thread.asking)
        atomic_fetch_sub(&state.asking[inject_thread.turn], 1);
}
static inline bool state_ask(void)
{
    if (!inject_thread.asking++) {
        inject_thread.turn = atomic_load(&state.turn);
        atomic_fetch_add(&state.asking[inject_thread.turn], 1);
    }
    if (!atomic_load(&state.captures))
        return true;
    state_asked();
    return false;
}
// Returns when all have ended that were asking when it was called; not by one of them.
void state_await_asking(void);

static inline uint64_t now_ns(void)
{
    return clock_now_ns(&state.clock);
}

// Numbers order nothing by themselves.
static inline uint64_t next_number(_Atomic uint64_t *given)
{
    return atomic_fetch_add_explicit(given, 1, memory_order_relaxed) + 1;
}

static inline void put(enum event_kind kind, const void *record, size_t bytes, const void *more,
                       size_t more_bytes)
{
    event_put(state.ring, kind, record, bytes, more, more_bytes);
}

#endif
