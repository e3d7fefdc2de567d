// SPDX-License-Identifier: Apache-2.0
// A rank of a job whose recording bench/ranks/run measures: rank MEETING RANKS STEPS. All ranks
// meet in the file MEETING, which must exist and be empty, and then each does so many steps: it
// allocates memory, copies to it, runs two kernels, copies back, waits and frees it. That is many
// short calls, so recording costs as much of the time as it ever does. Prints "rank R work NS calls
// N".
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

enum { WORDS = 256, BYTES = 4 * WORDS, STEP_CALLS = 7, FIRST_STEPS = 20 };

// data[i] += i
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry step(.param .u64 data)\n{\n"
    "    .reg .b32 %r<3>;\n    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [data];\n    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd2, %r1, 4;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n    ld.global.u32 %r2, [%rd3];\n    add.u32 %r2, %r2, %r1;\n"
    "    st.global.u32 [%rd3], %r2;\n    ret;\n}\n";

#define CALL(name, ...) check(((__typeof__(name) *)function(#name))(__VA_ARGS__), #name)

static void *library;

static void fail(const char *what)
{
    fprintf(stderr, "rank: %s\n", what);
    exit(1);
}

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail(name);
    return found;
}

static void check(CUresult result, const char *name)
{
    if (result != CUDA_SUCCESS)
        fail(name);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// Waits until all ranks are here.
static void meet(const char *path, unsigned ranks)
{
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || ftruncate(file, sizeof(atomic_uint)) != 0)
        fail(path);
    atomic_uint *here = mmap(NULL, sizeof(*here), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (here == MAP_FAILED)
        fail(path);
    atomic_fetch_add(here, 1);
    while (atomic_load(here) < ranks)
        sched_yield();
}

static void work(CUfunction step, unsigned long steps)
{
    __typeof__(cuMemAlloc_v2) *allocate = function("cuMemAlloc_v2");
    __typeof__(cuMemFree_v2) *release = function("cuMemFree_v2");
    __typeof__(cuMemcpyHtoDAsync_v2) *write_to = function("cuMemcpyHtoDAsync_v2");
    __typeof__(cuMemcpyDtoHAsync_v2) *read_from = function("cuMemcpyDtoHAsync_v2");
    __typeof__(cuLaunchKernel) *launch = function("cuLaunchKernel");
    __typeof__(cuStreamSynchronize) *wait = function("cuStreamSynchronize");
    static uint32_t words[WORDS];
    CUdeviceptr data;
    void *params[] = {&data};
    for (; steps; steps--) {
        memset(words, 0, sizeof(words));
        check(allocate(&data, BYTES), "cuMemAlloc");
        check(write_to(data, words, BYTES, NULL), "cuMemcpyHtoDAsync");
        for (int i = 0; i < 2; i++)
            check(launch(step, 1, 1, 1, WORDS, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
        check(read_from(words, data, BYTES, NULL), "cuMemcpyDtoHAsync");
        check(wait(NULL), "cuStreamSynchronize");
        check(release(data), "cuMemFree");
        if (words[WORDS - 1] != 2 * (WORDS - 1))
            fail("wrong result");
    }
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    CUcontext context;
    CUmodule module;
    CUfunction step;
    int devices;
    if (argc != 4 || !rank)
        return 2;
    const unsigned long steps = strtoul(argv[3], NULL, 10);
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        fail(dlerror());
    CALL(cuInit, 0);
    CALL(cuDeviceGetCount, &devices);
    CALL(cuDevicePrimaryCtxRetain, &context, atoi(rank) % devices);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, ptx);
    CALL(cuModuleGetFunction, &step, module, "step");
    work(step, FIRST_STEPS);
    meet(argv[1], (unsigned)strtoul(argv[2], NULL, 10));
    const uint64_t began = now_ns();
    work(step, steps);
    printf("rank %s work %llu calls %lu\n", rank, (unsigned long long)(now_ns() - began),
           steps * STEP_CALLS);
    return 0;
}
