// SPDX-License-Identifier: Apache-2.0
// Sets MANY objects of 256 bytes, frees them, and does the same with FEW: small MANY FEW
#include <stdio.h>
#include <stdlib.h>

#include "cudaabi/cudaabi.h"

static void check(CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "error %d\n", (int)result);
        exit(1);
    }
}

static void set_objects(unsigned count)
{
    CUdeviceptr *objects = calloc(count, sizeof(*objects));
    if (!objects)
        exit(1);
    for (unsigned i = 0; i < count; i++) {
        check(cuMemAlloc_v2(&objects[i], 256));
        check(cuMemsetD32_v2(objects[i], i, 64));
    }
    check(cuCtxSynchronize());
    for (unsigned i = 0; i < count; i++)
        check(cuMemFree_v2(objects[i]));
    free(objects);
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    if (argc != 3)
        return 2;
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));
    set_objects((unsigned)atoi(argv[1]));
    set_objects((unsigned)atoi(argv[2]));
    return 0;
}
