// SPDX-License-Identifier: Apache-2.0
// Fills: cudaMemset in one, two and three dimensions.
#include "runtime.h"

cudaError_t runtime_fill(CUdeviceptr to, size_t pitch_bytes, int value, size_t width_bytes,
                         size_t height, struct runtime_order order)
{
    unsigned char byte = (unsigned char)value;
    if (width_bytes == 0 || height == 0)
        return cudaSuccess;
    CUresult result;
    if (height == 1)
        result = order.async        ? cuMemsetD8Async(to, byte, width_bytes, order.stream)
                 : order.per_thread ? cuMemsetD8_v2_ptds(to, byte, width_bytes)
                                    : cuMemsetD8_v2(to, byte, width_bytes);
    else
        result = order.async
                     ? cuMemsetD2D8Async(to, pitch_bytes, byte, width_bytes, height, order.stream)
                 : order.per_thread
                     ? cuMemsetD2D8_v2_ptds(to, pitch_bytes, byte, width_bytes, height)
                     : cuMemsetD2D8_v2(to, pitch_bytes, byte, width_bytes, height);
    return runtime_code(result);
}

static cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t height,
                        struct runtime_order order)
{
    RUNTIME_TRY(runtime_begin());
    return runtime_end(runtime_fill(runtime_address(to), pitch, value, width, height, order));
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    return fill(devPtr, count, value, count, 1, RUNTIME_SYNC);
}

cudaError_t cudaMemset_ptds(void *devPtr, int value, size_t count)
{
    return fill(devPtr, count, value, count, 1, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    return fill(devPtr, count, value, count, 1, RUNTIME_ON(stream));
}

cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    return fill(devPtr, pitch, value, width, height, RUNTIME_SYNC);
}

cudaError_t cudaMemset2D_ptds(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    return fill(devPtr, pitch, value, width, height, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    return fill(devPtr, pitch, value, width, height, RUNTIME_ON(stream));
}

static cudaError_t fill_3d(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                           struct runtime_order order)
{
    RUNTIME_TRY(runtime_begin());
    CUdeviceptr slice = runtime_address(to.ptr);
    if (extent.height == to.ysize) // no rows lie between the slices
        return runtime_end(runtime_fill(slice, to.pitch, value, extent.width,
                                        extent.height * extent.depth, order));
    for (size_t z = 0; z < extent.depth; z++, slice += to.pitch * to.ysize)
        RUNTIME_TRY(runtime_fill(slice, to.pitch, value, extent.width, extent.height, order));
    return cudaSuccess;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
    return fill_3d(pitchedDevPtr, value, extent, RUNTIME_SYNC);
}

cudaError_t cudaMemset3D_ptds(struct cudaPitchedPtr pitchedDevPtr, int value,
                              struct cudaExtent extent)
{
    return fill_3d(pitchedDevPtr, value, extent, RUNTIME_PER_THREAD);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                              struct cudaExtent extent, cudaStream_t stream)
{
    return fill_3d(pitchedDevPtr, value, extent, RUNTIME_ON(stream));
}
