// SPDX-License-Identifier: Apache-2.0
// Captures that fail return the codes that CUDA documents, and leave nothing behind. Also, what
// graphs keep alive.
#include "driver_testing.h"

static CUstream stream, side;
static CUevent event;
static CUdeviceptr p;

static int setup(void **state)
{
    (void)state;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_ok(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    assert_ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    assert_ok(cuMemAlloc_v2(&p, 64));
    assert_ok(cuMemsetD32_v2(p, 1, 16));
    assert_ok(cuCtxSynchronize());
    return 0;
}

// No capture may be active after a test: this call would fail.
static int teardown(void **state)
{
    (void)state;
    assert_ok(cuCtxSynchronize());
    assert_ok(cuMemFree_v2(p));
    assert_ok(cuEventDestroy_v2(event));
    assert_ok(cuStreamDestroy_v2(stream));
    assert_ok(cuStreamDestroy_v2(side));
    return 0;
}

static void begin(CUstream on)
{
    assert_ok(cuStreamBeginCapture_v2(on, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void assert_spoiled(CUstream of)
{
    CUstreamCaptureStatus status;
    CUgraph graph = (CUgraph)1;
    assert_ok(cuStreamIsCapturing(of, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_is(cuStreamEndCapture(of, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
    assert_ok(cuStreamIsCapturing(of, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

static void two_captures_do_not_merge(void **state)
{
    (void)state;
    begin(stream);
    begin(side);
    assert_ok(cuEventRecord(event, side));
    assert_is(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    assert_spoiled(stream);
    assert_spoiled(side);
}

static void a_capture_does_not_wait_for_what_is_outside(void **state)
{
    (void)state;
    assert_ok(cuEventRecord(event, side));
    begin(stream);
    assert_is(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    assert_spoiled(stream);
}

static void the_legacy_stream_does_not_join_a_capture(void **state)
{
    (void)state;
    begin(stream);
    assert_ok(cuEventRecord(event, stream));
    assert_is(cuStreamWaitEvent(NULL, event, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_spoiled(stream);
}

static void a_capture_ends_where_it_began(void **state)
{
    (void)state;
    CUgraph graph;
    begin(stream);
    assert_ok(cuEventRecord(event, stream));
    assert_ok(cuStreamWaitEvent(side, event, 0));
    assert_is(cuStreamEndCapture(side, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    assert_is(cuStreamBeginCapture_v2(side, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_ILLEGAL_STATE);
    cuStreamEndCapture(stream, &graph);
    if (graph)
        assert_ok(cuGraphDestroy(graph));
}

static void *end_elsewhere(void *unused)
{
    (void)unused;
    CUgraph graph;
    cuCtxSetCurrent(t.context);
    return (void *)(uintptr_t)cuStreamEndCapture(stream, &graph);
}

static void a_capture_ends_in_its_thread(void **state)
{
    (void)state;
    pthread_t thread;
    void *result;
    CUgraph graph;
    begin(stream);
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, NULL), 0);
    pthread_join(thread, &result);
    assert_int_equal((uintptr_t)result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    assert_ok(cuStreamEndCapture(stream, &graph));
    assert_ok(cuGraphDestroy(graph));
}

static void ignore(CUstream of, CUresult status, void *user)
{
    (void)of, (void)status, (void)user;
}

static void callbacks_and_queries_are_not_captured(void **state)
{
    (void)state;
    begin(stream);
    assert_is(cuStreamAddCallback(stream, ignore, NULL, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_spoiled(stream);
    begin(stream);
    assert_is(cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_spoiled(stream);
    begin(stream);
    assert_ok(cuEventRecord(event, stream));
    assert_is(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
    CUgraph graph;
    cuStreamEndCapture(stream, &graph);
    if (graph)
        assert_ok(cuGraphDestroy(graph));
    assert_ok(cuEventRecord(event, stream)); // the event is usable again
    assert_ok(cuEventSynchronize(event));
}

// A fork and a fork of the fork are joined: all four kernels run, in order.
static void forks_of_forks_join(void **state)
{
    (void)state;
    CUstream third;
    CUevent second, done_side, done_third;
    CUgraph graph;
    CUgraphExec exec;
    size_t count;
    assert_ok(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
    assert_ok(cuEventCreate(&second, 0));
    assert_ok(cuEventCreate(&done_side, 0));
    assert_ok(cuEventCreate(&done_third, 0));
    begin(stream);
    testing_scale(p, 1, 1, 1, stream); // 2
    assert_ok(cuEventRecord(event, stream));
    assert_ok(cuStreamWaitEvent(side, event, 0));
    testing_scale(p, 1, 3, 0, side); // 6
    assert_ok(cuEventRecord(second, side));
    assert_ok(cuStreamWaitEvent(third, second, 0));
    testing_scale(p, 1, 1, 4, third); // 10
    assert_ok(cuEventRecord(done_third, third));
    assert_ok(cuEventRecord(done_side, side));
    assert_ok(cuStreamWaitEvent(stream, done_side, 0));
    assert_ok(cuStreamWaitEvent(stream, done_third, 0));
    testing_scale(p, 1, 2, 0, stream); // 20
    assert_ok(cuStreamEndCapture(stream, &graph));
    assert_ok(cuGraphGetRootNodes(graph, NULL, &count));
    assert_int_equal(count, 1);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphLaunch(exec, stream));
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(testing_read(p), 20);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuEventDestroy_v2(second));
    assert_ok(cuEventDestroy_v2(done_side));
    assert_ok(cuEventDestroy_v2(done_third));
    assert_ok(cuStreamDestroy_v2(third));
}

// A stream that joined a capture may be destroyed, but its work must still be joined.
static void a_fork_may_be_destroyed_before_the_capture_ends(void **state)
{
    (void)state;
    for (int joins = 0; joins < 2; joins++) {
        CUstream fork_stream;
        CUevent done;
        CUgraph graph = NULL;
        assert_ok(cuStreamCreate(&fork_stream, CU_STREAM_NON_BLOCKING));
        assert_ok(cuEventCreate(&done, 0));
        begin(stream);
        assert_ok(cuEventRecord(event, stream));
        assert_ok(cuStreamWaitEvent(fork_stream, event, 0));
        testing_scale(p, 1, 1, 1, fork_stream);
        assert_ok(cuEventRecord(done, fork_stream));
        assert_ok(cuStreamDestroy_v2(fork_stream));
        if (joins)
            assert_ok(cuStreamWaitEvent(stream, done, 0));
        testing_scale(p, 1, 2, 0, stream);
        assert_is(cuStreamEndCapture(stream, &graph),
                  joins ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        if (graph)
            assert_ok(cuGraphDestroy(graph));
        assert_ok(cuEventDestroy_v2(done));
    }
}

static void an_update_must_keep_the_kinds_of_nodes(void **state)
{
    (void)state;
    CUgraph graph, other;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    begin(stream);
    testing_scale(p, 1, 1, 1, stream);
    assert_ok(cuStreamEndCapture(stream, &graph));
    begin(stream);
    assert_ok(cuMemsetD32Async(p, 5, 1, stream));
    assert_ok(cuStreamEndCapture(stream, &other));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_is(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    assert_ok(cuGraphLaunch(exec, stream)); // unchanged
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(testing_read(p), 2);
    assert_ok(cuGraphDestroy(other));
    begin(stream);
    testing_scale(p, 1, 1, 40, stream);
    assert_ok(cuStreamEndCapture(stream, &other));
    assert_ok(cuGraphExecUpdate_v2(exec, other, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    assert_ok(cuGraphDestroy(other));
    assert_ok(cuGraphLaunch(exec, stream));
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(testing_read(p), 42);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

static void count_up(void *number)
{
    ++*(int *)number;
}

static void objects_of_the_program_live_as_long_as_a_graph_needs_them(void **state)
{
    (void)state;
    CUgraph graph, copy;
    CUgraphExec exec;
    CUuserObject object;
    int destroyed = 0;
    assert_is(cuUserObjectCreate(&object, &destroyed, count_up, 0, 1), CUDA_ERROR_INVALID_VALUE);
    assert_ok(
        cuUserObjectCreate(&object, &destroyed, count_up, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    assert_ok(cuGraphCreate(&graph, 0));
    assert_ok(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    assert_ok(cuGraphClone(&copy, graph));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuGraphDestroy(copy));
    testing_hold(stream);
    assert_ok(cuGraphLaunch(exec, stream));
    assert_ok(cuGraphExecDestroy(exec)); // while its launch is still queued
    assert_int_equal(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST), 0);
    testing_let_go();
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(two_captures_do_not_merge),
        TEST(a_capture_does_not_wait_for_what_is_outside),
        TEST(the_legacy_stream_does_not_join_a_capture),
        TEST(a_capture_ends_where_it_began),
        TEST(a_capture_ends_in_its_thread),
        TEST(callbacks_and_queries_are_not_captured),
        TEST(forks_of_forks_join),
        TEST(a_fork_may_be_destroyed_before_the_capture_ends),
        TEST(an_update_must_keep_the_kinds_of_nodes),
        TEST(objects_of_the_program_live_as_long_as_a_graph_needs_them),
    };
    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
