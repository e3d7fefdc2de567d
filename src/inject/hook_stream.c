// SPDX-License-Identifier: Apache-2.0
// Hooks of streams, events and waiting.
#include "call.h"

// --- Streams -------------------------------------------------------------------------------------

static void made(struct call *call, const CUstream *stream)
{
    if (call->result == CUDA_SUCCESS && stream && *stream && call->context)
        call->stream = stream_new(*stream, call->context);
}

HOOKED(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags), NO_STREAM, {},
       { made(&call, stream); })
HOOKED(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),
       (stream, flags, priority), NO_STREAM, {}, { made(&call, stream); })
HOOKED(cuGreenCtxStreamCreate, (CUstream * stream, CUgreenCtx green, unsigned flags, int priority),
       (stream, green, flags, priority), NO_STREAM, {}, { made(&call, stream); })

// Its number is still told by the call that destroys it, but the handle may already be another's
// when the driver returns: it is forgotten before.
static void destroys(struct call *call, CUstream handle)
{
    if (state.timestamps && call->stream)
        gpu_time_collect(call->stream, SIZE_MAX);
    stream_end(handle);
}

static void destroyed(struct call *call)
{
    const uint32_t defaults = EVENT_STREAM_LEGACY | EVENT_STREAM_PER_THREAD;
    if (call->result != CUDA_SUCCESS || !call->stream || call->stream->flags & defaults)
        return;
    call->number_of_stream = call->stream->number;
    call->number_of_context = call->stream->context->number;
    stream_recycle(call->stream);
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
    if (result == CUDA_SUCCESS)
        event_end(*event); // an old one of the same handle
})
HOOKED(cuEventDestroy, (CUevent event), (event), NO_STREAM, { event_end(event); }, {})
HOOKED(cuEventDestroy_v2, (CUevent event), (event), NO_STREAM, { event_end(event); }, {})

static void recorded(struct call *call, CUevent event)
{
    call_sync(call, event_number(event), call->stream ? call->stream->number : 0,
              event_record_number(event, call->result == CUDA_SUCCESS &&
                                             !(call->flags & EVENT_CALL_CAPTURED)));
}

HOOKED_BOTH(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream), stream, {},
            { recorded(&call, event); })
HOOKED_BOTH(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
            (event, stream, flags), stream, {}, { recorded(&call, event); })
HOOKED_BOTH(
    cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
    (stream, event, flags), stream,
    {
        call_sync(&call, event_number(event), call.stream ? call.stream->number : 0,
                  event_record_number(event, false));
    },
    {
        // The stream may have joined a capture by it.
        if (call_captured(&call))
            call.flags |= EVENT_CALL_CAPTURED;
    })

// --- Waiting -------------------------------------------------------------------------------------

static void waits_for_event(struct call *call, CUevent event)
{
    call->event = event;
    call->waited_is_known = true;
    call_sync(call, event_number(event), 0, event_record_number(event, false));
}

static void waits_for_stream(struct call *call)
{
    call->waited_is_known = true;
    call_sync(call, 0, call->stream ? call->stream->number : 0, 0);
}

HOOKED(cuCtxSynchronize, (void), (), NO_STREAM, { waits_for_stream(&call); }, {})
HOOKED(cuCtxSynchronize_v2, (CUcontext ctx), (ctx), NO_STREAM,
       {
           call.context = ctx ? context_known(ctx) : call.context;
           waits_for_stream(&call);
       },
       {})
HOOKED_BOTH(cuStreamSynchronize, _ptsz, (CUstream stream), (stream), stream,
            { waits_for_stream(&call); }, {})
HOOKED_BOTH(cuStreamQuery, _ptsz, (CUstream stream), (stream), stream, { waits_for_stream(&call); },
            {})
HOOKED(cuEventSynchronize, (CUevent event), (event), NO_STREAM, { waits_for_event(&call, event); },
       {})
HOOKED(cuEventQuery, (CUevent event), (event), NO_STREAM, { waits_for_event(&call, event); }, {})
