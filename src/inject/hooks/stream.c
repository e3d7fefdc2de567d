// SPDX-License-Identifier: Apache-2.0
// Hooks of streams, events, waits, and work that is neither a copy nor a fill nor a launch.
#include "inject/collectives/collectives.h"
#include "inject/core/names.h"
#include "inject/core/object_records.h"
#include "inject/core/tail.h"
#include "inject/correct/wait/owed.h"
#include "inject/probe/probe.h"
#include "inject/shadow/shadow.h"
#include "inject/uses/first_use.h"

// --- Streams -------------------------------------------------------------------------------------

static void made(struct core_call *call, const CUstream *stream)
{
    if (call->result == CUDA_SUCCESS && stream && *stream && call->context)
        call->stream = core_stream_new(*stream, call->context);
    collectives_look();
}

HOOKED(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags), NO_STREAM, {},
       { made(&call, stream); })
HOOKED(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),
       (stream, flags, priority), NO_STREAM, {}, { made(&call, stream); })
HOOKED(cuGreenCtxStreamCreate, (CUstream * stream, CUgreenCtx green, unsigned flags, int priority),
       (stream, green, flags, priority), NO_STREAM, {}, {
           made(&call, stream);
           if (call.stream)
               call.stream->green = true;
       })

// Removes the handle before the call, because it may already belong to another stream when the
// driver returns. The record of the call still has the stream's number.
static void destroys(struct core_call *call, CUstream handle)
{
    core_stream_end(handle);
    if (core_state.timestamps && call->stream)
        core_gpu_time_collect(call->stream);
    if (probe_state && call->stream)
        shadow_stream_leave(call->stream);
}

static void destroyed(struct core_call *call)
{
    const uint32_t defaults = EVENT_STREAM_LEGACY | EVENT_STREAM_PER_THREAD;
    if (call->result != CUDA_SUCCESS || !call->stream || call->stream->flags & defaults)
        return;
    call->number_of_stream = call->stream->number;
    core_order_stream_gone(call->stream->number);
    call->number_of_context = call->stream->context->number;
    core_gpu_time_forget(call->stream);
    core_tail_forget(call->stream);
    core_stream_recycle(call->stream);
    call->stream = NULL;
}

HOOKED(
    cuStreamDestroy, (CUstream stream), (stream), stream, { destroys(&call, stream); },
    { destroyed(&call); })
HOOKED(
    cuStreamDestroy_v2, (CUstream stream), (stream), stream, { destroys(&call, stream); },
    { destroyed(&call); })

// --- Events --------------------------------------------------------------------------------------

HOOKED(cuEventCreate, (CUevent * event, unsigned flags), (event, flags), NO_STREAM, {}, {
    collectives_look();
    if (result == CUDA_SUCCESS) {
        core_event_end(*event); // removes an old event whose handle the driver has reused
        core_order_event_made(*event, flags);
    }
})

static void ends_event(CUevent event)
{
    core_event_end(event);
    core_order_event_gone(event);
}

HOOKED(cuEventDestroy, (CUevent event), (event), NO_STREAM, { ends_event(event); }, {})
HOOKED(cuEventDestroy_v2, (CUevent event), (event), NO_STREAM, { ends_event(event); }, {})

// enqueued: by core_order_recording.
static void recorded(struct core_call *call, CUevent event, uint64_t enqueued)
{
    if (call->result == CUDA_SUCCESS && call->stream && !(call->flags & EVENT_CALL_CAPTURED))
        core_order_recorded(event, call->stream, enqueued);
    core_call_sync(call, core_event_number(event), call->stream ? call->stream->number : 0,
                   core_event_record_number(event, call->result == CUDA_SUCCESS &&
                                                       !(call->flags & EVENT_CALL_CAPTURED)));
    uses_recorded(call, event);
    correct_recorded(call, event);
}

HOOKED_BOTH(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream), stream,
            const uint64_t enqueued = core_order_recording(event, call.stream),
            { recorded(&call, event, enqueued); })
HOOKED_BOTH(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
            (event, stream, flags), stream,
            const uint64_t enqueued = core_order_recording(event, call.stream),
            { recorded(&call, event, enqueued); })
// These record work of several streams.
HOOKED(cuCtxRecordEvent, (CUcontext context, CUevent event), (context, event), NO_STREAM,
       { core_order_recording(event, NULL); }, {})
HOOKED(cuGreenCtxRecordEvent, (CUgreenCtx context, CUevent event), (context, event), NO_STREAM,
       { core_order_recording(event, NULL); }, {})

static uint64_t waits_for_record(struct core_call *call, CUevent event)
{
    core_call_sync(call, core_event_number(event), call->stream ? call->stream->number : 0,
                   core_event_record_number(event, false));
    if (probe_state && call->stream && atomic_load(&core_state.captures))
        shadow_stream_leave(call->stream);
    return core_order_waits(event);
}

static void waited_for_record(struct core_call *call, CUevent event, uint64_t record)
{
    // This call may have made the stream join a capture.
    if (core_call_captured(call))
        call->flags |= EVENT_CALL_CAPTURED;
    if (call->result == CUDA_SUCCESS && call->stream && !(call->flags & EVENT_CALL_CAPTURED))
        core_order_waited(event, call->stream, record);
    uses_waits(call, event);
}

HOOKED_BOTH(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
            (stream, event, flags), stream, const uint64_t record = waits_for_record(&call, event),
            { waited_for_record(&call, event, record); })

// --- Waiting -------------------------------------------------------------------------------------

static uint64_t waits_for_event(struct core_call *call, CUevent event)
{
    call->event = event;
    call->waited_is_known = true;
    core_call_sync(call, core_event_number(event), 0, core_event_record_number(event, false));
    return core_order_waits(event);
}

static void waited_for_event(const struct core_call *call, uint64_t record)
{
    if (call->result == CUDA_SUCCESS)
        core_order_waited(call->event, NULL, record);
}

static void waits_for_stream(struct core_call *call)
{
    call->waited_is_known = true;
    core_call_sync(call, 0, call->stream ? call->stream->number : 0, 0);
}

HOOKED(cuCtxSynchronize, (void), (), NO_STREAM, { waits_for_stream(&call); }, {})
HOOKED(cuCtxSynchronize_v2, (CUcontext ctx), (ctx), NO_STREAM,
       {
           call.context = ctx ? core_context_known(ctx) : call.context;
           waits_for_stream(&call);
       },
       {})
HOOKED_BOTH(cuStreamSynchronize, _ptsz, (CUstream stream), (stream), stream,
            { waits_for_stream(&call); }, {})

// Returns whether the stream has done all work of the program, as far as glint or the driver knows.
static bool has_ended(const struct core_call *call, struct core_stream *stream)
{
    return core_tail_is_all(stream) ||
           (stream != call->stream && core_stream_can_name(stream, call->stream, call->current) &&
            REAL(cuStreamQuery)(stream->handle) == CUDA_SUCCESS);
}

// The driver reports "not ready". The program must not see that if only glint's work is pending.
// The legacy stream is ready when all streams are that it waits for.
static void queried(struct core_call *call)
{
    struct core_stream *streams[CALL_MOST_STREAMS];
    if (call->result != CUDA_ERROR_NOT_READY || !call->stream || !has_ended(call, call->stream))
        return;
    bool ended = true;
    if (call->stream->flags & EVENT_STREAM_LEGACY) {
        if (!core_ask()) // otherwise streams could be destroyed meanwhile
            return;
        const size_t count =
            core_streams_of(call->stream->context, true, streams, CALL_MOST_STREAMS);
        for (size_t i = 0; ended && i < count; i++)
            ended = has_ended(call, streams[i]);
        ended &= count < CALL_MOST_STREAMS;
        core_asked();
    }
    if (ended)
        call->result = CUDA_SUCCESS;
}

HOOKED_BOTH(
    cuStreamQuery, _ptsz, (CUstream stream), (stream), stream, { waits_for_stream(&call); },
    { queried(&call); })
HOOKED(cuEventSynchronize, (CUevent event), (event), NO_STREAM,
       const uint64_t record = waits_for_event(&call, event), { waited_for_event(&call, record); })
HOOKED(cuEventQuery, (CUevent event), (event), NO_STREAM,
       const uint64_t record = waits_for_event(&call, event), { waited_for_event(&call, record); })
// Also a query: it fails if the second event has not happened.
HOOKED(cuEventElapsedTime, (float *ms, CUevent start, CUevent end), (ms, start, end), NO_STREAM,
       const uint64_t record = waits_for_event(&call, end), { waited_for_event(&call, record); })
HOOKED(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end), (ms, start, end), NO_STREAM,
       const uint64_t record = waits_for_event(&call, end), { waited_for_event(&call, record); })

// --- Other work ----------------------------------------------------------------------------------

#define WORK(symbol, params, args) HOOKED_BOTH(symbol, _ptsz, params, args, stream, {}, {})

// Returns whether to record the call's accesses to objects, beside those that probes report of
// launches.
static bool tells_accesses(struct core_call *call)
{
    if (!probe_state || call->quiet || call->result != CUDA_SUCCESS ||
        call->flags & EVENT_CALL_CAPTURED)
        return false;
    if (!call->number)
        call->number = core_next_number(&core_state.calls);
    return true;
}

// Records that the call's accesses are not fully known.
static void put_doubt(struct core_call *call)
{
    const struct event_told record = {.call = call->number, .doubts = 1u << EVENT_DOUBT_WORK};
    core_put(EVENT_TOLD, &record, sizeof(record), NULL, 0);
}

static void touches_value(struct core_call *call, uint64_t address, uint32_t flags)
{
    struct core_objects_piece piece;
    if (flags & EVENT_ACCESS_WRITTEN)
        shadow_unseen_work(call->current, call->stream);
    if (tells_accesses(call) && core_objects_find_piece(&core_state.objects, address, &piece))
        core_object_accessed(call->number, 0, piece.object.number, flags, false);
}

static void touches_values(struct core_call *call, const CUstreamBatchMemOpParams *params,
                           unsigned count)
{
    struct base_map objects = {0}; // number to EVENT_ACCESS_*
    bool known = true;
    shadow_unseen_work(call->current, call->stream);
    if (!params || !tells_accesses(call))
        return;
    for (unsigned i = 0; i < count; i++) {
        struct core_objects_piece piece;
        uint32_t flags = 0;
        switch ((int)params[i].operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WAIT_VALUE_64: flags = EVENT_ACCESS_READ; break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        case CU_STREAM_MEM_OP_WRITE_VALUE_64: flags = EVENT_ACCESS_WRITTEN; break;
        case CU_STREAM_MEM_OP_BARRIER:
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: continue;
        default: known = false; continue;
        }
        // Both have the address at the same place.
        if (!core_objects_find_piece(&core_state.objects, params[i].writeValue.address, &piece))
            continue;
        uint64_t *all = base_map_put(&objects, piece.object.number, NULL);
        known &= all != NULL;
        if (all)
            *all |= flags;
    }
    for (size_t i = 0; i < objects.count; i++)
        core_object_accessed(call->number, 0, objects.entries[i].key,
                             (uint32_t)objects.entries[i].value, false);
    if (!known)
        put_doubt(call);
    base_map_fini(&objects);
}

#define VALUE_WORK(symbol, type, how)                                                         \
    HOOKED_BOTH(symbol, _ptsz, (CUstream stream, CUdeviceptr at, type value, unsigned flags), \
                (stream, at, value, flags), stream, {}, { touches_value(&call, at, how); })
#define VALUES_WORK(symbol)                                                                  \
    HOOKED_BOTH(                                                                             \
        symbol, _ptsz,                                                                       \
        (CUstream stream, unsigned count, CUstreamBatchMemOpParams *params, unsigned flags), \
        (stream, count, params, flags), stream, {}, { touches_values(&call, params, count); })

VALUE_WORK(cuStreamWaitValue32, cuuint32_t, EVENT_ACCESS_READ)
VALUE_WORK(cuStreamWaitValue32_v2, cuuint32_t, EVENT_ACCESS_READ)
VALUE_WORK(cuStreamWaitValue64, cuuint64_t, EVENT_ACCESS_READ)
VALUE_WORK(cuStreamWaitValue64_v2, cuuint64_t, EVENT_ACCESS_READ)
VALUE_WORK(cuStreamWriteValue32, cuuint32_t, EVENT_ACCESS_WRITTEN)
VALUE_WORK(cuStreamWriteValue32_v2, cuuint32_t, EVENT_ACCESS_WRITTEN)
VALUE_WORK(cuStreamWriteValue64, cuuint64_t, EVENT_ACCESS_WRITTEN)
VALUE_WORK(cuStreamWriteValue64_v2, cuuint64_t, EVENT_ACCESS_WRITTEN)
VALUES_WORK(cuStreamBatchMemOp)
VALUES_WORK(cuStreamBatchMemOp_v2)
WORK(cuSignalExternalSemaphoresAsync,
     (const CUexternalSemaphore *semaphores, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params,
      unsigned count, CUstream stream),
     (semaphores, params, count, stream))
WORK(cuWaitExternalSemaphoresAsync,
     (const CUexternalSemaphore *semaphores, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
      unsigned count, CUstream stream),
     (semaphores, params, count, stream))
WORK(cuMemMapArrayAsync, (CUarrayMapInfo * list, unsigned count, CUstream stream),
     (list, count, stream))
HOOKED_BOTH(cuMemBatchDecompressAsync, _ptsz,
            (CUmemDecompressParams * params, size_t count, unsigned flags, size_t *failed,
             CUstream stream),
            (params, count, flags, failed, stream), stream, {}, {
                shadow_unseen_work(call.current, call.stream);
                if (tells_accesses(&call))
                    put_doubt(&call);
            })
WORK(cuMemPrefetchBatchAsync,
     (CUdeviceptr * pointers, size_t *bytes, size_t count, CUmemLocation *places,
      size_t *place_indices, size_t place_count, unsigned long long flags, CUstream stream),
     (pointers, bytes, count, places, place_indices, place_count, flags, stream))
WORK(cuMemDiscardBatchAsync,
     (CUdeviceptr * pointers, size_t *bytes, size_t count, unsigned long long flags,
      CUstream stream),
     (pointers, bytes, count, flags, stream))
WORK(cuMemDiscardAndPrefetchBatchAsync,
     (CUdeviceptr * pointers, size_t *bytes, size_t count, CUmemLocation *places,
      size_t *place_indices, size_t place_count, unsigned long long flags, CUstream stream),
     (pointers, bytes, count, places, place_indices, place_count, flags, stream))
