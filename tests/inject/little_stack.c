// SPDX-License-Identifier: Apache-2.0
// Threads with stacks of 40 and of 20 KiB that allocate, launch, also by graphs, copy, wait and
// free. Whatever glint does in these calls has to fit in.
#include <pthread.h>
#include <string.h>

#include "program.h"

enum { THREADS = 3, WORDS = 1 << 20 };
static const size_t stack_bytes[] = {40 << 10, 20 << 10}; // if the system allows so little

// Adds its index to each word.
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 to)\n"
    "{\n    .reg .b64 %rd<4>;\n    .reg .b32 %r<6>;\n    ld.param.u64 %rd1, [to];\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r4, %r1, %r2, %r3;\n    mul.wide.u32 %rd2, %r4, 4;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n    ld.global.u32 %r5, [%rd3];\n"
    "    add.u32 %r5, %r5, %r4;\n    st.global.u32 [%rd3], %r5;\n    ret;\n}\n";

static CUcontext context;
static CUfunction add;

static void launch_graph(CUdeviceptr memory)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUstream stream;
    CUDA_KERNEL_NODE_PARAMS params = {.func = add,
                                      .gridDimX = WORDS / 256,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 256,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = (void *[]){&memory}};
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy_v2(stream));
}

static void *work(void *unused)
{
    unsigned words[4];
    CUdeviceptr memory;
    (void)unused;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc_v2(&memory, WORDS * sizeof(unsigned)));
    CHECK(cuMemsetD32_v2(memory, 5, WORDS));
    CHECK(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, NULL, (void *[]){&memory}, NULL));
    CHECK(cuCtxSynchronize());
    launch_graph(memory);
    CHECK(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
    CHECK(cuMemFree_v2(memory));
    printf("%u %u\n", words[0], words[3]);
    return NULL;
}

int main(void)
{
    CUmodule module;
    context = start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    for (unsigned i = 0; i < 2 * THREADS; i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        (void)pthread_attr_setstacksize(&attributes, stack_bytes[i / THREADS]);
        if (pthread_create(&thread, &attributes, work, NULL) == 0)
            pthread_join(thread, NULL);
    }
    puts("done");
    return 0;
}
