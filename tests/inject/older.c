// SPDX-License-Identifier: Apache-2.0
// A program for drivers of CUDA 11.4: it uses nothing newer, and its PTX is older. Its kernel has
// parameters of several sizes. It launches it by pointers to them, by a buffer, and in a graph.
#include <stdio.h>
#include <string.h>

#include "cudaabi/cudaabi.h"

static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u8 step, .param .u64 from, .param .align 4 .b8 pair[8],\n"
    "    .param .u16 times, .param .u64 to)\n"
    "{\n"
    ".reg .b16 %h<3>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .pred %p;\n"
    "ld.param.u8 %h1, [step];\n"
    "ld.param.u64 %d1, [from];\n"
    "ld.param.u32 %r1, [pair+4];\n"
    "ld.param.u16 %h2, [times];\n"
    "ld.param.u64 %d2, [to];\n"
    "cvta.to.global.u64 %d1, %d1;\n"
    "cvta.to.global.u64 %d2, %d2;\n"
    "mov.u32 %r2, %tid.x;\n"
    "cvt.u32.u8 %r3, %h1;\n"
    "mul.lo.u32 %r4, %r2, %r3;\n" // index of the element
    "mul.wide.u32 %d3, %r4, 4;\n"
    "add.s64 %d4, %d1, %d3;\n"
    "ld.global.u32 %r5, [%d4];\n"
    "cvt.u32.u16 %r6, %h2;\n"
    "mad.lo.u32 %r7, %r5, %r6, %r1;\n"
    "add.s64 %d5, %d2, %d3;\n"
    "st.global.u32 [%d5], %r7;\n"
    "ret;\n"
    "}\n";

enum { THREADS = 32, STEP = 2, COUNT = THREADS * STEP };

#define TRY(call)                                              \
    do {                                                       \
        const CUresult result = (call);                        \
        if (result != CUDA_SUCCESS) {                          \
            printf("%s failed with %d\n", #call, (int)result); \
            return 1;                                          \
        }                                                      \
    } while (0)

static int show(CUdeviceptr memory)
{
    unsigned values[COUNT], sum = 0;
    TRY(cuMemcpyDtoH_v2(values, memory, sizeof(values)));
    for (int i = 0; i < COUNT; i++)
        sum = sum * 31 + values[i];
    printf("%u\n", sum);
    return 0;
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CUdeviceptr a, b, c, unused;
    unsigned values[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        values[i] = i * i;
    TRY(cuInit(0));
    TRY(cuCtxCreate_v2(&context, 0, 0));
    TRY(cuModuleLoadData(&module, text));
    TRY(cuModuleGetFunction(&add, module, "add"));
    TRY(cuMemAlloc_v2(&a, sizeof(values)));
    TRY(cuMemAlloc_v2(&b, sizeof(values)));
    TRY(cuMemAlloc_v2(&c, sizeof(values)));
    TRY(cuMemAlloc_v2(&unused, sizeof(values)));
    TRY(cuMemcpyHtoD_v2(a, values, sizeof(values)));
    TRY(cuMemsetD32_v2(b, 7, COUNT));
    TRY(cuMemsetD32_v2(c, 9, COUNT));

    unsigned char step = STEP;
    unsigned pair[2] = {1, 5};
    unsigned short times = 3;
    void *params[] = {&step, &a, pair, &times, &b};
    TRY(cuLaunchKernel(add, 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
    if (show(b))
        return 1;

    struct {
        unsigned char step;
        CUdeviceptr from;
        unsigned pair[2];
        unsigned short times;
        CUdeviceptr to;
    } buffer = {STEP, b, {1, 6}, 4, c};
    size_t bytes = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    TRY(cuLaunchKernel(add, 1, 1, 1, THREADS, 1, 1, 0, NULL, NULL, extra));
    if (show(c))
        return 1;

    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS_v1 about = {.func = add,
                                        .gridDimX = 1,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = THREADS,
                                        .blockDimY = 1,
                                        .blockDimZ = 1,
                                        .kernelParams = params};
    params[1] = &c;
    TRY(cuGraphCreate(&graph, 0));
    TRY(cuGraphAddKernelNode(&node, graph, NULL, 0, &about));
    TRY(cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0));
    for (int i = 0; i < 2; i++)
        TRY(cuGraphLaunch(exec, NULL));
    TRY(cuCtxSynchronize());
    return show(b);
}
