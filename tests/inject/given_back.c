// SPDX-License-Identifier: Apache-2.0
// Leaves little memory of the GPU, launches a kernel on `early`, asks for memory, and launches it
// on `late`, for the test of memory that is given back: given_back WHAT. WHAT is what it asks for:
// some: less than is free; more: more than there is; all: all that is free; graph: all, with an
// executable graph on `late` that exists already. Nothing touches `idle`. Prints what the program
// finds, which is the same with glint.
#include <string.h>

#include "program.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry put(.param .u64 p, .param .u32 value)\n{\n"
    ".reg .b32 %r<4>; .reg .b64 %p, %d;\n"
    "ld.param.u64 %p, [p]; ld.param.u32 %r1, [value]; mov.u32 %r0, %tid.x;\n"
    "mul.wide.u32 %d, %r0, 4; add.s64 %p, %p, %d; st.global.u32 [%p], %r1;\nret;\n}\n";

enum { THREADS = 64, MIB = 1 << 20, LEFT = 64 * MIB, BYTES = 4 * MIB };

static CUfunction put;

static size_t get_free(void)
{
    size_t free_bytes, total;
    CHECK(cuMemGetInfo_v2(&free_bytes, &total));
    return free_bytes;
}

static void say_words(const char *name, CUdeviceptr address, unsigned value)
{
    unsigned words[THREADS], good = 0;
    CHECK(cuMemcpyDtoH_v2(words, address, sizeof(words)));
    for (unsigned i = 0; i < THREADS; i++)
        good += words[i] == value;
    printf("%s: %u of %d\n", name, good, THREADS);
}

int main(int count, char **arguments)
{
    CUdeviceptr early, late, idle, taken;
    CUmodule module;
    CUmemGenericAllocationHandle most; // which is mapped nowhere
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec = NULL;
    unsigned one = 1, two = 2;
    const char *what = count > 1 ? arguments[1] : "all";
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&put, module, "put"));
    CHECK(cuMemAlloc_v2(&early, BYTES));
    CHECK(cuMemAlloc_v2(&late, BYTES));
    CHECK(cuMemAlloc_v2(&idle, BYTES));
    void *on_early[] = {&early, &one}, *on_late[] = {&late, &two};
    if (strcmp(what, "graph") == 0) {
        CUDA_KERNEL_NODE_PARAMS params = {.func = put,
                                          .gridDimX = 1,
                                          .gridDimY = 1,
                                          .gridDimZ = 1,
                                          .blockDimX = THREADS,
                                          .blockDimY = 1,
                                          .blockDimZ = 1,
                                          .kernelParams = on_late};
        CHECK(cuGraphCreate(&graph, 0));
        CHECK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
        CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    }
    CHECK(cuMemCreate(&most, (get_free() - LEFT) / (2 * MIB) * (2 * MIB), &prop, 0));
    CHECK(cuLaunchKernel(put, 1, 1, 1, THREADS, 1, 1, 0, NULL, on_early, NULL));
    const size_t wanted = strcmp(what, "some") == 0   ? LEFT / 2
                          : strcmp(what, "more") == 0 ? get_free() + 1
                                                      : get_free();
    printf("%s: %d\n", what, (int)cuMemAlloc_v2(&taken, wanted));
    if (exec)
        CHECK(cuGraphLaunch(exec, NULL));
    else
        CHECK(cuLaunchKernel(put, 1, 1, 1, THREADS, 1, 1, 0, NULL, on_late, NULL));
    CHECK(cuCtxSynchronize());
    say_words("early", early, 1);
    say_words("late", late, 2);
    printf("%zu MiB free\n", get_free() / MIB);
    return 0;
}
