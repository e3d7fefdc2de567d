// SPDX-License-Identifier: Apache-2.0
// Sets MANY objects of so many BYTES, frees them, and does the same with FEW: small BYTES MANY FEW
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

static void set_objects(size_t bytes, unsigned count)
{
    CUdeviceptr *objects = calloc(count, sizeof(*objects));
    if (!objects)
        exit(1);
    for (unsigned i = 0; i < count; i++) {
        check(cuMemAlloc_v2(&objects[i], bytes));
        check(cuMemsetD8_v2(objects[i], (unsigned char)i, bytes));
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
    if (argc != 4)
        return 2;
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));
    set_objects((size_t)atoi(argv[1]), (unsigned)atoi(argv[2]));
    set_objects((size_t)atoi(argv[1]), (unsigned)atoi(argv[3]));
    return 0;
}
