// SPDX-License-Identifier: Apache-2.0
// A library of another vendor, with "cuda" in its name and in the names of its functions.
#include "vendor.h"

int cudaToolsAlloc(void **pointer, size_t bytes)
{
    CUdeviceptr address = 0;
    int result = (int)cuMemAlloc_v2(&address, bytes);
    *pointer = (void *)address; // NOLINT(performance-no-int-to-ptr)
    return result;
}
