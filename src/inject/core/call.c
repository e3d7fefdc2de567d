// SPDX-License-Identifier: Apache-2.0
// What every hook does around the driver's function: it finds the thread and the call path, takes
// the times, finds out whether the call waited, and writes the record.
//
// glint finds out whether a call waited without waiting itself: the function is one that waits, and
// work was pending when it began, that is, the driver reported a stream as not ready. Streams that
// got no work since they were last known to be idle are not queried.
#include "call.h"

#include <errno.h>
#include <string.h>

#include "names.h"
#include "tail.h"

static uint32_t path_of(const struct core_call *call)
{
    return core_state.stacks ? stack_from(core_state.stacks, core_state.ring, call->caller) : 0;
}

// Sets everything but the call's context, stream, number and path.
static inline void prepare(struct core_call *call, enum core_hook hook,
                           struct stack_unwind_registers caller)
{
    call->error = errno;
    core_thread.depth = 1;
    core_thread.call = call;
    const struct core_hook_row *row = &core_hook_rows[hook];
    call->hook = hook;
    call->caller = caller;
    call->how = row->how;
    call->kind = row->kind;
    call->flags = row->how & HOOK_ASYNC ? EVENT_CALL_ASYNC : 0;
    call->stream = NULL;
    call->number_of_stream = call->number_of_context = 0;
    call->waited_is_known = false;
    call->quiet = row->how & HOOK_HIDDEN;
    call->submits = false;
    call->pending_count = 0;
    call->sync = 0;
    call->event = NULL;
    call->before.known = call->after.known = false;
    call->probe = NULL;
    call->sampled = NULL;
    call->alike = NULL;
    call->refused = CUDA_SUCCESS;
    call->flies = false;
    call->wanted_bytes = 0;
    call->wanted_device = 0;
    call->exec = NULL;
    call->replays = NULL;
    call->batch = false;
    call->timing = (struct core_timing){0};
    memset(&call->detail, 0, sizeof(call->detail));
}

bool core_call_begin(struct core_call *call, enum core_hook hook, CUstream stream,
                     struct stack_unwind_registers caller)
{
    if (!core_on() || core_thread.depth)
        return false;
    prepare(call, hook, caller);
    call->context = call->current = core_context_current();
    const struct core_hook_row *row = &core_hook_rows[hook];
    // A query may not be worth recording, so it gets its number only when it is recorded.
    const bool query = row->kind == EVENT_CALL_SYNC && row->how & HOOK_ASYNC;
    call->number = call->quiet || query ? 0 : core_next_number(&core_state.calls);
    call->stack = call->quiet ? 0 : path_of(call);
    if (stream != NO_STREAM) {
        call->stream = core_stream_of(stream, row->per_thread, call->context);
        if (call->stream && core_call_captured(call))
            call->flags |= EVENT_CALL_CAPTURED;
    }
    return true;
}

bool core_call_captured(const struct core_call *call)
{
    if (!call->stream || !atomic_load_explicit(&core_state.captures, memory_order_relaxed))
        return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return REAL(cuStreamIsCapturing)(call->stream->handle, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static bool can_ask(const struct core_call *call, const struct core_stream *stream)
{
    return core_stream_can_name(stream, call->stream, call->current);
}

// Work that glint has put behind the program's does not count as pending.
static bool is_pending(const struct core_call *call, struct core_stream *stream)
{
    return can_ask(call, stream) && REAL(cuStreamQuery)(stream->handle) == CUDA_ERROR_NOT_READY &&
           !core_tail_is_all(stream);
}

// Lists the streams with pending work among those that the call waits for: its own stream, and for
// the legacy stream also those that synchronize with it; for a call without a stream, all streams
// of the context.
static void ask_for_pending(struct core_call *call)
{
    struct core_stream *streams[CALL_MOST_STREAMS];
    size_t count = 0;
    struct core_context *about = call->stream ? call->stream->context : call->context;
    if (call->event) {
        call->pending_count = REAL(cuEventQuery)(call->event) == CUDA_ERROR_NOT_READY;
        call->pending[0] = NULL;
        return;
    }
    if (!call->stream) // work that arrives from now on makes it busy again
        atomic_store(&about->busy, false);
    if (!call->stream || call->stream->flags & EVENT_STREAM_LEGACY)
        count = core_streams_of(call->context, call->stream != NULL, streams, CALL_MOST_STREAMS);
    else
        streams[count++] = call->stream;
    bool busy = count == CALL_MOST_STREAMS;
    for (size_t i = 0; i < count; i++) {
        uint64_t enqueued = atomic_load(&streams[i]->enqueued);
        if (enqueued == atomic_load(&streams[i]->idle))
            continue;
        const CUresult result = can_ask(call, streams[i]) ? REAL(cuStreamQuery)(streams[i]->handle)
                                                          : CUDA_ERROR_INVALID_HANDLE;
        if (result == CUDA_SUCCESS) {
            core_stream_idle(streams[i], enqueued);
            continue;
        }
        busy = true;
        if (result == CUDA_ERROR_NOT_READY && !core_tail_is_all(streams[i])) {
            call->pending_at[call->pending_count] = enqueued;
            call->pending[call->pending_count++] = streams[i];
        }
    }
    if (busy)
        atomic_store(&about->busy, true);
}

static void look_for_pending(struct core_call *call)
{
    const struct core_context *about = call->stream ? call->stream->context : call->context;
    if (!call->context || (!call->event && !atomic_load(&about->busy)) || !core_ask())
        return;
    ask_for_pending(call);
    core_asked();
}

static bool was_pending(const struct core_call *call, const struct core_stream *stream)
{
    bool found = false;
    for (unsigned i = 0; !found && i < call->pending_count; i++)
        found = call->pending[i] == stream;
    return found;
}

// Releasing the last reference destroys the context: then a detached context is no longer current,
// and a primary context no longer active.
bool core_call_ends_context(const struct core_call *call)
{
    unsigned flags;
    int active = 1;
    switch (call->hook) {
    case HOOK_cuCtxDestroy:
    case HOOK_cuCtxDestroy_v2:
    case HOOK_cuDevicePrimaryCtxReset: // whoever still holds it
    case HOOK_cuDevicePrimaryCtxReset_v2: return true;
    case HOOK_cuCtxDetach: return core_context_current() != call->context;
    case HOOK_cuDevicePrimaryCtxRelease:
    case HOOK_cuDevicePrimaryCtxRelease_v2:
        return REAL(cuDevicePrimaryCtxGetState)((CUdevice)call->context->device - 1, &flags,
                                                &active) == CUDA_SUCCESS &&
               !active;
    default: return false;
    }
}

// Returns whether the work that was pending when the call began was done before it returned. A
// function that waits has waited if it succeeded. Querying the streams now would miss calls that
// leave their own work behind, or the event for its time, so glint does that only if the call
// failed, or does not always wait. The streams of a destroyed context have nothing pending, and
// must not be queried: the driver may follow a dangling handle.
static bool has_waited(const struct core_call *call)
{
    if (call->result == CUDA_SUCCESS &&
        (!(call->how & HOOK_UNSURE) || core_call_ends_context(call)))
        return true;
    if (call->event || !core_ask())
        return false;
    // core_streams_of returns only streams that still exist.
    struct core_stream *streams[CALL_MOST_STREAMS];
    const size_t count =
        core_streams_of(call->pending[0]->context, false, streams, CALL_MOST_STREAMS);
    bool waited = true;
    for (size_t i = 0; waited && i < count; i++)
        waited = !was_pending(call, streams[i]) || !is_pending(call, streams[i]);
    core_asked();
    return waited;
}

void core_call_start(struct core_call *call)
{
    const bool captured = call->flags & EVENT_CALL_CAPTURED;
    if (call->how & HOOK_WAITS && !captured) {
        look_for_pending(call);
        for (unsigned i = 0; i < core_state.layers.waits_count; i++)
            core_state.layers.waits[i](call);
    }
    if (call->how & HOOK_WAITS && call->kind == EVENT_CALL_SYNC && !call->event)
        call->sync = call->stream    ? atomic_load(&call->stream->enqueued)
                     : call->context ? atomic_fetch_add(&call->context->syncs, 1) + 1
                                     : 0;
    if (call->how & HOOK_TIMED && core_state.timestamps && !captured)
        core_gpu_time_before(call);
    for (unsigned i = 0; i < core_state.layers.before_count; i++)
        core_state.layers.before[i](call);
    errno = call->error;
    call->frees = atomic_load_explicit(&core_state.frees, memory_order_relaxed);
    call->start_ns = core_now_ns();
}

bool core_call_lacks_memory(struct core_call *call, CUresult result)
{
    if (__builtin_expect(result != CUDA_ERROR_OUT_OF_MEMORY, 1))
        return false;
    // Another thread may have freed some since the driver was called.
    const bool freed = core_layers_free_memory(call);
    const uint32_t frees = atomic_fetch_add(&core_state.frees, freed) + freed;
    const bool again = frees != call->frees;
    call->frees = frees;
    return again;
}

// Returns whether the call may leave work on its stream. A copy or a fill may, even if its name
// says synchronous.
static bool is_work(const struct core_call *call)
{
    return call->stream && !(call->flags & EVENT_CALL_CAPTURED) &&
           call->how & (HOOK_ASYNC | HOOK_TIMED) && call->kind != EVENT_CALL_SYNC &&
           call->kind != EVENT_CALL_STREAM;
}

// Returns whether the pending streams have done the work that they had when the call began.
static bool has_synchronized(const struct core_call *call)
{
    return call->result == CUDA_SUCCESS && call->kind == EVENT_CALL_SYNC && !call->event &&
           !(call->how & HOOK_UNSURE);
}

void core_call_stop(struct core_call *call, CUresult result)
{
    call->end_ns = core_now_ns();
    call->error = errno;
    call->result = result;
    if (result == CUDA_SUCCESS && is_work(call))
        core_stream_program_work(call->stream);
    if (call->timing.timed)
        core_gpu_time_after(call);
    if (call->sync && has_synchronized(call))
        core_stream_raise(call->stream ? &call->stream->idle : &call->context->synced, call->sync);
    if (call->pending_count && has_waited(call)) {
        call->flags |= EVENT_CALL_WAITED;
        for (unsigned i = 0; has_synchronized(call) && i < call->pending_count; i++)
            core_stream_idle(call->pending[i], call->pending_at[i]);
    }
    if (result != CUDA_SUCCESS)
        core_note_fault();
}

// Polling would fill the ring, so of consecutive equal queries with the same answer only one is
// recorded.
static bool is_repeated(const struct core_call *call)
{
    struct core_thread *thread = &core_thread;
    const bool not_ready = call->result == CUDA_ERROR_NOT_READY && call->kind == EVENT_CALL_SYNC;
    const void *about = call->event ? (const void *)call->event : (const void *)call->stream;
    if (not_ready && thread->last_query == (uint32_t)call->hook && thread->last_handle == about)
        return true;
    thread->last_query = (uint32_t)call->hook;
    thread->last_handle = not_ready ? about : NULL;
    return false;
}

static inline struct event_call record_of(const struct core_call *call)
{
    const bool waited = call->flags & EVENT_CALL_WAITED && call->waited_is_known;
    return (struct event_call){
        .number = call->number,
        .start_ns = call->start_ns,
        .end_ns = call->end_ns,
        .function = (uint32_t)call->hook + 1,
        .thread = core_thread_number(),
        .context = call->stream              ? call->stream->context->number
                   : call->number_of_context ? call->number_of_context
                   : call->context           ? call->context->number
                                             : 0,
        .stream = call->stream ? call->stream->number : call->number_of_stream,
        .stack = call->stack,
        .result = (int32_t)call->result,
        .waited_ns = waited ? call->end_ns - call->start_ns : 0,
        .kind = call->kind,
        .flags = call->flags,
    };
}

static bool is_about_memory(const struct core_call *call)
{
    return call->kind == EVENT_CALL_ALLOC || call->kind == EVENT_CALL_FREE ||
           call->kind == EVENT_CALL_MEMORY;
}

static __attribute__((noinline)) void put_whole(const struct core_call *call)
{
    static const uint8_t detail_bytes[EVENT_CALL_KINDS] = {
        [EVENT_CALL_ALLOC] = sizeof(struct event_alloc),
        [EVENT_CALL_FREE] = sizeof(struct event_alloc),
        [EVENT_CALL_COPY] = sizeof(struct event_copy),
        [EVENT_CALL_SET] = sizeof(struct event_set),
        [EVENT_CALL_LAUNCH] = sizeof(struct event_launch),
        [EVENT_CALL_GRAPH_LAUNCH] = sizeof(struct event_graph),
        [EVENT_CALL_SYNC] = sizeof(struct event_sync),
        [EVENT_CALL_EVENT_RECORD] = sizeof(struct event_sync),
        [EVENT_CALL_EVENT_WAIT] = sizeof(struct event_sync),
        [EVENT_CALL_MEMORY] = sizeof(struct event_alloc),
    };
    const struct event_call record = record_of(call);
    const struct event_piece pieces[] = {{&record, sizeof(record)},
                                         {&call->detail, detail_bytes[call->kind]}};
    event_put_pieces(core_state.ring, EVENT_CALL, pieces, 2);
}

// Most calls about memory go directly from registers into the ring: a record built in memory would
// be written in small pieces and read back in large ones, for which processors stall.
void core_call_put(const struct core_call *call)
{
    if (is_about_memory(call)) {
        const struct event_call record = record_of(call);
        if (event_put_short(core_state.ring, &record, &call->detail.alloc))
            return;
    }
    put_whole(call);
}

void core_call_tell(struct core_call *call)
{
    call->quiet = false;
    call->number = core_next_number(&core_state.calls);
    call->stack = path_of(call);
}

bool core_call_begin_apart(struct core_call *call, enum core_hook hook,
                           struct stack_unwind_registers caller)
{
    if (!core_is_on() || core_thread.depth)
        return false;
    prepare(call, hook, caller);
    call->context = call->current = NULL;
    call->number = 0;
    call->stack = 0;
    call->start_ns = core_now_ns();
    return true;
}

void core_call_end_apart(struct core_call *call)
{
    if (!call->quiet) {
        call->end_ns = core_now_ns();
        call->result = CUDA_SUCCESS;
        core_call_put(call);
    }
    core_thread.call = NULL;
    core_thread.depth = 0;
    errno = call->error;
}

CUresult core_call_end(struct core_call *call)
{
    if (!call->quiet && !is_repeated(call)) {
        if (!call->number)
            call->number = core_next_number(&core_state.calls);
        core_call_put(call);
    }
    if (core_state.timestamps)
        core_gpu_time_read(call);
    for (unsigned i = 0; i < core_state.layers.after_count; i++)
        core_state.layers.after[i](call);
    core_thread.call = NULL;
    core_thread.depth = 0;
    errno = call->error;
    return call->result;
}

void core_call_alloc(struct core_call *call, uint64_t address, uint64_t bytes, uint64_t object)
{
    call->detail.alloc = (struct event_alloc){.address = address, .bytes = bytes, .object = object};
}

void core_call_sync(struct core_call *call, uint64_t event, uint32_t stream, uint32_t record)
{
    call->detail.sync = (struct event_sync){event, stream, record};
}
