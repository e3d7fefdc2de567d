// SPDX-License-Identifier: Apache-2.0
// A program with findings. tests.cmake makes changed copies of it: with shifted lines, with a
// renamed object, and with larger objects. "HERE" marks where lines are inserted.
#include <stdio.h>
#include <stdlib.h>

#include "cudaabi/cudaabi.h"
// HERE

enum { BYTES = 8192 };

static CUdeviceptr first_gpu, second_gpu;
static char host[BYTES];

static void check(CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "error %d\n", (int)result);
        exit(1);
    }
}

// first_gpu is allocated too early, and second_gpu is never freed.
static void allocate(void)
{
    check(cuMemAlloc_v2(&first_gpu, BYTES / 2));
    // HERE
    check(cuMemAlloc_v2(&second_gpu, BYTES));
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));
    allocate();
    check(cuMemsetD8_v2(second_gpu, 1, BYTES)); // a dead write
    // HERE
    check(cuMemsetD8_v2(second_gpu, 2, BYTES));
    check(cuMemcpyDtoH_v2(host, second_gpu, BYTES));
    check(cuMemsetD8_v2(first_gpu, 1, BYTES / 2));
    check(cuMemcpyDtoH_v2(host, first_gpu, BYTES / 2));
    check(cuMemFree_v2(first_gpu));
    return 0;
}
