// SPDX-License-Identifier: Apache-2.0
// Kernels as handles: their attributes, the layout of their parameters, and occupancy.
#include "cluster.h"
#include "driver.h"
#include "launch.h"
#include "module.h"

#define FUNCTION(function, handle)                                   \
    struct driver_function *function = driver_function_of((handle)); \
    DRIVER_REJECT(!function, CUDA_ERROR_INVALID_HANDLE)

// The same for a kernel and a device.
#define ON_DEVICE(function, handle, dev)                                     \
    struct driver_device *device = driver_device_at(dev);                    \
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);                       \
    struct driver_function *function = driver_function_on((handle), device); \
    DRIVER_REJECT(!function, CUDA_ERROR_INVALID_HANDLE)

static const struct sim_preset *preset_of(const struct driver_function *function)
{
    return function->module->device->preset;
}

// --- Attributes ----------------------------------------------------------------------------------

static CUresult get_attribute(const struct driver_function *function,
                              CUfunction_attribute attribute, int *value)
{
    const struct sim_kernel_info *info = function->info;
    const uint32_t none[3] = {0};
    uint32_t size[3];
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)info->max_threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)info->static_shared_bytes; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)info->const_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)info->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)info->registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)info->target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = (int)(preset_of(function)->major * 10 + preset_of(function)->minor);
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)function->max_dynamic_shared;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = info->explicit_cluster; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        driver_cluster_of(function, none, size);
        *value = (int)size[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = function->non_portable_cluster;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = function->cluster_policy;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(struct driver_function *function, CUfunction_attribute attribute,
                              int value)
{
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
        uint64_t wanted = (uint64_t)value + function->info->static_shared_bytes;
        DRIVER_REJECT(value < 0 || wanted > preset_of(function)->shared_per_block_optin,
                      CUDA_ERROR_INVALID_VALUE);
        function->max_dynamic_shared = (uint32_t)value;
        return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        DRIVER_REJECT(value < -1 || value > 100, CUDA_ERROR_INVALID_VALUE);
        function->carveout = value;
        return CUDA_SUCCESS;
    default: return driver_cluster_set(function, attribute, value);
    }
}

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    DRIVER_BEGIN();
    FUNCTION(function, hfunc);
    DRIVER_REJECT(!pi, CUDA_ERROR_INVALID_VALUE);
    return get_attribute(function, attrib, pi);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    DRIVER_BEGIN();
    FUNCTION(function, hfunc);
    return set_attribute(function, attrib, value);
}

CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    DRIVER_BEGIN();
    ON_DEVICE(function, kernel, dev);
    DRIVER_REJECT(!pi, CUDA_ERROR_INVALID_VALUE);
    return get_attribute(function, attrib, pi);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    DRIVER_BEGIN();
    ON_DEVICE(function, kernel, dev);
    return set_attribute(function, attrib, val);
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    DRIVER_BEGIN();
    FUNCTION(function, hfunc);
    function->cache = config;
    return CUDA_SUCCESS;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    DRIVER_BEGIN();
    ON_DEVICE(function, kernel, dev);
    function->cache = config;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    DRIVER_BEGIN();
    FUNCTION(function, hfunc);
    return CUDA_SUCCESS;
}

// --- Queries -------------------------------------------------------------------------------------

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    DRIVER_BEGIN();
    FUNCTION(function, hfunc);
    DRIVER_REJECT(!hmod, CUDA_ERROR_INVALID_VALUE);
    *hmod = (CUmodule)function->module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
    DRIVER_BEGIN();
    FUNCTION(function, hfunc);
    DRIVER_REJECT(!name, CUDA_ERROR_INVALID_VALUE);
    *name = function->info->name;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                            size_t *paramSize)
{
    DRIVER_BEGIN();
    FUNCTION(function, func);
    DRIVER_REJECT(!paramOffset || paramIndex >= function->info->param_count,
                  CUDA_ERROR_INVALID_VALUE);
    *paramOffset = function->info->params[paramIndex].offset;
    if (paramSize)
        *paramSize = function->info->params[paramIndex].size_bytes;
    return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction hfunc)
{
    DRIVER_BEGIN();
    FUNCTION(function, hfunc);
    DRIVER_REJECT(!state, CUDA_ERROR_INVALID_VALUE);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction hfunc)
{
    DRIVER_BEGIN();
    FUNCTION(function, hfunc);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    DRIVER_BEGIN();
    FUNCTION(function, kernel);
    DRIVER_REJECT(!pFunc, CUDA_ERROR_INVALID_VALUE);
    *pFunc = (CUfunction)function;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    DRIVER_BEGIN();
    FUNCTION(function, kernel);
    DRIVER_REJECT(!pLib, CUDA_ERROR_INVALID_VALUE);
    *pLib = driver_library_of(function);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
    return cuFuncGetName(name, (CUfunction)hfunc);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                              size_t *paramSize)
{
    return cuFuncGetParamInfo((CUfunction)kernel, paramIndex, paramOffset, paramSize);
}

// --- Occupancy -----------------------------------------------------------------------------------

static uint64_t shared_of_block(const struct driver_function *function, size_t dynamic_bytes)
{
    uint64_t unit = 128; // the allocation unit since compute capability 8.0
    uint64_t bytes = function->info->static_shared_bytes + dynamic_bytes +
                     preset_of(function)->reserved_shared_per_block;
    return (bytes + unit - 1) / unit * unit;
}

// Registers are allocated per warp, in units of 256.
static uint64_t registers_of_block(const struct driver_function *function, unsigned threads)
{
    const uint64_t of_warp = ((uint64_t)function->info->registers * 32 + 255) / 256 * 256;
    return of_warp * ((threads + 31) / 32);
}

unsigned driver_blocks_per_sm(const struct driver_function *function, unsigned threads,
                              size_t dynamic_shared_bytes)
{
    const struct sim_preset *preset = preset_of(function);
    if (!threads || threads > function->info->max_threads)
        return 0;
    uint64_t own = function->info->static_shared_bytes + dynamic_shared_bytes;
    if (own > preset->shared_per_block_optin)
        return 0;
    unsigned blocks = preset->warps_per_sm / ((threads + 31) / 32);
    if (blocks > preset->blocks_per_sm)
        blocks = preset->blocks_per_sm;
    uint64_t registers = registers_of_block(function, threads);
    if (blocks > preset->registers_per_sm / registers)
        blocks = (unsigned)(preset->registers_per_sm / registers);
    uint64_t shared = shared_of_block(function, dynamic_shared_bytes);
    if (shared && blocks > preset->shared_per_sm / shared)
        blocks = (unsigned)(preset->shared_per_sm / shared);
    return blocks;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags)
{
    DRIVER_BEGIN();
    FUNCTION(function, func);
    DRIVER_REJECT(!numBlocks || blockSize <= 0, CUDA_ERROR_INVALID_VALUE);
    *numBlocks = (int)driver_blocks_per_sm(function, (unsigned)blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                dynamicSMemSize, 0);
}

// Finds the largest block that keeps the most threads resident.
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                   CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags)
{
    DRIVER_BEGIN();
    FUNCTION(function, func);
    DRIVER_REJECT(!minGridSize || !blockSize, CUDA_ERROR_INVALID_VALUE);
    unsigned limit = function->info->max_threads;
    if (blockSizeLimit > 0 && (unsigned)blockSizeLimit < limit)
        limit = (unsigned)blockSizeLimit;
    unsigned best = 0, best_size = 0, best_blocks = 0;
    for (unsigned size = (limit + 31) / 32 * 32; size >= 32; size -= 32) {
        unsigned tried = size < limit ? size : limit;
        size_t shared =
            blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize((int)tried) : dynamicSMemSize;
        unsigned blocks = driver_blocks_per_sm(function, tried, shared);
        if (blocks * tried > best) {
            best = blocks * tried;
            best_size = tried;
            best_blocks = blocks;
        }
    }
    *blockSize = (int)best_size;
    *minGridSize = (int)(best_blocks * preset_of(function)->sm_count);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                     blockSizeToDynamicSMemSize, dynamicSMemSize,
                                                     blockSizeLimit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                 int numBlocks, int blockSize)
{
    DRIVER_BEGIN();
    FUNCTION(function, func);
    DRIVER_REJECT(!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0, CUDA_ERROR_INVALID_VALUE);
    const struct sim_preset *preset = preset_of(function);
    uint64_t each = preset->shared_per_sm / (unsigned)numBlocks / 128 * 128;
    uint64_t taken =
        (uint64_t)function->info->static_shared_bytes + preset->reserved_shared_per_block;
    uint64_t room = each > taken ? each - taken : 0;
    uint64_t most = preset->shared_per_block_optin - function->info->static_shared_bytes;
    *dynamicSmemSize = room < most ? room : most;
    return CUDA_SUCCESS;
}
