// SPDX-License-Identifier: Apache-2.0
// Tensor maps: checks the descriptions of tensors as the API documents it, and writes what the
// machine's copies need into the opaque 128 bytes of a CUtensorMap. The map is the program's: the
// driver keeps nothing of it.
#include <string.h>

#include "context.h"
#include "driver.h"

enum {
    MAP_ALIGN = 64,
    ADDRESS_ALIGN = 16,
    WIDE_ALIGN = 32, // with slices of 32 bytes
    MOST_BOX = 256,
    MOST_CHANNELS = 256,
    MOST_PIXELS = 1024,
    MOST_STEP = 8,
    LEAST_PIXEL_RANK = 3, // of im2col, and of interleaved tensors
};
static const uint64_t most_size = UINT64_C(1) << 32, most_stride = UINT64_C(1) << 40;

// By CUtensorMapDataType.
static const struct {
    uint8_t type, bytes;
    bool is_float;
} types[] = {
    {SIM_TENSOR_U8, 1, false},      {SIM_TENSOR_U16, 2, false},    {SIM_TENSOR_U32, 4, false},
    {SIM_TENSOR_S32, 4, false},     {SIM_TENSOR_U64, 8, false},    {SIM_TENSOR_S64, 8, false},
    {SIM_TENSOR_F16, 2, true},      {SIM_TENSOR_F32, 4, true},     {SIM_TENSOR_F64, 8, true},
    {SIM_TENSOR_BF16, 2, true},     {SIM_TENSOR_F32_FTZ, 4, true}, {SIM_TENSOR_TF32, 4, true},
    {SIM_TENSOR_TF32_FTZ, 4, true},
};

// What both kinds of maps have.
struct tensor_description {
    CUtensorMapDataType type;
    unsigned rank;
    uint64_t address;
    const cuuint64_t *size, *stride;
    const cuuint32_t *step;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static CUresult check_map(const CUtensorMap *map)
{
    DRIVER_REJECT(!map || (uintptr_t)map % MAP_ALIGN, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static bool is_aligned(uint64_t address, unsigned interleave)
{
    return address % (interleave == WIDE_ALIGN ? WIDE_ALIGN : ADDRESS_ALIGN) == 0;
}

// Devices before compute capability 9.0 have no tensor copies, and only later ones have packed
// elements of 4 and 6 bits. Without a context, the first device decides.
static CUresult check_device(CUtensorMapDataType type)
{
    struct driver_context *context;
    const struct sim_preset *preset = driver.devices[0].preset;
    if (driver_current(&context) == CUDA_SUCCESS)
        preset = context->device->preset;
    if (preset->major < 9)
        return driver_not_there("a tensor map on a device before compute capability 9.0");
    if (type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B &&
        type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B)
        return driver_not_there("a tensor of 4 or 6 bits, which compute capability 9.0 lacks,");
    return CUDA_SUCCESS;
}

static CUresult check_modes(const struct tensor_description *tensor)
{
    const bool wide = tensor->interleave == CU_TENSOR_MAP_INTERLEAVE_32B;
    DRIVER_REJECT((unsigned)tensor->type >= sizeof(types) / sizeof(*types) ||
                      (unsigned)tensor->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
                      (unsigned)tensor->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
                      (unsigned)tensor->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
                      (unsigned)tensor->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
                  CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(wide && tensor->swizzle != CU_TENSOR_MAP_SWIZZLE_32B, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(tensor->fill && !types[tensor->type].is_float, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult put_tensor(const struct tensor_description *tensor, struct sim_tensor_map *map)
{
    static const uint8_t slices[] = {0, 16, 32}; // by CUtensorMapInterleave
    DRIVER_TRY(check_device(tensor->type));
    DRIVER_TRY(check_modes(tensor));
    map->magic = SIM_TENSOR_MAGIC;
    map->type = types[tensor->type].type;
    map->rank = (uint8_t)tensor->rank;
    map->interleave = slices[tensor->interleave];
    map->swizzle = (uint8_t)tensor->swizzle; // the numbers are those of the machine
    map->fills_nan = tensor->fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    map->address = tensor->address;
    DRIVER_REJECT(!tensor->size || !tensor->step || (tensor->rank > 1 && !tensor->stride) ||
                      (map->interleave && tensor->rank < LEAST_PIXEL_RANK) ||
                      !is_aligned(map->address, map->interleave),
                  CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < tensor->rank; i++) {
        DRIVER_REJECT(!tensor->size[i] || tensor->size[i] > most_size, CUDA_ERROR_INVALID_VALUE);
        map->size[i] = (uint32_t)tensor->size[i];
        if (i == 0 && !map->interleave) { // ignored
            map->step[i] = 1;
            continue;
        }
        DRIVER_REJECT(!tensor->step[i] || tensor->step[i] > MOST_STEP, CUDA_ERROR_INVALID_VALUE);
        map->step[i] = (uint8_t)tensor->step[i];
    }
    for (unsigned i = 0; i + 1 < tensor->rank; i++) {
        DRIVER_REJECT(tensor->stride[i] >= most_stride ||
                          !is_aligned(tensor->stride[i], map->interleave),
                      CUDA_ERROR_INVALID_VALUE);
        map->stride[i] = tensor->stride[i];
    }
    return CUDA_SUCCESS;
}

// Checks the bytes of a box along dimension 0.
static CUresult check_row(const struct tensor_description *tensor, uint64_t elements)
{
    static const uint8_t spans[] = {0, 32, 64, 128, 128, 128, 128}; // by CUtensorMapSwizzle
    const uint64_t bytes = elements * types[tensor->type].bytes;
    const uint8_t span = spans[tensor->swizzle];
    DRIVER_REJECT(!tensor->interleave && (bytes % ADDRESS_ALIGN || (span && bytes > span)),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

// Writes all 128 bytes, and nothing if a check has failed before.
static CUresult write_map(CUtensorMap *to, const struct sim_tensor_map *map)
{
    memset(to, 0, sizeof(*to));
    memcpy(to, map, sizeof(*map));
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                cuuint32_t tensorRank, void *globalAddress,
                                const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    DRIVER_BEGIN();
    const struct tensor_description tensor = {
        tensorDataType, tensorRank,    (uint64_t)(uintptr_t)globalAddress,
        globalDim,      globalStrides, elementStrides,
        interleave,     swizzle,       l2Promotion,
        oobFill};
    struct sim_tensor_map map = {.mode = SIM_TENSOR_TILED};
    DRIVER_TRY(check_map(tensorMap));
    DRIVER_REJECT(!tensorRank || tensorRank > SIM_TENSOR_RANK || !boxDim, CUDA_ERROR_INVALID_VALUE);
    DRIVER_TRY(put_tensor(&tensor, &map));
    for (unsigned i = 0; i < tensorRank; i++) {
        DRIVER_REJECT(!boxDim[i] || boxDim[i] > MOST_BOX, CUDA_ERROR_INVALID_VALUE);
        map.box[i] = (uint16_t)boxDim[i];
    }
    DRIVER_TRY(check_row(&tensor, boxDim[0]));
    return write_map(tensorMap, &map);
}

// Fills the corners of the bounding box, whose precision depends on how many there are.
static CUresult put_corners(const int *lower, const int *upper, const cuuint64_t *size,
                            struct sim_tensor_map *map)
{
    static const int bits[] = {0, 16, 8, 5};
    const int count = map->rank - 2, most = (1 << (bits[count] - 1)) - 1;
    DRIVER_REJECT(!lower || !upper, CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < count; i++) {
        DRIVER_REJECT(lower[i] < -most - 1 || lower[i] > most || upper[i] < -most - 1 ||
                          upper[i] > most,
                      CUDA_ERROR_INVALID_VALUE);
        DRIVER_REJECT((int64_t)size[i + 1] - 1 + upper[i] < lower[i], CUDA_ERROR_INVALID_VALUE);
        map->lower[i] = (int16_t)lower[i];
        map->upper[i] = (int16_t)upper[i];
    }
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                 cuuint32_t tensorRank, void *globalAddress,
                                 const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                 const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner,
                                 cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn,
                                 const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                 CUtensorMapFloatOOBfill oobFill)
{
    DRIVER_BEGIN();
    const struct tensor_description tensor = {
        tensorDataType, tensorRank,    (uint64_t)(uintptr_t)globalAddress,
        globalDim,      globalStrides, elementStrides,
        interleave,     swizzle,       l2Promotion,
        oobFill};
    struct sim_tensor_map map = {.mode = SIM_TENSOR_IM2COL};
    DRIVER_TRY(check_map(tensorMap));
    DRIVER_REJECT(tensorRank < LEAST_PIXEL_RANK || tensorRank > SIM_TENSOR_RANK,
                  CUDA_ERROR_INVALID_VALUE);
    DRIVER_TRY(put_tensor(&tensor, &map));
    DRIVER_TRY(put_corners(pixelBoxLowerCorner, pixelBoxUpperCorner, globalDim, &map));
    DRIVER_REJECT(!channelsPerPixel || channelsPerPixel > MOST_CHANNELS || !pixelsPerColumn ||
                      pixelsPerColumn > MOST_PIXELS,
                  CUDA_ERROR_INVALID_VALUE);
    map.channels = (uint16_t)channelsPerPixel;
    map.pixels = (uint16_t)pixelsPerColumn;
    DRIVER_TRY(check_row(&tensor, channelsPerPixel));
    return write_map(tensorMap, &map);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
    DRIVER_BEGIN();
    struct sim_tensor_map map;
    DRIVER_TRY(check_map(tensorMap));
    memcpy(&map, tensorMap, sizeof(map));
    DRIVER_REJECT(map.magic != SIM_TENSOR_MAGIC ||
                      !is_aligned((uint64_t)(uintptr_t)globalAddress, map.interleave),
                  CUDA_ERROR_INVALID_VALUE);
    map.address = (uint64_t)(uintptr_t)globalAddress;
    return write_map(tensorMap, &map);
}
