// SPDX-License-Identifier: Apache-2.0
// Measures what a call costs the host: overhead [LAUNCHES [ALLOCATIONS]] launches an empty kernel,
// and allocates and frees 4 KiB, as often as given (default 100,000), and prints the nanoseconds of
// one: "launch NS" and "alloc NS". scripts/gpu-test compares runs with and without a recorder.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cudaabi/cudaabi.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry empty()\n{\n    ret;\n}\n";

#define CALL(name, ...) check(((__typeof__(name) *)function(#name))(__VA_ARGS__), #name)

static void *library;

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "overhead: no %s\n", name);
        exit(1);
    }
    return found;
}

static void check(CUresult result, const char *name)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "overhead: %s failed with %d\n", name, (int)result);
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double launches(CUfunction empty, int count)
{
    __typeof__(cuLaunchKernel) *launch = function("cuLaunchKernel");
    __typeof__(cuCtxSynchronize) *wait = function("cuCtxSynchronize");
    double start = now_ns();
    for (int i = 0; i < count; i++)
        check(launch(empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
    double took = now_ns() - start;
    check(wait(), "cuCtxSynchronize");
    return took / count;
}

static double allocations(int count)
{
    __typeof__(cuMemAlloc_v2) *make = function("cuMemAlloc_v2");
    __typeof__(cuMemFree_v2) *end = function("cuMemFree_v2");
    double start = now_ns();
    for (int i = 0; i < count; i++) {
        CUdeviceptr memory;
        check(make(&memory, 4096), "cuMemAlloc_v2");
        check(end(memory), "cuMemFree_v2");
    }
    return (now_ns() - start) / count;
}

int main(int argc, char **argv)
{
    int launch_count = argc > 1 ? atoi(argv[1]) : 100000;
    int alloc_count = argc > 2 ? atoi(argv[2]) : 100000;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "overhead: %s\n", dlerror());
        return 1;
    }
    CUcontext context;
    CUmodule module;
    CUfunction empty;
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, ptx);
    CALL(cuModuleGetFunction, &empty, module, "empty");
    launches(empty, 1000);
    allocations(100);
    printf("launch %.0f\n", launches(empty, launch_count));
    printf("alloc %.0f\n", allocations(alloc_count));
    return 0;
}
