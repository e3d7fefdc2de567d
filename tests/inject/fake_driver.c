// SPDX-License-Identifier: Apache-2.0
// A driver that shares memory, which the simulated GPU does not support. It has the
// functions of libcuda.so.1 that shared.c calls, one device, one context, and made-up
// addresses that are never accessed.
#include <string.h>

#include "cudaabi/cudaabi.h"

#pragma GCC visibility push(default)

enum {
    OPENED = 0x100000,
    IMPORTED = 0x200000,
    MAPPED = 0x300000,
    ALLOCATED = 0x400000,
    BYTES = 4096
};

static CUdeviceptr next = ALLOCATED;
static int handle_of; // its address serves as every handle
static unsigned opened;

CUresult cuInit(unsigned flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    *context = (CUcontext)&handle_of;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = (CUcontext)&handle_of;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    *address = next;
    next += bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    (void)address;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    (void)address;
    (void)stream;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    if (address < OPENED || address >= MAPPED)
        return CUDA_ERROR_NOT_FOUND;
    *base = address < IMPORTED ? OPENED : IMPORTED;
    *bytes = BYTES;
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *address, const cuuint64_t *dim, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    (void)type, (void)address, (void)dim, (void)strides, (void)box, (void)steps, (void)interleave,
        (void)swizzle, (void)promotion, (void)fill;
    memset(map, 0, sizeof(*map));
    return rank ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// --- Between processes ---------------------------------------------------------------------------

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    memset(handle, 0, sizeof(*handle));
    return address >= ALLOCATED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    if (handle.reserved[0] || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    *address = OPENED;
    opened++;
    return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    if (address != OPENED || !opened)
        return CUDA_ERROR_INVALID_VALUE;
    opened--;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    (void)pool;
    (void)type;
    (void)flags;
    *(int *)handle = 7;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    (void)handle;
    (void)type;
    (void)flags;
    *pool = (CUmemoryPool)&handle_of;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr address)
{
    (void)address;
    memset(data, 0, sizeof(*data));
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool pool,
                                CUmemPoolPtrExportData *data)
{
    (void)pool;
    (void)data;
    *address = IMPORTED + 1024; // inside the allocation of the other process
    return CUDA_SUCCESS;
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long flags)
{
    (void)address;
    (void)bytes;
    (void)type;
    (void)flags;
    *(int *)handle = 8;
    return CUDA_SUCCESS;
}

// --- Between interfaces --------------------------------------------------------------------------

CUresult cuImportExternalMemory(CUexternalMemory *memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    *memory = (CUexternalMemory)&handle_of;
    return desc->size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    (void)memory;
    *address = MAPPED + desc->offset;
    return CUDA_SUCCESS;
}

CUresult
cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *array, CUexternalMemory memory,
                                        const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc)
{
    (void)memory;
    (void)desc;
    *array = (CUmipmappedArray)&handle_of;
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
    (void)array;
    return CUDA_SUCCESS;
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory)
{
    (void)memory;
    return CUDA_SUCCESS;
}

#pragma GCC visibility pop
