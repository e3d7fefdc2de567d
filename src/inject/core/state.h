// SPDX-License-Identifier: Apache-2.0
// The state of core: whether and how this process is recorded, the ring, and the tables of what the
// driver knows by handle. Also what every thread keeps, and the start, fork and end of the process.
#ifndef GLINT_INJECT_CORE_STATE_H
#define GLINT_INJECT_CORE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"
#include "event/event.h"
#include "hook.h"
#include "inject/stack/stack.h"
#include "inject/util/clock.h"
#include "inject/util/latency.h"
#include "layer.h"
#include "objects.h"
#include "order.h"

struct core_call;
struct core_context;
struct core_stream;

enum core_phase { PHASE_NEW, PHASE_STARTING, PHASE_ON, PHASE_OFF };

struct core_thread { // only its thread uses it
    uint32_t number;
    uint32_t generation; // generation of the process that assigned the number
    uint32_t depth;      // not 0 inside a hook: calls that the driver makes then are not recorded
    struct core_call *call; // the hook's; NULL: the thread is in none
    uint32_t asking;        // nesting of core_ask
    uint32_t turn;          // turn in which the outermost of these began
    uint32_t last_query;    // hook of the last query that was recorded and returned "not ready"
    const void *last_handle;
    const CUcontext *current; // where the driver keeps the current context; NULL: unknown
    // The context that was looked up last. Valid while core_state.context_changes is as it was
    // then.
    CUcontext context_handle;
    struct core_context *context;
    uint64_t context_changes;
    // Of guard, which needs them in signal handlers.
    bool loading;                     // it is loading a library (guard/readers.c)
    uint64_t tried_pc, tried_address; // instruction and address of the last fault (guard/fault.c)
    bool tracking;                    // the thread holds the lock of guard's table
    bool segv_blocked;                // the program has blocked SIGSEGV, as far as it can tell
    bool segv_pending;                // and one was sent to the thread meanwhile
    const volatile uint64_t *segv_frame; // see guard/signals.c
};

struct core_state {
    // In a page that a child of fork finds zeroed, whatever way it was forked, so that the child
    // begins anew at its first call.
    _Atomic int *phase; // enum core_phase

    // Kept for the life of the process, and by children of fork. Any thread writes them, and all
    // threads write the same values.
    _Atomic int wanted; // whether GLINT_SOCKET is set: 0: not checked yet, 1: no, 2: yes
    void *_Atomic next_dlsym, *_Atomic next_dlvsym;
    void *_Atomic driver;                            // handle of libcuda.so.1
    void *_Atomic driver_found[HOOK_AND_USED_COUNT]; // driver.h; NULL: not looked up yet
    bool finishes;                                   // atexit was called; written by the start
    _Atomic int no_phase;                            // `phase`, if there is no memory for its page
    pthread_once_t once;                             // makes the page of `phase`

    // Everything below is zeroed at the start. Written by the start alone:
    struct event_ring *ring;
    uint32_t generation; // counts processes: this one and those it was forked from
    bool timestamps;
    bool simulated;                    // the driver is glint's simulated GPU
    bool host_ends;                    // a layer wants to know what host memory copies use
    const CUcontext *(*current)(void); // see struct core_driver
    const char *(*fault)(void);        // likewise
    struct stack_table *stacks;        // NULL: out of memory
    struct core_layer_lists layers;
    void *stands[HOOK_COUNT]; // functions of layers that stand before the driver's; NULL: none

    // Any thread, without a lock:
    _Atomic uint64_t calls, events_made;
    _Atomic uint64_t objects_untold; // numbers that were given out and have no record
    _Atomic uint32_t threads_made;
    _Atomic uint32_t captures;    // streams under capture, or about to be: no queries are allowed
    _Atomic uint32_t frees;       // times that layers have freed memory for a call that found none
    _Atomic uint32_t asking[2];   // threads that are querying, by the turn in which they began
    _Atomic uint32_t turn;        // 0 or 1
    _Atomic bool linear_textures; // some texture reads or has read linear memory
    _Atomic bool wide_tensors;    // some tensor with a map may be more than a part of an object
    _Atomic bool managed_made;    // some object is or was managed memory
    _Atomic bool peers;           // kernels of one GPU may write memory of another
    _Atomic bool no_memory;       // it was noted that memory ran out
    _Atomic bool fault_noted;     // core_note_fault has written its note
    _Atomic bool foreign_noted;   // it was noted that kernels used memory of another context
    _Atomic bool no_place;        // it was noted that a region of NVTX is left out
    _Atomic bool no_tensor_place; // the same of a block of PyTorch's allocator
    // What launches have taken on the GPU, as far as that was read: natively or with probes, and
    // sampled; sampled launches whose times are unread, and those whose times are lost.
    _Atomic uint64_t launches_ns, sampled_ns;
    _Atomic uint32_t sampled_unread, sampled_lost;
    _Atomic uint64_t untimed;         // pieces of work whose GPU time was not taken
    _Atomic uint64_t estimated;       // launches whose start on the GPU was inferred
    _Atomic uint32_t shadows;         // contexts in which launches were watched
    _Atomic uint64_t context_changes; // contexts that ended; begins at another number in a child
    struct util_latency_errors latency_errors;
    struct util_clock_rate clock;
    struct core_objects objects; // has its own lock
    struct core_order order;     // the same

    pthread_mutex_t variables_lock; // protects `variables`; the driver is called under it
    struct base_map variables;      // number of a module to struct core_variables

    pthread_mutex_t lock; // protects all below; the driver is never called under it
    uint32_t contexts_made, streams_made, modules_made, kernels_made, devices_said, heaps_made;
    uint64_t graphs_made;
    struct base_map contexts;          // CUcontext to struct core_context
    struct base_map streams;           // CUstream to struct core_stream
    struct base_map thread_streams;    // context and thread number to struct core_stream
    struct base_map events;            // CUevent to number << 32 | times recorded
    struct base_map modules;           // CUmodule, CUlibrary to number
    struct base_map kernels;           // CUfunction, CUkernel to struct core_kernel
    struct base_map graphs;            // CUgraphExec to struct core_graph
    struct base_map allocations;       // CUmemGenericAllocationHandle to struct allocation
    struct base_map heaps;             // NVTX heaps: handle to number
    struct base_map region_names;      // NVTX regions: address to name
    struct core_stream *spare_streams; // to be reused
};

extern struct core_state core_state;

// Initial-exec: for a thread's first use of other models the loader allocates, which a hook must
// not cause.
extern __thread struct core_thread core_thread __attribute__((tls_model("initial-exec")));

// Returns whether the process is recorded. Its first call meets the recorder. Keeps errno.
bool core_on_slowly(void);
static inline bool core_on(void)
{
    int phase = core_state.phase ? atomic_load_explicit(core_state.phase, memory_order_acquire)
                                 : (int)PHASE_NEW;
    return phase >= PHASE_ON ? phase == PHASE_ON : core_on_slowly();
}
// Does the same without meeting the recorder: returns false in a process that has not met it.
static inline bool core_is_on(void)
{
    return core_state.phase &&
           atomic_load_explicit(core_state.phase, memory_order_acquire) == PHASE_ON;
}
bool core_is_wanted(void); // GLINT_SOCKET is set

// Notes, once, that memory ran out, so that the recording has gaps from then on.
void core_no_memory(void);
// Writes a note into the profile.
void core_note(enum event_severity severity, const char *text);
// Notes, once, what a kernel did wrong, if one has failed and the driver knows that.
void core_note_fault(void);

// core_ask and core_asked bracket queries to the driver that would break a stream capture of any
// thread, or that use streams which another thread may destroy. Streams that core_streams_of
// returns in between stay valid until core_asked. core_ask returns false during a capture: nothing
// may be queried then, and core_asked must not be called. The bracket must be short; brackets nest.
static inline void core_asked(void)
{
    if (!--core_thread.asking)
        atomic_fetch_sub(&core_state.asking[core_thread.turn], 1);
}
static inline bool core_ask(void)
{
    if (!core_thread.asking++) {
        core_thread.turn = atomic_load(&core_state.turn);
        atomic_fetch_add(&core_state.asking[core_thread.turn], 1);
    }
    if (!atomic_load(&core_state.captures))
        return true;
    core_asked();
    return false;
}
// Returns when all brackets have ended that were open when it was called. Must not be called inside
// a bracket.
void core_await_asking(void);

// The time of records: nanoseconds of CLOCK_MONOTONIC.
static inline uint64_t core_now_ns(void)
{
    return util_clock_now_ns(&core_state.clock);
}

// The next of consecutive numbers from 1. Relaxed: numbers order nothing by themselves.
static inline uint64_t core_next_number(_Atomic uint64_t *given)
{
    return atomic_fetch_add_explicit(given, 1, memory_order_relaxed) + 1;
}

// Writes a record, with `more` behind it, into the ring.
static inline void core_put(enum event_kind kind, const void *record, size_t bytes,
                            const void *more, size_t more_bytes)
{
    event_put(core_state.ring, kind, record, bytes, more, more_bytes);
}

#endif
