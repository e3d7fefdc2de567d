// SPDX-License-Identifier: Apache-2.0
// Launches grids with exactly as many blocks as fit on the GPU at once, with one more, and with one
// per multiprocessor, in all ways: persistent. With "beside", launches beside other streams. With
// "barrier", blocks wait for each other through memory; this needs a real GPU, where they run at
// once.
#include <stdbool.h>
#include <string.h>

#include "program.h"

// follow waits until a table contains an address, which it does from the start, and writes through
// it, so that its clone looks addresses up. scatter does the same without waiting. meet adds a
// barrier for all blocks between two writes; if blocks do not arrive within 5 seconds, it reports
// that at `failed` instead of waiting forever.
#define START                                                                           \
    "    .reg .b64 %rd<12>;\n    .reg .b32 %r<12>;\n    .reg .pred %p<4>;\n"            \
    "    ld.param.u64 %rd1, [table];\n    ld.global.u64 %rd2, [%rd1];\n"                \
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n" \
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n"
#define WRITE                                               \
    "    setp.ge.u32 %p1, %r5, 1024;\n    @%p1 bra done;\n" \
    "    mad.wide.u32 %rd3, %r5, 4, %rd2;\n    st.global.u32 [%rd3], %r5;\ndone:\n    ret;\n}\n"
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry follow(.param .u64 table)\n{\n" START
    "wait:\n    ld.volatile.global.u64 %rd2, [%rd1];\n"
    "    setp.eq.u64 %p2, %rd2, 0;\n    @%p2 bra wait;\n" WRITE
    ".visible .entry scatter(.param .u64 table)\n{\n" START WRITE
    ".visible .entry meet(.param .u64 table, .param .u64 came, .param .u64 failed)\n{\n" START
    "    ld.param.u64 %rd4, [came];\n    ld.param.u64 %rd5, [failed];\n"
    "    and.b32 %r6, %r5, 1023;\n    mad.wide.u32 %rd3, %r6, 4, %rd2;\n"
    "    st.global.u32 [%rd3], %r6;\n    bar.sync 0;\n"
    "    setp.ne.u32 %p1, %r4, 0;\n    @%p1 bra passed;\n"
    "    membar.gl;\n    atom.global.add.u32 %r7, [%rd4], 1;\n"
    "    mov.u64 %rd6, %globaltimer;\n    mov.u32 %r8, %nctaid.x;\n"
    "again:\n    ld.volatile.global.u32 %r9, [%rd4];\n"
    "    setp.ge.u32 %p2, %r9, %r8;\n    @%p2 bra passed;\n"
    "    mov.u64 %rd7, %globaltimer;\n    sub.u64 %rd7, %rd7, %rd6;\n"
    "    setp.lt.u64 %p3, %rd7, 5000000000;\n    @%p3 bra again;\n"
    "    mov.u32 %r10, 1;\n    st.global.u32 [%rd5], %r10;\n"
    "passed:\n    bar.sync 0;\n    ld.global.u32 %r11, [%rd3];\n    add.u32 %r11, %r11, 0;\n"
    "    st.global.u32 [%rd3], %r11;\n    ret;\n}\n";

enum { THREADS = 1024 };

static CUfunction kernel; // the kernel to launch
static CUdeviceptr table, words;
static CUstream stream;

static void by_params(unsigned grid)
{
    void *params[] = {&table};
    CHECK(cuLaunchKernel(kernel, grid, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
}

static void by_buffer(unsigned grid)
{
    size_t bytes = sizeof(table);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &table, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(kernel, 1, grid, 1, THREADS / 2, 2, 1, 0, stream, NULL, extra));
}

static void by_config(unsigned grid)
{
    void *params[] = {&table};
    const CUlaunchConfig config = {grid, 1, 1, THREADS, 1, 1, 0, stream, NULL, 0};
    CHECK(cuLaunchKernelEx(&config, kernel, params, NULL));
}

static void by_cooperation(unsigned grid)
{
    void *params[] = {&table};
    CHECK(cuLaunchCooperativeKernel(kernel, grid, 1, 1, THREADS, 1, 1, 0, stream, params));
}

static void by_shared_memory(unsigned grid, unsigned bytes)
{
    void *params[] = {&table};
    CHECK(cuLaunchKernel(kernel, grid, 1, 1, THREADS, 1, 1, bytes, stream, params, NULL));
}

// A graph of one kernel, whose grid changes for the second launch.
static void by_graph(unsigned grid, unsigned then)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    void *params[] = {&table};
    CUDA_KERNEL_NODE_PARAMS about = {.func = kernel,
                                     .gridDimX = grid,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = THREADS,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params};
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &about));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    about.gridDimX = then;
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, node, &about));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static unsigned blocks_at_once(CUfunction function, unsigned shared_bytes)
{
    int processors = 0, blocks = 0;
    CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, THREADS, shared_bytes));
    return (unsigned)(processors * blocks);
}

// A way to launch `meet`, in which all blocks must meet.
struct meeting {
    const char *how;
    bool cooperative;
    unsigned cluster; // blocks of a cluster, or 1
    bool fits;        // one block per multiprocessor, which the clone fits, too
};

static unsigned grid_of(const struct meeting *meeting, CUfunction meet)
{
    int count = 0;
    if (meeting->fits) {
        CHECK(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
        return (unsigned)count;
    }
    if (meeting->cluster == 1)
        return blocks_at_once(meet, 0);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {meeting->cluster, 1, 1, THREADS, 1, 1, 0, NULL, &attribute, 1};
    attribute.value.clusterDim.x = meeting->cluster;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    CHECK(cuOccupancyMaxActiveClusters(&count, meet, &config));
    return (unsigned)count * meeting->cluster;
}

static bool all_meet(const struct meeting *meeting, CUfunction meet, CUdeviceptr flags)
{
    unsigned failed = 0, attribute_count = 0;
    CUdeviceptr came = flags, at = flags + sizeof(unsigned);
    void *params[] = {&table, &came, &at};
    CUlaunchAttribute attributes[2];
    memset(attributes, 0, sizeof(attributes));
    if (meeting->cooperative) {
        attributes[attribute_count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[attribute_count++].value.cooperative = 1;
    }
    if (meeting->cluster > 1) {
        attributes[attribute_count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[attribute_count].value.clusterDim.x = meeting->cluster;
        attributes[attribute_count].value.clusterDim.y = 1;
        attributes[attribute_count++].value.clusterDim.z = 1;
    }
    const CUlaunchConfig config = {grid_of(meeting, meet), 1, 1, THREADS, 1, 1, 0, NULL, attributes,
                                   attribute_count};
    CHECK(cuMemsetD8_v2(flags, 0, 2 * sizeof(unsigned)));
    CHECK(cuLaunchKernelEx(&config, meet, params, NULL));
    CHECK(cuMemcpyDtoH_v2(&failed, at, sizeof(failed)));
    printf("%s: %s\n", meeting->how, failed ? "some blocks never came" : "all blocks met");
    return !failed;
}

static int barrier(CUmodule module)
{
    static const struct meeting meetings[] = {
        {"plain", false, 1, false},
        {"plain again", false, 1, false},
        {"cooperative", true, 1, false},
        {"clusters", false, 2, false},
        {"one block for each multiprocessor", false, 1, true},
    };
    int major = 0;
    bool met = true;
    CUfunction meet;
    CUdeviceptr flags;
    CHECK(cuModuleGetFunction(&meet, module, "meet"));
    CHECK(cuMemAlloc_v2(&flags, 2 * sizeof(unsigned)));
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    for (size_t i = 0; i < sizeof(meetings) / sizeof(meetings[0]); i++)
        if (meetings[i].cluster == 1 || major >= 9) // older GPUs have no clusters
            met = all_meet(&meetings[i], meet, flags) && met;
    return met ? 0 : 1;
}

// Launches beside other streams, on which kernels may wait for each other: a kernel that does not
// wait, before and after one that does; as many blocks of that as fit with probes, and few of them.
static void beside(CUmodule module)
{
    CUstream others[2];
    CUfunction scatter;
    int processors = 0;
    CHECK(cuModuleGetFunction(&scatter, module, "scatter"));
    CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    const CUfunction follow = kernel;
    by_params((unsigned)processors);
    CHECK(cuStreamCreate(&others[0], CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&others[1], CU_STREAM_NON_BLOCKING));
    by_params((unsigned)processors / 4);
    by_params((unsigned)processors);
    kernel = scatter;
    by_params(4);
    CHECK(cuStreamDestroy_v2(others[0]));
    CHECK(cuStreamDestroy_v2(others[1]));
    by_params(4);
    kernel = follow;
    by_params((unsigned)processors);
    CHECK(cuCtxSynchronize());
}

int main(int count, char **arguments)
{
    enum { MUCH = 160 << 10 }; // bytes of shared memory, more than half of a multiprocessor's
    CUmodule module;
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&kernel, module, "follow"));
    CHECK(cuMemAlloc_v2(&table, sizeof(words)));
    CHECK(cuMemAlloc_v2(&words, THREADS * sizeof(unsigned)));
    CHECK(cuMemcpyHtoD_v2(table, &words, sizeof(words)));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (count > 1 && strcmp(arguments[1], "barrier") == 0)
        return barrier(module);
    if (count > 1 && strcmp(arguments[1], "beside") == 0) {
        beside(module);
        return 0;
    }
    const unsigned all = blocks_at_once(kernel, 0);
    int processors = 0;
    CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    const unsigned few = (unsigned)processors;
    for (int round = 0; round < 2; round++) { // in the second round, glint knows the answer
        by_params(all);
        by_buffer(all);
        by_config(all);
        by_cooperation(all);
    }
    by_params(few + 1);
    // Near misses: too many blocks for the kernel as well, and few enough for the clone.
    by_params(all + 1);
    by_config(all + 1);
    by_params(few);
    by_buffer(few);
    by_config(few);
    by_cooperation(few);
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, MUCH));
    by_shared_memory(blocks_at_once(kernel, MUCH), MUCH);
    by_params(all);
    by_graph(all, few);
    by_graph(few, all);
    // Near misses: blocks that do not wait, except in launches that permit waiting.
    CHECK(cuModuleGetFunction(&kernel, module, "scatter"));
    by_params(blocks_at_once(kernel, 0));
    by_buffer(blocks_at_once(kernel, 0));
    by_config(blocks_at_once(kernel, 0));
    by_cooperation(blocks_at_once(kernel, 0));
    by_graph(blocks_at_once(kernel, 0), few);
    CHECK(cuCtxSynchronize());
    printf("launched\n");
    return 0;
}
