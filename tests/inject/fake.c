// SPDX-License-Identifier: Apache-2.0
// A library with a function that has the name of a driver function but is not the driver's.
#include <stdio.h>

#include "cudaabi/cudaabi.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    printf("the fake one, %zu bytes\n", bytesize);
    *dptr = 1;
    return CUDA_SUCCESS;
}
