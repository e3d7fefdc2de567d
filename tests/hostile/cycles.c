// SPDX-License-Identifier: Apache-2.0
// Contexts, modules, streams and graphs that come and go, and move between threads and processes.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

enum { FEW = 3000, ROUNDS = 8 };

static const char twice_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 calls[4];\n"
    ".visible .entry twice(.param .u64 to, .param .u32 count)\n{\n    .reg .b64 %rd<4>;\n"
    "    .reg .b32 %r<6>;\n    .reg .pred %p;\n    ld.param.u64 %rd1, [to];\n"
    "    ld.param.u32 %r1, [count];\n    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n"
    "    mov.u32 %r4, %tid.x;\n    mad.lo.u32 %r4, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p, %r4, %r1;\n    @%p ret;\n    mul.wide.u32 %rd2, %r4, 4;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n    ld.global.u32 %r5, [%rd3];\n"
    "    add.u32 %r5, %r5, %r5;\n    st.global.u32 [%rd3], %r5;\n    ret;\n}\n";

// What a program does in one context: loads a module, launches its kernel, also by a graph, and
// prints a sum.
static void use_context(unsigned key)
{
    static unsigned words[FEW];
    unsigned count = FEW;
    CUmodule module;
    CUfunction twice;
    CUdeviceptr memory;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    void *params[] = {&memory, &count};
    for (unsigned i = 0; i < FEW; i++)
        words[i] = word_of(i, key);
    CHECK(cuModuleLoadData(&module, twice_ptx));
    CHECK(cuModuleGetFunction(&twice, module, "twice"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&memory, sizeof(words)));
    CHECK(cuMemcpyHtoD_v2(memory, words, sizeof(words)));
    CHECK(cuLaunchKernel(twice, 24, 1, 1, 128, 1, 1, 0, stream, params, NULL));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CHECK(cuLaunchKernel(twice, 24, 1, 1, 128, 1, 1, 0, stream, params, NULL));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
    unsigned bad = 0;
    for (unsigned i = 0; i < FEW; i++)
        bad += words[i] != 4 * word_of(i, key);
    printf("%u: %u bad\n", key, bad);
    if (key % 2)
        return; // what is left ends with the context
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree_v2(memory));
    CHECK(cuStreamDestroy_v2(stream));
    CHECK(cuModuleUnload(module));
}

void cycles_contexts(void)
{
    CUcontext first, own;
    CHECK(cuCtxGetCurrent(&first));
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK(cuCtxCreate_v2(&own, 0, 0));
        use_context(i);
        CHECK(cuCtxDestroy_v2(own));
    }
    CHECK(cuCtxSetCurrent(first));
    use_context(100);
}

void cycles_primary(void)
{
    CHECK(cuInit(0));
    for (unsigned i = 0; i < ROUNDS; i++) {
        CUcontext own;
        unsigned flags;
        int active;
        CHECK(cuDevicePrimaryCtxRetain(&own, 0));
        CHECK(cuCtxSetCurrent(own));
        use_context(i);
        CHECK(cuDevicePrimaryCtxRelease_v2(0));
        CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
        printf("active %d\n", active);
    }
}

// A reset ends what the program still has in the primary context; it goes on.
void cycles_reset(void)
{
    CHECK(cuInit(0));
    for (unsigned i = 0; i < ROUNDS / 2; i++) {
        CUcontext own;
        CHECK(cuDevicePrimaryCtxRetain(&own, 0));
        CHECK(cuCtxSetCurrent(own));
        use_context(2 * i + 1);
        use_context(2 * i);
        CHECK(cuDevicePrimaryCtxReset_v2(0));
    }
}

// A child of fork comes and goes while a stream is captured.
void cycles_fork_in_capture(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    int status;
    const struct result result = place_result(BLOCK);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    fill(device_words, FEW, 3, 0, stream);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        _exit(7);
    waitpid(child, &status, 0);
    fill(device_words, FEW, 4, 0, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH_v2(result.words, device_words, FEW * sizeof(unsigned)));
    printf("status %d\n", WEXITSTATUS(status));
    say_good("words", result.words, FEW, 4);
}

static void allocate_on_host(void *user)
{
    unsigned **list = user;
    for (unsigned i = 0; i < 50; i++) {
        *list = sure(realloc(*list, (i + 1) * 1000 * sizeof(unsigned)));
        (*list)[i * 1000] = i;
    }
}

// Host functions that allocate.
void cycles_host_functions(void)
{
    CUstream stream;
    unsigned *lists[ROUNDS] = {NULL}, sum = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    for (unsigned i = 0; i < ROUNDS; i++) {
        fill(device_words, FEW, i, 100000, stream);
        CHECK(cuLaunchHostFunc(stream, allocate_on_host, &lists[i]));
    }
    CHECK(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < 50; k++)
            sum += lists[i][k * 1000];
        free(lists[i]);
    }
    printf("%u\n", sum);
}

static void *use_in_thread(void *user)
{
    CUcontext own = user, popped;
    CHECK(cuCtxPushCurrent_v2(own));
    use_context(9);
    CHECK(cuCtxPopCurrent_v2(&popped));
    printf("popped %d\n", popped == own);
    return popped;
}

// A context that is current in one thread after the other, and ends in the last.
void cycles_moving(void)
{
    CUcontext own, first;
    CHECK(cuCtxGetCurrent(&first));
    CHECK(cuCtxCreate_v2(&own, 0, 0));
    use_context(1);
    CHECK(cuCtxPopCurrent_v2(&own));
    for (unsigned i = 0; i < ROUNDS / 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, use_in_thread, own);
        pthread_join(thread, NULL);
    }
    CHECK(cuCtxDestroy_v2(own));
    CUcontext now;
    CHECK(cuCtxGetCurrent(&now));
    printf("current %d\n", now == first);
    use_context(2);
}
