// SPDX-License-Identifier: Apache-2.0
// The stream API: creating, finding and destroying streams, waiting for them, host functions,
// values that streams write and wait for, and attributes. engine.c runs their commands.
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "event.h"
#include "graph.h"
#include "memory.h"
#include "pool.h"

#define STREAM_MAGIC UINT64_C(0x676c696e74737472)

// NVIDIA's driver also makes a program wait that submits work faster than the device executes it.
enum { MAX_PENDING = 1024 };

struct driver_stream *driver_stream_create(struct driver_context *context, unsigned flags,
                                           int priority)
{
    struct driver_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->magic = STREAM_MAGIC;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = ++driver.next_id;
    stream->references = 1;
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

void driver_stream_free(struct driver_stream *stream)
{
    driver_release(stream->last);
    stream->magic = 0;
    free(stream);
}

void driver_stream_retire(struct driver_stream *stream)
{
    struct driver_stream **at = &stream->context->streams;
    while (*at && *at != stream)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = stream->next;
    if (--stream->references == 0)
        driver_stream_free(stream);
}

static struct driver_stream *per_thread_stream(struct driver_context *context)
{
    uint64_t thread = driver_thread()->id;
    for (struct driver_stream *stream = context->streams; stream; stream = stream->next)
        if (stream->thread == thread)
            return stream;
    struct driver_stream *stream = driver_stream_create(context, CU_STREAM_DEFAULT, 0);
    if (stream)
        stream->thread = thread;
    return stream;
}

uint64_t driver_stream_handle(const struct driver_stream *stream)
{
    return stream == stream->context->legacy ? 0
           : stream->thread                  ? (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD
                                             : (uint64_t)(uintptr_t)stream;
}

CUresult driver_stream_of(struct driver_context *context, CUstream handle,
                          struct driver_stream **stream)
{
    if (!handle && driver_thread()->per_thread)
        handle = CU_STREAM_PER_THREAD;
    if (!handle || handle == CU_STREAM_LEGACY) {
        *stream = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        *stream = per_thread_stream(context);
        return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    // A stream belongs to its context even if another is current. The handle is looked up in lists,
    // because an invalid one must not be dereferenced.
    for (struct driver_context *any = driver.contexts; any; any = any->next)
        for (struct driver_stream *at = any->streams; at; at = at->next)
            if ((CUstream)at == handle && !at->destroyed) {
                *stream = at;
                return CUDA_SUCCESS;
            }
    return driver_no_handle("stream");
}

CUresult driver_enter_stream(CUstream handle, struct driver_context **context,
                             struct driver_stream **stream)
{
    DRIVER_CONTEXT(*context);
    driver_lock();
    CUresult result = driver_stream_of(*context, handle, stream);
    if (result == CUDA_SUCCESS)
        *context = (*stream)->context;
    else
        driver_unlock();
    return result;
}

// Work in the legacy stream would have to wait for blocking streams that are being captured.
CUresult driver_forbid_implicit(struct driver_stream *stream)
{
    if (stream != stream->context->legacy || !driver.captures)
        return CUDA_SUCCESS;
    for (struct driver_stream *at = stream->context->streams; at; at = at->next)
        if (at->capture && !(at->flags & CU_STREAM_NON_BLOCKING)) {
            driver_capture_spoil(at);
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    return CUDA_SUCCESS;
}

CUresult driver_enqueue(struct driver_stream *stream, struct driver_op *op)
{
    if (stream->capture)
        return driver_capture_op(stream, op);
    CUresult result = driver_forbid_implicit(stream);
    if (result != CUDA_SUCCESS) {
        driver_op_fini(op);
        return result;
    }
    DRIVER_TRY(driver_submit(stream, op, NULL, 0, NULL));
    if (stream->pending > MAX_PENDING)
        driver_wait(stream->head);
    return CUDA_SUCCESS;
}

CUresult driver_forbid_in_capture(struct driver_stream *stream)
{
    if (!stream->capture)
        return CUDA_SUCCESS;
    driver_capture_spoil(stream);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// --- Creation and destruction --------------------------------------------------------------------

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!phStream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING),
                  CUDA_ERROR_INVALID_VALUE);
    int least, greatest;
    DRIVER_TRY(cuCtxGetStreamPriorityRange(&least, &greatest));
    if (priority > least)
        priority = least;
    if (priority < greatest)
        priority = greatest;
    driver_lock();
    struct driver_stream *stream = driver_stream_create(context, flags, priority);
    driver_unlock();
    DRIVER_REJECT(!stream, CUDA_ERROR_OUT_OF_MEMORY);
    *phStream = (CUstream)stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return cuStreamCreateWithPriority(phStream, Flags, 0);
}

// Does not wait: submitted commands still run, and then the engine retires the stream.
CUresult cuStreamDestroy_v2(CUstream hStream)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!hStream || hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD,
                  CUDA_ERROR_INVALID_HANDLE);
    struct driver_context *context;
    DRIVER_TRY(driver_current_any(&context));
    driver_lock();
    struct driver_stream *stream;
    CUresult result = driver_stream_of(context, hStream, &stream);
    struct driver_graph *unwanted = NULL;
    if (result == CUDA_SUCCESS) {
        unwanted = driver_capture_desert(stream);
        stream->destroyed = true;
        if (!stream->head && !stream->running)
            driver_stream_retire(stream);
    }
    driver_unlock();
    if (unwanted)
        driver_graph_free(unwanted);
    return result;
}

CUresult cuStreamDestroy(CUstream hStream)
{
    return cuStreamDestroy_v2(hStream);
}

// --- Waiting -------------------------------------------------------------------------------------

CUresult cuStreamSynchronize(CUstream hStream)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    CUresult result = driver_forbid_in_capture(stream);
    if (result == CUDA_SUCCESS) {
        if (stream == context->legacy) {
            // The legacy stream waits for all blocking streams, so synchronizing it does too.
            for (bool again = true; again;) {
                again = false;
                for (struct driver_stream *at = context->streams; at && !again; at = at->next)
                    if (!(at->flags & CU_STREAM_NON_BLOCKING) && at->last && !at->last->done) {
                        driver_wait_stream(at);
                        again = true;
                    }
            }
        }
        driver_wait_stream(stream);
        driver_pools_trim(context->device);
    }
    driver_unlock();
    DRIVER_TRY(result);
    driver_flush_output();
    return (CUresult)driver.error;
}

CUresult cuStreamQuery(CUstream hStream)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    CUresult result = driver_forbid_in_capture(stream);
    if (result == CUDA_SUCCESS && stream->last && !stream->last->done)
        result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS && stream == context->legacy)
        for (struct driver_stream *at = context->streams; at; at = at->next)
            if (!(at->flags & CU_STREAM_NON_BLOCKING) && at->last && !at->last->done)
                result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS && stream->clock_ns > driver.host_ns)
        driver.host_ns = stream->clock_ns;
    driver_unlock();
    return result != CUDA_SUCCESS ? result : (CUresult)driver.error;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    struct driver_event *event = (struct driver_event *)hEvent;
    CUresult result = CUDA_SUCCESS;
    if (!driver_event_valid(event))
        result = driver_no_handle("event");
    else if (stream->capture || event->capture)
        result = driver_capture_wait(stream, event);
    else if (event->recorded) {
        struct driver_op op = {.kind = DRIVER_OP_EMPTY};
        result = driver_submit(stream, &op, &event->recorded, 1, NULL);
    }
    driver_unlock();
    return result;
}

// --- Host functions ------------------------------------------------------------------------------

static CUresult enqueue(CUstream handle, struct driver_op *op)
{
    struct driver_context *context;
    struct driver_stream *stream;
    CUresult result = driver_enter_stream(handle, &context, &stream);
    if (result != CUDA_SUCCESS) {
        driver_op_fini(op);
        return result;
    }
    result = driver_enqueue(stream, op);
    driver_unlock();
    return result;
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!fn, CUDA_ERROR_INVALID_VALUE);
    struct driver_op op = {.kind = DRIVER_OP_HOST, .host = {fn, userData}};
    return enqueue(hStream, &op);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                             unsigned int flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!callback || flags, CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    struct driver_op op = {.kind = DRIVER_OP_CALLBACK, .callback = {callback, hStream, userData}};
    CUresult result = driver_forbid_in_capture(stream);
    if (result == CUDA_SUCCESS)
        result = driver_enqueue(stream, &op);
    driver_unlock();
    return result;
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                unsigned int flags)
{
    DRIVER_BEGIN();
    struct driver_op op = {.kind = DRIVER_OP_EMPTY};
    return enqueue(hStream, &op);
}

// --- Values in memory ----------------------------------------------------------------------------

static CUresult value_op(CUstream stream, enum driver_op_kind kind, CUdeviceptr address,
                         uint64_t value, unsigned flags, bool is_64)
{
    struct driver_op op = {
        .kind = kind,
        .value = {.address = address, .value = value, .flags = flags, .is_64 = is_64}};
    size_t bytes = is_64 ? 8 : 4;
    driver_lock();
    enum driver_place place = driver_place_of(address, bytes);
    driver_unlock();
    DRIVER_REJECT(place == DRIVER_PLACE_PAGEABLE || place == DRIVER_PLACE_BEYOND || address % bytes,
                  CUDA_ERROR_INVALID_VALUE);
    return enqueue(stream, &op);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                 unsigned int flags)
{
    DRIVER_BEGIN();
    return value_op(stream, DRIVER_OP_WRITE_VALUE, addr, value, flags, false);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                 unsigned int flags)
{
    DRIVER_BEGIN();
    return value_op(stream, DRIVER_OP_WRITE_VALUE, addr, value, flags, true);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                unsigned int flags)
{
    DRIVER_BEGIN();
    return value_op(stream, DRIVER_OP_WAIT_VALUE, addr, value, flags, false);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                unsigned int flags)
{
    DRIVER_BEGIN();
    return value_op(stream, DRIVER_OP_WAIT_VALUE, addr, value, flags, true);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(flags || (count && !paramArray), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; i++) {
        const CUstreamBatchMemOpParams *op = &paramArray[i];
        switch ((int)op->operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
            DRIVER_TRY(value_op(stream, DRIVER_OP_WAIT_VALUE, op->waitValue.address,
                                op->waitValue.value, op->waitValue.flags, false));
            break;
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
            DRIVER_TRY(value_op(stream, DRIVER_OP_WAIT_VALUE, op->waitValue.address,
                                op->waitValue.value64, op->waitValue.flags, true));
            break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
            DRIVER_TRY(value_op(stream, DRIVER_OP_WRITE_VALUE, op->writeValue.address,
                                op->writeValue.value, op->writeValue.flags, false));
            break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            DRIVER_TRY(value_op(stream, DRIVER_OP_WRITE_VALUE, op->writeValue.address,
                                op->writeValue.value64, op->writeValue.flags, true));
            break;
        default: break; // flushes and barriers have no effect: operations already act as such
        }
    }
    return CUDA_SUCCESS;
}

// --- Properties ----------------------------------------------------------------------------------

// The body of a function that reads a property of a stream with the lock held.
#define STREAM_GETTER(handle, out, expression)                        \
    do {                                                              \
        DRIVER_BEGIN();                                               \
        DRIVER_REJECT(!(out), CUDA_ERROR_INVALID_VALUE);              \
        struct driver_context *context;                               \
        struct driver_stream *stream;                                 \
        DRIVER_TRY(driver_enter_stream((handle), &context, &stream)); \
        *(out) = (expression);                                        \
        driver_unlock();                                              \
        return CUDA_SUCCESS;                                          \
    } while (0)

CUresult cuStreamGetPriority(CUstream hStream, int *priority)
{
    STREAM_GETTER(hStream, priority, stream->priority);
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    STREAM_GETTER(hStream, streamId, stream->id);
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    STREAM_GETTER(hStream, flags, stream->flags);
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    STREAM_GETTER(hStream, pctx, (CUcontext)stream->context);
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    CUcontext context;
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_VALUE);
    DRIVER_TRY(cuStreamGetCtx(hStream, &context));
    *device = driver_ordinal(((const struct driver_context *)context)->device);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    if (pGreenCtx)
        *pGreenCtx = NULL;
    return cuStreamGetCtx(hStream, pCtx);
}

CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!phCtx, CUDA_ERROR_INVALID_VALUE);
    *phCtx = NULL;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
    DRIVER_REJECT((unsigned)attr >= 16, CUDA_ERROR_INVALID_VALUE);
    STREAM_GETTER(hStream, value, stream->attributes[attr]);
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *param)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!param || (unsigned)attr >= 16, CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    stream->attributes[attr] = *param;
    if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        stream->priority = param->priority;
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    struct driver_stream *dst, *src;
    DRIVER_TRY(driver_enter_stream(dstStream, &context, &dst));
    CUresult result = driver_stream_of(context, srcStream, &src);
    if (result == CUDA_SUCCESS)
        memcpy(dst->attributes, src->attributes, sizeof dst->attributes);
    driver_unlock();
    return result;
}
