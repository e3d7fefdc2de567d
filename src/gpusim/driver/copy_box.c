// SPDX-License-Identifier: Apache-2.0
// Copies of rows and slices between memory and arrays: checks the API's descriptions and converts
// them to boxes.
#include <string.h>

#include "array.h"
#include "context.h"
#include "copy.h"
#include "driver.h"
#include "memory.h"
#include "op.h"
#include "peer.h"

// One end of a copy's description.
struct end {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x_bytes, y, z, pitch, rows;
};

static CUresult end_of_array(const struct end *end, const CUDA_MEMCPY3D *copy, char **data,
                             size_t *pitch, size_t *slice)
{
    const struct driver_array *array = (const struct driver_array *)end->array;
    DRIVER_REJECT(!driver_array_valid(array), driver_no_handle("array"));
    DRIVER_REJECT(end->x_bytes + copy->WidthInBytes > array->desc.Width * array->texel_bytes ||
                      end->y + copy->Height > array->rows || end->z + copy->Depth > array->slices,
                  CUDA_ERROR_INVALID_VALUE);
    *pitch = array->pitch_bytes;
    *slice = array->slice_bytes;
    *data = (char *)(uintptr_t)array->data + end->z * *slice + end->y * *pitch + end->x_bytes;
    return CUDA_SUCCESS;
}

// Checks one end of the copy and finds its start, pitches and kind of memory.
static CUresult end_of(const struct end *end, const CUDA_MEMCPY3D *copy, char **data, size_t *pitch,
                       size_t *slice, enum driver_place *place)
{
    if (end->type == CU_MEMORYTYPE_ARRAY) {
        *place = DRIVER_PLACE_DEVICE;
        return end_of_array(end, copy, data, pitch, slice);
    }
    uint64_t start = end->type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)end->host : end->device;
    DRIVER_REJECT(end->type != CU_MEMORYTYPE_HOST && end->type != CU_MEMORYTYPE_DEVICE &&
                      end->type != CU_MEMORYTYPE_UNIFIED,
                  CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!start, CUDA_ERROR_INVALID_VALUE);
    *pitch = end->pitch ? end->pitch : copy->WidthInBytes + end->x_bytes;
    size_t rows = end->rows ? end->rows : copy->Height + end->y;
    DRIVER_REJECT(copy->Height > 1 && *pitch < end->x_bytes + copy->WidthInBytes,
                  CUDA_ERROR_INVALID_VALUE);
    *slice = *pitch * rows;
    start += end->z * *slice + end->y * *pitch + end->x_bytes;
    *data = (char *)(uintptr_t)start;
    uint64_t span = (copy->Depth - 1) * *slice + (copy->Height - 1) * *pitch + copy->WidthInBytes;
    *place = driver_place_of(start, span);
    DRIVER_REJECT(*place == DRIVER_PLACE_BEYOND ||
                      (end->type == CU_MEMORYTYPE_DEVICE && *place == DRIVER_PLACE_PAGEABLE),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

CUresult driver_box_of_3d(const CUDA_MEMCPY3D *copy, struct driver_box *box, enum driver_place *dst,
                          enum driver_place *src)
{
    *box = (struct driver_box){0};
    *dst = *src = DRIVER_PLACE_DEVICE;
    if (!copy->WidthInBytes || !copy->Height || !copy->Depth)
        return CUDA_SUCCESS;
    struct end to = {copy->dstMemoryType, copy->dstHost,     copy->dstDevice,
                     copy->dstArray,      copy->dstXInBytes, copy->dstY,
                     copy->dstZ,          copy->dstPitch,    copy->dstHeight};
    struct end from = {copy->srcMemoryType, copy->srcHost,     copy->srcDevice,
                       copy->srcArray,      copy->srcXInBytes, copy->srcY,
                       copy->srcZ,          copy->srcPitch,    copy->srcHeight};
    char *start;
    DRIVER_TRY(end_of(&to, copy, &start, &box->dst_pitch, &box->dst_slice, dst));
    box->dst = start;
    DRIVER_TRY(end_of(&from, copy, &start, &box->src_pitch, &box->src_slice, src));
    box->src = start;
    box->width = copy->WidthInBytes;
    box->height = copy->Height;
    box->depth = copy->Depth;
    return CUDA_SUCCESS;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream stream, bool wait)
{
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    struct driver_box box;
    enum driver_place dst, src;
    driver_lock();
    CUresult result = driver_box_of_3d(copy, &box, &dst, &src);
    driver_unlock();
    DRIVER_TRY(result);
    return driver_copy(stream, &box, dst, src, wait);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy, CUstream stream, bool wait)
{
    CUDA_MEMCPY3D wide = {
        .srcXInBytes = copy->srcXInBytes,
        .srcY = copy->srcY,
        .srcMemoryType = copy->srcMemoryType,
        .srcHost = copy->srcHost,
        .srcDevice = copy->srcDevice,
        .srcArray = copy->srcArray,
        .srcPitch = copy->srcPitch,
        .dstXInBytes = copy->dstXInBytes,
        .dstY = copy->dstY,
        .dstMemoryType = copy->dstMemoryType,
        .dstHost = copy->dstHost,
        .dstDevice = copy->dstDevice,
        .dstArray = copy->dstArray,
        .dstPitch = copy->dstPitch,
        .WidthInBytes = copy->WidthInBytes,
        .Height = copy->Height,
        .Depth = 1,
    };
    return copy_3d(&wide, stream, wait);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pCopy, CUDA_ERROR_INVALID_VALUE);
    return copy_2d(pCopy, NULL, true);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
    return cuMemcpy2D_v2(pCopy);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pCopy, CUDA_ERROR_INVALID_VALUE);
    return copy_2d(pCopy, hStream, false);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pCopy, CUDA_ERROR_INVALID_VALUE);
    return copy_3d(pCopy, NULL, true);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pCopy, CUDA_ERROR_INVALID_VALUE);
    return copy_3d(pCopy, hStream, false);
}

static CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER *copy)
{
    return (CUDA_MEMCPY3D){
        .srcXInBytes = copy->srcXInBytes,
        .srcY = copy->srcY,
        .srcZ = copy->srcZ,
        .srcLOD = copy->srcLOD,
        .srcMemoryType = copy->srcMemoryType,
        .srcHost = copy->srcHost,
        .srcDevice = copy->srcDevice,
        .srcArray = copy->srcArray,
        .srcPitch = copy->srcPitch,
        .srcHeight = copy->srcHeight,
        .dstXInBytes = copy->dstXInBytes,
        .dstY = copy->dstY,
        .dstZ = copy->dstZ,
        .dstLOD = copy->dstLOD,
        .dstMemoryType = copy->dstMemoryType,
        .dstHost = copy->dstHost,
        .dstDevice = copy->dstDevice,
        .dstArray = copy->dstArray,
        .dstPitch = copy->dstPitch,
        .dstHeight = copy->dstHeight,
        .WidthInBytes = copy->WidthInBytes,
        .Height = copy->Height,
        .Depth = copy->Depth,
    };
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    DRIVER_REJECT(!pCopy, CUDA_ERROR_INVALID_VALUE);
    DRIVER_TRY(driver_peers_check(pCopy->dstContext, pCopy->srcContext));
    CUDA_MEMCPY3D copy = without_contexts(pCopy);
    return cuMemcpy3D_v2(&copy);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    DRIVER_REJECT(!pCopy, CUDA_ERROR_INVALID_VALUE);
    DRIVER_TRY(driver_peers_check(pCopy->dstContext, pCopy->srcContext));
    CUDA_MEMCPY3D copy = without_contexts(pCopy);
    return cuMemcpy3DAsync_v2(&copy, hStream);
}

// --- One-dimensional copies between arrays and memory --------------------------------------------

// One-dimensional copies continue from row to row.
static CUresult array_span(CUarray handle, size_t offset, size_t bytes, char **data)
{
    const struct driver_array *array = (const struct driver_array *)handle;
    DRIVER_REJECT(!driver_array_valid(array), driver_no_handle("array"));
    DRIVER_REJECT(offset + bytes > array->slice_bytes * array->slices, CUDA_ERROR_INVALID_VALUE);
    *data = (char *)(uintptr_t)array->data + offset;
    return CUDA_SUCCESS;
}

static CUresult copy_span(char *dst, const char *src, size_t bytes, enum driver_place to,
                          enum driver_place from, CUstream stream, bool wait)
{
    struct driver_box box = {.dst = dst,
                             .src = src,
                             .dst_pitch = bytes,
                             .src_pitch = bytes,
                             .width = bytes,
                             .height = bytes ? 1 : 0,
                             .depth = 1};
    return driver_copy(stream, &box, to, from, wait);
}

static enum driver_place place(const void *pointer, size_t bytes)
{
    driver_lock();
    enum driver_place found = driver_place_of((uint64_t)(uintptr_t)pointer, bytes);
    driver_unlock();
    return found;
}

static CUresult to_array(CUarray dst, size_t offset, const void *src, size_t bytes, CUstream stream,
                         bool wait)
{
    char *data;
    DRIVER_TRY(array_span(dst, offset, bytes, &data));
    return copy_span(data, src, bytes, DRIVER_PLACE_DEVICE, place(src, bytes), stream, wait);
}

static CUresult from_array(void *dst, CUarray src, size_t offset, size_t bytes, CUstream stream,
                           bool wait)
{
    char *data;
    DRIVER_TRY(array_span(src, offset, bytes, &data));
    return copy_span(dst, data, bytes, place(dst, bytes), DRIVER_PLACE_DEVICE, stream, wait);
}

CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                         size_t ByteCount)
{
    DRIVER_BEGIN();
    return to_array(dstArray, dstOffset, (void *)(uintptr_t)srcDevice, ByteCount, NULL, true);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount)
{
    DRIVER_BEGIN();
    return from_array((void *)(uintptr_t)dstDevice, srcArray, srcOffset, ByteCount, NULL, true);
}

CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount)
{
    DRIVER_BEGIN();
    return to_array(dstArray, dstOffset, srcHost, ByteCount, NULL, true);
}

CUresult cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    DRIVER_BEGIN();
    return from_array(dstHost, srcArray, srcOffset, ByteCount, NULL, true);
}

CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount)
{
    DRIVER_BEGIN();
    char *to, *from;
    DRIVER_TRY(array_span(dstArray, dstOffset, ByteCount, &to));
    DRIVER_TRY(array_span(srcArray, srcOffset, ByteCount, &from));
    return copy_span(to, from, ByteCount, DRIVER_PLACE_DEVICE, DRIVER_PLACE_DEVICE, NULL, true);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                              size_t ByteCount, CUstream hStream)
{
    DRIVER_BEGIN();
    return to_array(dstArray, dstOffset, srcHost, ByteCount, hStream, false);
}

CUresult cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream hStream)
{
    DRIVER_BEGIN();
    return from_array(dstHost, srcArray, srcOffset, ByteCount, hStream, false);
}
