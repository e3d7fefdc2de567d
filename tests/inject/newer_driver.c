// SPDX-License-Identifier: Apache-2.0
// What a newer driver has beyond fake_driver.c: functions that glint does not know, a newer form of
// one that it hooks, and cuGetProcAddress to get them.
#include <string.h>

#include "cudaabi/cudaabi.h"

#pragma GCC visibility push(default)

CUresult cuFutureThing(void);
CUresult cuFutureThing(void)
{
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost_v9(void *);
CUresult cuMemFreeHost_v9(void *memory)
{
    (void)memory;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    (void)flags;
    *pfn = strncmp(symbol, "cuFuture", 8) == 0 || strncmp(symbol, "cuGL", 4) == 0
               ? (void *)cuFutureThing
           : strcmp(symbol, "cuMemFreeHost") == 0 && cudaVersion >= 14000 ? (void *)cuMemFreeHost_v9
           : strcmp(symbol, "cuCtxGetDevice") == 0                        ? (void *)cuCtxGetDevice
                                                                          : NULL;
    if (symbolStatus)
        *symbolStatus = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#pragma GCC visibility pop
