// SPDX-License-Identifier: Apache-2.0
// Queries streams after it has waited for all of its work on them: queries [ROUNDS].
// Prints how many answers were "not ready", which must be none. While work is held up, all
// answers must be "not ready".
#include <semaphore.h>
#include <unistd.h>

#include "program.h"

// Adds 1 to n words at the address that is stored at `table`, so probes must look the address up.
// Kernels of several streams run at once, so the additions are atomic.
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry follow(.param .u64 table, .param .u32 n)\n{\n"
                          "    .reg .b64 %rd<4>;\n    .reg .b32 %r<8>;\n    .reg .pred %p<2>;\n"
                          "    ld.param.u64 %rd1, [table];\n    ld.param.u32 %r1, [n];\n"
                          "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n"
                          "    mov.u32 %r4, %tid.x;\n    mad.lo.u32 %r5, %r2, %r3, %r4;\n"
                          "    setp.ge.u32 %p1, %r5, %r1;\n    @%p1 bra done;\n"
                          "    ld.global.u64 %rd2, [%rd1];\n"
                          "    mad.wide.u32 %rd3, %r5, 4, %rd2;\n"
                          "    red.global.add.u32 [%rd3], 1;\ndone:\n    ret;\n}\n";

enum { WORDS = 1 << 12, BLOCK = 256, PAUSE_US = 1500 };

static CUfunction follow;
static CUdeviceptr table, words;
static CUstream one, other, aside; // aside: does not wait for the legacy stream
static unsigned asked, unready;

static CUresult launch(CUstream stream, unsigned block)
{
    unsigned n = WORDS;
    void *params[] = {&table, &n};
    return cuLaunchKernel(follow, WORDS / BLOCK, 1, 1, block, 1, 1, 0, stream, params, NULL);
}

static void ask(CUstream stream)
{
    asked++;
    unready += cuStreamQuery(stream) != CUDA_SUCCESS;
}

static void after_stream(void)
{
    CHECK(launch(one, BLOCK));
    CHECK(cuStreamSynchronize(one));
    ask(one);
    ask(one);
}

static void after_context(void)
{
    CHECK(launch(one, BLOCK));
    CHECK(launch(aside, BLOCK));
    CHECK(launch(NULL, BLOCK));
    CHECK(cuCtxSynchronize());
    ask(one);
    ask(other);
    ask(aside);
    ask(NULL);
}

static void after_event(void)
{
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(launch(one, BLOCK));
    CHECK(cuEventRecord(event, one));
    CHECK(cuStreamWaitEvent(aside, event, 0));
    CHECK(launch(aside, BLOCK));
    CHECK(cuStreamSynchronize(aside)); // also waits for the first stream
    ask(one);
    ask(aside);
    CHECK(cuEventSynchronize(event));
    ask(one);
    CHECK(cuEventDestroy_v2(event));
}

static void after_copy(void)
{
    static unsigned host[WORDS];
    CHECK(launch(NULL, BLOCK));
    CHECK(cuMemcpyDtoH_v2(host, words, sizeof(host)));
    ask(NULL);
    CHECK(launch(one, BLOCK));
    CHECK(cuMemcpyDtoH_v2(host, words, sizeof(host))); // also waits for that stream
    ask(one);
    ask(NULL);
}

static void after_own(void)
{
    CHECK(launch(CU_STREAM_PER_THREAD, BLOCK));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    ask(CU_STREAM_PER_THREAD);
    CHECK(cuStreamSynchronize(NULL));
    ask(NULL);
}

static void after_graph(void)
{
    static CUgraphExec exec;
    CUgraph graph;
    if (!exec) {
        CHECK(cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CHECK(launch(one, BLOCK));
        CHECK(cuStreamEndCapture(one, &graph));
        CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    }
    CHECK(cuGraphLaunch(exec, one));
    CHECK(cuStreamSynchronize(one));
    ask(one);
}

static void after_refusal(void)
{
    CHECK(launch(one, BLOCK));
    CHECK(cuStreamSynchronize(one));
    if (launch(one, 4096) == CUDA_SUCCESS)
        printf("a block of 4096 threads was launched\n");
    ask(one);
}

static void after_polling(void)
{
    CHECK(launch(one, BLOCK));
    while (cuStreamQuery(one) == CUDA_ERROR_NOT_READY)
        usleep(100);
    ask(one);
    CHECK(cuStreamSynchronize(other));
    usleep(PAUSE_US);
    CHECK(launch(other, BLOCK));
    CHECK(cuStreamSynchronize(other)); // glint requests results of the first stream here
    ask(one);
}

// --- Near misses ---------------------------------------------------------------------------------

static sem_t gate;

static void wait_at_gate(void *unused)
{
    (void)unused;
    sem_wait(&gate);
}

// Pending work of the program, queued behind finished work, must show as not ready: on its stream,
// and on the legacy stream, which waits for it.
static void while_held(CUstream stream)
{
    CHECK(launch(stream, BLOCK));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuLaunchHostFunc(stream, wait_at_gate, NULL));
    unsigned ready = cuStreamQuery(stream) == CUDA_SUCCESS;
    CHECK(launch(stream, BLOCK));
    usleep(PAUSE_US);
    CHECK(launch(aside, BLOCK));
    CHECK(cuStreamSynchronize(aside));
    ask(aside);
    ready += cuStreamQuery(stream) == CUDA_SUCCESS;
    ready += stream == one && cuStreamQuery(NULL) == CUDA_SUCCESS;
    sem_post(&gate);
    CHECK(cuStreamSynchronize(stream));
    ask(stream);
    if (ready)
        printf("%u answers say that pending work is done\n", ready);
}

static void held(void)
{
    while_held(one);
    while_held(NULL);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"stream", after_stream},   {"context", after_context}, {"event", after_event},
                 {"copy", after_copy},       {"own", after_own},         {"graph", after_graph},
                 {"refusal", after_refusal}, {"polling", after_polling}, {"held", held}};
    const int rounds = count > 1 ? atoi(arguments[1]) : 4;
    CUmodule module;
    start_thread();
    sem_init(&gate, 0, 0);
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&follow, module, "follow"));
    CHECK(cuMemAlloc_v2(&table, sizeof(words)));
    CHECK(cuMemAlloc_v2(&words, WORDS * sizeof(unsigned)));
    CHECK(cuMemcpyHtoD_v2(table, &words, sizeof(words)));
    CHECK(cuMemsetD8_v2(words, 0, WORDS * sizeof(unsigned)));
    CHECK(cuCtxSynchronize()); // `aside` does not wait for the set
    CHECK(cuStreamCreate(&one, CU_STREAM_DEFAULT));
    CHECK(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    CHECK(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        asked = unready = 0;
        for (int round = 0; round < rounds; round++) {
            cases[i].run();
            usleep(PAUSE_US); // glint reads back at most once a millisecond
        }
        printf("%s: %u of %u not ready\n", cases[i].name, unready, asked);
    }
    unsigned first = 0;
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(&first, words, sizeof(first)));
    printf("%u launches\n", first);
    return 0;
}
