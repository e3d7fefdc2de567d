// SPDX-License-Identifier: Apache-2.0
// Prints every constant, size, alignment and offset that names.inc lists, one "name = value" a
// line. compare.sh builds it twice, with our headers and with the vendor's, and compares what they
// print.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef WITH_VENDOR_HEADERS
// Declares every version of a name, and not only the newest.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#else
#include "cudaabi/cudaabi.h"
#endif

#define VALUE(name)   printf(#name " = %lld\n", (long long)(name));
#define POINTER(name) printf(#name " = %llu\n", (unsigned long long)(uintptr_t)(name));
#define TYPE(type)    printf("sizeof " #type " = %zu, alignment %zu\n", sizeof(type), _Alignof(type));
#define FIELD(type, path)                                                 \
    printf(#type "." #path " at %zu, sizeof %zu\n", offsetof(type, path), \
           sizeof(((type *)0)->path));

int main(void)
{
#include "names.inc"
    return 0;
}
