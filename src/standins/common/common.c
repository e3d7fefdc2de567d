// SPDX-License-Identifier: Apache-2.0
// Contexts, modules and refusals of the stand-ins. Each library that contains this file has its own
// list of modules.
#include "common.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A module that was loaded into a context. Contexts are known by their numbers, which never return,
// unlike handles.
struct common_loaded {
    struct common_loaded *next;
    unsigned long long context;
    const char *ptx;
    CUmodule module;
};

// All mutable state. A thread that holds the lock calls the driver, which never calls back.
static struct {
    pthread_mutex_t lock;
    struct common_loaded *loaded; // protected by the lock
} common = {.lock = PTHREAD_MUTEX_INITIALIZER};

CUresult common_context(void)
{
    CUcontext context = NULL;
    CUdevice device;
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuCtxGetCurrent(&context);
    if (result != CUDA_SUCCESS || context)
        return result;
    result = cuDeviceGet(&device, 0);
    if (result == CUDA_SUCCESS)
        result = cuDevicePrimaryCtxRetain(&context, device);
    if (result == CUDA_SUCCESS)
        result = cuCtxSetCurrent(context);
    return result;
}

// Loads the module into the current context. The lock is held.
static CUresult load(const char *ptx, unsigned long long context, CUmodule *module)
{
    struct common_loaded *loaded = common.loaded;
    while (loaded && (loaded->context != context || loaded->ptx != ptx))
        loaded = loaded->next;
    if (loaded) {
        *module = loaded->module;
        return CUDA_SUCCESS;
    }
    loaded = malloc(sizeof(*loaded));
    if (!loaded)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = cuModuleLoadData(module, ptx);
    if (result != CUDA_SUCCESS) {
        free(loaded);
        return result;
    }
    *loaded = (struct common_loaded){common.loaded, context, ptx, *module};
    common.loaded = loaded;
    return CUDA_SUCCESS;
}

CUresult common_kernel(const char *ptx, const char *name, CUfunction *kernel)
{
    CUmodule module;
    unsigned long long context;
    CUresult result = common_context();
    if (result == CUDA_SUCCESS)
        result = cuCtxGetId(NULL, &context);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&common.lock);
    result = load(ptx, context, &module);
    pthread_mutex_unlock(&common.lock);
    return result == CUDA_SUCCESS ? cuModuleGetFunction(kernel, module, name) : result;
}

CUresult common_launch(const struct common_launch *launch)
{
    CUfunction kernel;
    void *parameters[] = {launch->parameter};
    if (!launch->blocks)
        return CUDA_SUCCESS;
    if (launch->blocks > INT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = common_kernel(launch->ptx, launch->kernel, &kernel);
    if (result != CUDA_SUCCESS)
        return result;
    return cuLaunchKernel(kernel, (unsigned)launch->blocks, 1,
                          launch->members ? launch->members : 1, launch->threads, 1, 1, 0,
                          launch->stream, parameters, NULL);
}

uint64_t common_blocks(uint64_t count, unsigned size)
{
    return (count + size - 1) / size;
}

int common_refuse(bool *reported, const char *name, int status)
{
    if (!__atomic_exchange_n(reported, true, __ATOMIC_RELAXED)) {
        char line[512];
        const int length =
            snprintf(line, sizeof(line), "glint: %s is not supported by the simulated GPU\n", name);
        const ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
        (void)ignored; // a failure cannot be reported anywhere else
    }
    return status;
}
