// SPDX-License-Identifier: Apache-2.0
// Fills memory: cuMemset* in all forms. Forms without a stream wait for pinned and managed memory,
// but not for device memory, as on an H200.
#include "context.h"
#include "copy.h"
#include "driver.h"
#include "graph_memory.h"
#include "memory.h"
#include "op.h"
#include "stream.h"

CUresult driver_fill_check(uint64_t address, size_t pitch, size_t row_bytes, size_t height)
{
    DRIVER_REJECT(height > 1 && pitch < row_bytes, CUDA_ERROR_INVALID_VALUE);
    enum driver_place place = driver_place_of(address, (height - 1) * pitch + row_bytes);
    DRIVER_REJECT(place == DRIVER_PLACE_PAGEABLE || place == DRIVER_PLACE_BEYOND,
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult fill(uint64_t address, size_t pitch, uint32_t value, unsigned element_bytes,
                     size_t width, size_t height, CUstream handle, bool waits_for_host)
{
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(handle, &context, &stream));
    CUresult result = CUDA_SUCCESS;
    if (address % element_bytes || (height > 1 && pitch % element_bytes))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && width && height)
        result = driver_fill_check(address, pitch, width * element_bytes, height);
    if (!stream->capture && !driver_graph_memory_there(address))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && width && height) {
        bool wait = waits_for_host && driver_place_of(address, 1) != DRIVER_PLACE_DEVICE;
        struct driver_op op = {.kind = DRIVER_OP_FILL,
                               .fill = {.dst = (char *)(uintptr_t)address,
                                        .pitch = pitch,
                                        .width = width,
                                        .height = height,
                                        .value = value,
                                        .element_bytes = (uint8_t)element_bytes}};
        result = driver_enqueue(stream, &op);
        if (result == CUDA_SUCCESS && wait && !stream->capture)
            driver_wait_stream(stream);
    }
    driver_unlock();
    return result;
}

CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    DRIVER_BEGIN();
    return fill(dstDevice, 0, uc, 1, N, 1, NULL, true);
}

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    DRIVER_BEGIN();
    return fill(dstDevice, 0, uc, 1, N, 1, hStream, false);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                         size_t Height)
{
    DRIVER_BEGIN();
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, NULL, true);
}

CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                           size_t Height, CUstream hStream)
{
    DRIVER_BEGIN();
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, false);
}

CUresult cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    DRIVER_BEGIN();
    return fill(dstDevice, 0, us, 2, N, 1, NULL, true);
}

CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
    DRIVER_BEGIN();
    return fill(dstDevice, 0, us, 2, N, 1, hStream, false);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                          size_t Height)
{
    DRIVER_BEGIN();
    return fill(dstDevice, dstPitch, us, 2, Width, Height, NULL, true);
}

CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                            size_t Height, CUstream hStream)
{
    DRIVER_BEGIN();
    return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, false);
}

CUresult cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    DRIVER_BEGIN();
    return fill(dstDevice, 0, ui, 4, N, 1, NULL, true);
}

CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    DRIVER_BEGIN();
    return fill(dstDevice, 0, ui, 4, N, 1, hStream, false);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                          size_t Height)
{
    DRIVER_BEGIN();
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, NULL, true);
}

CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                            size_t Height, CUstream hStream)
{
    DRIVER_BEGIN();
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, false);
}
