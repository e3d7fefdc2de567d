// SPDX-License-Identifier: Apache-2.0
// A library that uses CUDA and hands memory to the system: by the C library's function, and by an
// instruction of its own. loading.c and readers.c open it in several ways. If HOSTILE_CONSTRUCTOR
// is set, it uses CUDA when it is loaded and unloaded.
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../inject/readers.h"
#include "cudaabi/cudaabi.h"

#define SHOWN __attribute__((visibility("default")))

SHOWN long plugin_write(int file, const void *from, unsigned long bytes);
SHOWN long plugin_write_itself(int file, const void *from, unsigned long bytes);
SHOWN int plugin_copy(void *to, CUdeviceptr from, unsigned long bytes);
SHOWN int plugin_own(unsigned char value);

long plugin_write(int file, const void *from, unsigned long bytes)
{
    return write(file, from, bytes);
}

long plugin_write_itself(int file, const void *from, unsigned long bytes)
{
    return own_system(SYS_write, file, (long)from, (long)bytes, 0);
}

// Copies from the device, in the context of the caller.
int plugin_copy(void *to, CUdeviceptr from, unsigned long bytes)
{
    const CUresult result = cuMemcpyDtoH_v2(to, from, bytes);
    return result != CUDA_SUCCESS ? (int)result : (int)cuCtxSynchronize();
}

// Uses the GPU on its own, and returns the value that it brought there and back.
int plugin_own(unsigned char value)
{
    unsigned char found[5000] = {0};
    CUdeviceptr memory;
    CUcontext context;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxPushCurrent_v2(context) != CUDA_SUCCESS ||
        cuMemAlloc_v2(&memory, sizeof(found)) != CUDA_SUCCESS)
        return -1;
    cuMemsetD8_v2(memory, value, sizeof(found));
    cuMemcpyDtoH_v2(found, memory, sizeof(found));
    cuMemFree_v2(memory);
    cuCtxPopCurrent_v2(&context);
    cuDevicePrimaryCtxRelease_v2(0);
    return found[0] == found[4999] ? found[77] : -2;
}

static __attribute__((constructor)) void begin(void)
{
    if (getenv("HOSTILE_CONSTRUCTOR"))
        printf("constructor: %d\n", plugin_own(11));
}

static __attribute__((destructor)) void end(void)
{
    if (getenv("HOSTILE_CONSTRUCTOR"))
        printf("destructor: %d\n", plugin_own(12));
}
