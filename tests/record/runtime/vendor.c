// SPDX-License-Identifier: Apache-2.0
// Imitates NVIDIA's static CUDA runtime as call paths show it: interface functions call functions
// with made-up names, which call the driver, without debug information. Unlike the original, these
// functions are not hidden, so that nothing redirects them to the simulated runtime.
#include "vendor.h"

#define INNER(number) libcudart_static_00000000000000000000000000000000000000##number
#define INTERNAL      __attribute__((noinline))

int INNER(a1)(void);
int INNER(a2)(void **pointer, size_t bytes);
int INNER(a3)(void *pointer);
int __cudart42(void *to, const void *from, size_t bytes);

INTERNAL int INNER(a1)(void)
{
    static CUcontext context;
    CUdevice device;
    if (context)
        return 0;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device))
        return 1;
    return (int)cuCtxSetCurrent(context);
}

INTERNAL int INNER(a2)(void **pointer, size_t bytes)
{
    CUdeviceptr address = 0;
    int result = INNER(a1)();
    if (result == 0)
        result = (int)cuMemAlloc_v2(&address, bytes);
    *pointer = (void *)address; // NOLINT(performance-no-int-to-ptr)
    return result;
}

INTERNAL int INNER(a3)(void *pointer)
{
    return (int)cuMemFree_v2((CUdeviceptr)pointer);
}

INTERNAL int __cudart42(void *to, const void *from, size_t bytes)
{
    return (int)cuMemcpy((CUdeviceptr)to, (CUdeviceptr)from, bytes);
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    return (cudaError_t)INNER(a2)(pointer, bytes);
}

// No toolkit has this function. glint recognizes it by the functions that it calls.
cudaError_t cudaMallocOfTomorrow(void **pointer, size_t bytes)
{
    return (cudaError_t)INNER(a2)(pointer, bytes);
}

cudaError_t cudaFree(void *pointer)
{
    return (cudaError_t)INNER(a3)(pointer);
}

cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    (void)kind;
    return (cudaError_t)__cudart42(to, from, bytes);
}

cudaError_t cudaDeviceSynchronize(void)
{
    return (cudaError_t)cuCtxSynchronize();
}
