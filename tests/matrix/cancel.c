// SPDX-License-Identifier: Apache-2.0
// A program of the driver API for the matrix of recorded programs that cancels its threads while
// they are in driver calls: cancel MODE... In each mode, threads repeat calls of one kind until
// they are canceled, before, in and between calls; then the main thread continues to use the
// driver. No lock may stay locked. Modes: "waiting" waits for kernels, "launching" launches them,
// "allocating" allocates and frees, "loading" loads modules, "mixed" does all of that, with
// asynchronous cancellation. It prints how many threads were canceled and exits with status 0; if a
// call never returns, an alarm ends it.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

enum { ROUNDS = 24, THREADS = 2, MOST_REPEATS = 100, LONGEST_S = 240 };

static struct {
    __typeof__(cuInit) *cuInit;
    __typeof__(cuDevicePrimaryCtxRetain) *cuDevicePrimaryCtxRetain;
    __typeof__(cuCtxSetCurrent) *cuCtxSetCurrent;
    __typeof__(cuCtxSynchronize) *cuCtxSynchronize;
    __typeof__(cuModuleLoadData) *cuModuleLoadData;
    __typeof__(cuModuleUnload) *cuModuleUnload;
    __typeof__(cuModuleGetFunction) *cuModuleGetFunction;
    __typeof__(cuMemAlloc_v2) *cuMemAlloc_v2;
    __typeof__(cuMemFree_v2) *cuMemFree_v2;
    __typeof__(cuMemcpyHtoD_v2) *cuMemcpyHtoD_v2;
    __typeof__(cuMemcpyDtoH_v2) *cuMemcpyDtoH_v2;
    __typeof__(cuLaunchKernel) *cuLaunchKernel;
    __typeof__(cuStreamCreate) *cuStreamCreate;
    __typeof__(cuStreamSynchronize) *cuStreamSynchronize;
} api;

static void *library;

static void find(const char *name, void **place)
{
    *place = dlsym(library, name);
    if (*place)
        return;
    fprintf(stderr, "cancel: the driver has no %s\n", name);
    exit(1);
}
#define FIND(name) find(#name, (void **)&api.name)

static void check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "cancel: %s: %d\n", what, (int)result);
    exit(1);
}
#define CHECK(call) check((call), #call)

// Counts to 20000, then data[0] += 1.
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry count(.param .u64 data) {\n"
    ".reg .b64 %d; .reg .b32 %r<3>; .reg .pred %p;\nld.param.u64 %d, [data]; mov.u32 %r0, 0;\n"
    "L: add.u32 %r0, %r0, 1; setp.ne.u32 %p, %r0, 20000; @%p bra L;\n"
    "red.global.add.u32 [%d], 1; ret; }\n";

static CUcontext context;
static CUfunction function;
static CUdeviceptr counter;
static CUstream streams[THREADS];

static void launch(CUstream stream)
{
    void *params[] = {&counter};
    CHECK(api.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void wait_for_kernels(CUstream stream)
{
    launch(stream);
    CHECK(api.cuStreamSynchronize(stream));
    pthread_testcancel();
    launch(stream);
    CHECK(api.cuCtxSynchronize());
}

static void launch_only(CUstream stream)
{
    launch(stream);
    pthread_testcancel();
    CHECK(api.cuStreamSynchronize(stream)); // otherwise the queue would grow without bound
}

static void allocate(CUstream stream)
{
    (void)stream;
    CUdeviceptr memory;
    uint32_t word = 7;
    CHECK(api.cuMemAlloc_v2(&memory, 4096));
    CHECK(api.cuMemcpyHtoD_v2(memory, &word, sizeof(word)));
    CHECK(api.cuMemcpyDtoH_v2(&word, memory, sizeof(word)));
    CHECK(api.cuMemFree_v2(memory));
}

static void load(CUstream stream)
{
    (void)stream;
    CUmodule module;
    CHECK(api.cuModuleLoadData(&module, ptx));
    CHECK(api.cuModuleUnload(module));
}

static void mixed(CUstream stream)
{
    wait_for_kernels(stream);
    allocate(stream);
    load(stream);
}

static const struct mode {
    const char *name;
    void (*work)(CUstream stream);
    int type;
} modes[] = {
    {"waiting", wait_for_kernels, PTHREAD_CANCEL_DEFERRED},
    {"launching", launch_only, PTHREAD_CANCEL_DEFERRED},
    {"allocating", allocate, PTHREAD_CANCEL_DEFERRED},
    {"loading", load, PTHREAD_CANCEL_DEFERRED},
    {"mixed", mixed, PTHREAD_CANCEL_ASYNCHRONOUS},
};

struct worker {
    const struct mode *mode;
    CUstream stream;
    pthread_t thread;
};

static void *work(void *argument)
{
    const struct worker *worker = argument;
    CHECK(api.cuCtxSetCurrent(context));
    pthread_setcanceltype(worker->mode->type, NULL);
    for (unsigned i = 0; i < MOST_REPEATS; i++) {
        worker->mode->work(worker->stream);
        pthread_testcancel();
    }
    pause(); // on a machine that is busy for long, the recorder need not keep up with ever more
             // calls
    return NULL;
}

static void run(const struct mode *mode)
{
    uint64_t random = 1;
    unsigned cancelled = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct worker workers[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.mode = mode, .stream = streams[i]};
            if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
                exit(1);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            void *result = NULL;
            random = random * 6364136223846793005u + 1442695040888963407u;
            nanosleep(&(struct timespec){.tv_nsec = (long)(random >> 33) % 2000000}, NULL);
            pthread_cancel(workers[i].thread);
            pthread_join(workers[i].thread, &result);
            cancelled += result == PTHREAD_CANCELED;
        }
        wait_for_kernels(streams[0]);
        allocate(NULL);
    }
    CHECK(api.cuCtxSynchronize());
    printf("%s: %u threads cancelled\n", mode->name, cancelled);
}

int main(int count, char **arguments)
{
    alarm(LONGEST_S);
    CUmodule module;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "cancel: %s\n", dlerror());
        return 1;
    }
    FIND(cuInit);
    FIND(cuDevicePrimaryCtxRetain);
    FIND(cuCtxSetCurrent);
    FIND(cuCtxSynchronize);
    FIND(cuModuleLoadData);
    FIND(cuModuleUnload);
    FIND(cuModuleGetFunction);
    FIND(cuMemAlloc_v2);
    FIND(cuMemFree_v2);
    FIND(cuMemcpyHtoD_v2);
    FIND(cuMemcpyDtoH_v2);
    FIND(cuLaunchKernel);
    FIND(cuStreamCreate);
    FIND(cuStreamSynchronize);
    CHECK(api.cuInit(0));
    CHECK(api.cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(api.cuCtxSetCurrent(context));
    CHECK(api.cuModuleLoadData(&module, ptx));
    CHECK(api.cuModuleGetFunction(&function, module, "count"));
    CHECK(api.cuMemAlloc_v2(&counter, sizeof(uint32_t)));
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(api.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (int i = 1; i < count; i++) {
        for (size_t k = 0; k < sizeof(modes) / sizeof(modes[0]); k++) {
            if (strcmp(arguments[i], modes[k].name) == 0)
                run(&modes[k]);
        }
    }
    return 0;
}
