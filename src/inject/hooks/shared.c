// SPDX-License-Identifier: Apache-2.0
// Hooks of memory that processes and interfaces share, and of the virtual memory interface, which
// can share memory, too. Imported memory is an object if it has an address here. Exported memory is
// one already, and the record of the exporting call names it.
#include <stdlib.h>

#include "inject/core/object_records.h"
#include "inject/correct/wait/owed.h"
#include "inject/tensors/tensors.h"
#include "memory.h"

// --- Virtual memory ------------------------------------------------------------------------------

// Physical memory has no address; its mappings have, and are the objects.
struct allocation {
    uint64_t mapping, address; // number and address of the last mapping
    uint64_t bytes;
    uint32_t device; // whose memory it is; 0: of none
    bool imported;
    bool shared; // its mappings may be used by others: see core_objects_share
};

// Returns the allocation of a handle, made if it is new; NULL: out of memory. Needs the lock.
static struct allocation *allocation_locked(CUmemGenericAllocationHandle handle)
{
    uint64_t *place = base_map_put(&core_state.allocations, handle, NULL);
    if (place && !*place)
        *place = (uint64_t)(uintptr_t)calloc(1, sizeof(struct allocation));
    return place ? (struct allocation *)(uintptr_t)*place
                 : NULL; // NOLINT(performance-no-int-to-ptr)
}

static void allocated(const struct core_call *call, const CUmemGenericAllocationHandle *handle,
                      uint64_t bytes, uint32_t device, bool imported)
{
    if (call->result != CUDA_SUCCESS)
        return;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct allocation *allocation = allocation_locked(*handle);
    if (allocation) // the driver may have reused the handle
        *allocation = (struct allocation){.bytes = bytes, .device = device, .imported = imported};
    else
        core_no_memory();
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

static struct allocation allocation_of(CUmemGenericAllocationHandle handle)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const uint64_t *place = base_map_get(&core_state.allocations, handle);
    const struct allocation *known =
        place ? (const struct allocation *)(uintptr_t)*place : NULL; // NOLINT
    const struct allocation allocation = known ? *known : (struct allocation){0};
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return allocation;
}

static bool is_mapped(const struct allocation *allocation)
{
    struct core_object object;
    return core_objects_find(&core_state.objects, OBJECTS_MEMORY, allocation->address, &object) &&
           allocation->mapping && object.number == allocation->mapping;
}

// Fills the detail of a call about the allocation: names its last mapping, if that still exists.
static void about_allocation(struct core_call *call, CUmemGenericAllocationHandle handle)
{
    const struct allocation allocation = allocation_of(handle);
    const bool there = is_mapped(&allocation);
    core_call_alloc(call, there ? allocation.address : 0, allocation.bytes,
                    there ? allocation.mapping : 0);
}

// Says that others may use the mappings of the allocation, the last one and those to come.
static void share(CUmemGenericAllocationHandle handle)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct allocation *allocation = allocation_locked(handle);
    if (allocation)
        allocation->shared = true;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    const struct allocation about = allocation_of(handle);
    if (is_mapped(&about))
        core_object_share(about.address);
}

static void mapped(struct core_call *call, CUdeviceptr address, size_t bytes,
                   CUmemGenericAllocationHandle handle)
{
    const struct allocation before = allocation_of(handle);
    const bool imported = before.imported;
    // A second mapping is used through the first. Memory of an unknown handle may be mapped, and
    // that of the host or of another GPU may be used there.
    if (call->result == CUDA_SUCCESS &&
        (!before.bytes || !call->context || before.device != call->context->device ||
         is_mapped(&before)))
        share(handle);
    const uint64_t number = hooks_memory_begin(
        call, imported ? EVENT_OBJECT_IMPORTED : EVENT_OBJECT_MAPPING, address, bytes);
    if (!number)
        return;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct allocation *allocation = allocation_locked(handle);
    const bool shared = !allocation || allocation->shared;
    if (allocation) {
        allocation->mapping = number;
        allocation->address = address;
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (shared)
        core_object_share(address);
}

static uint32_t device_of(const CUmemAllocationProp *prop)
{
    return prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE
               ? (uint32_t)prop->location.id + 1
               : 0;
}

HOOKED(
    cuMemCreate,
    (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,
     unsigned long long flags),
    (handle, size, prop, flags), NO_STREAM,
    {
        core_call_alloc(&call, 0, size, 0);
        call.wanted_bytes = size;
        call.wanted_device = device_of(prop);
        if (prop && prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            correct_never("host memory is mapped for the GPU (cuMemCreate)");
    },
    { allocated(&call, handle, size, device_of(prop), false); })
// Access of another GPU to memory of the current context's.
static void allows(const struct core_call *call, const CUmemAccessDesc *access, size_t count)
{
    for (size_t i = 0; call->result == CUDA_SUCCESS && access && i < count; i++) {
        if (access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
            access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
            (!call->context || (uint32_t)access[i].location.id + 1 != call->context->device))
            atomic_store(&core_state.peers, true);
    }
}

HOOKED(cuMemSetAccess, (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *access, size_t count),
       (ptr, size, access, count), NO_STREAM, {}, { allows(&call, access, count); })
HOOKED(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *access, size_t count),
       (pool, access, count), NO_STREAM, {}, { allows(&call, access, count); })
HOOKED(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags), (peer, flags), NO_STREAM, {}, {
    if (result == CUDA_SUCCESS)
        atomic_store(&core_state.peers, true);
})
HOOKED(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle), NO_STREAM,
       { about_allocation(&call, handle); }, {})
HOOKED(cuMemMap,
       (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
        unsigned long long flags),
       (ptr, size, offset, handle, flags), NO_STREAM, {}, {
           mapped(&call, ptr, size, handle);
           tensors_look();
       })
HOOKED(cuMemExportToShareableHandle,
       (void *shareable, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
        unsigned long long flags),
       (shareable, handle, type, flags), NO_STREAM,
       {
           about_allocation(&call, handle);
           share(handle);
       },
       {})
HOOKED(cuMemImportFromShareableHandle,
       (CUmemGenericAllocationHandle * handle, void *shareable, CUmemAllocationHandleType type),
       (handle, shareable, type), NO_STREAM, {}, { allocated(&call, handle, 0, 0, true); })

// --- What comes from elsewhere -------------------------------------------------------------------

static uint64_t range_bytes(CUdeviceptr address)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    return REAL(cuMemGetAddressRange_v2)(&base, &bytes, address) == CUDA_SUCCESS && base <= address
               ? bytes - (address - base)
               : 0;
}

static void imported(struct core_call *call, const CUdeviceptr *address)
{
    const bool good = call->result == CUDA_SUCCESS;
    hooks_memory_begin(call, EVENT_OBJECT_IMPORTED, good ? *address : 0,
                       good ? range_bytes(*address) : 0);
}

// A handle may be opened again while it is open. The memory stays the same object until it was
// closed as often.
static void opened(struct core_call *call, const CUdeviceptr *address)
{
    struct core_object object;
    if (call->result == CUDA_SUCCESS &&
        core_objects_find(&core_state.objects, OBJECTS_MEMORY, *address, &object) &&
        object.kind == EVENT_OBJECT_IMPORTED && object.start == *address &&
        core_objects_take(&core_state.objects, OBJECTS_MEMORY, *address, &object)) {
        object.opened++;
        core_objects_add(&core_state.objects, OBJECTS_MEMORY, &object);
        core_call_alloc(call, *address, object.bytes, object.number);
    } else {
        imported(call, address);
    }
}

static void closed(struct core_call *call, struct core_object *object)
{
    if (call->result == CUDA_SUCCESS && object->opened) {
        object->opened--;
        core_objects_add(&core_state.objects, OBJECTS_MEMORY, object);
    } else {
        hooks_memory_left(call, object);
    }
}

HOOKED(cuIpcOpenMemHandle, (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned flags),
       (pdptr, handle, flags), NO_STREAM, {}, { opened(&call, pdptr); })
HOOKED(cuIpcOpenMemHandle_v2, (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned flags),
       (pdptr, handle, flags), NO_STREAM, {}, { opened(&call, pdptr); })
HOOKED(cuIpcCloseMemHandle, (CUdeviceptr dptr), (dptr), NO_STREAM,
       struct core_object object = hooks_memory_leave(&call, dptr), { closed(&call, &object); })
HOOKED(cuMemPoolImportFromShareableHandle,
       (CUmemoryPool * pool, void *handle, CUmemAllocationHandleType type,
        unsigned long long flags),
       (pool, handle, type, flags), NO_STREAM, {}, {})
HOOKED(cuMemPoolImportPointer, (CUdeviceptr * ptr, CUmemoryPool pool, CUmemPoolPtrExportData *data),
       (ptr, pool, data), NO_STREAM, {}, { imported(&call, ptr); })
HOOKED(cuImportExternalMemory,
       (CUexternalMemory * memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc), (memory, desc),
       NO_STREAM, { core_call_alloc(&call, 0, desc ? desc->size : 0, 0); }, {})
HOOKED(cuExternalMemoryGetMappedBuffer,
       (CUdeviceptr * ptr, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc),
       (ptr, memory, desc), NO_STREAM, {}, {
           hooks_memory_begin(&call, EVENT_OBJECT_IMPORTED, result ? 0 : *ptr,
                              desc ? desc->size : 0);
       })
HOOKED(cuDestroyExternalMemory, (CUexternalMemory memory), (memory), NO_STREAM, {}, {})

// --- Exports -------------------------------------------------------------------------------------

static void exports(struct core_call *call, uint64_t address, uint64_t bytes)
{
    hooks_memory_about(call, address, bytes);
    core_object_share(address);
}

HOOKED(cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr dptr), (handle, dptr), NO_STREAM,
       { exports(&call, dptr, 0); }, {})
HOOKED(cuMemGetHandleForAddressRange,
       (void *handle, CUdeviceptr dptr, size_t size, CUmemRangeHandleType type,
        unsigned long long flags),
       (handle, dptr, size, type, flags), NO_STREAM, { exports(&call, dptr, size); }, {})
// Memory that is bound to a multicast object is also used through the mapping of that object.
HOOKED(cuMulticastBindMem,
       (CUmemGenericAllocationHandle object, size_t at, CUmemGenericAllocationHandle handle,
        size_t from, size_t bytes, unsigned long long flags),
       (object, at, handle, from, bytes, flags), NO_STREAM, { share(handle); }, {})
HOOKED(cuMulticastBindAddr,
       (CUmemGenericAllocationHandle object, size_t at, CUdeviceptr address, size_t bytes,
        unsigned long long flags),
       (object, at, address, bytes, flags), NO_STREAM, { core_object_share(address); }, {})
HOOKED(cuMemPoolExportToShareableHandle,
       (void *handle, CUmemoryPool pool, CUmemAllocationHandleType type, unsigned long long flags),
       (handle, pool, type, flags), NO_STREAM, {}, {})
HOOKED(cuMemPoolExportPointer, (CUmemPoolPtrExportData * data, CUdeviceptr ptr), (data, ptr),
       NO_STREAM, { exports(&call, ptr, 0); }, {})
