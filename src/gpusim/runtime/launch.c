// SPDX-License-Identifier: Apache-2.0
// Kernels: their launches, attributes and occupancy.
#include <stdlib.h>

#include "runtime.h"

// --- <<<...>>> ----------------------------------------------------------------------------------

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     struct CUstream_st *stream)
{
    if (runtime_thread.depth == RUNTIME_CONFIGURATIONS_MAX) {
        runtime_end(cudaErrorLaunchOutOfResources);
        return 1; // nonzero: the launch statement does not call the stub
    }
    runtime_thread.configurations[runtime_thread.depth++] =
        (struct runtime_configuration){grid, block, shared_bytes, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    if (runtime_thread.depth == 0)
        return runtime_end(cudaErrorMissingConfiguration);
    const struct runtime_configuration *top =
        &runtime_thread.configurations[--runtime_thread.depth];
    *grid = top->grid;
    *block = top->block;
    *shared_bytes = top->shared_bytes;
    *(struct CUstream_st **)stream = top->stream;
    return cudaSuccess;
}

// --- Launches -----------------------------------------------------------------------------------

// The driver, and since CUDA 13 the runtime, reports a bad shape as an invalid value. Earlier
// runtimes return cudaErrorInvalidConfiguration. All GPUs since compute capability 3.0 have these
// limits.
static bool shape_is_valid(dim3 grid, dim3 block)
{
    return grid.x && grid.y && grid.z && block.x && block.y && block.z && grid.x <= 0x7fffffff &&
           grid.y <= 65535 && grid.z <= 65535 && block.x <= 1024 && block.y <= 1024 &&
           block.z <= 64 && (uint64_t)block.x * block.y * block.z <= 1024;
}

// Returns the error of a launch for what the driver answered. The driver judges all shapes, so that
// whoever watches it sees the launches that fail, too.
static cudaError_t launch_code(CUresult result, dim3 grid, dim3 block)
{
    if (result == CUDA_ERROR_INVALID_VALUE && runtime_version < 13000 &&
        !shape_is_valid(grid, block))
        return cudaErrorInvalidConfiguration;
    return runtime_code(result);
}

// The driver takes fewer bits.
static unsigned shared_bytes_of(size_t bytes)
{
    return bytes > UINT32_MAX ? UINT32_MAX : (unsigned)bytes;
}

// Both APIs use the same layout for attributes; tests/cudaabi checks this.
static CUlaunchConfig driver_config_of(const cudaLaunchConfig_t *config)
{
    return (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = shared_bytes_of(config->dynamicSmemBytes),
        .hStream = config->stream,
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
}

// A launch on a stream of another device than the thread's fails.
static cudaError_t check_stream(cudaStream_t stream)
{
    CUdevice device = 0;
    if (runtime.device_count < 2 || !stream || stream == cudaStreamLegacy ||
        stream == cudaStreamPerThread)
        return cudaSuccess;
    const cudaError_t error = runtime_code(cuStreamGetDevice(stream, &device));
    return error || device == runtime_device() ? error : cudaErrorInvalidResourceHandle;
}

static cudaError_t launch(CUfunction function, dim3 grid, dim3 block, void **arguments,
                          size_t shared_bytes, cudaStream_t stream)
{
    const cudaError_t error = check_stream(stream);
    if (error)
        return error;
    return launch_code(cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                      shared_bytes_of(shared_bytes), stream, arguments, NULL),
                       grid, block);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream)
{
    RUNTIME_TRY(runtime_begin());
    // The stub requested the kernel once and ignored the result. The last error says why that
    // failed, unless the program has fetched it.
    if (!kernel) {
        cudaError_t last = cudaPeekAtLastError();
        return last ? last : runtime_end(cudaErrorInvalidDeviceFunction);
    }
    return runtime_end(launch((CUfunction)kernel, grid, block, arguments, shared_bytes, stream));
}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                             size_t sharedMem, cudaStream_t stream)
{
    CUkernel kernel;
    RUNTIME_TRY(runtime_kernel(func, &kernel));
    return runtime_end(launch((CUfunction)kernel, gridDim, blockDim, args, sharedMem, stream));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    CUkernel kernel;
    if (!config)
        return runtime_end(cudaErrorInvalidConfiguration);
    RUNTIME_TRY(runtime_kernel(func, &kernel));
    RUNTIME_TRY(check_stream(config->stream));
    const CUlaunchConfig driver_config = driver_config_of(config);
    return runtime_end(launch_code(cuLaunchKernelEx(&driver_config, (CUfunction)kernel, args, NULL),
                                   config->gridDim, config->blockDim));
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                        size_t sharedMem, cudaStream_t stream)
{
    CUkernel kernel;
    RUNTIME_TRY(runtime_kernel(func, &kernel));
    RUNTIME_TRY(check_stream(stream));
    const CUresult result =
        cuLaunchCooperativeKernel((CUfunction)kernel, gridDim.x, gridDim.y, gridDim.z, blockDim.x,
                                  blockDim.y, blockDim.z, shared_bytes_of(sharedMem), stream, args);
    return runtime_end(launch_code(result, gridDim, blockDim));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    return RUNTIME(cuLaunchHostFunc(stream, fn, userData));
}

// --- Attributes ---------------------------------------------------------------------------------

cudaError_t runtime_attributes(struct cudaFuncAttributes *attr, const void *func)
{
    CUfunction function;
    cudaError_t error = attr ? runtime_function(func, &function) : cudaErrorInvalidValue;
    if (error)
        return error;
    *attr = (struct cudaFuncAttributes){0};
    int shared = 0, constant = 0, local = 0;
    const struct {
        CUfunction_attribute which;
        int *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attr->maxThreadsPerBlock},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &attr->numRegs},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &attr->ptxVersion},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attr->binaryVersion},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &attr->cacheModeCA},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &attr->maxDynamicSharedSizeBytes},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &attr->preferredShmemCarveout},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &attr->clusterDimMustBeSet},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &attr->requiredClusterWidth},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &attr->requiredClusterHeight},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &attr->requiredClusterDepth},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
         &attr->clusterSchedulingPolicyPreference},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &attr->nonPortableClusterSizeAllowed},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        error = runtime_code(cuFuncGetAttribute(wanted[i].value, wanted[i].which, function));
        if (error)
            return error;
    }
    attr->sharedSizeBytes = (size_t)shared;
    attr->constSizeBytes = (size_t)constant;
    attr->localSizeBytes = (size_t)local;
    return cudaSuccess;
}

// Weak, because CUDA 11 has a shorter structure (runtime/versions/v11.c).
__attribute__((weak)) cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr,
                                                        const void *func)
{
    return runtime_end(runtime_attributes(attr, func));
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    CUfunction function;
    RUNTIME_TRY(runtime_function(func, &function));
    return runtime_end(
        runtime_code(cuFuncSetAttribute(function, (CUfunction_attribute)attr, value)));
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
    CUfunction function;
    RUNTIME_TRY(runtime_function(func, &function));
    return runtime_end(runtime_code(cuFuncSetCacheConfig(function, (CUfunc_cache)cacheConfig)));
}

// Has no effect, as on every GPU since Volta.
cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
    CUfunction function;
    (void)config;
    return runtime_end(runtime_function(func, &function));
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    CUfunction function;
    if (!name)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_function(func, &function));
    return runtime_end(runtime_code(cuFuncGetName(name, function)));
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
                                 size_t *paramSize)
{
    CUfunction function;
    RUNTIME_TRY(runtime_function(func, &function));
    return runtime_end(
        runtime_code(cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize)));
}

// --- Occupancy ----------------------------------------------------------------------------------

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func,
                                                                   int blockSize,
                                                                   size_t dynamicSMemSize,
                                                                   unsigned int flags)
{
    CUfunction function;
    RUNTIME_TRY(runtime_function(func, &function));
    return runtime_end(runtime_code(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, function, blockSize, dynamicSMemSize, flags)));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                          int blockSize, size_t dynamicSMemSize)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                  dynamicSMemSize, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func,
                                                      int numBlocks, int blockSize)
{
    CUfunction function;
    RUNTIME_TRY(runtime_function(func, &function));
    return runtime_end(runtime_code(
        cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, function, numBlocks, blockSize)));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                           const cudaLaunchConfig_t *launchConfig)
{
    CUfunction function;
    if (!launchConfig)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_function(func, &function));
    const CUlaunchConfig config = driver_config_of(launchConfig);
    return runtime_end(runtime_code(cuOccupancyMaxActiveClusters(numClusters, function, &config)));
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                 const cudaLaunchConfig_t *launchConfig)
{
    CUfunction function;
    if (!launchConfig)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_function(func, &function));
    const CUlaunchConfig config = driver_config_of(launchConfig);
    return runtime_end(
        runtime_code(cuOccupancyMaxPotentialClusterSize(clusterSize, function, &config)));
}
