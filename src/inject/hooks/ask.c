// SPDX-License-Identifier: Apache-2.0
// Hooks of queries about memory, which must return in corrected programs what they return without
// glint (correct/memory/ask.c), and of functions that take addresses which kernels use later
// (correct/memory/uses.c). Textures are also hooked because probes do not see reads through them.
// None of these hooks writes a record of the call.
#include "inject/core/call.h"
#include "inject/core/object_records.h"

HOOKED(cuMemGetAddressRange_v2, (CUdeviceptr * start, size_t *bytes, CUdeviceptr address),
       (start, bytes, address), NO_STREAM, {}, {})
HOOKED(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total), (free_bytes, total), NO_STREAM, {},
       {})
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

// Kernels get tensor maps as arguments, or find them in memory, and use the memory that they are
// of.
static void maps_tensor(void *address, CUresult result)
{
    if (result == CUDA_SUCCESS)
        core_object_addresses((const char *)&address, sizeof(address));
}

HOOKED(cuTensorMapReplaceAddress, (CUtensorMap * map, void *address), (map, address), NO_STREAM, {},
       { maps_tensor(address, result); })
HOOKED(cuTensorMapEncodeTiled,
       (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,
        const cuuint64_t *dim, const cuuint64_t *strides, const cuuint32_t *box,
        const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill),
       (map, type, rank, address, dim, strides, box, steps, interleave, swizzle, promotion, fill),
       NO_STREAM, {}, { maps_tensor(address, result); })
HOOKED(cuTensorMapEncodeIm2col,
       (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,
        const cuuint64_t *dim, const cuuint64_t *strides, const int *lower, const int *upper,
        cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
        CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill),
       (map, type, rank, address, dim, strides, lower, upper, channels, pixels, steps, interleave,
        swizzle, promotion, fill),
       NO_STREAM, {}, { maps_tensor(address, result); })
HOOKED(cuTensorMapEncodeIm2colWide,
       (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,
        const cuuint64_t *dim, const cuuint64_t *strides, int lower, int upper, cuuint32_t channels,
        cuuint32_t pixels, const cuuint32_t *steps, CUtensorMapInterleave interleave,
        CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill),
       (map, type, rank, address, dim, strides, lower, upper, channels, pixels, steps, interleave,
        mode, swizzle, promotion, fill),
       NO_STREAM, {}, { maps_tensor(address, result); })
