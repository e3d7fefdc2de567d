// SPDX-License-Identifier: Apache-2.0
// Which object is at each end of a copy, and what kind of memory it is.
#include "details.h"

#include "driver.h"

struct side {
    uint64_t object;
    uint8_t memory; // enum event_memory
    bool host;
    uint8_t kind;    // of its object, if it has one
    uint32_t device; // whose memory it is; 0: unknown, or it has none
};

static uint8_t memory_of_object(uint8_t kind)
{
    switch (kind) {
    case EVENT_OBJECT_PINNED:
    case EVENT_OBJECT_REGISTERED: return EVENT_MEMORY_PINNED;
    case EVENT_OBJECT_MANAGED: return EVENT_MEMORY_MANAGED;
    case EVENT_OBJECT_ARRAY: return EVENT_MEMORY_ARRAY;
    default: return EVENT_MEMORY_DEVICE;
    }
}

// Asks the driver for the kind of memory at an address that no object holds and no argument
// describes.
static uint8_t ask_driver(uint64_t address)
{
    CUmemorytype type = 0;
    if (REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) !=
        CUDA_SUCCESS)
        return EVENT_MEMORY_PAGEABLE;
    return type == CU_MEMORYTYPE_HOST ? EVENT_MEMORY_PINNED : EVENT_MEMORY_DEVICE;
}

static struct side side_of(const struct core_copy_end *end)
{
    struct core_object object;
    if (end->array) {
        core_objects_find_array(&core_state.objects, (uint64_t)(uintptr_t)end->array, &object);
        return (struct side){object.number, EVENT_MEMORY_ARRAY, false, object.kind, object.device};
    }
    if (core_objects_find(&core_state.objects, OBJECTS_PARTS, end->address, &object)) {
        struct core_object whole;
        if (core_objects_find(&core_state.objects, OBJECTS_MEMORY, end->address, &whole)) {
            object.kind = whole.kind;
            object.device = whole.device;
        }
    } else {
        core_objects_find(&core_state.objects, OBJECTS_MEMORY, end->address, &object);
    }
    uint8_t memory = object.number                         ? memory_of_object(object.kind)
                     : end->memory == CU_MEMORYTYPE_HOST   ? EVENT_MEMORY_PAGEABLE
                     : end->memory == CU_MEMORYTYPE_DEVICE ? EVENT_MEMORY_DEVICE
                                                           : ask_driver(end->address);
    bool host = end->memory == CU_MEMORYTYPE_HOST || memory == EVENT_MEMORY_PAGEABLE ||
                memory == EVENT_MEMORY_PINNED;
    return (struct side){object.number, memory, host, object.kind,
                         memory == EVENT_MEMORY_DEVICE ? object.device : 0};
}

static uint8_t direction_of(const struct side *from, const struct side *to)
{
    if (from->host || to->host)
        return from->host && to->host ? EVENT_HOST_TO_HOST
               : from->host           ? EVENT_HOST_TO_DEVICE
                                      : EVENT_DEVICE_TO_HOST;
    return from->device && to->device && from->device != to->device ? EVENT_PEER_TO_PEER
                                                                    : EVENT_DEVICE_TO_DEVICE;
}

uint8_t core_memory_at(uint64_t address)
{
    return side_of(&(struct core_copy_end){.address = address}).memory;
}

static uint8_t host_of(const struct side *side)
{
    return side->memory == EVENT_MEMORY_PAGEABLE   ? EVENT_HOST_PAGEABLE
           : side->kind == EVENT_OBJECT_REGISTERED ? EVENT_HOST_REGISTERED
           : side->memory == EVENT_MEMORY_PINNED   ? EVENT_HOST_PINNED
           : side->memory == EVENT_MEMORY_MANAGED  ? EVENT_HOST_MANAGED
                                                   : 0;
}

struct event_copy core_copy_detail(struct core_copy_end from, struct core_copy_end to,
                                   uint64_t width_bytes, uint64_t height, uint64_t depth)
{
    const struct side source = side_of(&from), target = side_of(&to);
    const bool rows = height > 1 || depth > 1;
    struct event_copy copy = {
        .bytes = width_bytes * height * depth,
        .from = from.address,
        .to = to.address,
        .from_object = source.object,
        .to_object = target.object,
        .from_pitch = rows ? from.pitch : 0,
        .to_pitch = rows ? to.pitch : 0,
        .from_slice = depth > 1 ? from.slice : 0,
        .to_slice = depth > 1 ? to.slice : 0,
        .width_bytes = width_bytes,
        .height = height,
        .depth = depth,
        .from_memory = source.memory,
        .to_memory = target.memory,
        .direction = direction_of(&source, &target),
    };
    if (core_state.host_ends && copy.direction == EVENT_HOST_TO_DEVICE)
        copy.host = host_of(&source);
    else if (core_state.host_ends && copy.direction == EVENT_DEVICE_TO_HOST)
        copy.host = host_of(&target);
    return copy;
}

// Returns one end of a three-dimensional copy: where it begins in memory.
static struct core_copy_end box_end(CUmemorytype type, const void *host, CUdeviceptr device,
                                    CUarray array, uint64_t pitch, uint64_t height, uint64_t x,
                                    uint64_t y, uint64_t z)
{
    struct core_copy_end end = {.pitch = pitch, .slice = pitch * height};
    if (type == CU_MEMORYTYPE_ARRAY) {
        end.array = array;
        return end;
    }
    end.memory = type == CU_MEMORYTYPE_UNIFIED ? 0 : (uint8_t)type;
    end.address = (type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)host : device) +
                  (z * height + y) * pitch + x;
    return end;
}

#define BOX_END(copy, side)                                                     \
    box_end((copy)->side##MemoryType, (copy)->side##Host, (copy)->side##Device, \
            (copy)->side##Array, (copy)->side##Pitch, (copy)->side##Height,     \
            (copy)->side##XInBytes, (copy)->side##Y, (copy)->side##Z)
#define PLANE_END(copy, side)                                                                     \
    box_end((copy)->side##MemoryType, (copy)->side##Host, (copy)->side##Device,                   \
            (copy)->side##Array, (copy)->side##Pitch, 0, (copy)->side##XInBytes, (copy)->side##Y, \
            0)

struct event_copy core_copy_detail_3d(const CUDA_MEMCPY3D *copy)
{
    return core_copy_detail(BOX_END(copy, src), BOX_END(copy, dst), copy->WidthInBytes,
                            copy->Height, copy->Depth);
}

struct event_copy core_copy_detail_2d(const CUDA_MEMCPY2D *copy)
{
    return core_copy_detail(PLANE_END(copy, src), PLANE_END(copy, dst), copy->WidthInBytes,
                            copy->Height, 1);
}

struct event_copy core_copy_detail_peer(const CUDA_MEMCPY3D_PEER *copy)
{
    return core_copy_detail(BOX_END(copy, src), BOX_END(copy, dst), copy->WidthInBytes,
                            copy->Height, copy->Depth);
}

struct event_set core_set_detail(CUdeviceptr to, uint64_t pitch, uint32_t value,
                                 uint32_t value_bytes, uint64_t width, uint64_t height)
{
    struct core_object object;
    if (!core_objects_find(&core_state.objects, OBJECTS_PARTS, to, &object))
        core_objects_find(&core_state.objects, OBJECTS_MEMORY, to, &object);
    return (struct event_set){.address = to,
                              .object = object.number,
                              .bytes = width * value_bytes * height,
                              .pitch = height > 1 ? pitch : 0,
                              .width_bytes = width * value_bytes,
                              .height = height,
                              .value = value,
                              .value_bytes = value_bytes};
}
