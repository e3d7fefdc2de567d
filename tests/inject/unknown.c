// SPDX-License-Identifier: Apache-2.0
// Makes a launch whose accesses cannot be inferred from its arguments alone, for the tests of
// unknown accesses: unknown NAME. Objects: only the named launch touches `out`, an earlier launch
// reads and writes `in`, and nothing touches `idle`.
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

// put: each thread writes p[i]; no thread writes to q. first: writes p[i + 1]. last: writes p[-1 -
// i]. plain: ignores the upper byte of p. apart: writes p[i + d / 4]. both: also writes p[i]. find:
// writes p[i + *q]. fetch: stores to p what a texture reads. fail: writes p and ends by a trap.
#define KERNEL(name, params, body)                                                \
    ".visible .entry " name "(.param .u64 p" params ")\n{\n"                      \
    ".reg .b32 %r<8>; .reg .b64 %p, %q, %d<4>; .reg .pred %c; .reg .f32 %f<4>;\n" \
    "ld.param.u64 %p, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4;\n" body "ret;\n}\n"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n" KERNEL(
    "put", ", .param .u64 q",
    "ld.param.u64 %q, [q]; add.s64 %d1, %p, %d0; st.global.u32 [%d1], %r0;\n"
    "setp.gt.u32 %c, %r0, 1000; @!%c bra L; st.global.u32 [%q], %r0;\nL:\n")
    KERNEL("first", "", "add.s64 %d1, %p, %d0; st.global.u32 [%d1+4], %r0;\n")
        KERNEL("last", "", "sub.s64 %d1, %p, %d0; st.global.u32 [%d1+-4], %r0;\n") KERNEL(
            "plain", "",
            "and.b64 %p, %p, 0x00ffffffffffffff; add.s64 %d1, %p, %d0;\n"
            "st.global.u32 [%d1], %r0;\n") KERNEL("apart", ", .param .u64 d",
                                                  "ld.param.u64 %d2, [d]; cvta.to.global.u64 %p, "
                                                  "%p;\n"
                                                  "add.s64 %d1, %p, %d2; add.s64 %d1, %d1, %d0;\n"
                                                  "st.global.u32 [%d1], %r0;\n")
            KERNEL("both", ", .param .u64 d",
                   "ld.param.u64 %d2, [d]; cvta.to.global.u64 %p, %p; add.s64 %d1, %p, %d0;\n"
                   "st.global.u32 [%d1], %r0; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r0;\n")
                KERNEL(
                    "find", ", .param .u64 q",
                    "ld.param.u64 %q, [q]; ld.global.s32 %r1, [%q]; add.s32 %r1, %r1, %r0;\n"
                    "mul.wide.s32 %d1, %r1, 4; add.s64 %d1, %p, %d1; st.global.u32 [%d1], %r0;\n")
                    KERNEL("fetch", ", .param .u64 t",
                           "ld.param.u64 %q, [t]; add.s64 %d1, %p, %d0;\n"
                           "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%q, {%r0}];\n"
                           "st.global.u32 [%d1], %r1;\n")
                        KERNEL("fail", "",
                               "add.s64 %d1, %p, %d0; setp.gt.u32 %c, %r0, 1000;\n"
                               "@%c st.global.u32 [%d1], %r0; trap;\n");

enum { COUNT = 256, BYTES = 4 * COUNT };

static CUmodule module;
static CUdeviceptr out, in, idle;

static CUfunction function(const char *name)
{
    CUfunction found;
    CHECK(cuModuleGetFunction(&found, module, name));
    return found;
}

static void launch(const char *name, uint64_t p, uint64_t other)
{
    void *params[] = {&p, &other};
    CHECK(cuLaunchKernel(function(name), 1, 1, 1, COUNT, 1, 1, 0, NULL, params, NULL));
}

static void in_a_graph(const char *name, uint64_t p, uint64_t other, unsigned times)
{
    void *params[] = {&p, &other};
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = function(name),
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = COUNT,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = params};
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (unsigned i = 0; i < times; i++)
        CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuCtxSynchronize());
}

// Memory holds how far the words are from the pointer.
static void find(uint64_t from)
{
    const int32_t words = (int32_t)((int64_t)(out - from) / 4);
    CHECK(cuMemcpyHtoD_v2(in, &words, sizeof(words)));
    launch("find", from, in);
}

static void by_a_texture(void)
{
    CUtexObject texture;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
    CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    resource.res.linear.devPtr = out;
    resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = BYTES;
    CHECK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    launch("fetch", in, texture);
    CHECK(cuCtxSynchronize());
}

static void by_values(void)
{
    CUstreamBatchMemOpParams both[2] = {{0}};
    both[0].operation = both[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    both[0].writeValue.address = out + 8;
    both[1].writeValue.address = in + 8;
    CHECK(cuStreamWriteValue32_v2(NULL, out + 4, 7, 0));
    CHECK(cuStreamBatchMemOp_v2(NULL, 2, both, 0));
    CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
#define IS(word) (strcmp(name, word) == 0)
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuMemAlloc_v2(&in, BYTES));
    CHECK(cuMemAlloc_v2(&out, BYTES));
    CHECK(cuMemAlloc_v2(&idle, BYTES));
    launch("put", in, 0);
    CHECK(cuCtxSynchronize());
    if (IS("inside"))
        launch("put", out, 0);
    else if (IS("bound")) // nothing is accessed through it
        launch("put", out, out + BYTES);
    else if (IS("one-based"))
        launch("first", out - 4, 0);
    else if (IS("backwards"))
        launch("last", out + BYTES, 0);
    else if (IS("tagged"))
        launch("plain", out | UINT64_C(0xa5) << 56, 0);
    else if (IS("distance"))
        launch("apart", in, out - in);
    else if (IS("both"))
        launch("both", in, out - in);
    else if (IS("found") || IS("found-outside"))
        find(IS("found") ? in : out - 4);
    else if (IS("graph"))
        in_a_graph("first", out - 4, 0, 3);
    else if (IS("graph-both"))
        in_a_graph("both", in, out - in, 3);
    else if (IS("texture"))
        by_a_texture();
    else if (IS("values"))
        by_values();
    else
        launch(IS("fail") ? "fail" : "put", out, 0);
    if (IS("_exit"))
        _exit(0);
    if (IS("abort"))
        abort();
    if (IS("killed"))
        raise(SIGKILL);
    if (IS("fault"))
        raise(SIGSEGV);
    printf("%d\n", (int)cuCtxSynchronize());
    return 0;
}
