// SPDX-License-Identifier: Apache-2.0
// Memory other than arrays: device, pitched, host and managed memory, and pools; pointer
// attributes; advice. copy.c implements copies.
#include <string.h>

#include "runtime.h"

// --- Device memory ------------------------------------------------------------------------------

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    if (!devPtr)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    if (size == 0) {
        *devPtr = NULL;
        return cudaSuccess;
    }
    CUdeviceptr address = 0;
    RUNTIME_TRY(runtime_code(cuMemAlloc_v2(&address, size)));
    *devPtr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaFree(void *devPtr)
{
    RUNTIME_TRY(runtime_begin()); // programs call cudaFree(0) to initialize the runtime
    if (!devPtr)
        return cudaSuccess;
    return runtime_end(runtime_code(cuMemFree_v2(runtime_address(devPtr))));
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    if (!devPtr || !pitch)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    if (width == 0 || height == 0) {
        *devPtr = NULL;
        *pitch = 0;
        return cudaSuccess;
    }
    CUdeviceptr address = 0;
    RUNTIME_TRY(runtime_code(cuMemAllocPitch_v2(&address, pitch, width, height, 4)));
    *devPtr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    size_t rows;
    if (!pitchedDevPtr || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return runtime_end(cudaErrorInvalidValue);
    *pitchedDevPtr = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
    return cudaMallocPitch(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width, rows);
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    if (!devPtr)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    if (size == 0) {
        *devPtr = NULL;
        return cudaSuccess;
    }
    CUdeviceptr address = 0;
    RUNTIME_TRY(runtime_code(cuMemAllocManaged(&address, size, flags)));
    *devPtr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

// --- Host memory --------------------------------------------------------------------------------

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    if (!pHost)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    if (size == 0) {
        *pHost = NULL;
        return cudaSuccess;
    }
    return runtime_end(runtime_code(cuMemHostAlloc(pHost, size, flags)));
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    return cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *ptr)
{
    RUNTIME_TRY(runtime_begin());
    if (!ptr)
        return cudaSuccess;
    return runtime_end(runtime_code(cuMemFreeHost(ptr)));
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    return RUNTIME(cuMemHostRegister_v2(ptr, size, flags));
}

cudaError_t cudaHostUnregister(void *ptr)
{
    return RUNTIME(cuMemHostUnregister(ptr));
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    CUdeviceptr address = 0;
    if (!pDevice)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuMemHostGetDevicePointer_v2(&address, pHost, flags)));
    *pDevice = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
    if (!pFlags)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuMemHostGetFlags(pFlags, pHost)));
    *pFlags |= cudaHostAllocMapped; // with unified addressing, all pinned memory is mapped
    return cudaSuccess;
}

// --- Pointers -----------------------------------------------------------------------------------

cudaError_t runtime_pointer(struct cudaPointerAttributes *attributes, const void *pointer)
{
    cudaError_t error = runtime_begin();
    if (error)
        return error;
    if (!attributes)
        return cudaErrorInvalidValue;
    CUmemorytype type = 0;
    CUdeviceptr device_address = 0;
    void *host_address = NULL;
    unsigned managed = 0;
    int ordinal = cudaInvalidDeviceId;
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,   CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    };
    void *values[] = {&type, &device_address, &host_address, &managed, &ordinal};
    error = runtime_code(cuPointerGetAttributes(sizeof wanted / sizeof wanted[0], wanted, values,
                                                runtime_address(pointer)));
    if (error)
        return error;
    memset(attributes, 0, sizeof *attributes);
    attributes->device = cudaInvalidDeviceId;
    if (type == 0) { // memory that is unknown to CUDA
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->hostPointer = (void *)(uintptr_t)pointer;
        return cudaSuccess;
    }
    attributes->type = managed                      ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeDevice;
    attributes->device = ordinal;
    attributes->devicePointer = (void *)(uintptr_t)device_address;
    attributes->hostPointer = host_address;
    return cudaSuccess;
}

// --- Managed memory -----------------------------------------------------------------------------

cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize,
                                     enum cudaMemRangeAttribute attribute, const void *devPtr,
                                     size_t count)
{
    return RUNTIME(cuMemRangeGetAttribute(data, dataSize, (CUmem_range_attribute)attribute,
                                          runtime_address(devPtr), count));
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
                                      enum cudaMemRangeAttribute *attributes, size_t numAttributes,
                                      const void *devPtr, size_t count)
{
    return RUNTIME(cuMemRangeGetAttributes(data, dataSizes, (CUmem_range_attribute *)attributes,
                                           numAttributes, runtime_address(devPtr), count));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
                                     unsigned int flags)
{
    return RUNTIME(cuStreamAttachMemAsync(stream, runtime_address(devPtr), length, flags));
}

// --- Pools --------------------------------------------------------------------------------------

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    if (!devPtr)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    if (size == 0) {
        *devPtr = NULL;
        return cudaSuccess;
    }
    CUdeviceptr address = 0;
    RUNTIME_TRY(runtime_code(cuMemAllocAsync(&address, size, hStream)));
    *devPtr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                    cudaStream_t stream)
{
    if (!ptr)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    if (size == 0) {
        *ptr = NULL;
        return cudaSuccess;
    }
    CUdeviceptr address = 0;
    RUNTIME_TRY(runtime_code(cuMemAllocFromPoolAsync(&address, size, memPool, stream)));
    *ptr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    RUNTIME_TRY(runtime_begin());
    if (!devPtr)
        return cudaSuccess;
    return runtime_end(runtime_code(cuMemFreeAsync(runtime_address(devPtr), hStream)));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    return RUNTIME(cuDeviceGetDefaultMemPool(memPool, device));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    return RUNTIME(cuDeviceGetMemPool(memPool, device));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    return RUNTIME(cuDeviceSetMemPool(device, memPool));
}

// Pool properties, access descriptions and attribute numbers are the same in both APIs.
cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
    return RUNTIME(cuMemPoolCreate(memPool, (const CUmemPoolProps *)poolProps));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
    return RUNTIME(cuMemPoolDestroy(memPool));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    return RUNTIME(cuMemPoolGetAttribute(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    return RUNTIME(cuMemPoolSetAttribute(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                 struct cudaMemLocation *location)
{
    CUmemAccess_flags access;
    if (!flags)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuMemPoolGetAccess(&access, memPool, (CUmemLocation *)location)));
    *flags = (enum cudaMemAccessFlags)access;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
                                 size_t count)
{
    return RUNTIME(cuMemPoolSetAccess(memPool, (const CUmemAccessDesc *)descList, count));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    return RUNTIME(cuMemPoolTrimTo(memPool, minBytesToKeep));
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                     enum cudaMemAllocationType type)
{
    return RUNTIME(
        cuMemGetDefaultMemPool(memPool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                              enum cudaMemAllocationType type)
{
    return RUNTIME(cuMemGetMemPool(memPool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
                              cudaMemPool_t memPool)
{
    return RUNTIME(cuMemSetMemPool((CUmemLocation *)location, (CUmemAllocationType)type, memPool));
}
