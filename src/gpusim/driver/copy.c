// SPDX-License-Identifier: Apache-2.0
// Copies of plain memory, and when they wait, as measured on an H200: a synchronous copy waits
// unless source and destination are device memory; an asynchronous copy waits only if it writes
// pageable memory. A pageable source is read before the call returns.
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "context.h"
#include "copy.h"
#include "driver.h"
#include "graph_memory.h"
#include "memory.h"
#include "op.h"
#include "peer.h"
#include "stream.h"

// The limit for the staged bytes of all pending copies. Beyond it, a copy from pageable memory is
// not staged and the call waits for it.
#define STAGING_LIMIT_BYTES ((size_t)64 << 20)

static size_t box_bytes(const struct driver_box *box)
{
    return box->width * box->height * box->depth;
}

static bool is_idle(const struct driver_stream *stream)
{
    return !stream->last || stream->last->done;
}

// Returns whether a new command on the stream can start without waiting for others.
static bool starts_at_once(const struct driver_stream *stream)
{
    const struct driver_context *context = stream->context;
    if (!is_idle(stream))
        return false;
    if (stream->flags & CU_STREAM_NON_BLOCKING)
        return true;
    if (stream != context->legacy)
        return is_idle(context->legacy);
    for (const struct driver_stream *at = context->streams; at; at = at->next)
        if (!(at->flags & CU_STREAM_NON_BLOCKING) && !is_idle(at))
            return false;
    return true;
}

static bool stage(struct driver_op *op)
{
    struct driver_box *box = &op->copy.box;
    char *staging = malloc(box_bytes(box));
    if (!staging)
        return false;
    char *to = staging;
    for (size_t z = 0; z < box->depth; z++)
        for (size_t y = 0; y < box->height; y++, to += box->width)
            memcpy(to, box->src + z * box->src_slice + y * box->src_pitch, box->width);
    op->copy.staging = staging;
    atomic_fetch_add(&driver.staged_bytes, box_bytes(box));
    box->src = staging;
    box->src_pitch = box->width;
    box->src_slice = box->width * box->height;
    return true;
}

static CUresult submit(struct driver_stream *stream, struct driver_op *op, bool wait)
{
    struct driver_command *command;
    DRIVER_TRY(driver_submit(stream, op, NULL, 0, wait ? &command : NULL));
    if (!wait)
        return CUDA_SUCCESS;
    driver_wait(command);
    driver_release(command);
    return (CUresult)driver.error;
}

bool driver_box_is_peer(const struct driver_box *box)
{
    const struct driver_device *to = driver_memory_device((uintptr_t)box->dst);
    const struct driver_device *from = driver_memory_device((uintptr_t)box->src);
    return to && from && to != from;
}

CUresult driver_copy(CUstream handle, const struct driver_box *box, enum driver_place dst,
                     enum driver_place src, bool wait)
{
    DRIVER_REJECT(dst == DRIVER_PLACE_BEYOND || src == DRIVER_PLACE_BEYOND,
                  CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(handle, &context, &stream));
    struct driver_op op = {
        .kind = DRIVER_OP_COPY,
        .copy = {.box = *box,
                 .on_device = dst == DRIVER_PLACE_DEVICE && src == DRIVER_PLACE_DEVICE}};
    CUresult result;
    op.copy.is_peer = op.copy.on_device && driver_box_is_peer(box);
    if (box_bytes(box) == 0) {
        result = CUDA_SUCCESS;
    } else if (stream->capture) {
        result = wait ? driver_forbid_in_capture(stream) : driver_capture_op(stream, &op);
    } else if ((result = driver_forbid_implicit(stream)) != CUDA_SUCCESS) {
        driver_op_fini(&op);
    } else if (!driver_graph_memory_there((uintptr_t)box->dst) ||
               !driver_graph_memory_there((uintptr_t)box->src)) {
        result = CUDA_ERROR_INVALID_VALUE;
    } else {
        bool must_wait = wait ? !op.copy.on_device : dst == DRIVER_PLACE_PAGEABLE;
        if (!must_wait && src == DRIVER_PLACE_PAGEABLE)
            must_wait = starts_at_once(stream) ||
                        driver.staged_bytes + box_bytes(box) > STAGING_LIMIT_BYTES || !stage(&op);
        result = op.copy.is_peer && wait ? driver_peer_submit(stream, &op)
                                         : submit(stream, &op, must_wait);
    }
    driver_unlock();
    if (wait && !op.copy.on_device)
        driver_flush_output();
    return result;
}

// --- Linear copies -------------------------------------------------------------------------------

// The kind of memory that one end of a copy must be.
enum demand { ANY, ON_DEVICE };

static bool meets(enum driver_place place, enum demand demand)
{
    return place != DRIVER_PLACE_BEYOND && (demand == ANY || place != DRIVER_PLACE_PAGEABLE);
}

static CUresult linear(uint64_t dst, enum demand dst_demand, uint64_t src, enum demand src_demand,
                       size_t bytes, CUstream stream, bool wait)
{
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    if (!bytes)
        return CUDA_SUCCESS;
    driver_lock();
    enum driver_place to = driver_place_of(dst, bytes), from = driver_place_of(src, bytes);
    driver_unlock();
    DRIVER_REJECT(!dst || !src || !meets(to, dst_demand) || !meets(from, src_demand),
                  CUDA_ERROR_INVALID_VALUE);
    struct driver_box box = {.dst = (char *)(uintptr_t)dst,
                             .src = (const char *)(uintptr_t)src,
                             .dst_pitch = bytes,
                             .src_pitch = bytes,
                             .width = bytes,
                             .height = 1,
                             .depth = 1};
    return driver_copy(stream, &box, to, from, wait);
}

#define HOST(pointer) ((uint64_t)(uintptr_t)(pointer))

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    DRIVER_BEGIN();
    return linear(dst, ANY, src, ANY, ByteCount, NULL, true);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    DRIVER_BEGIN();
    return linear(dst, ANY, src, ANY, ByteCount, hStream, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    DRIVER_BEGIN();
    return linear(dstDevice, ON_DEVICE, HOST(srcHost), ANY, ByteCount, NULL, true);
}

CUresult cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    DRIVER_BEGIN();
    return linear(HOST(dstHost), ANY, srcDevice, ON_DEVICE, ByteCount, NULL, true);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    DRIVER_BEGIN();
    return linear(dstDevice, ON_DEVICE, srcDevice, ON_DEVICE, ByteCount, NULL, true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                              CUstream hStream)
{
    DRIVER_BEGIN();
    return linear(dstDevice, ON_DEVICE, HOST(srcHost), ANY, ByteCount, hStream, false);
}

CUresult cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream)
{
    DRIVER_BEGIN();
    return linear(HOST(dstHost), ANY, srcDevice, ON_DEVICE, ByteCount, hStream, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream)
{
    DRIVER_BEGIN();
    return linear(dstDevice, ON_DEVICE, srcDevice, ON_DEVICE, ByteCount, hStream, false);
}

// All devices share one address space, so the contexts are only checked.
CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount)
{
    DRIVER_TRY(driver_peers_check(dstContext, srcContext));
    return cuMemcpyDtoD_v2(dstDevice, srcDevice, ByteCount);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
    DRIVER_TRY(driver_peers_check(dstContext, srcContext));
    return cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                               CUstream hStream)
{
    DRIVER_BEGIN();
    (void)attrs;
    (void)attrsIdxs;
    (void)numAttrs;
    DRIVER_REJECT(!dsts || !srcs || !sizes, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++)
        DRIVER_TRY(linear(dsts[i], ANY, srcs[i], ANY, sizes[i], hStream, false));
    return CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                            CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                            size_t *failIdx, CUstream hStream)
{
    if (failIdx)
        *failIdx = SIZE_MAX;
    return cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream);
}
