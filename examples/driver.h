// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that the examples in plain C use. cuda.h declares the same; here
// the functions are found in the driver when the program runs, so that these examples build, and
// run on the simulated GPU, where there is nothing of CUDA.
#ifndef GLINT_EXAMPLES_DRIVER_H
#define GLINT_EXAMPLES_DRIVER_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef uint64_t CUdeviceptr;
typedef int CUdevice;
typedef int CUresult;

static CUresult (*cuInit)(unsigned flags);
static CUresult (*cuDeviceGet)(CUdevice *device, int ordinal);
static CUresult (*cuDeviceGetName)(char *name, int length, CUdevice device);
static CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device);
static CUresult (*cuCtxSetCurrent)(CUcontext context);
static CUresult (*cuModuleLoad)(CUmodule *module, const char *path);
static CUresult (*cuModuleGetFunction)(CUfunction *function, CUmodule module, const char *name);
static CUresult (*cuMemAlloc)(CUdeviceptr *pointer, size_t bytes);
static CUresult (*cuMemFree)(CUdeviceptr pointer);
static CUresult (*cuMemcpyHtoD)(CUdeviceptr to, const void *from, size_t bytes);
static CUresult (*cuMemcpyDtoH)(void *to, CUdeviceptr from, size_t bytes);
static CUresult (*cuLaunchKernel)(CUfunction function, unsigned grid_x, unsigned grid_y,
                                  unsigned grid_z, unsigned block_x, unsigned block_y,
                                  unsigned block_z, unsigned shared_bytes, CUstream stream,
                                  void **params, void **extra);

// Ends the program if a driver call fails.
#define CHECK(call) check((call), #call)

static void check(CUresult result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "%s failed with error %d\n", what, result);
        exit(1);
    }
}

// Finds the functions, and makes the first GPU's context current.
static CUdevice start_driver(void)
{
    static const struct {
        const char *name;
        void *pointer;
    } functions[] = {
        {"cuInit", &cuInit},
        {"cuDeviceGet", &cuDeviceGet},
        {"cuDeviceGetName", &cuDeviceGetName},
        {"cuDevicePrimaryCtxRetain", &cuDevicePrimaryCtxRetain},
        {"cuCtxSetCurrent", &cuCtxSetCurrent},
        {"cuModuleLoad", &cuModuleLoad},
        {"cuModuleGetFunction", &cuModuleGetFunction},
        {"cuMemAlloc_v2", &cuMemAlloc},
        {"cuMemFree_v2", &cuMemFree},
        {"cuMemcpyHtoD_v2", &cuMemcpyHtoD},
        {"cuMemcpyDtoH_v2", &cuMemcpyDtoH},
        {"cuLaunchKernel", &cuLaunchKernel},
    };
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        *(void **)functions[i].pointer = dlsym(driver, functions[i].name);
        check(!*(void **)functions[i].pointer, functions[i].name);
    }
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    return device;
}

#endif
