// SPDX-License-Identifier: Apache-2.0
// What every hook does around the driver's function:
//
//     HOOKED(cuMemAlloc_v2, (CUdeviceptr *pointer, size_t bytes), (pointer, bytes), NO_STREAM,
//            {before}, {after})
//
// defines the hook. `before` may fill the call's detail from the arguments; `after` sees `result`.
// HOOKED_BOTH does the same for the form for per-thread default streams.
#ifndef GLINT_INJECT_CORE_CALL_H
#define GLINT_INJECT_CORE_CALL_H

#include "state.h"

enum { CALL_MOST_STREAMS = 32 }; // that are looked at to tell whether a call waited

struct probe_launch;
struct probe_exec;

struct call_hash { // of what a copy moves: see uses/hash.c
    uint64_t high, low, took_ns;
    bool known;
};

struct call {
    enum hook hook;
    struct unwind_registers caller;
    struct context *current; // the thread's
    struct context *context; // that the call is about
    struct stream *stream;
    uint32_t number_of_stream, number_of_context; // of a stream that is gone
    uint64_t start_ns, end_ns, number;
    uint32_t stack;
    CUresult result;
    int error;            // the program's errno
    uint8_t kind;         // enum event_call_kind
    uint8_t flags;        // EVENT_CALL_*
    uint8_t how;          // HOOK_*; a hook may change it before call_start
    bool waited_is_known; // all of the call was waiting, if it waited
    bool quiet;           // make no record
    bool submits;         // gives work to the GPU, and first_use.c counts it
    bool early; // of a launch: it may begin before what is ahead of it in its stream has ended
    unsigned cluster[3];    // of a launch: the size of clusters, in blocks; zeros: it has none
    unsigned pending_count; // streams on which work was pending when it began
    struct stream *pending[CALL_MOST_STREAMS];
    uint64_t pending_at[CALL_MOST_STREAMS]; // pieces of work that each had been given by then
    CUevent event;                          // that is waited for instead of streams
    struct call_hash before;                // of a copy to the host: what was there
    struct call_hash after;                 // of one that has waited for itself: what is there now
    uint64_t host_calls;        // of a synchronisation: functions that streams had been given
    struct probe_launch *probe; // of a launch that is watched
    uint64_t hosts;             // of a synchronisation: see correct/wait/owed.c
    uint64_t signals;           // that the thread had blocked, if it holds_signals
    bool holds_signals;
    CUresult refused; // not CUDA_SUCCESS: the driver is not asked; see correct/memory/back.h
    bool flies;       // likewise
    struct probe_exec *replays; // of the launch of a graph that has watched kernels
    struct timing timing;
    union call_detail {
        struct event_alloc alloc;
        struct event_copy copy;
        struct event_set set;
        struct event_launch launch;
        struct event_graph graph;
        struct event_sync sync;
    } detail; // by its kind; zeroed where there is nothing to tell
};

#define NO_STREAM ((CUstream)(uintptr_t)-1)

// False: pass the call on and do nothing else. Where true, the other three follow in this order.
bool call_begin(struct call *call, enum hook hook, CUstream stream, struct unwind_registers caller);
void call_start(struct call *call);
void call_stop(struct call *call, CUresult result);
CUresult call_end(struct call *call);
void call_tell(struct call *call);      // one of a hidden function, after all
void call_put(const struct call *call); // writes a record, for hooks that make more than one
// Whether the call, which was good, has ended its context, and with it all that was in that.
bool context_is_gone(const struct call *call);

// What a hook calls: the function of correct.h that stands before the driver's, or the driver's.
extern void *call_stands[HOOK_COUNT]; // NULL: none; written at the start
#define CALLED(symbol)                                                               \
    ((__typeof__(&(symbol)))(call_stands[HOOK_##symbol] ? call_stands[HOOK_##symbol] \
                                                        : door_real(HOOK_##symbol)))

// Asks the driver, and once more where it found no memory and some could be made free. A call that
// is refused is not made.
bool call_lacks_memory(CUresult result);
#define CALLED_WITH(call, result, called)                                       \
    do {                                                                        \
        (result) = (call).refused;                                              \
        if ((result) == CUDA_SUCCESS && call_lacks_memory((result) = (called))) \
            (result) = (called);                                                \
    } while (0)

#define HOOKED(symbol, params, args, stream, before, ...)               \
    CUresult symbol params                                              \
    {                                                                   \
        struct call call;                                               \
        if (!call_begin(&call, HOOK_##symbol, (stream), UNWIND_CALLER)) \
            return REAL(symbol) args;                                   \
        before;                                                         \
        call_start(&call);                                              \
        CUresult result;                                                \
        CALLED_WITH(call, result, CALLED(symbol) args);                 \
        call_stop(&call, result);                                       \
        __VA_ARGS__;                                                    \
        return call_end(&call);                                         \
    }

#define HOOKED_BOTH(symbol, suffix, params, args, stream, before, ...) \
    HOOKED(symbol, params, args, stream, before, __VA_ARGS__)          \
    HOOKED(symbol##suffix, params, args, stream, before, __VA_ARGS__)

// Details, from a hook's arguments.
void call_alloc(struct call *call, uint64_t address, uint64_t bytes, uint64_t object);
void call_sync(struct call *call, uint64_t event, uint32_t stream, uint32_t record);

// Memory (hooks/memory.c). An object begins where the call was good: its number, and the detail.
uint64_t memory_begin(struct call *call, uint8_t kind, uint64_t address, uint64_t bytes);
// The detail of a call that is about memory from the address on (0 bytes: all of the object).
void memory_about(struct call *call, uint64_t address, uint64_t bytes);
// Before the driver frees what starts there, and after it has, or has refused to.
struct object memory_leave(struct call *call, uint64_t address);
void memory_left(struct call *call, const struct object *object);

// Copies (hooks/copy.c), also of graph nodes.
struct copy_end {
    uint8_t memory; // CU_MEMORYTYPE_*; 0: as the address says
    uint64_t address;
    CUarray array;
    uint64_t pitch, slice; // bytes from row to row, and from slice to slice
};
struct event_copy copy_detail(struct copy_end from, struct copy_end to, uint64_t width_bytes,
                              uint64_t height, uint64_t depth);
struct event_copy copy_detail_3d(const CUDA_MEMCPY3D *copy);
struct event_set set_detail(CUdeviceptr to, uint64_t pitch, uint32_t value, uint32_t value_bytes,
                            uint64_t width, uint64_t height);
// Bytes of an array's element; 0: of a format in blocks or planes, which only the driver knows.
uint64_t array_element_bytes(CUarray_format format, unsigned channels);

// GPU times (gpu_time.c).
// Before work of glint's own goes ahead of the call's on its stream, which is the current
// context's: later it may be too busy to fit its clock.
void gpu_time_prepare(const struct call *call);
void gpu_time_before(struct call *call);
void gpu_time_after(struct call *call);
// At a call's end: tells the times of what it has waited for, or of some where many are left.
void gpu_time_read(const struct call *call);
// Before a stream or a context goes: tells the times of all that has happened.
void gpu_time_collect(struct stream *stream);
void gpu_time_collect_context(struct context *context);
void gpu_time_forget(struct stream *stream); // after that: the rest is lost
void gpu_time_finish(void);                  // at the process's end

// Whether the stream is under capture now. Asks the driver only while some stream is.
bool call_captured(const struct call *call);

#endif
