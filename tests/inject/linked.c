// SPDX-License-Identifier: Apache-2.0
// A library that is linked with the driver and opened by a program that is not.
#include "cudaabi/cudaabi.h"

__attribute__((visibility("default"))) CUresult linked_alloc(CUdeviceptr *pointer, size_t bytes);
CUresult linked_alloc(CUdeviceptr *pointer, size_t bytes)
{
    return cuMemAlloc_v2(pointer, bytes);
}
