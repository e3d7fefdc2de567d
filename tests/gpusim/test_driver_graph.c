// SPDX-License-Identifier: Apache-2.0
// Graphs of the simulated GPU's driver: captured from streams and built by hand, launched, changed,
// copied and queried. Also, which calls a capture forbids.
#include "driver_testing.h"

static CUstream stream, side;
static CUdeviceptr p;

static int setup(void **state)
{
    (void)state;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_ok(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    assert_ok(cuMemAlloc_v2(&p, 64));
    assert_ok(cuMemsetD32_v2(p, 1, 16));
    assert_ok(cuCtxSynchronize());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_ok(cuMemFree_v2(p));
    assert_ok(cuStreamDestroy_v2(stream));
    assert_ok(cuStreamDestroy_v2(side));
    return 0;
}

static void launch(CUgraphExec exec)
{
    assert_ok(cuGraphLaunch(exec, stream));
    assert_ok(cuStreamSynchronize(stream));
}

static CUDA_KERNEL_NODE_PARAMS scale_params(void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = t.scale,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 32,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params};
}

static void a_capture_runs_only_when_launched(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    size_t nodes, edges;
    static uint32_t host = 3;
    host = 3;
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_ok(cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_ok(cuMemcpyHtoDAsync_v2(p, &host, 4, stream));
    testing_scale(p, 1, 2, 1, stream);
    assert_ok(cuMemsetD32Async(p + 4, 8, 1, stream));
    assert_ok(cuMemcpyDtoHAsync_v2(&host, p, 4, stream));
    assert_ok(cuStreamEndCapture(stream, &graph));
    assert_int_equal(host, 3);
    assert_ok(cuGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 4);
    assert_ok(cuGraphGetEdges(graph, NULL, NULL, &edges));
    assert_int_equal(edges, 3);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphDestroy(graph));
    launch(exec);
    assert_int_equal(host, 7);
    assert_ok(cuGraphLaunch(exec, stream));
    launch(exec);
    assert_int_equal(host, 31);
    assert_int_equal(testing_read(p + 4), 8);
    assert_ok(cuGraphExecDestroy(exec));
}

static void events_carry_a_capture_to_other_streams(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec exec;
    CUevent fork_event, join_event;
    size_t edges;
    assert_ok(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
    assert_ok(cuEventCreate(&join_event, CU_EVENT_DISABLE_TIMING));
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    testing_scale(p, 1, 1, 9, stream);
    assert_ok(cuEventRecord(fork_event, stream));
    assert_ok(cuStreamWaitEvent(side, fork_event, 0));
    assert_ok(cuMemcpyDtoDAsync_v2(p + 4, p, 4, side));
    testing_scale(p + 8, 1, 5, 0, stream);
    assert_ok(cuEventRecord(join_event, side));
    assert_is(cuEventQuery(join_event), CUDA_ERROR_CAPTURED_EVENT);
    assert_ok(cuStreamWaitEvent(stream, join_event, 0));
    testing_scale(p + 4, 1, 2, 0, stream);
    assert_ok(cuStreamEndCapture(stream, &graph));
    assert_ok(cuGraphGetEdges(graph, NULL, NULL, &edges));
    assert_int_equal(edges, 4);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch(exec);
    assert_int_equal(testing_read(p), 10);
    assert_int_equal(testing_read(p + 4), 20);
    assert_int_equal(testing_read(p + 8), 5);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));

    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_ok(cuEventRecord(fork_event, stream));
    assert_ok(cuStreamWaitEvent(side, fork_event, 0));
    testing_scale(p, 1, 1, 1, side);
    assert_is(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_ok(cuStreamSynchronize(side));
    assert_ok(cuEventDestroy_v2(fork_event));
    assert_ok(cuEventDestroy_v2(join_event));
}

static void a_capture_forbids_waiting(void **state)
{
    (void)state;
    CUgraph graph;
    CUdeviceptr q;
    assert_is(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_is(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_is(cuMemsetD32Async(p, 1, 1, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_is(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_is(cuMemAlloc_v2(&q, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_is(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_ok(cuMemAlloc_v2(&q, 64));
    assert_ok(cuStreamEndCapture(stream, &graph));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuMemFree_v2(q));
    CUstream blocking;
    assert_ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    assert_ok(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_is(cuMemsetD32_v2(p, 1, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_is(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_is(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_ILLEGAL_STATE);
    assert_ok(cuStreamDestroy_v2(blocking));
}

static void add_to(void *user)
{
    *(uint32_t *)user += 100;
}

static void nodes_run_after_those_they_follow(void **state)
{
    (void)state;
    CUgraph graph, child, copy;
    CUgraphNode fill, scale, down, host, inner, empty, found, list[8];
    CUgraphExec exec;
    CUgraphNodeType type;
    uint32_t count = 1, factor = 3, summand = 2, result = 0;
    void *params[] = {&p, &count, &factor, &summand};
    CUDA_KERNEL_NODE_PARAMS kernel = scale_params(params);
    CUDA_MEMSET_NODE_PARAMS set = {.dst = p, .value = 5, .elementSize = 4, .width = 1, .height = 1};
    CUDA_MEMCPY3D copy_down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = p,
                               .dstMemoryType = CU_MEMORYTYPE_HOST,
                               .dstHost = &result,
                               .WidthInBytes = 4,
                               .Height = 1,
                               .Depth = 1};
    CUDA_HOST_NODE_PARAMS call = {add_to, &result};
    assert_ok(cuGraphCreate(&child, 0));
    assert_ok(cuGraphAddKernelNode_v2(&inner, child, NULL, 0, &kernel));
    assert_ok(cuGraphCreate(&graph, 0));
    // The nodes are added in reverse order, so that only the edges give the order.
    assert_ok(cuGraphAddHostNode(&host, graph, NULL, 0, &call));
    assert_ok(cuGraphAddMemcpyNode(&down, graph, NULL, 0, &copy_down, t.context));
    assert_ok(cuGraphAddChildGraphNode(&scale, graph, NULL, 0, child));
    assert_ok(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
    assert_ok(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &set, t.context));
    CUgraphNode from[] = {fill, empty, scale, down}, to[] = {empty, scale, down, host};
    assert_ok(cuGraphAddDependencies(graph, from, to, 4));
    assert_is(cuGraphAddDependencies(graph, &host, &fill, 1), CUDA_ERROR_INVALID_VALUE);
    size_t room = 8;
    assert_ok(cuGraphGetRootNodes(graph, list, &room));
    assert_int_equal(room, 1);
    assert_ptr_equal(list[0], fill);
    assert_ok(cuGraphNodeGetType(scale, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
    assert_ok(cuGraphClone(&copy, graph));
    assert_ok(cuGraphNodeFindInClone(&found, down, copy));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuGraphDestroy(child));
    assert_ok(cuGraphInstantiateWithFlags(&exec, copy, 0));
    launch(exec);
    assert_int_equal(result, 117);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(copy));
}

static void a_change_reaches_later_launches_only(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    uint32_t count = 1, factor = 1, summand = 1;
    void *params[] = {&p, &count, &factor, &summand};
    CUDA_KERNEL_NODE_PARAMS kernel = scale_params(params), said;
    assert_ok(cuGraphCreate(&graph, 0));
    assert_ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    testing_hold(stream);
    assert_ok(cuGraphLaunch(exec, stream)); // 1 + 1
    summand = 50;
    assert_ok(cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel));
    assert_ok(cuGraphLaunch(exec, stream)); // + 50
    testing_let_go();
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(testing_read(p), 52);
    assert_ok(cuGraphKernelNodeGetParams_v2(node, &said));
    assert_int_equal(*(uint32_t *)said.kernelParams[3], 1); // the graph itself is unchanged
    summand = 1000;
    assert_ok(cuGraphKernelNodeSetParams_v2(node, &kernel));
    CUgraphExecUpdateResultInfo info;
    assert_ok(cuGraphExecUpdate_v2(exec, graph, &info));
    launch(exec);
    assert_int_equal(testing_read(p), 1052);
    assert_ok(cuGraphNodeSetEnabled(exec, node, 0));
    launch(exec);
    assert_int_equal(testing_read(p), 1052);
    CUgraphNode extra;
    assert_ok(cuGraphAddEmptyNode(&extra, graph, &node, 1));
    assert_is(cuGraphExecUpdate_v2(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

static void an_event_recorded_by_a_graph_can_be_waited_for(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode wait, scale, record;
    CUgraphExec exec;
    CUevent before, after;
    uint32_t count = 1, factor = 1, summand = 4;
    void *params[] = {&p, &count, &factor, &summand};
    CUDA_KERNEL_NODE_PARAMS kernel = scale_params(params);
    assert_ok(cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
    assert_ok(cuEventCreate(&after, CU_EVENT_DISABLE_TIMING));
    assert_ok(cuGraphCreate(&graph, 0));
    assert_ok(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, before));
    assert_ok(cuGraphAddKernelNode_v2(&scale, graph, &wait, 1, &kernel));
    assert_ok(cuGraphAddEventRecordNode(&record, graph, &scale, 1, after));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    testing_hold(side);
    assert_ok(cuEventRecord(before, side));
    assert_ok(cuGraphLaunch(exec, stream));
    assert_is(cuEventQuery(after), CUDA_ERROR_NOT_READY);
    testing_end_later();
    assert_ok(cuEventSynchronize(after));
    assert_true(testing_released());
    pthread_join(t.setter, NULL);
    assert_int_equal(testing_read(p), 5);
    assert_ok(cuStreamSynchronize(stream));
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuEventDestroy_v2(before));
    assert_ok(cuEventDestroy_v2(after));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_capture_runs_only_when_launched, setup, teardown),
        cmocka_unit_test_setup_teardown(events_carry_a_capture_to_other_streams, setup, teardown),
        cmocka_unit_test_setup_teardown(a_capture_forbids_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes_run_after_those_they_follow, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_reaches_later_launches_only, setup, teardown),
        cmocka_unit_test_setup_teardown(an_event_recorded_by_a_graph_can_be_waited_for, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
