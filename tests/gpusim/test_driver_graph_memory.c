// SPDX-License-Identifier: Apache-2.0
// Memory that graphs of the simulated GPU's driver allocate: its lifetime, which calls may free it,
// and that it has the same address in every launch.
#include "driver_testing.h"

static CUstream stream;
static CUdeviceptr p;

static int setup(void **state)
{
    (void)state;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_ok(cuMemAlloc_v2(&p, 64));
    assert_ok(cuCtxSynchronize()); // other tests' graphs have ended
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_ok(cuMemFree_v2(p));
    assert_ok(cuStreamDestroy_v2(stream));
    return 0;
}

static void launch(CUgraphExec exec)
{
    assert_ok(cuGraphLaunch(exec, stream));
    assert_ok(cuStreamSynchronize(stream));
}

// Makes a graph that allocates q and sets it to 5.
static CUgraph filling_graph(CUstream on, CUdeviceptr *q)
{
    CUgraph graph;
    assert_ok(cuStreamBeginCapture_v2(on, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_ok(cuMemAllocAsync(q, 4096, on));
    assert_ok(cuMemsetD32Async(*q, 5, 1024, on));
    assert_ok(cuStreamEndCapture(on, &graph));
    return graph;
}

static void memory_of_a_graph_lives_from_node_to_node(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode alloc, fill, copy, release;
    CUgraphExec exec;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = 4096};
    assert_ok(cuGraphCreate(&graph, 0));
    assert_ok(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = memory.dptr, .value = 6, .elementSize = 4, .width = 1, .height = 1};
    assert_ok(cuGraphAddMemsetNode(&fill, graph, &alloc, 1, &set, t.context));
    CUDA_MEMCPY3D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = memory.dptr,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = p,
                          .WidthInBytes = 4,
                          .Height = 1,
                          .Depth = 1};
    assert_ok(cuGraphAddMemcpyNode(&copy, graph, &fill, 1, &down, t.context));
    assert_ok(cuGraphAddMemFreeNode(&release, graph, &copy, 1, memory.dptr));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch(exec);
    launch(exec);
    assert_int_equal(testing_read(p), 6);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

// A graph allocates memory and the program frees it. Every launch allocates at the same address,
// and the memory can be freed only once.
static void the_program_may_free_what_a_graph_allocates(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr q, other;
    size_t before, after, total;
    assert_ok(cuMemGetInfo_v2(&before, &total));
    graph = filling_graph(stream, &q);
    assert_is(cuMemFree_v2(q), CUDA_ERROR_INVALID_VALUE); // it does not exist before a launch
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        assert_ok(cuGraphLaunch(exec, stream));
        assert_is(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE); // not freed yet
        testing_scale(q, 1024, 2, i, stream);
        assert_ok(cuStreamSynchronize(stream));
        assert_int_equal(testing_read(q), 10 + i);
        if (i % 2)
            assert_ok(cuMemFree_v2(q));
        else
            assert_ok(cuMemFreeAsync(q, stream));
        assert_is(cuMemFreeAsync(q, stream), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemAllocAsync(&other, 4096, stream)); // gets other memory
        assert_true(other != q);
        assert_ok(cuMemFreeAsync(other, stream));
    }
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(
        cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    assert_ok(cuGraphLaunch(exec, stream));
    assert_ok(cuGraphLaunch(exec, stream));
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(testing_read(q), 5); // the memory outlives its graph until it is freed
    assert_ok(cuMemFreeAsync(q, stream));
    assert_ok(cuStreamSynchronize(stream));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(after, before);
}

// The same with nodes added by hand, as in the runtime's examples.
static void nodes_made_by_hand_allocate_at_every_launch(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode alloc, fill;
    CUgraphExec exec;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = 4096};
    assert_ok(cuGraphCreate(&graph, 0));
    assert_ok(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = memory.dptr, .value = 6, .elementSize = 4, .width = 1, .height = 1};
    assert_ok(cuGraphAddMemsetNode(&fill, graph, &alloc, 1, &set, t.context));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        launch(exec);
        assert_is(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(testing_read(memory.dptr), 6);
        assert_ok(i == 1 ? cuMemFree_v2(memory.dptr) : cuMemFreeAsync(memory.dptr, stream));
        assert_is(cuMemFreeAsync(memory.dptr, stream), CUDA_ERROR_INVALID_VALUE);
    }
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

// The free before a launch may still be queued in another stream. The launch runs after it.
static void a_launch_follows_the_free_before_it(void **state)
{
    (void)state;
    CUdeviceptr q;
    CUgraphExec exec;
    CUgraph graph = filling_graph(stream, &q);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch(exec);
    testing_hold(NULL);
    assert_ok(cuMemFree_v2(q)); // ordered by the default stream
    assert_ok(cuGraphLaunch(exec, stream));
    testing_scale(q, 1024, 2, 1, stream);
    assert_is(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    testing_let_go();
    assert_ok(cuStreamSynchronize(stream));
    assert_ok(cuCtxSynchronize());
    testing_scale(q, 1024, 2, 1, stream); // the memory still exists
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(testing_read(q), 23);
    assert_ok(cuMemFreeAsync(q, stream));
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

// The program's copies and sets accept the memory only while a launch has allocated it.
static void calls_find_it_only_while_it_is_there(void **state)
{
    (void)state;
    CUdeviceptr q;
    CUgraphExec exec;
    CUgraph graph = filling_graph(stream, &q);
    uint32_t word = 9;
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        assert_is(cuMemcpyHtoD_v2(q, &word, 4), CUDA_ERROR_INVALID_VALUE);
        assert_is(cuMemcpyDtoH_v2(&word, q, 4), CUDA_ERROR_INVALID_VALUE);
        assert_is(cuMemsetD32Async(q, 1, 1, stream), CUDA_ERROR_INVALID_VALUE);
        launch(exec);
        assert_ok(cuMemcpyHtoD_v2(q, &word, 4));
        assert_ok(cuMemsetD32Async(q + 4, 7, 1, stream));
        assert_ok(cuStreamSynchronize(stream));
        assert_int_equal(testing_read(q), 9);
        assert_int_equal(testing_read(q + 4), 7);
        assert_ok(cuMemFreeAsync(q, stream));
    }
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

// --- What such graphs do not support -------------------------------------------------------------

static void assert_has_one_executable(CUgraph graph)
{
    CUgraphExec exec, second;
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    for (int i = 0; i < 2; i++) {
        assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
        assert_is(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
        assert_is(cuGraphInstantiate_v2(&second, graph, NULL, NULL, 0), CUDA_ERROR_NOT_SUPPORTED);
        assert_is(cuGraphInstantiateWithParams(&second, graph, &params), CUDA_ERROR_NOT_SUPPORTED);
        assert_int_equal(params.result_out, CUDA_GRAPH_INSTANTIATE_ERROR);
        assert_ok(cuGraphExecDestroy(exec));
    }
}

static void a_graph_with_memory_has_one_executable_at_a_time(void **state)
{
    (void)state;
    CUdeviceptr q;
    CUgraphNode node;
    CUgraph allocating = filling_graph(stream, &q), freeing, neither;
    CUgraphExec exec, second;
    assert_has_one_executable(allocating);
    assert_ok(cuGraphCreate(&freeing, 0));
    assert_ok(cuGraphAddMemFreeNode(&node, freeing, NULL, 0, q));
    assert_has_one_executable(freeing);
    assert_ok(cuGraphInstantiateWithFlags(&exec, allocating, 0));
    assert_ok(cuGraphInstantiateWithFlags(&second, freeing, 0)); // another graph
    assert_ok(cuGraphDestroy(allocating));
    launch(exec);
    launch(second);
    launch(exec);
    launch(second);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphExecDestroy(second));
    assert_ok(cuGraphDestroy(freeing));

    assert_ok(cuGraphCreate(&neither, 0));
    assert_ok(cuGraphAddEmptyNode(&node, neither, NULL, 0));
    assert_ok(cuGraphInstantiateWithFlags(&exec, neither, 0));
    assert_ok(cuGraphInstantiateWithFlags(&second, neither, 0));
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphExecDestroy(second));
    assert_ok(cuGraphDestroy(neither));
}

static void a_graph_with_memory_is_not_copied_and_loses_nothing(void **state)
{
    (void)state;
    CUdeviceptr q;
    CUgraph graph = filling_graph(stream, &q), copy, parent;
    CUgraphNode from, to, last, child;
    size_t count = 1;
    assert_is(cuGraphClone(&copy, graph), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuGraphCreate(&parent, 0));
    assert_is(cuGraphAddChildGraphNode(&child, parent, NULL, 0, graph), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuGraphGetEdges(graph, &from, &to, &count));
    assert_is(cuGraphRemoveDependencies(graph, &from, &to, 1), CUDA_ERROR_NOT_SUPPORTED);
    assert_is(cuGraphDestroyNode(to), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuGraphAddEmptyNode(&last, graph, NULL, 0));
    assert_ok(cuGraphAddDependencies(graph, &to, &last, 1));
    assert_ok(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 3);
    assert_ok(cuGraphDestroy(graph));

    assert_ok(cuGraphCreate(&graph, 0)); // the same without memory
    assert_ok(cuGraphAddEmptyNode(&from, graph, NULL, 0));
    assert_ok(cuGraphAddEmptyNode(&to, graph, &from, 1));
    assert_ok(cuGraphClone(&copy, graph));
    assert_ok(cuGraphAddChildGraphNode(&child, parent, NULL, 0, graph));
    assert_ok(cuGraphRemoveDependencies(graph, &from, &to, 1));
    assert_ok(cuGraphDestroyNode(to));
    assert_ok(cuGraphDestroy(copy));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuGraphDestroy(parent));
}

static void a_child_that_is_moved_may_allocate(void **state)
{
    (void)state;
    CUdeviceptr q;
    CUgraph child = filling_graph(stream, &q), parent, other;
    CUgraphNode node, free_node;
    CUgraphExec exec;
    CUgraphNodeParams params = {
        .type = CU_GRAPH_NODE_TYPE_GRAPH,
        .graph = {.graph = child, .ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE}};
    assert_ok(cuGraphCreate(&parent, 0));
    assert_ok(cuGraphCreate(&other, 0));
    assert_ok(cuGraphInstantiateWithFlags(&exec, child, 0));
    assert_is(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuGraphExecDestroy(exec));
    assert_is(cuGraphAddNode_v2(&node, child, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &params));
    assert_has_one_executable(parent);
    assert_is(cuGraphClone(&other, parent), CUDA_ERROR_NOT_SUPPORTED);
    // The child belongs to the parent.
    assert_is(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuGraphInstantiateWithFlags(&exec, child, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuGraphAddNode_v2(&node, other, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuGraphAddMemFreeNode(&free_node, child, NULL, 0, q), CUDA_ERROR_NOT_SUPPORTED);

    assert_ok(cuGraphAddMemFreeNode(&free_node, parent, &node, 1, q));
    assert_ok(cuGraphInstantiateWithFlags(&exec, parent, 0));
    launch(exec);
    launch(exec);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(parent));
    assert_ok(cuGraphDestroy(other));
}

// --- Faults --------------------------------------------------------------------------------------

// In child processes, before the other tests.

// Runs the work; the device must report a use after free.
static void assert_uses_freed_memory(void (*work)(void *), void *argument)
{
    char text[2000] = "";
    int said[2], before = dup(STDERR_FILENO);
    assert_int_equal(pipe(said), 0);
    dup2(said[1], STDERR_FILENO);
    work(argument);
    CUresult result = cuStreamSynchronize(stream);
    dup2(before, STDERR_FILENO);
    close(before);
    close(said[1]);
    ssize_t length = read(said[0], text, sizeof text - 1);
    close(said[0]);
    assert_int_equal(result, CUDA_ERROR_ILLEGAL_ADDRESS);
    if (length <= 0 || !strstr(text, "use after free"))
        fail_msg("said: %s", text);
}

static void launch_kernel(void *params)
{
    assert_ok(cuLaunchKernel(t.scale, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void launch_graph(void *exec)
{
    assert_ok(cuGraphLaunch((CUgraphExec)exec, stream));
}

static CUDA_KERNEL_NODE_PARAMS scale_of(CUdeviceptr *q)
{
    static uint32_t one = 1;
    static void *params[4];
    params[0] = q;
    params[1] = params[2] = params[3] = &one;
    return (CUDA_KERNEL_NODE_PARAMS){.func = t.scale,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params};
}

static void use_between_free_and_launch(void)
{
    CUgraphExec exec;
    CUdeviceptr q;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUgraph graph = filling_graph(stream, &q);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA_KERNEL_NODE_PARAMS scale = scale_of(&q);
    for (int i = 0; i < 2; i++) {
        assert_ok(cuGraphLaunch(exec, stream));
        launch_kernel(scale.kernelParams);
        assert_ok(cuStreamSynchronize(stream)); // the memory exists here
        assert_ok(cuMemFreeAsync(q, stream));
    }
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
    assert_uses_freed_memory(launch_kernel, scale.kernelParams);
}

static void a_kernel_between_free_and_launch_uses_freed_memory(void **state)
{
    (void)state;
    testing_in_child(use_between_free_and_launch);
}

// A launch that frees remaining memory frees it before its first node, not in the node that
// allocates it again.
static void use_before_the_node_that_allocates(void)
{
    CUgraphExec exec;
    CUdeviceptr q;
    CUgraphNode first, roots[2];
    size_t count = 2;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUgraph graph = filling_graph(stream, &q);
    CUDA_KERNEL_NODE_PARAMS scale = scale_of(&q);
    assert_ok(cuGraphGetRootNodes(graph, roots, &count));
    assert_int_equal(count, 1);
    assert_ok(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &scale));
    assert_ok(cuGraphAddDependencies_v2(graph, &first, &roots[0], NULL, 1));
    assert_ok(
        cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    assert_ok(cuGraphNodeSetEnabled(exec, first, 0));
    launch(exec);
    launch(exec);
    assert_int_equal(testing_read(q), 5);
    assert_ok(cuGraphNodeSetEnabled(exec, first, 1));
    assert_uses_freed_memory(launch_graph, exec);
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

static void a_launch_frees_what_was_left_before_it_begins(void **state)
{
    (void)state;
    testing_in_child(use_before_the_node_that_allocates);
}

int main(void)
{
    const struct CMUnitTest faults[] = {
        cmocka_unit_test(a_kernel_between_free_and_launch_uses_freed_memory),
        cmocka_unit_test(a_launch_frees_what_was_left_before_it_begins),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_of_a_graph_lives_from_node_to_node, setup, teardown),
        cmocka_unit_test_setup_teardown(the_program_may_free_what_a_graph_allocates, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nodes_made_by_hand_allocate_at_every_launch, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_launch_follows_the_free_before_it, setup, teardown),
        cmocka_unit_test_setup_teardown(calls_find_it_only_while_it_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(a_graph_with_memory_has_one_executable_at_a_time, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_graph_with_memory_is_not_copied_and_loses_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_child_that_is_moved_may_allocate, setup, teardown),
    };
    int failed = cmocka_run_group_tests(faults, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
