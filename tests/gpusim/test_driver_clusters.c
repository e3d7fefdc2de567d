// SPDX-License-Identifier: Apache-2.0
// Clusters through the simulated GPU's driver: launches, nodes of graphs, attributes of functions,
// errors of sizes, and occupancy.
#include "driver_testing.h"

// Each block stores the size of its cluster, times 100, plus its rank.
#define BODY                                                                              \
    "{ .reg .b32 %r<6>; .reg .b64 %a<4>; ld.param.u64 %a0, [p]; mov.u32 %r0, %ctaid.x;\n" \
    "mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank;\n"                    \
    "mad.lo.u32 %r3, %r2, 100, %r1; mul.wide.u32 %a1, %r0, 4; add.u64 %a1, %a0, %a1;\n"   \
    "st.global.u32 [%a1], %r3; ret; }\n"

static const char module_text[] =
    ".version 9.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry any(.param .u64 p) " BODY
    ".visible .entry two(.param .u64 p) .reqnctapercluster 2 " BODY
    ".visible .entry must(.param .u64 p) .explicitcluster " BODY
    ".visible .entry few(.param .u64 p) .explicitcluster "
    ".maxclusterrank 4 " BODY ".visible .entry units(.param .u64 p) .blocksareclusters "
    ".reqntid 1 .reqnctapercluster 2 " BODY;

static struct {
    CUmodule module;
    CUfunction any, two, must, few, units;
    CUdeviceptr memory;
} c;

static int setup(void **state)
{
    testing_setup(state);
    assert_ok(cuModuleLoadData(&c.module, module_text));
    assert_ok(cuModuleGetFunction(&c.any, c.module, "any"));
    assert_ok(cuModuleGetFunction(&c.two, c.module, "two"));
    assert_ok(cuModuleGetFunction(&c.must, c.module, "must"));
    assert_ok(cuModuleGetFunction(&c.few, c.module, "few"));
    assert_ok(cuModuleGetFunction(&c.units, c.module, "units"));
    assert_ok(cuMemAlloc_v2(&c.memory, 4096));
    return 0;
}

// Launches with clusters of that size in x; 0: without the attribute.
static CUresult launch(CUfunction function, unsigned blocks, unsigned size, CUstream stream)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {size, 1, 1}};
    CUlaunchConfig config = {blocks, 1, 1, 1, 1, 1, 0, stream, &attribute, size ? 1 : 0};
    void *params[] = {&c.memory};
    return cuLaunchKernelEx(&config, function, params, NULL);
}

static void expect_clusters(unsigned blocks, unsigned size)
{
    assert_ok(cuCtxSynchronize());
    for (unsigned i = 0; i < blocks; i++)
        assert_int_equal(testing_read(c.memory + 4 * i), size * 100 + i % size);
    assert_int_equal(testing_read(c.memory + 4 * blocks), 0);
    assert_ok(cuMemsetD32_v2(c.memory, 0, 1024));
    assert_ok(cuCtxSynchronize());
}

static void launches_have_the_clusters_that_they_ask_for(void **state)
{
    (void)state;
    assert_ok(cuMemsetD32_v2(c.memory, 0, 1024));
    void *params[] = {&c.memory};
    for (unsigned size = 1; size <= 8; size++) {
        assert_ok(launch(c.any, size * 3, size, NULL));
        expect_clusters(size * 3, size);
    }
    assert_ok(launch(c.any, 6, 0, NULL));
    expect_clusters(6, 1);
    assert_ok(cuLaunchKernel(c.two, 6, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    expect_clusters(6, 2);
    assert_ok(launch(c.two, 6, 2, NULL));
    expect_clusters(6, 2);
    assert_ok(launch(c.must, 6, 3, NULL));
    expect_clusters(6, 3);
    assert_ok(cuLaunchKernel(c.units, 3, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    expect_clusters(6, 2);
}

static void clusters_that_are_not_possible_are_errors(void **state)
{
    (void)state;
    void *params[] = {&c.memory};
    CUlaunchAttribute zero = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                              .value.clusterDim = {2, 0, 1}};
    CUlaunchConfig config = {8, 1, 1, 1, 1, 1, 0, NULL, &zero, 1};
    assert_is(cuLaunchKernelEx(&config, c.any, params, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_is(launch(c.any, 7, 2, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_is(launch(c.any, 32, 16, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_is(launch(c.two, 8, 4, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_is(launch(c.two, 7, 0, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_is(launch(c.must, 8, 0, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_is(launch(c.few, 8, 8, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_ok(launch(c.few, 8, 4, NULL));
    assert_ok(cuCtxSynchronize());
}

static int attribute_of(CUfunction function, CUfunction_attribute attribute)
{
    int value = -1;
    assert_ok(cuFuncGetAttribute(&value, attribute, function));
    return value;
}

static void functions_have_attributes_of_clusters(void **state)
{
    (void)state;
    int has_clusters = 0;
    assert_ok(cuDeviceGetAttribute(&has_clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, t.device));
    assert_int_equal(has_clusters, 1);
    assert_ok(cuMemsetD32_v2(c.memory, 0, 1024));
    assert_int_equal(attribute_of(c.two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
    assert_int_equal(attribute_of(c.two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 1);
    assert_int_equal(attribute_of(c.any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
    assert_int_equal(attribute_of(c.any, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 0);
    assert_int_equal(attribute_of(c.must, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
    assert_int_equal(attribute_of(c.any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 0);
    assert_is(cuFuncSetAttribute(c.two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4),
              CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuFuncSetAttribute(c.two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    assert_is(cuFuncSetAttribute(c.any, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1),
              CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuFuncSetAttribute(c.any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2));
    assert_int_equal(attribute_of(c.any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 1);
    assert_is(cuFuncSetAttribute(c.any, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3),
              CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuFuncSetAttribute(c.any, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                                 CU_CLUSTER_SCHEDULING_POLICY_SPREAD));
    assert_ok(cuFuncSetAttribute(c.any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    assert_ok(launch(c.any, 32, 16, NULL));
    expect_clusters(32, 16);
    assert_is(launch(c.any, 34, 17, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_ok(cuFuncSetAttribute(c.any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0));
    assert_ok(cuFuncSetAttribute(c.must, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    assert_is(launch(c.must, 8, 0, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_ok(cuFuncSetAttribute(c.must, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
    assert_ok(cuFuncSetAttribute(c.must, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
    assert_ok(launch(c.must, 8, 0, NULL));
    expect_clusters(8, 2);
    for (int i = 0; i < 3; i++)
        assert_ok(cuFuncSetAttribute(
            c.must, (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i), 0));
}

static void nodes_of_graphs_have_clusters(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode node, other;
    CUgraphExec exec;
    void *params[] = {&c.memory};
    CUDA_KERNEL_NODE_PARAMS what = {c.must, 8, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
    CUlaunchAttributeValue value = {.clusterDim = {4, 1, 1}}, is;
    assert_ok(cuMemsetD32_v2(c.memory, 0, 1024));
    assert_ok(cuGraphCreate(&graph, 0));
    assert_ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &what));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_is(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_ok(cuGraphExecDestroy(exec));
    value.clusterDim.x = 3;
    assert_is(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
              CUDA_ERROR_INVALID_CLUSTER_SIZE);
    value.clusterDim.x = 4;
    assert_ok(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
    assert_ok(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &is));
    assert_int_equal(is.clusterDim.x * 100 + is.clusterDim.y * 10 + is.clusterDim.z, 411);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphLaunch(exec, NULL));
    expect_clusters(8, 4);
    what.gridDimX = 12;
    assert_ok(cuGraphExecKernelNodeSetParams_v2(exec, node, &what));
    assert_ok(cuGraphLaunch(exec, NULL));
    expect_clusters(12, 4);
    what.gridDimX = 10;
    assert_is(cuGraphExecKernelNodeSetParams_v2(exec, node, &what),
              CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_ok(cuGraphExecDestroy(exec));
    what.gridDimX = 16;
    assert_ok(cuGraphKernelNodeSetParams_v2(node, &what));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphLaunch(exec, NULL));
    expect_clusters(16, 4);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphAddKernelNode_v2(&other, graph, &node, 1, &what));
    assert_ok(cuGraphKernelNodeCopyAttributes(other, node));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphLaunch(exec, NULL));
    expect_clusters(16, 4);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

static void captured_launches_keep_their_clusters(void **state)
{
    (void)state;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    assert_ok(cuMemsetD32_v2(c.memory, 0, 1024));
    assert_ok(cuCtxSynchronize()); // the stream does not wait for the fill
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_ok(launch(c.any, 12, 6, stream));
    assert_ok(cuStreamEndCapture(stream, &graph));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphLaunch(exec, stream));
    expect_clusters(12, 6);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuStreamDestroy_v2(stream));
}

static int clusters_at_once(CUfunction function, unsigned size, unsigned threads, unsigned shared)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {size, 1, 1}};
    CUlaunchConfig config = {64 * size, 1, 1, threads, 1, 1, shared, NULL, &attribute, 1};
    int count = -1;
    assert_ok(cuOccupancyMaxActiveClusters(&count, function, &config));
    return count;
}

// One H200 has 132 multiprocessors in a group of 14, four of 16 and three of 18.
static void occupancy_counts_whole_clusters(void **state)
{
    (void)state;
    CUlaunchConfig config = {64, 1, 1, 1024, 1, 1, 0, NULL, NULL, 0};
    int size = -1;
    assert_int_equal(clusters_at_once(c.any, 1, 1024, 0), 2 * 132);
    assert_int_equal(clusters_at_once(c.any, 2, 1024, 0), 132);
    assert_int_equal(clusters_at_once(c.any, 4, 1024, 0), 2 * (3 + 7 * 4));
    assert_int_equal(clusters_at_once(c.any, 8, 1024, 40000), 2 * (1 + 7 * 2));
    assert_ok(cuOccupancyMaxPotentialClusterSize(&size, c.any, &config));
    assert_int_equal(size, 8);
    assert_ok(cuFuncSetAttribute(c.any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    assert_ok(cuOccupancyMaxPotentialClusterSize(&size, c.any, &config));
    assert_int_equal(size, 16);
    assert_int_equal(clusters_at_once(c.any, 16, 1024, 0), 2 * 7);
    assert_ok(cuFuncSetAttribute(c.any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0));
    config.blockDimX = 1025;
    assert_is(cuOccupancyMaxPotentialClusterSize(&size, c.any, &config), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_have_the_clusters_that_they_ask_for),
        cmocka_unit_test(clusters_that_are_not_possible_are_errors),
        cmocka_unit_test(functions_have_attributes_of_clusters),
        cmocka_unit_test(nodes_of_graphs_have_clusters),
        cmocka_unit_test(captured_launches_keep_their_clusters),
        cmocka_unit_test(occupancy_counts_whole_clusters),
    };
    return cmocka_run_group_tests(tests, setup, testing_teardown);
}
