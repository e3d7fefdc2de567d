// SPDX-License-Identifier: Apache-2.0
// Prints what the driver answers about clusters: attributes of functions, launches that are not
// possible, nodes of graphs, occupancy, and faults. clusters.expected has what an H200 answers.
// Each fault runs in its own process, because it makes the device unusable for its process.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

static void *library;

static void *find(const char *name)
{
    void *function = dlsym(library, name);
    if (!function) {
        printf("libcuda.so.1 has no %s\n", name);
        fflush(stdout);
        _exit(1);
    }
    return function;
}

#define CU(name) ((__typeof__(name) *)find(#name))

// A call that must succeed for the others to make sense.
static void need(CUresult result)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("  not what is asked about here, and it failed: %d\n", (int)result);
    fflush(stdout);
    _exit(1);
}

#define BEGIN                                                                                \
    "{ .shared .align 16 .b32 w[256]; .reg .pred %q<3>; .reg .b32 %r<9>; .reg .b64 %a<4>;\n" \
    "mov.u32 %r0, %cluster_ctarank; ld.param.u64 %a0, [p];\n"
#define SYNC "barrier.cluster.arrive; barrier.cluster.wait;\n"

static const char kernels[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry any(.param .u64 p) { ret; }\n"
    ".visible .entry two(.param .u64 p) .reqnctapercluster 2 { ret; }\n"
    ".visible .entry must(.param .u64 p) .explicitcluster { ret; }\n"
    ".visible .entry few(.param .u64 p) .explicitcluster .maxclusterrank 4 { ret; }\n"
    // A rank that the cluster does not have, and memory that the other block does not have.
    ".visible .entry rank(.param .u64 p) .reqnctapercluster 2 " BEGIN
    "mapa.shared::cluster.u32 %r1, w, 5; ld.shared::cluster.u32 %r2, [%r1];\n"
    "st.global.u32 [%a0], %r2; " SYNC "ret; }\n"
    ".visible .entry beyond(.param .u64 p) .reqnctapercluster 2 " BEGIN
    "xor.b32 %r3, %r0, 1; mapa.shared::cluster.u32 %r1, w, %r3; add.u32 %r1, %r1, 1048576;\n"
    "ld.shared::cluster.u32 %r2, [%r1]; st.global.u32 [%a0], %r2; " SYNC "ret; }\n"
    // The block with rank 1 has ended.
    ".visible .entry ended(.param .u64 p) .reqnctapercluster 2 " BEGIN
    "setp.eq.u32 %q0, %r0, 1; @%q0 exit; " SYNC "nanosleep.u32 1000000;\n"
    "mapa.shared::cluster.u32 %r1, w, 1; ld.shared::cluster.u32 %r2, [%r1];\n"
    "st.global.u32 [%a0], %r2; ret; }\n"
    // An address of another block in an instruction for the block's own memory.
    ".visible .entry other(.param .u64 p) .reqnctapercluster 2 " BEGIN
    "xor.b32 %r3, %r0, 1; mapa.shared::cluster.u32 %r1, w, %r3; ld.shared::cta.u32 %r2, [%r1];\n"
    "st.global.u32 [%a0], %r2; " SYNC "ret; }\n"
    ".visible .entry misaligned(.param .u64 p) .reqnctapercluster 2 " BEGIN
    "xor.b32 %r3, %r0, 1; mapa.shared::cluster.u32 %r1, w, %r3; ld.shared::cluster.u32 %r2, "
    "[%r1+2]; st.global.u32 [%a0], %r2; " SYNC "ret; }\n";

static CUmodule module;
static CUdeviceptr memory;

static CUfunction function_of(const char *name)
{
    CUfunction function;
    need(CU(cuModuleGetFunction)(&function, module, name));
    return function;
}

static void open_device(void)
{
    CUcontext context;
    need(CU(cuInit)(0));
    need(CU(cuCtxCreate_v2)(&context, 0, 0));
    need(CU(cuModuleLoadData)(&module, kernels));
    need(CU(cuMemAlloc_v2)(&memory, 4096));
}

// --- Attributes ----------------------------------------------------------------------------------

static void set(const char *name, CUfunction_attribute attribute, int value)
{
    int now = -1;
    const CUfunction function = function_of(name);
    const int result = (int)CU(cuFuncSetAttribute)(function, attribute, value);
    CU(cuFuncGetAttribute)(&now, attribute, function);
    printf("  %-5s attribute %2d = %2d: %3d, now %d\n", name, (int)attribute, value, result, now);
}

static void attributes(void)
{
    static const char *const names[] = {"any", "two", "must", "few"};
    int has = -1;
    need(CU(cuDeviceGetAttribute)(&has, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
    printf("the device has clusters: %d\n", has);
    printf("attributes of functions, 10 to 15\n");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        printf("  %-5s", names[i]);
        for (int a = CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET;
             a <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE; a++) {
            int value = -1;
            const CUresult result =
                CU(cuFuncGetAttribute)(&value, (CUfunction_attribute)a, function_of(names[i]));
            printf(" %d/%d", (int)result, value);
        }
        printf("\n");
    }
    printf("setting them\n");
    set("any", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1);
    set("any", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1);
    set("two", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4);
    set("two", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2);
    set("any", CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2);
    set("any", CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 1);
    set("any", CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3);
    set("any", CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 0);
}

// --- Launches ------------------------------------------------------------------------------------

static CUresult launch_of(const char *name, const unsigned grid[3], const unsigned size[3],
                          bool cooperative)
{
    void *params[] = {&memory};
    CUlaunchAttribute attributes[2] = {
        {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
         .value.clusterDim = {size[0], size[1], size[2]}},
        {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1}};
    const bool asks = size[0] || size[1] || size[2];
    CUlaunchConfig config = {grid[0],
                             grid[1],
                             grid[2],
                             32,
                             1,
                             1,
                             0,
                             NULL,
                             asks ? attributes : attributes + 1,
                             (asks ? 1u : 0u) + (cooperative ? 1u : 0u)};
    const CUresult result = CU(cuLaunchKernelEx)(&config, function_of(name), params, NULL);
    return result ? result : CU(cuCtxSynchronize)();
}

static void say(const char *name, unsigned blocks, unsigned x, unsigned y, unsigned z)
{
    const unsigned grid[3] = {blocks, 4, 1}, size[3] = {x, y, z};
    printf("  %-5s %2u,4,1 by %2u,%u,%u: %d\n", name, blocks, x, y, z,
           (int)launch_of(name, grid, size, false));
}

static void launches(void)
{
    const unsigned grid[3] = {8, 1, 1}, size[3] = {2, 1, 1};
    printf("launches: kernel, grid, cluster (0: no attribute), result\n");
    say("any", 8, 0, 0, 0);
    say("any", 8, 1, 1, 1);
    say("any", 8, 2, 1, 1);
    say("any", 8, 2, 0, 1);
    say("any", 8, 2, 0, 0);
    say("any", 7, 2, 1, 1);
    say("any", 8, 2, 3, 1);
    say("any", 8, 8, 1, 1);
    say("any", 16, 4, 4, 1);
    say("any", 16, 16, 1, 1);
    say("any", 32, 32, 1, 1);
    say("two", 8, 0, 0, 0);
    say("two", 7, 0, 0, 0);
    say("two", 8, 2, 1, 1);
    say("two", 8, 4, 1, 1);
    say("two", 8, 1, 1, 1);
    say("must", 8, 0, 0, 0);
    say("must", 8, 1, 1, 1);
    say("must", 8, 4, 1, 1);
    say("few", 8, 4, 1, 1);
    say("few", 8, 8, 1, 1);
    printf("  cooperative: %d\n", (int)launch_of("any", grid, size, true));
    printf("with clusters that are not portable\n");
    set("any", CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    say("any", 16, 16, 1, 1);
    say("any", 32, 32, 1, 1);
    printf("with a required width\n");
    set("any", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2);
    say("any", 8, 0, 0, 0);
    set("any", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1);
    set("any", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1);
    say("any", 8, 0, 0, 0);
    say("any", 8, 4, 1, 1);
    for (int i = 0; i < 3; i++)
        set("any", (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i), 0);
}

// --- Graphs and occupancy ------------------------------------------------------------------------

static void node_of(const char *name)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    void *params[] = {&memory};
    CUDA_KERNEL_NODE_PARAMS what = {
        function_of(name), 8, 1, 1, 32, 1, 1, 0, params, NULL, NULL, NULL};
    CUlaunchAttributeValue value = {.clusterDim = {4, 1, 1}}, is = {.clusterDim = {9, 9, 9}};
    need(CU(cuGraphCreate)(&graph, 0));
    printf("  %s: add %d", name, (int)CU(cuGraphAddKernelNode_v2)(&node, graph, NULL, 0, &what));
    printf(", get %d", (int)CU(cuGraphKernelNodeGetAttribute)(
                           node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &is));
    printf(" (%u,%u,%u)", is.clusterDim.x, is.clusterDim.y, is.clusterDim.z);
    printf(", instantiate %d", (int)CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    printf(", set %d", (int)CU(cuGraphKernelNodeSetAttribute)(
                           node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
    const CUresult made = CU(cuGraphInstantiateWithFlags)(&exec, graph, 0);
    printf(", instantiate %d", (int)made);
    if (made == CUDA_SUCCESS) {
        what.gridDimX = 10;
        printf(", 10 blocks %d", (int)CU(cuGraphExecKernelNodeSetParams_v2)(exec, node, &what));
    }
    printf("\n");
    need(CU(cuGraphDestroy)(graph));
}

// How many clusters of more than two blocks run at once differs between GPUs of the same model.
static void print_count(unsigned size, int count)
{
    const int fit = 264 / (int)size; // two blocks on each of 132 multiprocessors
    if (size <= 2)
        printf("%d\n", count);
    else
        printf("%s\n", count <= fit && count >= fit * 3 / 4 ? "about as many" : "other");
}

static void occupancy(void)
{
    printf("clusters at once: blocks, shared bytes, result, clusters\n");
    for (unsigned size = 1; size <= 16; size *= 2) {
        for (unsigned shared = 0; shared < 49152; shared += 40000) {
            CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                           .value.clusterDim = {size, 1, 1}};
            CUlaunchConfig config = {64 * size, 1, 1, 1024, 1, 1, shared, NULL, &attribute, 1};
            int count = -1;
            const CUresult result =
                CU(cuOccupancyMaxActiveClusters)(&count, function_of("any"), &config);
            printf("  %2u %5u: %d, ", size, shared, (int)result);
            print_count(size, count);
        }
    }
    CUlaunchConfig config = {64, 1, 1, 1024, 1, 1, 0, NULL, NULL, 0};
    for (int allowed = 1; allowed >= 0; allowed--) {
        int size = -1;
        need(CU(cuFuncSetAttribute)(function_of("any"),
                                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, allowed));
        const CUresult result =
            CU(cuOccupancyMaxPotentialClusterSize)(&size, function_of("any"), &config);
        printf("  at most, portable or not %d: %d, %d\n", allowed, (int)result, size);
    }
}

// --- Faults --------------------------------------------------------------------------------------

static void fault(const char *name)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const unsigned grid[3] = {2, 1, 1}, none[3] = {0};
        open_device();
        printf("  %s: %d\n", name, (int)launch_of(name, grid, none, false));
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status)
        printf("  %s: the process ended with %d\n", name, status);
}

int main(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("faults\n");
    fault("rank");
    fault("beyond");
    fault("ended");
    fault("other");
    fault("misaligned");
    open_device();
    attributes();
    launches();
    printf("nodes of graphs\n");
    node_of("any");
    node_of("two");
    node_of("must");
    occupancy();
    return 0;
}
