// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for tests of how glint finds a GPU. FAKE_DRIVER says what it does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

#pragma GCC visibility push(default)

static int does(const char *what)
{
    const char *wanted = getenv("FAKE_DRIVER");
    return wanted && !strcmp(wanted, what);
}

CUresult cuInit(unsigned flags)
{
    (void)flags;
    printf("noise\n");
    if (does("crashes"))
        abort();
    while (does("hangs"))
        pause();
    return does("none")    ? CUDA_ERROR_NO_DEVICE
           : does("fails") ? CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
                           : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 11040;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)room, "Fake");
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    (void)error;
    *name = "FAKE";
    return CUDA_SUCCESS;
}

// glint looks these up, and calls them only to run a kernel.
#define UNUSED(name, parameters) \
    CUresult name parameters     \
    {                            \
        abort();                 \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
UNUSED(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device))
UNUSED(cuCtxDestroy_v2, (CUcontext context))
UNUSED(cuModuleLoadData, (CUmodule * module, const void *image))
UNUSED(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))
UNUSED(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))
UNUSED(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))
UNUSED(cuLaunchKernel,
       (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
        unsigned shared, CUstream stream, void **params, void **extra))
