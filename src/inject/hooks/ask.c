// SPDX-License-Identifier: Apache-2.0
// Hooks of queries about memory, which must return in corrected programs what they return without
// glint (correct/memory/ask.c), and of functions that take addresses which kernels use later
// (correct/memory/uses.c). Textures are also hooked because probes do not see reads through them.
// None of these hooks writes a record of the call.
#include "inject/core/call.h"
#include "inject/core/object_records.h"
#include "inject/shadow/shadow.h"

HOOKED(cuMemGetAddressRange_v2, (CUdeviceptr * start, size_t *bytes, CUdeviceptr address),
       (start, bytes, address), NO_STREAM, {}, {})
HOOKED(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total), (free_bytes, total), NO_STREAM, {}, {
    if (result == CUDA_SUCCESS && free_bytes && call.current)
        *free_bytes += shadow_held_bytes(call.current->device);
})
HOOKED(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
       (pool, attribute, value), NO_STREAM, {}, {})
HOOKED(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr address),
       (data, attribute, address), NO_STREAM, {}, {})
HOOKED(cuPointerGetAttributes,
       (unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address),
       (count, attributes, data, address), NO_STREAM, {}, {})
HOOKED(cuPointerSetAttribute,
       (const void *value, CUpointer_attribute attribute, CUdeviceptr address),
       (value, attribute, address), NO_STREAM,
       {
           // A network card is about to use it.
           if (attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
               core_object_share(address);
       },
       {})
// The handle may be exported, or mapped again.
HOOKED(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void *address),
       (handle, address), NO_STREAM, { core_object_share((uint64_t)(uintptr_t)address); }, {})
HOOKED(cuTexObjectCreate,
       (CUtexObject * object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
        const CUDA_RESOURCE_VIEW_DESC *view),
       (object, resource, texture, view), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS && resource &&
               (resource->resType == CU_RESOURCE_TYPE_LINEAR ||
                resource->resType == CU_RESOURCE_TYPE_PITCH2D))
               atomic_store(&core_state.linear_textures, true);
       })
HOOKED(cuTexRefSetAddress_v2, (size_t * offset, CUtexref ref, CUdeviceptr address, size_t bytes),
       (offset, ref, address, bytes), NO_STREAM, {},
       { atomic_store(&core_state.linear_textures, true); })
HOOKED(cuTexRefSetAddress2D_v2,
       (CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr address, size_t pitch),
       (ref, desc, address, pitch), NO_STREAM, {},
       { atomic_store(&core_state.linear_textures, true); })
HOOKED(cuTexRefSetAddress2D_v3,
       (CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr address, size_t pitch),
       (ref, desc, address, pitch), NO_STREAM, {},
       { atomic_store(&core_state.linear_textures, true); })

// Returns the bytes of an element, or more.
static uint64_t element_bytes(CUtensorMapDataType type)
{
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: return 4;
    default: return 8;
    }
}

// Returns whether the tensor is certainly in the object that holds its address.
static bool is_in_object(const void *address, CUtensorMapDataType type, cuuint32_t rank,
                         const cuuint64_t *dim, const cuuint64_t *strides)
{
    struct core_objects_piece piece;
    const uint64_t start = (uint64_t)(uintptr_t)address;
    uint64_t bytes = 0, along = 0;
    bool fits = core_objects_find_piece(&core_state.objects, start, &piece) &&
                !__builtin_mul_overflow(dim[0], element_bytes(type), &bytes);
    for (cuuint32_t i = 1; fits && i < rank; i++)
        fits = !__builtin_mul_overflow(dim[i] - 1, strides[i - 1], &along) &&
               !__builtin_add_overflow(bytes, along, &bytes);
    return fits && bytes <= piece.bytes - (start - piece.start);
}

// Kernels get tensor maps as arguments, or find them in memory, and use the memory that they are
// of. Probes find the object in which a tensor begins.
static void maps_tensor(void *address, bool is_inside)
{
    core_object_addresses((const char *)&address, sizeof(address));
    if (!is_inside)
        atomic_store(&core_state.wide_tensors, true);
}

// A map that the driver has made has a rank, sizes and strides.
static void made_map(CUresult result, void *address, CUtensorMapDataType type, cuuint32_t rank,
                     const cuuint64_t *dim, const cuuint64_t *strides)
{
    if (result == CUDA_SUCCESS)
        maps_tensor(address, is_in_object(address, type, rank, dim, strides));
}

HOOKED(cuTensorMapReplaceAddress, (CUtensorMap * map, void *address), (map, address), NO_STREAM, {},
       {
           if (result == CUDA_SUCCESS) // its sizes are in the map
               maps_tensor(address, false);
       })
HOOKED(cuTensorMapEncodeTiled,
       (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,
        const cuuint64_t *dim, const cuuint64_t *strides, const cuuint32_t *box,
        const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill),
       (map, type, rank, address, dim, strides, box, steps, interleave, swizzle, promotion, fill),
       NO_STREAM, {}, { made_map(result, address, type, rank, dim, strides); })
HOOKED(cuTensorMapEncodeIm2col,
       (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,
        const cuuint64_t *dim, const cuuint64_t *strides, const int *lower, const int *upper,
        cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
        CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill),
       (map, type, rank, address, dim, strides, lower, upper, channels, pixels, steps, interleave,
        swizzle, promotion, fill),
       NO_STREAM, {}, { made_map(result, address, type, rank, dim, strides); })
HOOKED(cuTensorMapEncodeIm2colWide,
       (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,
        const cuuint64_t *dim, const cuuint64_t *strides, int lower, int upper, cuuint32_t channels,
        cuuint32_t pixels, const cuuint32_t *steps, CUtensorMapInterleave interleave,
        CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill),
       (map, type, rank, address, dim, strides, lower, upper, channels, pixels, steps, interleave,
        mode, swizzle, promotion, fill),
       NO_STREAM, {}, { made_map(result, address, type, rank, dim, strides); })
