// SPDX-License-Identifier: Apache-2.0
// Attributes of pointers, and advice on managed memory, which is accepted and ignored: host and
// device memory are the same here.
#include <string.h>

#include "context.h"
#include "driver.h"
#include "memory.h"
#include "op.h"
#include "pool.h"
#include "stream.h"

// Copies the allocation at an address. For a variable of a module, fills it from the machine's
// object.
static bool find(CUdeviceptr ptr, struct driver_allocation *copy)
{
    driver_lock();
    struct driver_allocation *allocation = driver_memory_find(ptr);
    if (allocation)
        *copy = *allocation;
    driver_unlock();
    struct gpusim_object object;
    if (allocation)
        return true;
    if (!sim_object_find(driver_machine(), ptr, &object))
        return false;
    *copy = (struct driver_allocation){
        .address = object.address,
        .size_bytes = object.size_bytes,
        .kind = object.kind == GPUSIM_OBJECT_MANAGED ? DRIVER_MEMORY_MANAGED : DRIVER_MEMORY_DEVICE,
        .id = object.id,
        .device = &driver.devices[object.device],
        .context = driver.devices[object.device].primary};
    return true;
}

static bool is_host(const struct driver_allocation *allocation)
{
    return allocation->kind == DRIVER_MEMORY_HOST || allocation->kind == DRIVER_MEMORY_REGISTERED;
}

// Returns whether kernels of the current context's device may access the memory. That of a pool is
// no object of the machine before its stream reaches the allocation.
static bool accesses(CUdeviceptr ptr, const struct driver_allocation *allocation)
{
    struct driver_context *context;
    if (driver_current_any(&context) != CUDA_SUCCESS)
        return true;
    if (!allocation->pool)
        return sim_object_admits(context->device->machine, ptr);
    driver_lock();
    const uint32_t admitted = driver_pool_admitted(allocation->pool);
    driver_unlock();
    return admitted >> driver_ordinal(context->device) & 1;
}

static CUresult answer(void *data, CUpointer_attribute attribute, CUdeviceptr ptr,
                       const struct driver_allocation *allocation)
{
    bool managed = allocation->kind == DRIVER_MEMORY_MANAGED;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = (CUcontext)allocation->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = is_host(allocation) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = ptr; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        DRIVER_REJECT(!is_host(allocation) && !managed, CUDA_ERROR_INVALID_VALUE);
        *(void **)data = (void *)(uintptr_t)ptr;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)data = allocation->sync_memops;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = allocation->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)data = managed; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = driver_ordinal(allocation->device);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = allocation->address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = allocation->size_bytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)data = 1; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: *(unsigned *)data = 0; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = accesses(ptr, allocation) ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                                      : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)data = (CUmemoryPool)allocation->pool;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = allocation->id;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!data, CUDA_ERROR_INVALID_VALUE);
    struct driver_allocation allocation;
    DRIVER_REJECT(!find(ptr, &allocation), CUDA_ERROR_INVALID_VALUE);
    return answer(data, attribute, ptr, &allocation);
}

static size_t answer_bytes(CUpointer_attribute attribute)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return 4;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return 16;
    default: return 8;
    }
}

// For an unknown pointer the call succeeds: all attributes are zero, except the device, which is
// -2.
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr ptr)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!numAttributes || !attributes || !data, CUDA_ERROR_INVALID_VALUE);
    struct driver_allocation allocation;
    bool known = find(ptr, &allocation);
    for (unsigned i = 0; i < numAttributes; i++) {
        DRIVER_REJECT(!data[i], CUDA_ERROR_INVALID_VALUE);
        memset(data[i], 0, answer_bytes(attributes[i]));
        if (known)
            answer(data[i], attributes[i], ptr, &allocation);
        else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = -2;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                  CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    struct driver_allocation *allocation = driver_memory_find(ptr);
    if (allocation)
        allocation->sync_memops = *(const int *)value != 0;
    driver_unlock();
    return allocation ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// --- Advice --------------------------------------------------------------------------------------

static CUresult check_managed(CUdeviceptr ptr, size_t count)
{
    driver_lock();
    enum driver_place place = driver_place_of(ptr, count);
    driver_unlock();
    return place == DRIVER_PLACE_MANAGED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// The CPU counts as a device.
static CUresult check_device(CUdevice device)
{
    return device == CU_DEVICE_CPU || driver_device_at(device) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult check_location(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? check_device(location->id)
                                                         : CUDA_SUCCESS;
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location)
{
    DRIVER_BEGIN();
    DRIVER_TRY(check_location(&location));
    return check_managed(devPtr, count);
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    DRIVER_BEGIN();
    if (advice != CU_MEM_ADVISE_SET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
        advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION)
        DRIVER_TRY(check_device(device));
    return check_managed(devPtr, count);
}

static CUresult prefetch(CUdeviceptr ptr, size_t count, CUstream handle)
{
    DRIVER_TRY(check_managed(ptr, count));
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(handle, &context, &stream));
    struct driver_op op = {.kind = DRIVER_OP_EMPTY};
    CUresult result = driver_enqueue(stream, &op);
    driver_unlock();
    return result;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream hStream)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(flags, CUDA_ERROR_INVALID_VALUE);
    DRIVER_TRY(check_location(&location));
    return prefetch(devPtr, count, hStream);
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
    DRIVER_BEGIN();
    DRIVER_TRY(check_device(dstDevice));
    return prefetch(devPtr, count, hStream);
}

// Returns the attributes of memory without advice.
CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!data || dataSize < 4, CUDA_ERROR_INVALID_VALUE);
    DRIVER_TRY(check_managed(devPtr, count));
    int nothing = attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? 0 : CU_DEVICE_INVALID;
    for (size_t i = 0; i + 4 <= dataSize; i += 4)
        memcpy((char *)data + i, &nothing, 4);
    return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
    DRIVER_REJECT(!data || !dataSizes || !attributes, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < numAttributes; i++)
        DRIVER_TRY(cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count));
    return CUDA_SUCCESS;
}
