// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmaps: rows without padding, in plain device memory. Layers and faces are slices.
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "context.h"
#include "driver.h"
#include "memory.h"
#include "stream.h"

#define ARRAY_MAGIC  UINT64_C(0x676c696e74617272)
#define MIPMAP_MAGIC UINT64_C(0x676c696e746d6970)

bool driver_array_valid(const struct driver_array *array)
{
    return array && (array->magic == ARRAY_MAGIC || array->magic == MIPMAP_MAGIC);
}

// Returns the bytes of one channel, or 0 if the format is not supported.
static size_t channel_bytes(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

static CUresult describe(const CUDA_ARRAY3D_DESCRIPTOR *desc, struct driver_array *array)
{
    size_t bytes = channel_bytes(desc->Format);
    if (!bytes)
        return driver_not_there("an array of this format");
    DRIVER_REJECT(desc->NumChannels != 1 && desc->NumChannels != 2 && desc->NumChannels != 4,
                  CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!desc->Width, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(desc->Width > (1u << 28) || desc->Height > (1u << 17) || desc->Depth > (1u << 15),
                  CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT((desc->Flags & CUDA_ARRAY3D_CUBEMAP) &&
                      (desc->Width != desc->Height || desc->Depth % 6 || !desc->Depth),
                  CUDA_ERROR_INVALID_VALUE);
    if (desc->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
        return driver_not_there("a sparse array");
    *array = (struct driver_array){.magic = ARRAY_MAGIC, .desc = *desc};
    array->texel_bytes = bytes * desc->NumChannels;
    array->rows = desc->Height ? desc->Height : 1;
    array->slices = desc->Depth ? desc->Depth : 1;
    array->pitch_bytes = desc->Width * array->texel_bytes;
    array->slice_bytes = array->pitch_bytes * array->rows;
    return CUDA_SUCCESS;
}

static CUresult allocate(struct driver_array *array, size_t size_bytes)
{
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    driver_lock();
    CUresult result =
        driver_memory_add(context, DRIVER_MEMORY_ARRAY, size_bytes, 0, &array->allocation);
    driver_unlock();
    if (result == CUDA_SUCCESS)
        array->data = array->allocation->address;
    return result;
}

CUresult cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pHandle || !pAllocateArray, CUDA_ERROR_INVALID_VALUE);
    struct driver_array described;
    DRIVER_TRY(describe(pAllocateArray, &described));
    DRIVER_TRY(allocate(&described, described.slice_bytes * described.slices));
    struct driver_array *array = malloc(sizeof *array);
    if (!array) {
        driver_lock();
        driver_memory_remove(described.allocation);
        driver_unlock();
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *array = described;
    array->allocation->array = array;
    *pHandle = (CUarray)array;
    return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    DRIVER_REJECT(!pAllocateArray, CUDA_ERROR_INVALID_VALUE);
    CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = pAllocateArray->Width,
                                    .Height = pAllocateArray->Height,
                                    .Format = pAllocateArray->Format,
                                    .NumChannels = pAllocateArray->NumChannels};
    return cuArray3DCreate_v2(pHandle, &desc);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    DRIVER_BEGIN();
    const struct driver_array *array = (const struct driver_array *)hArray;
    DRIVER_REJECT(!driver_array_valid(array), driver_no_handle("array"));
    DRIVER_REJECT(!pArrayDescriptor, CUDA_ERROR_INVALID_VALUE);
    *pArrayDescriptor = array->desc;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    DRIVER_BEGIN();
    const struct driver_array *array = (const struct driver_array *)hArray;
    DRIVER_REJECT(!driver_array_valid(array), driver_no_handle("array"));
    DRIVER_REJECT(!pArrayDescriptor, CUDA_ERROR_INVALID_VALUE);
    *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){.Width = array->desc.Width,
                                                .Height = array->desc.Height,
                                                .Format = array->desc.Format,
                                                .NumChannels = array->desc.NumChannels};
    return CUDA_SUCCESS;
}

static CUresult destroy(struct driver_array *array)
{
    driver_lock();
    driver_wait_device(array->allocation ? array->allocation->device : NULL);
    if (array->allocation)
        driver_memory_remove(array->allocation);
    driver_unlock();
    for (unsigned i = 0; i < array->level_count; i++)
        array->levels[i].magic = 0;
    free(array->levels);
    array->magic = 0;
    free(array);
    return CUDA_SUCCESS;
}

void driver_array_end(struct driver_array *array)
{
    driver_memory_remove(array->allocation);
    array->allocation = NULL;
    array->magic = 0;
    for (unsigned i = 0; i < array->level_count; i++)
        array->levels[i].magic = 0;
    array->next = driver.dead_arrays;
    driver.dead_arrays = array;
}

CUresult cuArrayDestroy(CUarray hArray)
{
    DRIVER_BEGIN();
    struct driver_array *array = (struct driver_array *)hArray;
    DRIVER_REJECT(!driver_array_valid(array) || !array->allocation, driver_no_handle("array"));
    return destroy(array);
}

// --- Mipmaps -------------------------------------------------------------------------------------

static size_t halved(size_t size, unsigned level)
{
    return !size ? 0 : size >> level ? size >> level : 1;
}

static CUDA_ARRAY3D_DESCRIPTOR level_of(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned level)
{
    CUDA_ARRAY3D_DESCRIPTOR smaller = *desc;
    smaller.Width = halved(desc->Width, level);
    smaller.Height = halved(desc->Height, level);
    // All levels have the same number of layers and faces.
    if (!(desc->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
        smaller.Depth = halved(desc->Depth, level);
    return smaller;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                unsigned int numMipmapLevels)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pHandle || !pMipmappedArrayDesc, CUDA_ERROR_INVALID_VALUE);
    unsigned count = numMipmapLevels ? numMipmapLevels : 1;
    size_t longest = pMipmappedArrayDesc->Width;
    if (pMipmappedArrayDesc->Height > longest)
        longest = pMipmappedArrayDesc->Height;
    unsigned most = 1;
    while (longest >> most)
        most++;
    if (count > most)
        count = most;
    struct driver_array *mipmap = calloc(1, sizeof *mipmap);
    struct driver_array *levels = calloc(count, sizeof *levels);
    size_t total = 0;
    CUresult result = mipmap && levels ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = describe(pMipmappedArrayDesc, mipmap);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < count; i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc = level_of(pMipmappedArrayDesc, i);
        result = describe(&desc, &levels[i]);
        levels[i].data = total;
        total += (levels[i].slice_bytes * levels[i].slices + 255) & ~(size_t)255;
    }
    if (result == CUDA_SUCCESS)
        result = allocate(mipmap, total);
    if (result != CUDA_SUCCESS) {
        free(mipmap);
        free(levels);
        return result;
    }
    for (unsigned i = 0; i < count; i++)
        levels[i].data += mipmap->data;
    mipmap->magic = MIPMAP_MAGIC;
    mipmap->levels = levels;
    mipmap->level_count = count;
    mipmap->allocation->array = mipmap;
    *pHandle = (CUmipmappedArray)mipmap;
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                  unsigned int level)
{
    DRIVER_BEGIN();
    struct driver_array *mipmap = (struct driver_array *)hMipmappedArray;
    DRIVER_REJECT(!mipmap || mipmap->magic != MIPMAP_MAGIC, CUDA_ERROR_INVALID_HANDLE);
    DRIVER_REJECT(!pLevelArray || level >= mipmap->level_count, CUDA_ERROR_INVALID_VALUE);
    *pLevelArray = (CUarray)&mipmap->levels[level];
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    DRIVER_BEGIN();
    struct driver_array *mipmap = (struct driver_array *)hMipmappedArray;
    DRIVER_REJECT(!mipmap || mipmap->magic != MIPMAP_MAGIC, CUDA_ERROR_INVALID_HANDLE);
    return destroy(mipmap);
}
