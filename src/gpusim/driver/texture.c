// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: converts the API's descriptions to struct sim_texture, whose address
// is the object's handle.
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "context.h"
#include "driver.h"
#include "memory.h"
#include "stream.h"

// The machine's structure is the first member, because its address is the handle.
struct driver_texture {
    struct sim_texture texture;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC desc;
    CUDA_RESOURCE_VIEW_DESC view;
    bool has_view;
};

static CUresult set_format(struct sim_texture *texture, CUarray_format format, unsigned channels)
{
    static const struct {
        CUarray_format format;
        uint8_t bits, texel;
    } formats[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, 8, SIM_TEXEL_UNSIGNED},
        {CU_AD_FORMAT_UNSIGNED_INT16, 16, SIM_TEXEL_UNSIGNED},
        {CU_AD_FORMAT_UNSIGNED_INT32, 32, SIM_TEXEL_UNSIGNED},
        {CU_AD_FORMAT_SIGNED_INT8, 8, SIM_TEXEL_SIGNED},
        {CU_AD_FORMAT_SIGNED_INT16, 16, SIM_TEXEL_SIGNED},
        {CU_AD_FORMAT_SIGNED_INT32, 32, SIM_TEXEL_SIGNED},
        {CU_AD_FORMAT_HALF, 16, SIM_TEXEL_FLOAT},
        {CU_AD_FORMAT_FLOAT, 32, SIM_TEXEL_FLOAT},
    };
    DRIVER_REJECT(channels != 1 && channels != 2 && channels != 4, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].format == format) {
            texture->channels = (uint8_t)channels;
            texture->channel_bits = formats[i].bits;
            texture->texel = formats[i].texel;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_array(struct sim_texture *texture, const struct driver_array *array)
{
    const CUDA_ARRAY3D_DESCRIPTOR *desc = &array->desc;
    DRIVER_TRY(set_format(texture, desc->Format, desc->NumChannels));
    texture->layered = (desc->Flags & CUDA_ARRAY3D_LAYERED) != 0;
    texture->cubemap = (desc->Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
    texture->width = (uint32_t)desc->Width;
    texture->height = (uint32_t)array->rows;
    texture->depth = (uint32_t)array->slices;
    bool is_volume = desc->Depth && !texture->layered && !texture->cubemap;
    texture->dimensions = is_volume ? 3 : desc->Height ? 2 : 1;
    texture->pitch_bytes = array->pitch_bytes;
    texture->slice_bytes = array->slice_bytes;
    texture->data = (void *)(uintptr_t)array->data;
    return CUDA_SUCCESS;
}

static CUresult set_mipmap(struct sim_texture *texture, const struct driver_array *mipmap)
{
    DRIVER_TRY(set_array(texture, &mipmap->levels[0]));
    texture->levels = calloc(mipmap->level_count, sizeof *texture->levels);
    DRIVER_REJECT(!texture->levels, CUDA_ERROR_OUT_OF_MEMORY);
    texture->level_count = mipmap->level_count;
    for (unsigned i = 0; i < mipmap->level_count; i++)
        DRIVER_TRY(set_array(&texture->levels[i], &mipmap->levels[i]));
    return CUDA_SUCCESS;
}

static CUresult set_linear(struct sim_texture *texture, const CUDA_RESOURCE_DESC *resource)
{
    CUdeviceptr address = resource->res.linear.devPtr;
    size_t bytes = resource->res.linear.sizeInBytes;
    DRIVER_TRY(set_format(texture, resource->res.linear.format, resource->res.linear.numChannels));
    size_t texel_bytes = (size_t)texture->channels * texture->channel_bits / 8;
    driver_lock();
    enum driver_place place = driver_place_of(address, bytes);
    driver_unlock();
    DRIVER_REJECT(place == DRIVER_PLACE_PAGEABLE || place == DRIVER_PLACE_BEYOND,
                  CUDA_ERROR_INVALID_VALUE);
    texture->linear = true;
    texture->dimensions = 1;
    texture->width = (uint32_t)(bytes / texel_bytes);
    texture->height = texture->depth = 1;
    texture->pitch_bytes = texture->slice_bytes = bytes;
    texture->data = (void *)(uintptr_t)address;
    return CUDA_SUCCESS;
}

static CUresult set_pitched(struct sim_texture *texture, const CUDA_RESOURCE_DESC *resource)
{
    DRIVER_TRY(
        set_format(texture, resource->res.pitch2D.format, resource->res.pitch2D.numChannels));
    size_t texel_bytes = (size_t)texture->channels * texture->channel_bits / 8;
    size_t width = resource->res.pitch2D.width, height = resource->res.pitch2D.height;
    size_t pitch = resource->res.pitch2D.pitchInBytes;
    DRIVER_REJECT(!width || !height || pitch < width * texel_bytes || pitch % 32,
                  CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    enum driver_place place =
        driver_place_of(resource->res.pitch2D.devPtr, (height - 1) * pitch + width * texel_bytes);
    driver_unlock();
    DRIVER_REJECT(place == DRIVER_PLACE_PAGEABLE || place == DRIVER_PLACE_BEYOND,
                  CUDA_ERROR_INVALID_VALUE);
    texture->dimensions = 2;
    texture->width = (uint32_t)width;
    texture->height = (uint32_t)height;
    texture->depth = 1;
    texture->pitch_bytes = pitch;
    texture->slice_bytes = pitch * height;
    texture->data = (void *)(uintptr_t)resource->res.pitch2D.devPtr;
    return CUDA_SUCCESS;
}

static CUresult set_resource(struct sim_texture *texture, const CUDA_RESOURCE_DESC *resource)
{
    const struct driver_array *array;
    switch ((int)resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        array = (const struct driver_array *)resource->res.array.hArray;
        DRIVER_REJECT(!driver_array_valid(array), CUDA_ERROR_INVALID_HANDLE);
        return set_array(texture, array);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        array = (const struct driver_array *)resource->res.mipmap.hMipmappedArray;
        DRIVER_REJECT(!driver_array_valid(array) || !array->levels, CUDA_ERROR_INVALID_HANDLE);
        return set_mipmap(texture, array);
    case CU_RESOURCE_TYPE_LINEAR: return set_linear(texture, resource);
    case CU_RESOURCE_TYPE_PITCH2D: return set_pitched(texture, resource);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static enum sim_address_mode address_mode(CUaddress_mode mode)
{
    switch ((int)mode) {
    case CU_TR_ADDRESS_MODE_WRAP: return SIM_ADDRESS_WRAP;
    case CU_TR_ADDRESS_MODE_MIRROR: return SIM_ADDRESS_MIRROR;
    case CU_TR_ADDRESS_MODE_BORDER: return SIM_ADDRESS_BORDER;
    default: return SIM_ADDRESS_CLAMP;
    }
}

static void set_sampling(struct sim_texture *texture, const CUDA_TEXTURE_DESC *desc)
{
    texture->normalized_coordinates = (desc->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    texture->read_normalized = !(desc->flags & CU_TRSF_READ_AS_INTEGER) &&
                               texture->texel != SIM_TEXEL_FLOAT && texture->channel_bits <= 16;
    texture->filter_linear = desc->filterMode == CU_TR_FILTER_MODE_LINEAR;
    texture->srgb = (desc->flags & CU_TRSF_SRGB) != 0;
    texture->levels_linear = desc->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    texture->level_bias = desc->mipmapLevelBias;
    texture->level_least = desc->minMipmapLevelClamp;
    texture->level_most = desc->maxMipmapLevelClamp;
    for (int i = 0; i < 3; i++) {
        texture->address_mode[i] = (uint8_t)address_mode(desc->addressMode[i]);
        // Wrapping and mirroring require normalized coordinates; otherwise addresses are clamped.
        if (!texture->normalized_coordinates && (texture->address_mode[i] == SIM_ADDRESS_WRAP ||
                                                 texture->address_mode[i] == SIM_ADDRESS_MIRROR))
            texture->address_mode[i] = SIM_ADDRESS_CLAMP;
    }
    memcpy(texture->border, desc->borderColor, sizeof texture->border);
    for (unsigned i = 0; i < texture->level_count; i++) {
        struct sim_texture *level = &texture->levels[i];
        level->magic = SIM_TEXTURE_MAGIC;
        level->normalized_coordinates = texture->normalized_coordinates;
        level->read_normalized = texture->read_normalized;
        level->filter_linear = texture->filter_linear;
        level->srgb = texture->srgb;
        memcpy(level->address_mode, texture->address_mode, sizeof level->address_mode);
        memcpy(level->border, texture->border, sizeof level->border);
    }
}

static void destroy(struct driver_texture *object)
{
    sim_texture_remove(driver_machine(), &object->texture);
    object->texture.magic = 0;
    free(object->texture.levels);
    free(object);
}

static struct driver_texture *object_of(uint64_t handle, bool is_surface)
{
    struct driver_texture *object = (struct driver_texture *)(uintptr_t)handle;
    return object && object->texture.magic == SIM_TEXTURE_MAGIC &&
                   object->texture.is_surface == is_surface
               ? object
               : NULL;
}

static CUresult create(const CUDA_RESOURCE_DESC *resource, bool is_surface,
                       struct driver_texture **made)
{
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!resource || resource->flags, CUDA_ERROR_INVALID_VALUE);
    struct driver_texture *object = calloc(1, sizeof *object);
    DRIVER_REJECT(!object, CUDA_ERROR_OUT_OF_MEMORY);
    object->resource = *resource;
    object->texture.magic = SIM_TEXTURE_MAGIC;
    object->texture.is_surface = is_surface;
    CUresult result = set_resource(&object->texture, resource);
    if (result == CUDA_SUCCESS && sim_texture_add(driver_machine(), &object->texture) != BASE_OK)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        destroy(object);
        return result;
    }
    *made = object;
    return CUDA_SUCCESS;
}

// Returns whether a view shows the whole texture in its original format. View formats are numbered
// by kind and width, then by channels.
static bool is_whole(const CUDA_RESOURCE_VIEW_DESC *view, const struct sim_texture *texture)
{
    unsigned width = texture->channel_bits == 8 ? 0 : texture->channel_bits == 16 ? 1 : 2;
    unsigned kind = texture->texel == SIM_TEXEL_FLOAT
                        ? 6 + width - 1
                        : 2 * width + (texture->texel == SIM_TEXEL_SIGNED);
    unsigned channels = texture->channels == 4 ? 2 : texture->channels - 1u;
    unsigned layers = texture->layered ? texture->depth : 1,
             levels = texture->level_count ? texture->level_count : 1;
    bool same_format = (unsigned)view->format == 1 + 3 * kind + channels ||
                       view->format == CU_RES_VIEW_FORMAT_NONE;
    return same_format && view->width == texture->width && view->firstMipmapLevel == 0 &&
           view->lastMipmapLevel + 1 == levels && view->firstLayer == 0 &&
           view->lastLayer + 1 == layers;
}

CUresult cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                           const CUDA_TEXTURE_DESC *pTexDesc,
                           const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pTexObject || !pTexDesc, CUDA_ERROR_INVALID_VALUE);
    struct driver_texture *object = NULL;
    DRIVER_TRY(create(pResDesc, false, &object));
    object->desc = *pTexDesc;
    CUresult possible = CUDA_SUCCESS;
    if (pResViewDesc && !is_whole(pResViewDesc, &object->texture))
        possible = driver_not_there("a texture that shows a part of its array, or another format");
    else if (pTexDesc->flags & CU_TRSF_SEAMLESS_CUBEMAP && pTexDesc->filterMode)
        possible = driver_not_there("filtering across the faces of a cube");
    if (possible != CUDA_SUCCESS) {
        destroy(object);
        return possible;
    }
    if (pResViewDesc) {
        object->view = *pResViewDesc;
        object->has_view = true;
    }
    set_sampling(&object->texture, pTexDesc);
    *pTexObject = (CUtexObject)(uintptr_t)object;
    return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject texObject)
{
    DRIVER_BEGIN();
    if (!texObject)
        return CUDA_SUCCESS;
    struct driver_texture *object = object_of(texObject, false);
    DRIVER_REJECT(!object, CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    driver_wait_device(NULL); // kernels may use its address
    driver_unlock();
    destroy(object);
    return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    DRIVER_BEGIN();
    struct driver_texture *object = object_of(texObject, false);
    DRIVER_REJECT(!object || !pResDesc, CUDA_ERROR_INVALID_VALUE);
    *pResDesc = object->resource;
    return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    DRIVER_BEGIN();
    struct driver_texture *object = object_of(texObject, false);
    DRIVER_REJECT(!object || !pTexDesc, CUDA_ERROR_INVALID_VALUE);
    *pTexDesc = object->desc;
    return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                        CUtexObject texObject)
{
    DRIVER_BEGIN();
    struct driver_texture *object = object_of(texObject, false);
    DRIVER_REJECT(!object || !pResViewDesc || !object->has_view, CUDA_ERROR_INVALID_VALUE);
    *pResViewDesc = object->view;
    return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pSurfObject || !pResDesc || pResDesc->resType != CU_RESOURCE_TYPE_ARRAY,
                  CUDA_ERROR_INVALID_VALUE);
    struct driver_texture *object = NULL;
    DRIVER_TRY(create(pResDesc, true, &object));
    *pSurfObject = (CUsurfObject)(uintptr_t)object;
    return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUsurfObject surfObject)
{
    DRIVER_BEGIN();
    if (!surfObject)
        return CUDA_SUCCESS;
    struct driver_texture *object = object_of(surfObject, true);
    DRIVER_REJECT(!object, CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    driver_wait_device(NULL);
    driver_unlock();
    destroy(object);
    return CUDA_SUCCESS;
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    DRIVER_BEGIN();
    struct driver_texture *object = object_of(surfObject, true);
    DRIVER_REJECT(!object || !pResDesc, CUDA_ERROR_INVALID_VALUE);
    *pResDesc = object->resource;
    return CUDA_SUCCESS;
}
