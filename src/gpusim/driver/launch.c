// SPDX-License-Identifier: Apache-2.0
// Launches: checks sizes against device and kernel, with the error codes of NVIDIA's driver, and
// copies parameters before the call returns, from an array of pointers or from a packed buffer.
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "context.h"
#include "driver.h"
#include "launch.h"
#include "module.h"
#include "op.h"
#include "stream.h"

static CUresult check_sizes(const struct driver_launch *launch)
{
    static const uint32_t grid_limit[3] = {2147483647, 65535, 65535};
    static const uint32_t block_limit[3] = {1024, 1024, 64};
    const struct sim_kernel_info *info = launch->function->info;
    uint64_t threads = 1;
    DRIVER_TRY(driver_function_ready(launch->function)); // enumerations return unchecked handles
    for (int i = 0; i < 3; i++) {
        DRIVER_REJECT(!launch->grid[i] || launch->grid[i] > grid_limit[i],
                      CUDA_ERROR_INVALID_VALUE);
        DRIVER_REJECT(!launch->block[i] || launch->block[i] > block_limit[i],
                      CUDA_ERROR_INVALID_VALUE);
        DRIVER_REJECT(info->required[i] && launch->block[i] != info->required[i],
                      CUDA_ERROR_INVALID_VALUE);
        threads *= launch->block[i];
    }
    // A real H200 returns this error too, even if only .maxntid is exceeded.
    DRIVER_REJECT(threads > 1024 || threads > info->max_threads, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(launch->shared_bytes > launch->function->max_dynamic_shared,
                  CUDA_ERROR_INVALID_VALUE);
    if (launch->cooperative) {
        uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
        uint64_t room =
            (uint64_t)launch->function->module->device->preset->sm_count *
            driver_blocks_per_sm(launch->function, (unsigned)threads, launch->shared_bytes);
        DRIVER_REJECT(blocks > room, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    return CUDA_SUCCESS;
}

static CUresult unpack_extra(void **extra, const void **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *bytes = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult copy_params(const struct driver_launch *launch, char *to)
{
    const struct sim_kernel_info *info = launch->function->info;
    if (launch->params) {
        for (uint32_t i = 0; i < info->param_count; i++) {
            DRIVER_REJECT(!launch->params[i], CUDA_ERROR_INVALID_VALUE);
            memcpy(to + info->params[i].offset, launch->params[i], info->params[i].size_bytes);
        }
        return CUDA_SUCCESS;
    }
    if (!launch->extra)
        return info->param_count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    const void *buffer;
    size_t bytes;
    DRIVER_TRY(unpack_extra(launch->extra, &buffer, &bytes));
    DRIVER_REJECT(!buffer && info->param_bytes, CUDA_ERROR_INVALID_VALUE);
    // The buffer must contain the whole last parameter, but not the padding after it.
    size_t needed = 0;
    if (info->param_count) {
        const struct sim_param *last = &info->params[info->param_count - 1];
        needed = last->offset + last->size_bytes;
    }
    DRIVER_REJECT(bytes < needed, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    if (buffer)
        memcpy(to, buffer, bytes < info->param_bytes ? bytes : info->param_bytes);
    return CUDA_SUCCESS;
}

CUresult driver_launch_op(const struct driver_launch *launch, struct driver_op *op)
{
    DRIVER_REJECT(!launch->function, CUDA_ERROR_INVALID_HANDLE);
    DRIVER_REJECT(launch->params && launch->extra, CUDA_ERROR_INVALID_VALUE);
    DRIVER_TRY(check_sizes(launch));
    *op = (struct driver_op){
        .kind = DRIVER_OP_LAUNCH,
        .launch = {.function = launch->function,
                   .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                   .block = {launch->block[0], launch->block[1], launch->block[2]},
                   .cluster = {launch->cluster[0], launch->cluster[1], launch->cluster[2]},
                   .cluster_policy = launch->cluster_policy,
                   .shared_bytes = launch->shared_bytes,
                   .cooperative = launch->cooperative,
                   .watch = launch->function->watch,
                   .watch_user = launch->function->watch_user}};
    op->launch.params = calloc(1, launch->function->info->param_bytes + 8);
    DRIVER_REJECT(!op->launch.params, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = copy_params(launch, op->launch.params);
    if (result != CUDA_SUCCESS)
        driver_op_fini(op);
    return result;
}

// function: a CUfunction or CUkernel. A kernel is launched on the stream's device.
static CUresult enqueue(struct driver_launch *launch, CUfunction function, CUstream handle)
{
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_CONTEXT(context);
    driver_flush_output();
    if (driver.device_count > 1) {
        DRIVER_TRY(driver_enter_stream(handle, &context, &stream));
        driver_unlock();
    }
    launch->function = driver_function_on(function, context->device);
    DRIVER_REJECT(launch->function && launch->function->module->device != context->device,
                  CUDA_ERROR_INVALID_HANDLE);
    struct driver_op op;
    DRIVER_TRY(driver_launch_op(launch, &op));
    const CUresult cluster = driver_cluster_check(&op);
    if (cluster != CUDA_SUCCESS) {
        driver_op_fini(&op);
        return cluster;
    }
    driver_lock();
    if (launch->function->late)
        driver_wait_context(context);
    launch->function->late = false;
    driver_unlock();
    CUresult result = driver_enter_stream(handle, &context, &stream);
    if (result != CUDA_SUCCESS) {
        driver_op_fini(&op);
        return result;
    }
    result = driver_enqueue(stream, &op);
    driver_unlock();
    return result;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                        unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                        unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                        void **kernelParams, void **extra)
{
    DRIVER_BEGIN();
    struct driver_launch launch = {.grid = {gridDimX, gridDimY, gridDimZ},
                                   .block = {blockDimX, blockDimY, blockDimZ},
                                   .shared_bytes = sharedMemBytes,
                                   .params = kernelParams,
                                   .extra = extra};
    return enqueue(&launch, f, hStream);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void **kernelParams)
{
    DRIVER_BEGIN();
    struct driver_launch launch = {.grid = {gridDimX, gridDimY, gridDimZ},
                                   .block = {blockDimX, blockDimY, blockDimZ},
                                   .shared_bytes = sharedMemBytes,
                                   .cooperative = true,
                                   .params = kernelParams};
    return enqueue(&launch, f, hStream);
}

// Ignores most attributes, because they affect only the speed of a launch.
static CUresult read_attributes(const CUlaunchConfig *config, struct driver_launch *launch)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        switch ((int)attribute->id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            launch->cooperative = attribute->value.cooperative != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            launch->cluster[0] = attribute->value.clusterDim.x;
            launch->cluster[1] = attribute->value.clusterDim.y;
            launch->cluster[2] = attribute->value.clusterDim.z;
            DRIVER_REJECT(!launch->cluster[0] || !launch->cluster[1] || !launch->cluster[2],
                          CUDA_ERROR_INVALID_CLUSTER_SIZE);
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            launch->cluster_policy = (int)attribute->value.clusterSchedulingPolicyPreference;
            break;
        default: break;
        }
    }
    return CUDA_SUCCESS;
}

// Records the events that the attributes request for the end of the launch.
static CUresult record_events(const CUlaunchConfig *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            DRIVER_TRY(cuEventRecord(attribute->value.programmaticEvent.event, config->hStream));
        else if (attribute->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            DRIVER_TRY(
                cuEventRecord(attribute->value.launchCompletionEvent.event, config->hStream));
    }
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                          void **extra)
{
    DRIVER_REJECT(!config, CUDA_ERROR_INVALID_VALUE);
    DRIVER_BEGIN();
    struct driver_launch launch = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .shared_bytes = config->sharedMemBytes,
        .params = kernelParams,
        .extra = extra};
    DRIVER_TRY(read_attributes(config, &launch));
    DRIVER_TRY(enqueue(&launch, f, config->hStream));
    return record_events(config);
}
