// SPDX-License-Identifier: Apache-2.0
// Compiles a kernel with NVRTC for a real architecture, loads what it gets for a cubin, and runs
// it. Without arguments it uses the linked library, else it opens the one of that name.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"

int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers,
                       const char *const *texts, const char *const *names);
int nvrtcCompileProgram(void *program, int count, const char *const *options);
int nvrtcGetCUBINSize(void *program, size_t *size_bytes);
int nvrtcGetCUBIN(void *program, char *cubin);

#define FIND(library, name)                    \
    __extension__({                            \
        __typeof__(&(name)) found_;            \
        void *at_ = dlsym(library, #name);     \
        memcpy(&found_, &at_, sizeof(found_)); \
        found_;                                \
    })

int main(int argc, char **argv)
{
    static const char source[] =
        "extern \"C\" __global__ void square(int *x) { x[threadIdx.x] *= x[threadIdx.x]; }";
    static const char *const options[] = {"--gpu-architecture=sm_90"};
    void *const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : RTLD_DEFAULT;
    void *program, *parameters[1];
    size_t size_bytes = 0;
    int numbers[] = {2, 3, 4};
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr memory;
    parameters[0] = &memory;
    if (FIND(library, nvrtcCreateProgram)(&program, source, "square.cu", 0, NULL, NULL) ||
        FIND(library, nvrtcCompileProgram)(program, 1, options) ||
        FIND(library, nvrtcGetCUBINSize)(program, &size_bytes) || !size_bytes)
        return 1;
    char *const cubin = malloc(size_bytes);
    if (!cubin || FIND(library, nvrtcGetCUBIN)(program, cubin))
        return 2;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cuModuleLoadData(&module, cubin) ||
        cuModuleGetFunction(&kernel, module, "square") || cuMemAlloc_v2(&memory, sizeof(numbers)) ||
        cuMemcpyHtoD_v2(memory, numbers, sizeof(numbers)) ||
        cuLaunchKernel(kernel, 1, 1, 1, 3, 1, 1, 0, NULL, parameters, NULL) ||
        cuMemcpyDtoH_v2(numbers, memory, sizeof(numbers)))
        return 3;
    printf("%d %d %d\n", numbers[0], numbers[1], numbers[2]);
    return 0;
}
