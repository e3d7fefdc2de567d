// SPDX-License-Identifier: Apache-2.0
// A hooked call: what every hook does around the driver's function. For example
//
//     HOOKED(cuMemAlloc_v2, (CUdeviceptr *pointer, size_t bytes), (pointer, bytes), NO_STREAM,
//            {before}, {after})
//
// defines the hook of cuMemAlloc_v2. `before` may fill the call's detail from the arguments;
// `after` sees `result`. HOOKED_BOTH also defines the hook of the variant for per-thread default
// streams.
#ifndef GLINT_INJECT_CORE_CALL_H
#define GLINT_INJECT_CORE_CALL_H

#include "contexts.h"
#include "driver.h"
#include "gpu_time.h"
#include "state.h"

enum { CALL_MOST_STREAMS = 32 }; // most streams that are queried to find out whether a call waited

struct probe_launch;
struct probe_exec;

struct core_call_hash { // of the bytes that a copy moves: see uses/hash.c
    uint64_t high, low, took_ns;
    bool known;
};

// Lives on the stack of its hook, so only its thread uses it.
struct core_call {
    enum core_hook hook;
    struct stack_unwind_registers caller;
    struct core_context *current; // the thread's
    struct core_context *context; // the context that the call is about
    struct core_stream *stream;
    uint32_t number_of_stream, number_of_context; // if the stream, or the context, no longer exists
    uint64_t start_ns, end_ns, number;
    uint32_t stack;
    CUresult result;
    int error;            // the program's errno
    uint8_t kind;         // enum event_call_kind
    uint8_t flags;        // EVENT_CALL_*
    uint8_t how;          // HOOK_*; a hook may change it before core_call_start
    bool waited_is_known; // if the call waited, it did so for all of its time
    bool quiet;           // writes no record
    bool submits;         // gives work to the GPU, and uses/first_use.c counts it
    bool batch;           // makes several copies; its detail is the first
    bool early; // of a launch: may start before the work ahead of it in its stream has ended
    unsigned cluster[3];    // of a launch: size of clusters in blocks; zeros: it has none
    unsigned pending_count; // streams on which work was pending when it began
    struct core_stream *pending[CALL_MOST_STREAMS];
    uint64_t pending_at[CALL_MOST_STREAMS]; // pieces of work that each had by then
    CUevent event;                          // the event that the call waits for instead of streams
    struct core_call_hash before;           // of a copy to the host: the previous contents
    struct core_call_hash after; // of a copy that has waited for itself: the new contents
    uint64_t
        sync; // of a wait for a context: which of context->syncs; for a stream: its work so far
    uint64_t host_calls;            // of a synchronization: host functions that streams had by then
    struct probe_launch *probe;     // of a watched launch
    struct sampled_launch *sampled; // of a sampled launch
    // Of a launch that need not be watched: see probe/alike.h; owned by the probes' layer.
    struct probe_passed_objects *alike;
    struct probe_exec *replays; // of a graph launch with watched kernels
    uint64_t hosts;             // of a synchronization: see correct/wait/owed.c
    uint64_t signals;           // signals that the thread had blocked, if it holds_signals
    bool holds_signals;
    CUresult refused; // not CUDA_SUCCESS: a layer refuses the call, and the driver is not called
    bool flies;       // see correct/memory/back.h
    uint64_t wanted_bytes;   // of an allocation: memory of the GPU that it needs; 0: unknown
    uint32_t wanted_device;  // of which one, + 1; 0: that of `current`
    uint32_t frees;          // core_state.frees before the driver was called
    struct probe_exec *exec; // that the call has taken: see probe/graph.h
    struct core_timing timing;
    union core_call_detail {
        struct event_alloc alloc;
        struct event_copy copy;
        struct event_set set;
        struct event_launch launch;
        struct event_graph graph;
        struct event_sync sync;
    } detail; // selected by `kind`; zeroed at first
};

#define NO_STREAM ((CUstream)(uintptr_t)-1)

// Returns false if the hook must pass the call on and do nothing else. If it returns true, the
// other three follow in this order. core_call_end returns the call's result and restores errno.
bool core_call_begin(struct core_call *call, enum core_hook hook, CUstream stream,
                     struct stack_unwind_registers caller);
void core_call_start(struct core_call *call);
void core_call_stop(struct core_call *call, CUresult result);
CUresult core_call_end(struct core_call *call);
// The same two for a call of the program to glint itself, which must be hidden: core_call_tell
// makes it one that is recorded. No call of the driver is made, and no layer hears of it, because
// the program may hold locks that a function of the driver would need. begin returns false also in
// a process that has not met the recorder.
bool core_call_begin_apart(struct core_call *call, enum core_hook hook,
                           struct stack_unwind_registers caller);
void core_call_end_apart(struct core_call *call);
// Gives the call of a hidden function a number and a call path, so that core_call_end records it.
void core_call_tell(struct core_call *call);
// Writes the call's record, for hooks that write more than one.
void core_call_put(const struct core_call *call);
// Returns whether the call, which has succeeded, has destroyed its context.
bool core_call_ends_context(const struct core_call *call);
// Returns whether the call's stream is under capture. Asks the driver only while some stream is.
bool core_call_captured(const struct core_call *call);

// The function that a hook calls: a layer's, if one stands before the driver's, or else the
// driver's.
#define CALLED(symbol)                                                                           \
    ((__typeof__(&(symbol)))(core_state.stands[HOOK_##symbol] ? core_state.stands[HOOK_##symbol] \
                                                              : core_driver_real(HOOK_##symbol)))

// Calls the driver, and again while it finds no memory and a layer has freed some. Does not make a
// call that a layer has refused.
bool core_call_lacks_memory(struct core_call *call, CUresult result);
#define CALLED_WITH(call, result, called)                  \
    do {                                                   \
        (result) = (call).refused;                         \
        if ((result) != CUDA_SUCCESS)                      \
            break;                                         \
        do                                                 \
            (result) = (called);                           \
        while (core_call_lacks_memory(&(call), (result))); \
    } while (0)

#define HOOKED(symbol, params, args, stream, before, ...)                    \
    CUresult symbol params                                                   \
    {                                                                        \
        struct core_call call;                                               \
        if (!core_call_begin(&call, HOOK_##symbol, (stream), UNWIND_CALLER)) \
            return REAL(symbol) args;                                        \
        before;                                                              \
        core_call_start(&call);                                              \
        CUresult result;                                                     \
        CALLED_WITH(call, result, CALLED(symbol) args);                      \
        core_call_stop(&call, result);                                       \
        __VA_ARGS__;                                                         \
        return core_call_end(&call);                                         \
    }

#define HOOKED_BOTH(symbol, suffix, params, args, stream, before, ...) \
    HOOKED(symbol, params, args, stream, before, __VA_ARGS__)          \
    HOOKED(symbol##suffix, params, args, stream, before, __VA_ARGS__)

// Fill the call's detail.
void core_call_alloc(struct core_call *call, uint64_t address, uint64_t bytes, uint64_t object);
void core_call_sync(struct core_call *call, uint64_t event, uint32_t stream, uint32_t record);

#endif
