// SPDX-License-Identifier: Apache-2.0
// Events: an event refers to the command that recorded it, whose end on the simulated clock is the
// event's time.
#include <stdlib.h>

#include "capture.h"
#include "context.h"
#include "driver.h"
#include "event.h"
#include "op.h"
#include "stream.h"

#define EVENT_MAGIC UINT64_C(0x676c696e74657674)

bool driver_event_valid(const struct driver_event *event)
{
    const bool valid = event && (uintptr_t)event > 4096 && event->magic == EVENT_MAGIC;
    if (valid && event->gone)
        driver_end_if_strict("event");
    return valid;
}

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    DRIVER_REJECT(!phEvent || (Flags & ~known), CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(Flags & CU_EVENT_INTERPROCESS, CUDA_ERROR_NOT_SUPPORTED);
    struct driver_event *event = calloc(1, sizeof *event);
    DRIVER_REJECT(!event, CUDA_ERROR_OUT_OF_MEMORY);
    event->magic = EVENT_MAGIC;
    event->flags = Flags;
    event->context = context;
    driver_lock();
    event->next = context->events;
    context->events = event;
    driver_unlock();
    *phEvent = (CUevent)event;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent hEvent)
{
    DRIVER_BEGIN();
    struct driver_event *event = (struct driver_event *)hEvent;
    DRIVER_REJECT(!driver_event_valid(event), driver_no_handle("event"));
    driver_lock();
    struct driver_event **at = &event->context->events;
    while (*at && *at != event)
        at = &(*at)->next;
    if (*at)
        *at = event->next;
    driver_release(event->recorded);
    event->magic = 0;
    driver_unlock();
    free(event->nodes);
    free(event);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent hEvent)
{
    return cuEventDestroy_v2(hEvent);
}

static CUresult record(struct driver_stream *stream, struct driver_event *event)
{
    if (stream->capture)
        return driver_capture_record(stream, event);
    struct driver_op op = {.kind = DRIVER_OP_EMPTY};
    struct driver_command *command;
    DRIVER_TRY(driver_submit(stream, &op, NULL, 0, &command));
    driver_release(event->recorded);
    event->recorded = command;
    event->capture = NULL;
    return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    DRIVER_BEGIN();
    struct driver_event *event = (struct driver_event *)hEvent;
    DRIVER_REJECT(!driver_event_valid(event), driver_no_handle("event"));
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    CUresult result;
    if (stream->context != event->context) {
        result = CUDA_ERROR_INVALID_HANDLE;
    } else if (stream->capture && (flags & CU_EVENT_RECORD_EXTERNAL)) {
        struct driver_op op = {.kind = DRIVER_OP_RECORD, .mark = {.event = event}};
        result = driver_capture_op(stream, &op);
    } else {
        result = record(stream, event);
    }
    driver_unlock();
    return result;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventQuery(CUevent hEvent)
{
    DRIVER_BEGIN();
    struct driver_event *event = (struct driver_event *)hEvent;
    DRIVER_REJECT(!driver_event_valid(event), driver_no_handle("event"));
    driver_lock();
    CUresult result = (CUresult)driver.error;
    if (event->capture)
        result = CUDA_ERROR_CAPTURED_EVENT;
    else if (result == CUDA_SUCCESS && event->recorded && !event->recorded->done)
        result = CUDA_ERROR_NOT_READY;
    driver_unlock();
    return result;
}

CUresult cuEventSynchronize(CUevent hEvent)
{
    DRIVER_BEGIN();
    struct driver_event *event = (struct driver_event *)hEvent;
    DRIVER_REJECT(!driver_event_valid(event), driver_no_handle("event"));
    driver_lock();
    CUresult result = event->capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && event->recorded)
        driver_wait(event->recorded);
    if (result == CUDA_SUCCESS)
        result = (CUresult)driver.error;
    driver_unlock();
    driver_flush_output();
    return result;
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pMilliseconds, CUDA_ERROR_INVALID_VALUE);
    struct driver_event *start = (struct driver_event *)hStart;
    struct driver_event *end = (struct driver_event *)hEnd;
    DRIVER_REJECT(!driver_event_valid(start) || !driver_event_valid(end),
                  driver_no_handle("event"));
    driver_lock();
    CUresult result = (CUresult)driver.error;
    if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) ||
        start->context->device != end->context->device || !start->recorded || !end->recorded)
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (!start->recorded->done || !end->recorded->done)
        result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS) {
        int64_t ns = (int64_t)(end->recorded->end_ns - start->recorded->end_ns);
        *pMilliseconds = (float)((double)ns / 1e6);
    }
    driver_unlock();
    return result;
}

CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}
