// SPDX-License-Identifier: Apache-2.0
// Tails of streams: what glint knows of the program's work when it puts its own behind it. glint
// queries the driver before it records a mark, because a mark on an idle stream takes a moment to
// happen, during which the program would see a stream that is not ready.
#include "tail.h"

#include "contexts.h"
#include "driver.h"

static CUresult query(const struct core_stream *stream)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    const CUresult result = REAL(cuStreamQuery)(stream->handle);
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    return result;
}

static bool record(struct core_stream *stream)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUevent event = NULL;
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    if (!stream->mark && REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
        stream->mark = event;
    const bool good =
        stream->mark && REAL(cuEventRecord)(stream->mark, stream->handle) == CUDA_SUCCESS;
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    return good;
}

static bool is_done(const struct core_stream *stream)
{
    return atomic_load(&stream->idle) >= atomic_load(&stream->last);
}

void core_tail_begin(struct core_stream *stream)
{
    // Querying the legacy stream while a stream that it waits for is under capture would invalidate
    // the capture.
    const bool asks = stream->flags & EVENT_STREAM_LEGACY;
    if (is_done(stream) || (asks && !core_ask()))
        return;
    util_mutex_lock(&stream->mark_lock, RANK_TAIL);
    // Work counted by now was enqueued before the query, and before the mark.
    const uint64_t enqueued = atomic_load(&stream->enqueued);
    if (stream->marked < atomic_load(&stream->last)) {
        const CUresult result = query(stream);
        if (result == CUDA_SUCCESS)
            core_stream_idle(stream, enqueued);
        else if (result == CUDA_ERROR_NOT_READY)
            stream->marked = record(stream) ? enqueued : 0;
    }
    util_mutex_unlock(&stream->mark_lock, RANK_TAIL);
    if (asks)
        core_asked();
}

bool core_tail_is_all(struct core_stream *stream)
{
    if (is_done(stream))
        return true;
    util_mutex_lock(&stream->mark_lock, RANK_TAIL);
    if (stream->marked >= atomic_load(&stream->last)) {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
        if (REAL(cuEventQuery)(stream->mark) == CUDA_SUCCESS)
            core_stream_idle(stream, stream->marked);
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    }
    util_mutex_unlock(&stream->mark_lock, RANK_TAIL);
    return is_done(stream);
}

void core_tail_forget(struct core_stream *stream)
{
    util_mutex_lock(&stream->mark_lock, RANK_TAIL);
    if (stream->mark)
        REAL(cuEventDestroy_v2)(stream->mark);
    stream->mark = NULL;
    stream->marked = 0;
    util_mutex_unlock(&stream->mark_lock, RANK_TAIL);
}
