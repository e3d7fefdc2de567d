// SPDX-License-Identifier: Apache-2.0
// Launches a kernel before, between and after cuProfilerStart and cuProfilerStop, directly and in a
// graph, on memory of its own each time. One object is never used.
#include <stdio.h>

#include "cudaabi/cudaabi.h"

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry fill(.param .u64 to)\n"
                           "{\n"
                           ".reg .b32 %r;\n.reg .b64 %d<3>;\n"
                           "ld.param.u64 %d1, [to];\n"
                           "cvta.to.global.u64 %d1, %d1;\n"
                           "mov.u32 %r, %tid.x;\n"
                           "mul.wide.u32 %d2, %r, 4;\n"
                           "add.s64 %d1, %d1, %d2;\n"
                           "st.global.u32 [%d1], %r;\n"
                           "ret;\n"
                           "}\n";

enum { OBJECTS = 6, THREADS = 64 };

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction fill;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUdeviceptr objects[OBJECTS];
    unsigned sum = 0, values[THREADS];
    if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuModuleLoadData(&module, text) ||
        cuModuleGetFunction(&fill, module, "fill"))
        return 1;
    for (int i = 0; i < OBJECTS; i++)
        if (cuMemAlloc_v2(&objects[i], sizeof(values)))
            return 1;
    void *params[] = {&objects[3]};
    CUDA_KERNEL_NODE_PARAMS_v1 about = {.func = fill,
                                        .gridDimX = 1,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = THREADS,
                                        .blockDimY = 1,
                                        .blockDimZ = 1,
                                        .kernelParams = params};
    if (cuGraphCreate(&graph, 0) || cuGraphAddKernelNode(&node, graph, NULL, 0, &about) ||
        cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0))
        return 1;
    for (int i = 0; i < 3; i++) { // before, between, after
        void *own[] = {&objects[i]};
        if (i == 1)
            cuProfilerStart();
        if (cuLaunchKernel(fill, 1, 1, 1, THREADS, 1, 1, 0, NULL, own, NULL) ||
            cuGraphLaunch(exec, NULL) || cuCtxSynchronize())
            return 1;
        if (i == 1)
            cuProfilerStop();
    }
    for (int i = 0; i < 4; i++) {
        if (cuMemcpyDtoH_v2(values, objects[i], sizeof(values)))
            return 1;
        for (int k = 0; k < THREADS; k++)
            sum += values[k] * (unsigned)(i + 1);
    }
    void *first[] = {&objects[0]};
    if (cuLaunchKernel(fill, 1, 1, 1, THREADS, 1, 1, 0, NULL, first, NULL) || cuCtxSynchronize())
        return 1;
    printf("%u\n", sum);
    for (int i = 0; i < OBJECTS; i++)
        cuMemFree_v2(objects[i]);
    return 0;
}
