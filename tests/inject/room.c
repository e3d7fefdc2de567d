// SPDX-License-Identifier: Apache-2.0
// Launches kernels with little and with much shared memory, in all ways. Prints what they compute,
// and the results of launches that the driver must refuse.
#include "program.h"

// count increments words of dynamic shared memory at places that memory says, and adds one of them
// to `sums`. size also reads how much there is, and await what another block might change.
#define START                                                                                      \
    "    .reg .b64 %rd<12>;\n    .reg .b32 %r<12>;\n    .reg .pred %p<4>;\n"                       \
    "    ld.param.u64 %rd1, [places];\n    ld.param.u64 %rd2, [sums];\n    mov.u32 %r4, %tid.x;\n" \
    "    mad.wide.u32 %rd3, %r4, 4, %rd1;\n    ld.global.u32 %r5, [%rd3];\n    mov.u32 %r6, "      \
    "all;\n"                                                                                       \
    "    mad.lo.u32 %r6, %r5, 4, %r6;\n    setp.ge.u32 %p1, %r4, 64;\n    mov.u32 %r7, 0;\n"       \
    "    mad.lo.u32 %r8, %r4, 4, 0;\n    mov.u32 %r9, all;\n    add.u32 %r8, %r8, %r9;\n"          \
    "    @!%p1 st.shared.u32 [%r8], %r7;\n    bar.sync 0;\n    red.shared.add.u32 [%r6], 1;\n"     \
    "    bar.sync 0;\n    ld.shared.u32 %r7, [all+12];\n"
#define END "    red.global.add.u32 [%rd2], %r7;\n    ret;\n}\n"
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.extern .shared .align 4 .b8 all[];\n"
    ".visible .entry count(.param .u64 places, .param .u64 sums)\n{\n" START END
    ".visible .entry size(.param .u64 places, .param .u64 sums)\n{\n" START
    "    mov.u32 %r10, %dynamic_smem_size;\n    add.u32 %r7, %r7, %r10;\n" END
    ".visible .entry await(.param .u64 places, .param .u64 sums)\n{\n" START
    "AGAIN:\n    ld.volatile.global.u32 %r10, [%rd1];\n    setp.gt.u32 %p2, %r10, 99;\n"
    "    @%p2 bra AGAIN;\n" END;

enum { THREADS = 128, KIB = 1024 };

static CUfunction count, size, await;
static CUdeviceptr places, sums;
static CUstream stream;

static void allow(CUfunction function, int bytes)
{
    CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes));
}

static void launch(CUfunction function, unsigned grid, unsigned bytes)
{
    void *params[] = {&places, &sums};
    CHECK(cuLaunchKernel(function, grid, 1, 1, THREADS, 1, 1, bytes, stream, params, NULL));
}

static void launch_by_config(unsigned grid, unsigned bytes)
{
    void *params[] = {&places, &sums};
    const CUlaunchConfig config = {grid, 1, 1, THREADS, 1, 1, bytes, stream, NULL, 0};
    CHECK(cuLaunchKernelEx(&config, count, params, NULL));
}

static void launch_together(unsigned grid, unsigned bytes)
{
    void *params[] = {&places, &sums};
    CHECK(cuLaunchCooperativeKernel(count, grid, 1, 1, THREADS, 1, 1, bytes, stream, params));
}

static void launch_graph(unsigned grid, unsigned bytes)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    void *params[] = {&places, &sums};
    const CUDA_KERNEL_NODE_PARAMS about = {.func = count,
                                           .gridDimX = grid,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = THREADS,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .sharedMemBytes = bytes,
                                           .kernelParams = params};
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &about));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

// Launches with more than the program allows, though glint may have allowed the clone more.
static void launch_too_large(void)
{
    void *params[] = {&places, &sums};
    allow(count, 2 * KIB);
    printf("too large: %d\n",
           (int)cuLaunchKernel(count, 1, 1, 1, THREADS, 1, 1, 4 * KIB, stream, params, NULL));
    allow(count, 227 * KIB);
    launch(count, 1, 4 * KIB);
}

int main(void)
{
    CUmodule module;
    unsigned list[THREADS], sum = 0;
    for (unsigned i = 0; i < THREADS; i++)
        list[i] = i * i % 64;
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&count, module, "count"));
    CHECK(cuModuleGetFunction(&size, module, "size"));
    CHECK(cuModuleGetFunction(&await, module, "await"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&places, sizeof(list)));
    CHECK(cuMemAlloc_v2(&sums, sizeof(sum)));
    CHECK(cuMemcpyHtoD_v2(places, list, sizeof(list)));
    CHECK(cuMemsetD8_v2(sums, 0, sizeof(sum)));
    CHECK(cuCtxSynchronize()); // the stream does not wait for the set
    launch(count, 10, KIB);
    launch(count, 10, KIB + 1); // is rounded up
    launch(count, 1000, 4 * KIB);
    launch(size, 10, KIB);
    launch_by_config(10, KIB);
    launch_together(10, KIB);
    launch_graph(10, KIB);
    launch(count, 1, 40 * KIB);
    launch(count, 1000, 40 * KIB);
    launch(await, 1000, 40 * KIB);
    launch_together(1, 40 * KIB);
    allow(count, 227 * KIB);
    launch(count, 1, 70 * KIB);
    launch(count, 1, 100 * KIB);
    launch(count, 1, 227 * KIB);
    launch_too_large();
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH_v2(&sum, sums, sizeof(sum)));
    printf("sum %u\n", sum);
    return 0;
}
