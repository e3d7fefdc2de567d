// SPDX-License-Identifier: Apache-2.0
// Calls the imitated runtime, also from functions whose names resemble those of the runtime.
#include "vendor.h"

#include <stdlib.h>

#define KEPT __attribute__((noinline))

int cudaMallocHelper(void **pointer, size_t bytes);
int libcudart_staticx(void *pointer);
int libcudart_static_00000000000000000000000000000000000000(void); // 38 digits

KEPT int cudaMallocHelper(void **pointer, size_t bytes)
{
    return (int)cudaMalloc(pointer, bytes);
}

KEPT int libcudart_staticx(void *pointer)
{
    return (int)cudaFree(pointer);
}

KEPT int libcudart_static_00000000000000000000000000000000000000(void)
{
    return (int)cudaDeviceSynchronize();
}

int main(void)
{
    static char bytes[4096];
    void *helped, *plain, *tomorrows, *tools;
    int failed = cudaMallocHelper(&helped, sizeof(bytes));
    failed |= (int)cudaMalloc(&plain, sizeof(bytes));
    failed |= (int)cudaMallocOfTomorrow(&tomorrows, sizeof(bytes));
    failed |= cudaToolsAlloc(&tools, sizeof(bytes));
    failed |= (int)cudaMemcpy_ptds(helped, bytes, sizeof(bytes), cudaMemcpyHostToDevice);
    failed |= libcudart_static_00000000000000000000000000000000000000();
    failed |= libcudart_staticx(helped);
    failed |= (int)cudaFree(plain) | (int)cudaFree(tomorrows) | (int)cudaFree(tools);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
