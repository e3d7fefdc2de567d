// SPDX-License-Identifier: Apache-2.0
// Arrays, plain and mipmapped, and the texture and surface objects made on them or on plain memory.
#include <string.h>

#include "runtime.h"

// --- Arrays -------------------------------------------------------------------------------------

static cudaError_t describe(const struct cudaChannelFormatDesc *channels, struct cudaExtent extent,
                            unsigned flags, CUDA_ARRAY3D_DESCRIPTOR *description)
{
    if (!channels)
        return cudaErrorInvalidValue;
    *description = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width,
        .Height = extent.height,
        .Depth = extent.depth,
        .Flags = flags, // both APIs use the same values
    };
    return runtime_convert_channels(channels, &description->Format, &description->NumChannels);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                              struct cudaExtent extent, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR description = {0};
    if (!array)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(describe(desc, extent, flags, &description));
    CUarray made = NULL;
    RUNTIME_TRY(runtime_code(cuArray3DCreate_v2(&made, &description)));
    *array = (cudaArray_t)made;
    return cudaSuccess;
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                            size_t width, size_t height, unsigned int flags)
{
    return cudaMalloc3DArray(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    RUNTIME_TRY(runtime_begin());
    if (!array)
        return cudaSuccess;
    return runtime_end(runtime_code(cuArrayDestroy((CUarray)array)));
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                             unsigned int *flags, cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR description = {0};
    RUNTIME_TRY(RUNTIME(cuArray3DGetDescriptor_v2(&description, (CUarray)array)));
    if (desc)
        *desc = runtime_channels(description.Format, description.NumChannels);
    if (extent)
        *extent = (struct cudaExtent){description.Width, description.Height, description.Depth};
    if (flags)
        *flags = description.Flags;
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    return cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                     const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned int numLevels,
                                     unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR description = {0};
    if (!mipmappedArray)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(describe(desc, extent, flags, &description));
    CUmipmappedArray made = NULL;
    RUNTIME_TRY(runtime_code(cuMipmappedArrayCreate(&made, &description, numLevels)));
    *mipmappedArray = (cudaMipmappedArray_t)made;
    return cudaSuccess;
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
                                       cudaMipmappedArray_const_t mipmappedArray,
                                       unsigned int level)
{
    CUarray found = NULL;
    if (!levelArray)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(
        cuMipmappedArrayGetLevel(&found, (CUmipmappedArray)(uintptr_t)mipmappedArray, level)));
    *levelArray = (cudaArray_t)found;
    return cudaSuccess;
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    RUNTIME_TRY(runtime_begin());
    if (!mipmappedArray)
        return cudaSuccess;
    return runtime_end(runtime_code(cuMipmappedArrayDestroy((CUmipmappedArray)mipmappedArray)));
}

// --- Descriptions of textures -------------------------------------------------------------------

static cudaError_t to_driver_resource(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
    *to = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)from->resType, .flags = from->flags};
    switch (from->resType) {
    case cudaResourceTypeArray: to->res.array.hArray = (CUarray)from->res.array.array; break;
    case cudaResourceTypeMipmappedArray:
        to->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
        break;
    case cudaResourceTypeLinear:
        to->res.linear.devPtr = runtime_address(from->res.linear.devPtr);
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        return runtime_convert_channels(&from->res.linear.desc, &to->res.linear.format,
                                        &to->res.linear.numChannels);
    case cudaResourceTypePitch2D:
        to->res.pitch2D.devPtr = runtime_address(from->res.pitch2D.devPtr);
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        return runtime_convert_channels(&from->res.pitch2D.desc, &to->res.pitch2D.format,
                                        &to->res.pitch2D.numChannels);
    default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

static void from_driver_resource(const CUDA_RESOURCE_DESC *from, struct cudaResourceDesc *to)
{
    memset(to, 0, sizeof *to);
    to->resType = (enum cudaResourceType)from->resType;
    switch (from->resType) {
    case CU_RESOURCE_TYPE_ARRAY: to->res.array.array = (cudaArray_t)from->res.array.hArray; break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        to->res.mipmap.mipmap = (cudaMipmappedArray_t)from->res.mipmap.hMipmappedArray;
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        to->res.linear.devPtr = (void *)(uintptr_t)from->res.linear.devPtr;
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        to->res.linear.desc =
            runtime_channels(from->res.linear.format, from->res.linear.numChannels);
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        to->res.pitch2D.devPtr = (void *)(uintptr_t)from->res.pitch2D.devPtr;
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        to->res.pitch2D.desc =
            runtime_channels(from->res.pitch2D.format, from->res.pitch2D.numChannels);
        break;
    default: break;
    }
}

static CUDA_TEXTURE_DESC to_driver_texture(const struct cudaTextureDesc *from)
{
    CUDA_TEXTURE_DESC to = {
        .filterMode = (CUfilter_mode)from->filterMode,
        .maxAnisotropy = from->maxAnisotropy,
        .mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
        .mipmapLevelBias = from->mipmapLevelBias,
        .minMipmapLevelClamp = from->minMipmapLevelClamp,
        .maxMipmapLevelClamp = from->maxMipmapLevelClamp,
    };
    for (int i = 0; i < 3; i++)
        to.addressMode[i] = (CUaddress_mode)from->addressMode[i];
    memcpy(to.borderColor, from->borderColor, sizeof to.borderColor);
    if (from->readMode == cudaReadModeElementType)
        to.flags |= CU_TRSF_READ_AS_INTEGER; // no effect on floating-point texels
    if (from->normalizedCoords)
        to.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (from->sRGB)
        to.flags |= CU_TRSF_SRGB;
    if (from->disableTrilinearOptimization)
        to.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if (from->seamlessCubemap)
        to.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    return to;
}

static void from_driver_texture(const CUDA_TEXTURE_DESC *from, struct cudaTextureDesc *to)
{
    *to = (struct cudaTextureDesc){
        .filterMode = (enum cudaTextureFilterMode)from->filterMode,
        .readMode = from->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
                                                          : cudaReadModeNormalizedFloat,
        .sRGB = (from->flags & CU_TRSF_SRGB) != 0,
        .normalizedCoords = (from->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
        .maxAnisotropy = from->maxAnisotropy,
        .mipmapFilterMode = (enum cudaTextureFilterMode)from->mipmapFilterMode,
        .mipmapLevelBias = from->mipmapLevelBias,
        .minMipmapLevelClamp = from->minMipmapLevelClamp,
        .maxMipmapLevelClamp = from->maxMipmapLevelClamp,
        .disableTrilinearOptimization = (from->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
        .seamlessCubemap = (from->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0,
    };
    for (int i = 0; i < 3; i++)
        to->addressMode[i] = (enum cudaTextureAddressMode)from->addressMode[i];
    memcpy(to->borderColor, from->borderColor, sizeof to->borderColor);
}

// --- Objects ------------------------------------------------------------------------------------

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                    const struct cudaResourceDesc *pResDesc,
                                    const struct cudaTextureDesc *pTexDesc,
                                    const struct cudaResourceViewDesc *pResViewDesc)
{
    CUDA_RESOURCE_DESC resource = {0};
    if (!pTexObject || !pResDesc || !pTexDesc)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(to_driver_resource(pResDesc, &resource));
    CUDA_TEXTURE_DESC texture = to_driver_texture(pTexDesc);
    // Both APIs use the same layout for views.
    return runtime_end(runtime_code(cuTexObjectCreate(
        pTexObject, &resource, &texture, (const CUDA_RESOURCE_VIEW_DESC *)pResViewDesc)));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
    RUNTIME_TRY(runtime_begin());
    if (!texObject)
        return cudaSuccess;
    return runtime_end(runtime_code(cuTexObjectDestroy(texObject)));
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                             cudaTextureObject_t texObject)
{
    CUDA_RESOURCE_DESC resource = {0};
    if (!pResDesc)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuTexObjectGetResourceDesc(&resource, texObject)));
    from_driver_resource(&resource, pResDesc);
    return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
                                            cudaTextureObject_t texObject)
{
    CUDA_TEXTURE_DESC texture = {0};
    if (!pTexDesc)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuTexObjectGetTextureDesc(&texture, texObject)));
    from_driver_texture(&texture, pTexDesc);
    return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
                                                 cudaTextureObject_t texObject)
{
    return RUNTIME(
        cuTexObjectGetResourceViewDesc((CUDA_RESOURCE_VIEW_DESC *)pResViewDesc, texObject));
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                    const struct cudaResourceDesc *pResDesc)
{
    CUDA_RESOURCE_DESC resource = {0};
    if (!pSurfObject || !pResDesc || pResDesc->resType != cudaResourceTypeArray)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(to_driver_resource(pResDesc, &resource));
    return runtime_end(runtime_code(cuSurfObjectCreate(pSurfObject, &resource)));
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
    RUNTIME_TRY(runtime_begin());
    if (!surfObject)
        return cudaSuccess;
    return runtime_end(runtime_code(cuSurfObjectDestroy(surfObject)));
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                             cudaSurfaceObject_t surfObject)
{
    CUDA_RESOURCE_DESC resource = {0};
    if (!pResDesc)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuSurfObjectGetResourceDesc(&resource, surfObject)));
    from_driver_resource(&resource, pResDesc);
    return cudaSuccess;
}
