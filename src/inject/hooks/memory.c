// SPDX-License-Identifier: Apache-2.0
// Hooks of memory, where objects begin and end. An object leaves the map before the driver frees
// it, because another thread may get its address at once. If the driver refuses, it is put back.
#include "memory.h"

#include <string.h>

#include "inject/core/object_records.h"
#include "inject/tensors/tensors.h"

// --- Allocations ---------------------------------------------------------------------------------

uint64_t hooks_memory_begin(struct core_call *call, uint8_t kind, uint64_t address, uint64_t bytes)
{
    if (call->result != CUDA_SUCCESS) {
        core_call_alloc(call, 0, bytes, 0);
        return 0;
    }
    if (kind == EVENT_OBJECT_POOL && call->flags & EVENT_CALL_CAPTURED) {
        struct event_object object = {.kind = EVENT_OBJECT_GRAPH,
                                      .address = address,
                                      .bytes = bytes,
                                      .stream = call->stream->number};
        const uint64_t number = core_object_begin(&object, call->context, call->number, 0);
        core_call_alloc(call, address, bytes, number);
        return number;
    }
    const uint64_t number =
        core_object_begin_with_call(kind, address, bytes, call->context, call->number);
    core_call_alloc(call, address, bytes, number);
    if (number) {
        call->detail.alloc.begins = kind;
        call->detail.alloc.device = call->context ? call->context->device : 0;
    }
    return number;
}

#define ADDRESS(pointer) ((uint64_t)(uintptr_t) * (pointer))

HOOKED(
    cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytes), (dptr, bytes), NO_STREAM,
    { call.wanted_bytes = bytes; },
    {
        hooks_memory_begin(&call, EVENT_OBJECT_DEVICE, result ? 0 : *dptr, bytes);
        tensors_look();
    })
HOOKED(cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytes, unsigned flags), (dptr, bytes, flags),
       NO_STREAM, {},
       { hooks_memory_begin(&call, EVENT_OBJECT_MANAGED, result ? 0 : *dptr, bytes); })
HOOKED(cuMemAllocHost_v2, (void **pp, size_t bytes), (pp, bytes), NO_STREAM, {},
       { hooks_memory_begin(&call, EVENT_OBJECT_PINNED, result ? 0 : ADDRESS(pp), bytes); })
// Begins an object in memory that the host can access. unread: flags that mark memory which the CPU
// should not read.
static void begin_host(struct core_call *call, uint8_t kind, uint64_t address, uint64_t bytes,
                       unsigned unread)
{
    if (hooks_memory_begin(call, kind, address, bytes) && unread)
        core_objects_unread(&core_state.objects, address);
}

HOOKED(cuMemHostAlloc, (void **pp, size_t bytes, unsigned flags), (pp, bytes, flags), NO_STREAM, {},
       {
           begin_host(&call, EVENT_OBJECT_PINNED, result ? 0 : ADDRESS(pp), bytes,
                      flags & CU_MEMHOSTALLOC_WRITECOMBINED);
       })
HOOKED(
    cuMemHostRegister, (void *p, size_t bytes, unsigned flags), (p, bytes, flags), NO_STREAM,
    { core_call_alloc(&call, (uint64_t)(uintptr_t)p, bytes, 0); },
    {
        begin_host(&call, EVENT_OBJECT_REGISTERED, (uint64_t)(uintptr_t)p, bytes,
                   flags & CU_MEMHOSTREGISTER_IOMEMORY);
    })
HOOKED(
    cuMemHostRegister_v2, (void *p, size_t bytes, unsigned flags), (p, bytes, flags), NO_STREAM,
    { core_call_alloc(&call, (uint64_t)(uintptr_t)p, bytes, 0); },
    {
        begin_host(&call, EVENT_OBJECT_REGISTERED, (uint64_t)(uintptr_t)p, bytes,
                   flags & CU_MEMHOSTREGISTER_IOMEMORY);
    })
HOOKED_BOTH(
    cuMemAllocAsync, _ptsz, (CUdeviceptr * dptr, size_t bytes, CUstream stream),
    (dptr, bytes, stream), stream, { call.wanted_bytes = bytes; },
    { hooks_memory_begin(&call, EVENT_OBJECT_POOL, result ? 0 : *dptr, bytes); })
HOOKED_BOTH(cuMemAllocFromPoolAsync, _ptsz,
            (CUdeviceptr * dptr, size_t bytes, CUmemoryPool pool, CUstream stream),
            (dptr, bytes, pool, stream), stream, {},
            { hooks_memory_begin(&call, EVENT_OBJECT_POOL, result ? 0 : *dptr, bytes); })
HOOKED(
    cuMemAllocPitch_v2,
    (CUdeviceptr * dptr, size_t *pitch, size_t width, size_t height, unsigned element),
    (dptr, pitch, width, height, element), NO_STREAM, { call.wanted_bytes = width * height; },
    {
        if (result == CUDA_SUCCESS) {
            struct event_object object = {.kind = EVENT_OBJECT_PITCHED,
                                          .address = *dptr,
                                          .bytes = *pitch * height,
                                          .pitch = *pitch,
                                          .width_bytes = width,
                                          .height = height,
                                          .depth = 1};
            core_call_alloc(&call, object.address, object.bytes,
                            core_object_begin(&object, call.context, call.number, 0));
        } else {
            core_call_alloc(&call, 0, width * height, 0);
        }
    })

void hooks_memory_about(struct core_call *call, uint64_t address, uint64_t bytes)
{
    struct core_object object;
    core_objects_find(&core_state.objects, OBJECTS_MEMORY, address, &object);
    core_call_alloc(call, address, bytes ? bytes : object.bytes, object.number);
}

// --- Advice --------------------------------------------------------------------------------------

HOOKED(cuMemAdvise, (CUdeviceptr ptr, size_t count, CUmem_advise advice, CUdevice device),
       (ptr, count, advice, device), NO_STREAM, { hooks_memory_about(&call, ptr, count); }, {})
HOOKED(cuMemAdvise_v2, (CUdeviceptr ptr, size_t count, CUmem_advise advice, CUmemLocation location),
       (ptr, count, advice, location), NO_STREAM, { hooks_memory_about(&call, ptr, count); }, {})
HOOKED_BOTH(cuMemPrefetchAsync, _ptsz,
            (CUdeviceptr ptr, size_t count, CUdevice device, CUstream stream),
            (ptr, count, device, stream), stream, { hooks_memory_about(&call, ptr, count); }, {})
HOOKED_BOTH(cuMemPrefetchAsync_v2, _ptsz,
            (CUdeviceptr ptr, size_t count, CUmemLocation location, unsigned flags,
             CUstream stream),
            (ptr, count, location, flags, stream), stream,
            { hooks_memory_about(&call, ptr, count); }, {})
HOOKED_BOTH(cuStreamAttachMemAsync, _ptsz,
            (CUstream stream, CUdeviceptr ptr, size_t bytes, unsigned flags),
            (stream, ptr, bytes, flags), stream, { hooks_memory_about(&call, ptr, bytes); }, {})

// --- End -----------------------------------------------------------------------------------------

// A function that frees memory waits for all work that may use it, and does little else.
static void waits_to_free(struct core_call *call)
{
    call->waited_is_known = true;
}

struct core_object hooks_memory_leave(struct core_call *call, uint64_t address)
{
    struct core_object object = {0};
    core_objects_take(&core_state.objects, OBJECTS_MEMORY, address, &object);
    waits_to_free(call);
    if (!address || object.kind == EVENT_OBJECT_POOL)
        call->how &= (uint8_t)~HOOK_WAITS; // pool memory is freed in stream order
    core_call_alloc(call, address, object.bytes, object.number);
    return object;
}

void hooks_memory_left(struct core_call *call, const struct core_object *object)
{
    if (!object->number)
        return;
    // A node of a graph frees its memory at each launch; the object lives with the graph.
    if (call->result != CUDA_SUCCESS || call->flags & EVENT_CALL_CAPTURED) {
        core_objects_add(&core_state.objects, OBJECTS_MEMORY, object);
        return;
    }
    core_object_end_parts(object->start, object->bytes, call->number);
    if (call->detail.alloc.object == object->number) {
        call->detail.alloc.ends = 1;
        core_object_gone(object->number);
    } else {
        core_object_end(object, call->number,
                        call->stream && core_hook_rows[call->hook].kind == EVENT_CALL_FREE
                            ? call->stream->number
                            : 0);
    }
}

#define FREED(symbol, type)                                                               \
    HOOKED(symbol, (type p), (p), NO_STREAM,                                              \
           struct core_object object = hooks_memory_leave(&call, (uint64_t)(uintptr_t)p), \
           { hooks_memory_left(&call, &object); })

FREED(cuMemFree_v2, CUdeviceptr)
FREED(cuMemFreeHost, void *)
FREED(cuMemHostUnregister, void *)

HOOKED_BOTH(cuMemFreeAsync, _ptsz, (CUdeviceptr ptr, CUstream stream), (ptr, stream), stream,
            struct core_object object = hooks_memory_leave(&call, ptr),
            { hooks_memory_left(&call, &object); })

// Ends all mappings in the range.
HOOKED(
    cuMemUnmap, (CUdeviceptr ptr, size_t size), (ptr, size), NO_STREAM,
    { hooks_memory_about(&call, ptr, size); },
    {
        struct core_object object;
        while (result == CUDA_SUCCESS &&
               core_objects_take_overlap(&core_state.objects, OBJECTS_MEMORY, ptr, size, &object))
            hooks_memory_left(&call, &object);
    })

// --- Arrays --------------------------------------------------------------------------------------

uint64_t hooks_array_element_bytes(CUarray_format format, unsigned channels)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2u * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4u * channels;
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1: return 1;
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1: return 2;
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT_101010_2: return 4;
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4: return 8;
    default: return 0;
    }
}

static uint64_t at_least_1(uint64_t value)
{
    return value ? value : 1;
}

static void begin_array(struct core_call *call, const void *handle,
                        const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels, uint8_t kind)
{
    uint64_t bytes = 0;
    struct event_object object = {
        .kind = kind,
        .width_bytes = desc->Width * hooks_array_element_bytes(desc->Format, desc->NumChannels),
        .height = at_least_1(desc->Height),
        .depth = at_least_1(desc->Depth)};
    const bool layered = desc->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    for (unsigned level = 0; level < levels; level++) {
        uint64_t width = at_least_1(desc->Width >> level);
        uint64_t height = at_least_1(desc->Height >> level);
        uint64_t depth = layered ? object.depth : at_least_1(desc->Depth >> level);
        bytes +=
            width * hooks_array_element_bytes(desc->Format, desc->NumChannels) * height * depth;
    }
    object.bytes = bytes;
    if (call->result == CUDA_SUCCESS)
        core_call_alloc(call, 0, bytes,
                        core_object_begin_array(&object, (uint64_t)(uintptr_t)handle, call->context,
                                                call->number));
    else
        core_call_alloc(call, 0, bytes, 0);
}

HOOKED(cuArrayCreate_v2, (CUarray * handle, const CUDA_ARRAY_DESCRIPTOR *desc), (handle, desc),
       NO_STREAM, {}, {
           CUDA_ARRAY3D_DESCRIPTOR box = {0};
           if (desc) {
               box.Width = desc->Width;
               box.Height = desc->Height;
               box.Format = desc->Format;
               box.NumChannels = desc->NumChannels;
           }
           begin_array(&call, result ? NULL : *handle, &box, 1, EVENT_OBJECT_ARRAY);
       })
HOOKED(cuArray3DCreate_v2, (CUarray * handle, const CUDA_ARRAY3D_DESCRIPTOR *desc), (handle, desc),
       NO_STREAM, {}, {
           const CUDA_ARRAY3D_DESCRIPTOR none = {0};
           begin_array(&call, result ? NULL : *handle, desc ? desc : &none, 1, EVENT_OBJECT_ARRAY);
       })
HOOKED(cuMipmappedArrayCreate,
       (CUmipmappedArray * handle, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels),
       (handle, desc, levels), NO_STREAM, {}, {
           const CUDA_ARRAY3D_DESCRIPTOR none = {0};
           begin_array(&call, result ? NULL : *handle, desc ? desc : &none, levels,
                       EVENT_OBJECT_ARRAY);
       })
HOOKED(cuExternalMemoryGetMappedMipmappedArray,
       (CUmipmappedArray * handle, CUexternalMemory memory,
        const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc),
       (handle, memory, desc), NO_STREAM, {}, {
           const CUDA_ARRAY3D_DESCRIPTOR none = {0};
           begin_array(&call, result ? NULL : *handle, desc ? &desc->arrayDesc : &none,
                       desc ? desc->numLevels : 0, EVENT_OBJECT_IMPORTED);
       })

static struct core_object leave_array(struct core_call *call, const void *handle)
{
    struct core_object object = {0};
    core_objects_take_array(&core_state.objects, (uint64_t)(uintptr_t)handle, &object);
    core_call_alloc(call, 0, object.bytes, object.number);
    waits_to_free(call);
    return object;
}

static void left_array(struct core_call *call, const struct core_object *object)
{
    if (object->number && call->result == CUDA_SUCCESS) {
        core_objects_forget_aliases(&core_state.objects, object->number);
        core_object_end(object, call->number, 0);
    } else if (object->number) {
        core_objects_add_array(&core_state.objects, object);
    }
}

HOOKED(cuArrayDestroy, (CUarray handle), (handle), NO_STREAM,
       struct core_object object = leave_array(&call, handle), { left_array(&call, &object); })
HOOKED(cuMipmappedArrayDestroy, (CUmipmappedArray handle), (handle), NO_STREAM,
       struct core_object object = leave_array(&call, handle), { left_array(&call, &object); })
HOOKED(cuMipmappedArrayGetLevel, (CUarray * array, CUmipmappedArray levels, unsigned level),
       (array, levels, level), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS)
               core_objects_alias_array(&core_state.objects, (uint64_t)(uintptr_t)*array,
                                        (uint64_t)(uintptr_t)levels);
       })
