// SPDX-License-Identifier: Apache-2.0
// Copies of all dimensions: selects the driver function for each kind of copy. The driver decides
// which copies wait. The functions that end in _ptds are here too, because the driver has the same
// variants of its synchronous functions; those that end in _ptsz differ only in the stream
// (per_thread.h).
#include "runtime.h"

// --- One dimension ------------------------------------------------------------------------------

cudaError_t runtime_copy(void *to, const void *from, size_t size_bytes, enum cudaMemcpyKind kind,
                         struct runtime_order order)
{
    cudaError_t error = runtime_begin();
    if (error)
        return error;
    if (size_bytes == 0)
        return cudaSuccess;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    CUdeviceptr dst = runtime_address(to), src = runtime_address(from);
    CUresult result;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        result = order.async        ? cuMemcpyHtoDAsync_v2(dst, from, size_bytes, order.stream)
                 : order.per_thread ? cuMemcpyHtoD_v2_ptds(dst, from, size_bytes)
                                    : cuMemcpyHtoD_v2(dst, from, size_bytes);
        break;
    case cudaMemcpyDeviceToHost:
        result = order.async        ? cuMemcpyDtoHAsync_v2(to, src, size_bytes, order.stream)
                 : order.per_thread ? cuMemcpyDtoH_v2_ptds(to, src, size_bytes)
                                    : cuMemcpyDtoH_v2(to, src, size_bytes);
        break;
    case cudaMemcpyDeviceToDevice:
        result = order.async        ? cuMemcpyDtoDAsync_v2(dst, src, size_bytes, order.stream)
                 : order.per_thread ? cuMemcpyDtoD_v2_ptds(dst, src, size_bytes)
                                    : cuMemcpyDtoD_v2(dst, src, size_bytes);
        break;
    default:
        result = order.async        ? cuMemcpyAsync(dst, src, size_bytes, order.stream)
                 : order.per_thread ? cuMemcpy_ptds(dst, src, size_bytes)
                                    : cuMemcpy(dst, src, size_bytes);
        break;
    }
    return runtime_code(result);
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    return runtime_end(runtime_copy(dst, src, count, kind, RUNTIME_SYNC));
}

cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    return runtime_end(runtime_copy(dst, src, count, kind, RUNTIME_PER_THREAD));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return runtime_end(runtime_copy(dst, src, count, kind, RUNTIME_ON(stream)));
}

// --- Symbols ------------------------------------------------------------------------------------

// Stores the address of a range of a variable. Returns cudaErrorInvalidValue if the range exceeds
// the variable.
static cudaError_t symbol_place(const void *symbol, size_t offset, size_t count, void **place)
{
    CUdeviceptr address;
    size_t size_bytes;
    cudaError_t error = runtime_symbol(symbol, &address, &size_bytes);
    if (error)
        return error;
    if (offset > size_bytes || count > size_bytes - offset)
        return cudaErrorInvalidValue;
    *place = (void *)(uintptr_t)(address + offset);
    return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *src, size_t count, size_t offset,
                             enum cudaMemcpyKind kind, struct runtime_order order)
{
    void *place;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return runtime_end(cudaErrorInvalidMemcpyDirection);
    RUNTIME_TRY(symbol_place(symbol, offset, count, &place));
    return runtime_end(runtime_copy(place, src, count, kind, order));
}

static cudaError_t from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                               enum cudaMemcpyKind kind, struct runtime_order order)
{
    void *place;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return runtime_end(cudaErrorInvalidMemcpyDirection);
    RUNTIME_TRY(symbol_place(symbol, offset, count, &place));
    return runtime_end(runtime_copy(dst, place, count, kind, order));
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
                               enum cudaMemcpyKind kind)
{
    return to_symbol(symbol, src, count, offset, kind, RUNTIME_SYNC);
}

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t count,
                                    size_t offset, enum cudaMemcpyKind kind)
{
    return to_symbol(symbol, src, count, offset, kind, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_symbol(symbol, src, count, offset, kind, RUNTIME_ON(stream));
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                 enum cudaMemcpyKind kind)
{
    return from_symbol(dst, symbol, count, offset, kind, RUNTIME_SYNC);
}

cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind)
{
    return from_symbol(dst, symbol, count, offset, kind, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_symbol(dst, symbol, count, offset, kind, RUNTIME_ON(stream));
}

// --- Two dimensions -----------------------------------------------------------------------------

cudaError_t runtime_copy_2d(const CUDA_MEMCPY2D *copy, struct runtime_order order)
{
    if (copy->WidthInBytes == 0 || copy->Height == 0)
        return cudaSuccess;
    return runtime_code(order.async        ? cuMemcpy2DAsync_v2(copy, order.stream)
                        : order.per_thread ? cuMemcpy2DUnaligned_v2_ptds(copy)
                                           : cuMemcpy2DUnaligned_v2(copy));
}

cudaError_t runtime_copy_3d(const CUDA_MEMCPY3D *copy, struct runtime_order order)
{
    if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0)
        return cudaSuccess;
    return runtime_code(order.async        ? cuMemcpy3DAsync_v2(copy, order.stream)
                        : order.per_thread ? cuMemcpy3D_v2_ptds(copy)
                                           : cuMemcpy3D_v2(copy));
}

static void set_source(CUDA_MEMCPY2D *copy, CUmemorytype type, const void *src, size_t pitch)
{
    copy->srcMemoryType = type;
    copy->srcHost = type == CU_MEMORYTYPE_HOST ? src : NULL;
    copy->srcDevice = type == CU_MEMORYTYPE_HOST ? 0 : runtime_address(src);
    copy->srcPitch = pitch;
}

static void set_destination(CUDA_MEMCPY2D *copy, CUmemorytype type, void *dst, size_t pitch)
{
    copy->dstMemoryType = type;
    copy->dstHost = type == CU_MEMORYTYPE_HOST ? dst : NULL;
    copy->dstDevice = type == CU_MEMORYTYPE_HOST ? 0 : runtime_address(dst);
    copy->dstPitch = pitch;
}

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                           size_t height, enum cudaMemcpyKind kind, struct runtime_order order)
{
    CUmemorytype from, to;
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_convert_kind(kind, &from, &to));
    if (width > dpitch || width > spitch)
        return runtime_end(cudaErrorInvalidPitchValue);
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    set_source(&copy, from, src, spitch);
    set_destination(&copy, to, dst, dpitch);
    return runtime_end(runtime_copy_2d(&copy, order));
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, RUNTIME_SYNC);
}

cudaError_t cudaMemcpy2D_ptds(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, RUNTIME_ON(stream));
}

static cudaError_t to_array_2d(cudaArray_t dst, size_t x, size_t y, const void *src, size_t spitch,
                               size_t width, size_t height, enum cudaMemcpyKind kind,
                               struct runtime_order order)
{
    CUmemorytype from, to;
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_convert_kind(kind, &from, &to));
    if (height > 1 && width > spitch)
        return runtime_end(cudaErrorInvalidPitchValue);
    CUDA_MEMCPY2D copy = {
        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
        .dstArray = (CUarray)dst,
        .dstXInBytes = x,
        .dstY = y,
        .WidthInBytes = width,
        .Height = height,
    };
    set_source(&copy, from, src, spitch);
    return runtime_end(runtime_copy_2d(&copy, order));
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                size_t spitch, size_t width, size_t height,
                                enum cudaMemcpyKind kind)
{
    return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, RUNTIME_SYNC);
}

cudaError_t cudaMemcpy2DToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                     const void *src, size_t spitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind)
{
    return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                     const void *src, size_t spitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, RUNTIME_ON(stream));
}

static cudaError_t from_array_2d(void *dst, size_t dpitch, cudaArray_const_t src, size_t x,
                                 size_t y, size_t width, size_t height, enum cudaMemcpyKind kind,
                                 struct runtime_order order)
{
    CUmemorytype from, to;
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_convert_kind(kind, &from, &to));
    if (height > 1 && width > dpitch)
        return runtime_end(cudaErrorInvalidPitchValue);
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_ARRAY,
        .srcArray = (CUarray)(uintptr_t)src,
        .srcXInBytes = x,
        .srcY = y,
        .WidthInBytes = width,
        .Height = height,
    };
    set_destination(&copy, to, dst, dpitch);
    return runtime_end(runtime_copy_2d(&copy, order));
}

cudaError_t cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                                  size_t hOffset, size_t width, size_t height,
                                  enum cudaMemcpyKind kind)
{
    return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind, RUNTIME_SYNC);
}

cudaError_t cudaMemcpy2DFromArray_ptds(void *dst, size_t dpitch, cudaArray_const_t src,
                                       size_t wOffset, size_t hOffset, size_t width, size_t height,
                                       enum cudaMemcpyKind kind)
{
    return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind,
                         RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
                                       size_t wOffset, size_t hOffset, size_t width, size_t height,
                                       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind,
                         RUNTIME_ON(stream));
}

static cudaError_t between_arrays_2d(cudaArray_t dst, size_t to_x, size_t to_y,
                                     cudaArray_const_t src, size_t from_x, size_t from_y,
                                     size_t width, size_t height, struct runtime_order order)
{
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_ARRAY,
        .srcArray = (CUarray)(uintptr_t)src,
        .srcXInBytes = from_x,
        .srcY = from_y,
        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
        .dstArray = (CUarray)dst,
        .dstXInBytes = to_x,
        .dstY = to_y,
        .WidthInBytes = width,
        .Height = height,
    };
    RUNTIME_TRY(runtime_begin());
    return runtime_end(runtime_copy_2d(&copy, order));
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                     cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                     size_t width, size_t height, enum cudaMemcpyKind kind)
{
    (void)kind;
    return between_arrays_2d(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width,
                             height, RUNTIME_SYNC);
}

cudaError_t cudaMemcpy2DArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                          cudaArray_const_t src, size_t wOffsetSrc,
                                          size_t hOffsetSrc, size_t width, size_t height,
                                          enum cudaMemcpyKind kind)
{
    (void)kind;
    return between_arrays_2d(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width,
                             height, RUNTIME_PER_THREAD);
}

// --- One-dimensional copies of arrays -----------------------------------------------------------

// These old functions copy `count` bytes that start at a position in an array and continue across
// rows: the rest of the first row, then whole rows, then the beginning of the last.
static cudaError_t row_bytes(cudaArray_const_t array, size_t *bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR description = {0};
    cudaError_t error = runtime_begin();
    if (!error)
        error = runtime_code(cuArray3DGetDescriptor_v2(&description, (CUarray)(uintptr_t)array));
    if (!error)
        *bytes =
            description.Width * description.NumChannels * runtime_format_bytes(description.Format);
    return error;
}

// Returns the next box of `count` bytes at (x, y), and advances past it. There are at most three:
// part of a row, whole rows, part of a row.
static void next_box(size_t row, size_t *x, size_t *y, size_t *count, size_t *width, size_t *height)
{
    *width = row - *x < *count ? row - *x : *count;
    *height = 1;
    if (*x == 0 && *count >= row)
        *height = *count / row;
    *count -= *width * *height;
    *y += *height;
    *x = 0;
}

static cudaError_t to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t count,
                            enum cudaMemcpyKind kind, struct runtime_order order)
{
    size_t row;
    RUNTIME_TRY(row_bytes(dst, &row));
    if (x >= row)
        return runtime_end(cudaErrorInvalidValue);
    for (const char *from = src; count;) {
        size_t at_x = x, at_y = y, width, height;
        next_box(row, &x, &y, &count, &width, &height);
        cudaError_t error = to_array_2d(dst, at_x, at_y, from, width, width, height, kind, order);
        if (error)
            return error;
        from += width * height;
    }
    return cudaSuccess;
}

static cudaError_t from_array(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t count,
                              enum cudaMemcpyKind kind, struct runtime_order order)
{
    size_t row;
    RUNTIME_TRY(row_bytes(src, &row));
    if (x >= row)
        return runtime_end(cudaErrorInvalidValue);
    for (char *to = dst; count;) {
        size_t at_x = x, at_y = y, width, height;
        next_box(row, &x, &y, &count, &width, &height);
        cudaError_t error = from_array_2d(to, width, src, at_x, at_y, width, height, kind, order);
        if (error)
            return error;
        to += width * height;
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                              size_t count, enum cudaMemcpyKind kind)
{
    return to_array(dst, wOffset, hOffset, src, count, kind, RUNTIME_SYNC);
}

cudaError_t cudaMemcpyToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                   size_t count, enum cudaMemcpyKind kind)
{
    return to_array(dst, wOffset, hOffset, src, count, kind, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                   size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array(dst, wOffset, hOffset, src, count, kind, RUNTIME_ON(stream));
}

cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                size_t count, enum cudaMemcpyKind kind)
{
    return from_array(dst, src, wOffset, hOffset, count, kind, RUNTIME_SYNC);
}

cudaError_t cudaMemcpyFromArray_ptds(void *dst, cudaArray_const_t src, size_t wOffset,
                                     size_t hOffset, size_t count, enum cudaMemcpyKind kind)
{
    return from_array(dst, src, wOffset, hOffset, count, kind, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
                                     size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                     cudaStream_t stream)
{
    return from_array(dst, src, wOffset, hOffset, count, kind, RUNTIME_ON(stream));
}

static cudaError_t between_arrays(cudaArray_t dst, size_t to_x, size_t to_y, cudaArray_const_t src,
                                  size_t from_x, size_t from_y, size_t count,
                                  struct runtime_order order)
{
    size_t to_row, from_row;
    RUNTIME_TRY(row_bytes(dst, &to_row));
    RUNTIME_TRY(row_bytes(src, &from_row));
    if (to_x >= to_row || from_x >= from_row)
        return runtime_end(cudaErrorInvalidValue);
    while (count) { // a piece ends at the end of a row of either array
        size_t width = to_row - to_x < from_row - from_x ? to_row - to_x : from_row - from_x;
        if (width > count)
            width = count;
        cudaError_t error =
            between_arrays_2d(dst, to_x, to_y, src, from_x, from_y, width, 1, order);
        if (error)
            return error;
        count -= width;
        to_x += width;
        from_x += width;
        to_y += to_x / to_row;
        from_y += from_x / from_row;
        to_x %= to_row;
        from_x %= from_row;
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                   cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                   size_t count, enum cudaMemcpyKind kind)
{
    (void)kind;
    return between_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count,
                          RUNTIME_SYNC);
}

cudaError_t cudaMemcpyArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                        cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                        size_t count, enum cudaMemcpyKind kind)
{
    (void)kind;
    return between_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count,
                          RUNTIME_PER_THREAD);
}

// --- Three dimensions and peers -----------------------------------------------------------------

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *parameters, struct runtime_order order)
{
    CUDA_MEMCPY3D copy;
    if (!parameters)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_convert_copy(parameters, &copy));
    return runtime_end(runtime_copy_3d(&copy, order));
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    return copy_3d(p, RUNTIME_SYNC);
}

cudaError_t cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *p)
{
    return copy_3d(p, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_3d(p, RUNTIME_ON(stream));
}

// All devices share one address space, so a copy between devices is a plain copy.
static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, struct runtime_order order)
{
    if (!p)
        return runtime_end(cudaErrorInvalidValue);
    const struct cudaMemcpy3DParms parameters = {
        .srcArray = p->srcArray,
        .srcPos = p->srcPos,
        .srcPtr = p->srcPtr,
        .dstArray = p->dstArray,
        .dstPos = p->dstPos,
        .dstPtr = p->dstPtr,
        .extent = p->extent,
        .kind = cudaMemcpyDeviceToDevice,
    };
    return copy_3d(&parameters, order);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    return copy_3d_peer(p, RUNTIME_SYNC);
}

cudaError_t cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *p)
{
    return copy_3d_peer(p, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    return copy_3d_peer(p, RUNTIME_ON(stream));
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
    CUcontext to, from;
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_primary(dstDevice, &to));
    RUNTIME_TRY(runtime_primary(srcDevice, &from));
    return runtime_end(
        runtime_code(cuMemcpyPeer(runtime_address(dst), to, runtime_address(src), from, count)));
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                size_t count, cudaStream_t stream)
{
    CUcontext to, from;
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_primary(dstDevice, &to));
    RUNTIME_TRY(runtime_primary(srcDevice, &from));
    return runtime_end(runtime_code(
        cuMemcpyPeerAsync(runtime_address(dst), to, runtime_address(src), from, count, stream)));
}
