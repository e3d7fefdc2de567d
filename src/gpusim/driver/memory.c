// SPDX-License-Identifier: Apache-2.0
// Allocations: device memory, plain and pitched, managed memory, pinned and registered host memory.
// The map of allocations changes in the order of API calls; the machine's map of objects, which the
// driver updates, changes in the order in which streams run.
#include <stdlib.h>
#include <sys/mman.h>

#include "capture.h"
#include "context.h"
#include "driver.h"
#include "graph_memory.h"
#include "memory.h"
#include "pool.h"
#include "stream.h"

// The memory that NVIDIA's driver reserves in a new context on an H200.
#define CONTEXT_BYTES UINT64_C(552402944)

uint64_t driver_memory_usable(const struct driver_device *device)
{
    uint64_t total = device->preset->memory_bytes - CONTEXT_BYTES;
    return total > device->used_bytes ? total - device->used_bytes : 0;
}

CUresult driver_memory_charge(struct driver_device *device, uint64_t size_bytes)
{
    DRIVER_REJECT(size_bytes > driver_memory_usable(device), CUDA_ERROR_OUT_OF_MEMORY);
    device->used_bytes += size_bytes;
    return CUDA_SUCCESS;
}

static bool on_device(enum driver_memory_kind kind)
{
    return kind == DRIVER_MEMORY_DEVICE || kind == DRIVER_MEMORY_ARRAY;
}

static uint64_t charged(const struct driver_allocation *allocation)
{
    return on_device(allocation->kind)
               ? (allocation->size_bytes + DRIVER_ALIGNMENT - 1) & ~(uint64_t)(DRIVER_ALIGNMENT - 1)
               : 0;
}

static enum gpusim_object_kind object_kind(enum driver_memory_kind kind)
{
    switch (kind) {
    case DRIVER_MEMORY_DEVICE: return GPUSIM_OBJECT_DEVICE;
    case DRIVER_MEMORY_MANAGED: return GPUSIM_OBJECT_MANAGED;
    case DRIVER_MEMORY_HOST:
    case DRIVER_MEMORY_REGISTERED: return GPUSIM_OBJECT_HOST;
    case DRIVER_MEMORY_POOL: return GPUSIM_OBJECT_POOL;
    case DRIVER_MEMORY_MAPPED: return GPUSIM_OBJECT_MAPPED;
    case DRIVER_MEMORY_ARRAY: return GPUSIM_OBJECT_ARRAY;
    }
    return GPUSIM_OBJECT_DEVICE;
}

static const char *object_name(enum driver_memory_kind kind)
{
    switch (kind) {
    case DRIVER_MEMORY_DEVICE: return "cudaMalloc";
    case DRIVER_MEMORY_MANAGED: return "cudaMallocManaged";
    case DRIVER_MEMORY_HOST: return "cudaMallocHost";
    case DRIVER_MEMORY_REGISTERED: return "cudaHostRegister";
    case DRIVER_MEMORY_POOL: return "cudaMallocAsync";
    case DRIVER_MEMORY_MAPPED: return "cuMemMap";
    case DRIVER_MEMORY_ARRAY: return "cudaMallocArray";
    }
    return "memory";
}

CUresult driver_memory_enter(struct driver_allocation *allocation)
{
    allocation->id = ++driver.next_id;
    enum base_code code =
        base_intervals_insert(&driver.memory, allocation->address, allocation->size_bytes,
                              (uint64_t)(uintptr_t)allocation, NULL);
    DRIVER_REJECT(code == BASE_CONFLICT, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    DRIVER_REJECT(code != BASE_OK, CUDA_ERROR_OUT_OF_MEMORY);
    if (allocation->kind == DRIVER_MEMORY_POOL) // its command adds the object in stream order
        return CUDA_SUCCESS;
    struct base_error error = {0};
    code = sim_object_add(allocation->device->machine, allocation->address, allocation->size_bytes,
                          object_kind(allocation->kind), object_name(allocation->kind), &error);
    if (code == BASE_OK)
        return CUDA_SUCCESS;
    base_intervals_remove(&driver.memory, allocation->address, NULL);
    return code == BASE_CONFLICT ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                 : CUDA_ERROR_OUT_OF_MEMORY;
}

// Returns the size to request from driver_block_take(). Pinned memory of a page or more must start
// at a page boundary, as large blocks do.
static uint64_t block_bytes(const struct driver_allocation *allocation)
{
    enum { PAGE_BYTES = 4096, LARGE_BYTES = 1 << 20 };
    const bool pages =
        allocation->kind == DRIVER_MEMORY_HOST && allocation->size_bytes >= PAGE_BYTES;
    return pages && allocation->size_bytes < LARGE_BYTES ? LARGE_BYTES : allocation->size_bytes;
}

CUresult driver_memory_add(struct driver_context *context, enum driver_memory_kind kind,
                           uint64_t size_bytes, unsigned flags, struct driver_allocation **made)
{
    struct driver_allocation *allocation = calloc(1, sizeof *allocation);
    DRIVER_REJECT(!allocation, CUDA_ERROR_OUT_OF_MEMORY);
    *allocation = (struct driver_allocation){.size_bytes = size_bytes,
                                             .kind = kind,
                                             .flags = flags,
                                             .device = context->device,
                                             .context = context};
    CUresult result = driver_memory_charge(context->device, charged(allocation));
    if (result != CUDA_SUCCESS) {
        free(allocation);
        return result;
    }
    allocation->address = driver_block_take(block_bytes(allocation));
    result = allocation->address ? driver_memory_enter(allocation) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        if (allocation->address)
            driver_block_give(allocation->address, block_bytes(allocation));
        context->device->used_bytes -= charged(allocation);
        free(allocation);
        return result;
    }
    *made = allocation;
    return CUDA_SUCCESS;
}

void driver_memory_remove(struct driver_allocation *allocation)
{
    base_intervals_remove(&driver.memory, allocation->address, NULL);
    sim_object_remove(driver_machine(), allocation->address);
    allocation->device->used_bytes -= charged(allocation);
    if (allocation->of_graph) {
        driver_graph_memory_touch(allocation->of_graph, NULL);
        driver_graph_memory_release(allocation->of_graph);
    }
    if (allocation->kind != DRIVER_MEMORY_REGISTERED && allocation->kind != DRIVER_MEMORY_MAPPED &&
        allocation->kind != DRIVER_MEMORY_POOL)
        driver_block_give(allocation->address, block_bytes(allocation));
    free(allocation);
}

struct driver_allocation *driver_memory_find(uint64_t address)
{
    struct base_interval *found = base_intervals_find(&driver.memory, address);
    return found ? (struct driver_allocation *)(uintptr_t)found->value : NULL;
}

enum driver_place driver_place_of(uint64_t address, uint64_t size_bytes)
{
    struct driver_allocation *allocation = driver_memory_find(address);
    if (!allocation) {
        struct gpusim_object object; // a variable of a module
        if (!driver_machine() || !sim_object_find(driver_machine(), address, &object))
            return DRIVER_PLACE_PAGEABLE;
        if (size_bytes > object.address + object.size_bytes - address)
            return DRIVER_PLACE_BEYOND;
        return object.kind == GPUSIM_OBJECT_MANAGED ? DRIVER_PLACE_MANAGED : DRIVER_PLACE_DEVICE;
    }
    uint64_t end = allocation->address + allocation->size_bytes;
    // Adjacent mappings form one range to the program.
    while (allocation->kind == DRIVER_MEMORY_MAPPED && end - address < size_bytes) {
        struct driver_allocation *next = driver_memory_find(end);
        if (!next || next->kind != DRIVER_MEMORY_MAPPED)
            break;
        end = next->address + next->size_bytes;
    }
    if (end - address < size_bytes)
        return DRIVER_PLACE_BEYOND;
    switch (allocation->kind) {
    case DRIVER_MEMORY_HOST:
    case DRIVER_MEMORY_REGISTERED: return DRIVER_PLACE_PINNED;
    case DRIVER_MEMORY_MANAGED: return DRIVER_PLACE_MANAGED;
    default: return DRIVER_PLACE_DEVICE;
    }
}

const struct driver_device *driver_memory_device(uint64_t address)
{
    const struct driver_allocation *allocation = driver_memory_find(address);
    struct gpusim_object object;
    if (driver_place_of(address, 1) != DRIVER_PLACE_DEVICE)
        return NULL;
    if (allocation)
        return allocation->device;
    return sim_object_find(driver_machine(), address, &object) ? &driver.devices[object.device]
                                                               : NULL;
}

// --- Device memory -------------------------------------------------------------------------------

static CUresult allocate(enum driver_memory_kind kind, uint64_t size_bytes, unsigned flags,
                         uint64_t *address)
{
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_TRY(driver_unsafe_in_capture());
    driver_lock();
    struct driver_allocation *allocation;
    CUresult result = driver_memory_add(context, kind, size_bytes, flags, &allocation);
    if (result == CUDA_SUCCESS)
        *address = allocation->address;
    driver_unlock();
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!dptr || !bytesize, CUDA_ERROR_INVALID_VALUE);
    uint64_t address;
    DRIVER_TRY(allocate(DRIVER_MEMORY_DEVICE, bytesize, 0, &address));
    *dptr = address;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!dptr || !pPitch || !WidthInBytes || !Height, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16,
                  CUDA_ERROR_INVALID_VALUE);
    size_t pitch = (WidthInBytes + DRIVER_ALIGNMENT - 1) / DRIVER_ALIGNMENT * DRIVER_ALIGNMENT;
    DRIVER_REJECT(pitch < WidthInBytes || Height > SIZE_MAX / pitch, CUDA_ERROR_INVALID_VALUE);
    uint64_t address;
    DRIVER_TRY(allocate(DRIVER_MEMORY_DEVICE, pitch * Height, 0, &address));
    *dptr = address;
    *pPitch = pitch;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!dptr || !bytesize, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST,
                  CUDA_ERROR_INVALID_VALUE);
    uint64_t address;
    DRIVER_TRY(allocate(DRIVER_MEMORY_MANAGED, bytesize, flags, &address));
    *dptr = address;
    return CUDA_SUCCESS;
}

// Frees the allocation that starts at the address, after waiting for the device, whose work may
// still use it. Memory of a pool is freed in the order of the default stream without waiting, as on
// an H200. Returns `otherwise` if there is no such allocation.
static CUresult release(uint64_t address, bool (*fits)(const struct driver_allocation *),
                        CUresult otherwise)
{
    struct driver_context *context;
    DRIVER_TRY(driver_current_any(&context));
    DRIVER_TRY(driver_unsafe_in_capture());
    driver_lock();
    struct driver_allocation *allocation = driver_memory_find(address);
    CUresult result = CUDA_SUCCESS;
    if (!allocation || allocation->address != address || !fits(allocation)) {
        result = otherwise;
    } else if (allocation->kind == DRIVER_MEMORY_POOL) {
        result = driver_pool_free(context->legacy, allocation);
    } else {
        driver_wait_device(allocation->device);
        // Another thread may have freed it during the wait.
        allocation = driver_memory_find(address);
        if (allocation && allocation->address == address && fits(allocation))
            driver_memory_remove(allocation);
    }
    driver_unlock();
    return result != CUDA_SUCCESS ? result : (CUresult)driver.error;
}

static bool is_device_memory(const struct driver_allocation *allocation)
{
    return allocation->kind == DRIVER_MEMORY_DEVICE || allocation->kind == DRIVER_MEMORY_MANAGED ||
           allocation->kind == DRIVER_MEMORY_POOL;
}

static bool is_pinned_memory(const struct driver_allocation *allocation)
{
    return allocation->kind == DRIVER_MEMORY_HOST;
}

static bool is_registered_memory(const struct driver_allocation *allocation)
{
    return allocation->kind == DRIVER_MEMORY_REGISTERED;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    DRIVER_BEGIN();
    if (!dptr)
        return CUDA_SUCCESS;
    return release(dptr, is_device_memory, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    driver_lock();
    if (free_bytes)
        *free_bytes = driver_memory_usable(context->device);
    driver_unlock();
    if (total)
        *total = context->device->preset->memory_bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    DRIVER_BEGIN();
    driver_lock();
    struct driver_allocation *allocation = driver_memory_find(dptr);
    struct gpusim_object object;
    bool found = allocation != NULL;
    if (found)
        object = (struct gpusim_object){.address = allocation->address,
                                        .size_bytes = allocation->size_bytes};
    else
        found = sim_object_find(driver_machine(), dptr, &object);
    driver_unlock();
    DRIVER_REJECT(!found, CUDA_ERROR_NOT_FOUND);
    if (pbase)
        *pbase = object.address;
    if (psize)
        *psize = object.size_bytes;
    return CUDA_SUCCESS;
}

// --- Host memory ---------------------------------------------------------------------------------

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    DRIVER_BEGIN();
    unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    DRIVER_REJECT(!pp || !bytesize || (Flags & ~known), CUDA_ERROR_INVALID_VALUE);
    uint64_t address;
    DRIVER_TRY(allocate(DRIVER_MEMORY_HOST, bytesize, Flags, &address));
    *pp = (void *)(uintptr_t)address;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return cuMemHostAlloc(pp, bytesize, 0);
}

CUresult cuMemFreeHost(void *p)
{
    DRIVER_BEGIN();
    if (!p)
        return CUDA_SUCCESS;
    return release((uint64_t)(uintptr_t)p, is_pinned_memory, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!p || !bytesize, CUDA_ERROR_INVALID_VALUE);
    struct driver_allocation *allocation = calloc(1, sizeof *allocation);
    DRIVER_REJECT(!allocation, CUDA_ERROR_OUT_OF_MEMORY);
    *allocation = (struct driver_allocation){.address = (uint64_t)(uintptr_t)p,
                                             .size_bytes = bytesize,
                                             .kind = DRIVER_MEMORY_REGISTERED,
                                             .flags = Flags,
                                             .device = context->device,
                                             .context = context};
    driver_lock();
    CUresult result = driver_memory_enter(allocation);
    driver_unlock();
    if (result != CUDA_SUCCESS)
        free(allocation);
    return result;
}

CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult cuMemHostUnregister(void *p)
{
    DRIVER_BEGIN();
    return release((uint64_t)(uintptr_t)p, is_registered_memory,
                   CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static CUresult host_allocation(void *p, struct driver_allocation *copy)
{
    driver_lock();
    struct driver_allocation *allocation = driver_memory_find((uint64_t)(uintptr_t)p);
    bool found = allocation && (is_pinned_memory(allocation) || is_registered_memory(allocation));
    if (found)
        *copy = *allocation;
    driver_unlock();
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pdptr || Flags, CUDA_ERROR_INVALID_VALUE);
    struct driver_allocation allocation;
    DRIVER_TRY(host_allocation(p, &allocation));
    *pdptr = (CUdeviceptr)(uintptr_t)p;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pFlags, CUDA_ERROR_INVALID_VALUE);
    struct driver_allocation allocation;
    DRIVER_TRY(host_allocation(p, &allocation));
    // With unified addressing all pinned memory is mapped.
    *pFlags = allocation.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
