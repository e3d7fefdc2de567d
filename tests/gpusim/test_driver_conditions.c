// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of graphs on the simulated GPU: which bodies run, how often, and with which
// value of the condition; and what CUDA does not allow with such graphs.
#include "driver_testing.h"

static const char text[] =
    ".version 8.4\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    // p[index] += 1; then the condition is p[index] < limit
    ".visible .entry count(.param .u64 p, .param .u32 index, .param .u64 handle, .param .u32 "
    "limit)\n"
    "{\n"
    "  .reg .pred %q; .reg .u32 %r<4>; .reg .u64 %a<3>;\n"
    "  ld.param.u64 %a0, [p]; ld.param.u32 %r0, [index]; ld.param.u64 %a2, [handle];\n"
    "  ld.param.u32 %r3, [limit];\n"
    "  cvta.to.global.u64 %a0, %a0; mul.wide.u32 %a1, %r0, 4; add.u64 %a0, %a0, %a1;\n"
    "  ld.global.u32 %r1, [%a0]; add.u32 %r1, %r1, 1; st.global.u32 [%a0], %r1;\n"
    "  setp.lt.u32 %q, %r1, %r3; selp.u32 %r2, 1, 0, %q;\n"
    "  { .param .b64 h; .param .b32 v; st.param.b64 [h], %a2; st.param.b32 [v], %r2;\n"
    "    call.uni cudaGraphSetConditional, (h, v); }\n"
    "  ret;\n"
    "}\n"
    // The condition is value.
    ".visible .entry set(.param .u64 handle, .param .u32 value)\n"
    "{\n"
    "  .reg .u32 %r0; .reg .u64 %a0;\n"
    "  ld.param.u64 %a0, [handle]; ld.param.u32 %r0, [value];\n"
    "  { .param .b64 h; .param .b32 v; st.param.b64 [h], %a0; st.param.b32 [v], %r0;\n"
    "    call.uni cudaGraphSetConditional, (h, v); }\n"
    "  ret;\n"
    "}\n";

static CUfunction count_kernel, set_kernel;
static CUdeviceptr p;
static CUgraph graph;
static CUgraphExec exec;

static int setup(void **state)
{
    (void)state;
    assert_ok(cuMemAlloc_v2(&p, 64));
    assert_ok(cuMemsetD32_v2(p, 0, 16));
    assert_ok(cuGraphCreate(&graph, 0));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_ok(cuMemFree_v2(p));
    return 0;
}

static CUgraphConditionalHandle handle_of(CUgraph of, unsigned value, unsigned flags)
{
    CUgraphConditionalHandle handle = 0;
    assert_ok(cuGraphConditionalHandleCreate(&handle, of, t.context, value, flags));
    assert_true(handle != 0);
    return handle;
}

static CUgraphNode add_kernel(CUgraph to, const CUgraphNode *after, CUfunction function,
                              void **params)
{
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = function,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = params};
    assert_ok(cuGraphAddKernelNode_v2(&node, to, after, after ? 1 : 0, &kernel));
    return node;
}

static CUgraphNode add_count(CUgraph to, const CUgraphNode *after, unsigned index,
                             CUgraphConditionalHandle handle, unsigned limit)
{
    void *params[] = {&p, &index, &handle, &limit};
    return add_kernel(to, after, count_kernel, params);
}

static CUgraphNode add_set(CUgraph to, const CUgraphNode *after, CUgraphConditionalHandle handle,
                           unsigned value)
{
    void *params[] = {&handle, &value};
    return add_kernel(to, after, set_kernel, params);
}

static CUgraphNode add_conditional(CUgraph to, const CUgraphNode *after,
                                   CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                                   unsigned size, CUgraph *bodies)
{
    CUgraphNode node;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = handle, .type = type, .size = size, .ctx = t.context};
    assert_ok(cuGraphAddNode_v2(&node, to, after, NULL, after ? 1 : 0, &params));
    memcpy(bodies, params.conditional.phGraph_out, size * sizeof *bodies);
    return node;
}

static void launch(void)
{
    assert_ok(cuGraphLaunch(exec, NULL));
    assert_ok(cuCtxSynchronize());
}

static void end(void)
{
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
}

static void expect(unsigned a, unsigned b, unsigned c)
{
    assert_int_equal(testing_read(p), a);
    assert_int_equal(testing_read(p + 4), b);
    assert_int_equal(testing_read(p + 8), c);
}

static void a_body_runs_while_its_condition_holds(void **state)
{
    (void)state;
    CUgraphConditionalHandle handle = handle_of(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body;
    CUgraphNode loop = add_conditional(graph, NULL, handle, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    add_count(body, NULL, 0, handle, 10);
    add_count(graph, &loop, 1, 0, 0); // after the loop; handle 0 names no condition
    CUgraphNodeType type;
    assert_ok(cuGraphNodeGetType(loop, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch();
    expect(10, 1, 0);
    launch(); // the condition holds again at first
    expect(11, 2, 0);
    end();
}

static void a_condition_keeps_its_value_without_the_flag(void **state)
{
    (void)state;
    CUgraphConditionalHandle handle = handle_of(graph, 1, 0);
    CUgraph body;
    add_conditional(graph, NULL, handle, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    add_count(body, NULL, 0, handle, 3);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch();
    expect(3, 0, 0);
    launch();
    expect(3, 0, 0);
    end();
}

static void one_of_two_bodies_runs(void **state)
{
    (void)state;
    for (unsigned value = 0; value < 3; value++) {
        CUgraphConditionalHandle handle = handle_of(graph, 7, CU_GRAPH_COND_ASSIGN_DEFAULT);
        CUgraph bodies[2];
        CUgraphNode first = add_set(graph, NULL, handle, value);
        add_conditional(graph, &first, handle, CU_GRAPH_COND_TYPE_IF, 2, bodies);
        add_count(bodies[0], NULL, 0, 0, 0);
        add_count(bodies[1], NULL, 1, 0, 0);
        assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
        launch();
        end();
        assert_ok(cuGraphCreate(&graph, 0));
    }
    expect(2, 1, 0);
    assert_ok(cuGraphDestroy(graph));
}

static void nothing_runs_without_a_body_for_the_value(void **state)
{
    (void)state;
    CUgraphConditionalHandle one = handle_of(graph, 0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphConditionalHandle other = handle_of(graph, 3, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body, bodies[3];
    add_conditional(graph, NULL, one, CU_GRAPH_COND_TYPE_IF, 1, &body);
    add_conditional(graph, NULL, other, CU_GRAPH_COND_TYPE_SWITCH, 3, bodies);
    add_count(body, NULL, 0, 0, 0);
    for (unsigned i = 0; i < 3; i++)
        add_count(bodies[i], NULL, 1, 0, 0);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch();
    expect(0, 0, 0);
    end();
}

static void a_switch_runs_the_body_of_its_value(void **state)
{
    (void)state;
    CUgraphConditionalHandle handle = handle_of(graph, 2, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph bodies[3];
    add_conditional(graph, NULL, handle, CU_GRAPH_COND_TYPE_SWITCH, 3, bodies);
    for (unsigned i = 0; i < 3; i++)
        add_count(bodies[i], NULL, i, 0, 0);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch();
    launch();
    expect(0, 0, 2);
    end();
}

// The outer loop runs three times; each time, the inner condition is set and its body runs once.
static void conditional_nodes_may_be_in_bodies(void **state)
{
    (void)state;
    CUgraphConditionalHandle outer = handle_of(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphConditionalHandle inner = handle_of(graph, 0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body, inside;
    add_conditional(graph, NULL, outer, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    CUgraphNode first = add_count(body, NULL, 0, outer, 3);
    CUgraphNode second = add_set(body, &first, inner, 5);
    CUgraphNode third = add_conditional(body, &second, inner, CU_GRAPH_COND_TYPE_IF, 1, &inside);
    add_count(inside, NULL, 1, inner, 0);
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = p + 8, .value = 9, .elementSize = 4, .width = 1, .height = 1};
    CUgraphNode last;
    assert_ok(cuGraphAddMemsetNode(&last, body, &third, 1, &fill, t.context));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch();
    expect(3, 3, 9);
    end();
}

static void a_body_can_be_captured(void **state)
{
    (void)state;
    CUgraphConditionalHandle handle = handle_of(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body, captured;
    CUstream stream;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    add_conditional(graph, NULL, handle, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    assert_ok(
        cuStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    unsigned index = 0, limit = 4;
    void *params[] = {&p, &index, &handle, &limit};
    assert_ok(cuLaunchKernel(count_kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    assert_ok(cuMemcpyDtoDAsync_v2(p + 4, p, 4, stream));
    assert_ok(cuStreamEndCapture(stream, &captured));
    assert_ptr_equal(captured, body);
    // Who captures to a graph need not ask for it.
    assert_ok(
        cuStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_ok(cuStreamEndCapture(stream, NULL));
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_is(cuStreamEndCapture(stream, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuStreamEndCapture(stream, &captured));
    assert_ok(cuGraphDestroy(captured));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch();
    expect(4, 4, 0);
    assert_ok(cuStreamDestroy_v2(stream));
    end();
}

static void an_executable_graph_keeps_its_conditions(void **state)
{
    (void)state;
    CUgraphConditionalHandle handle = handle_of(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body;
    add_conditional(graph, NULL, handle, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    add_count(body, NULL, 0, handle, 2);
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphDestroy(graph));
    launch();
    expect(2, 0, 0);
    assert_ok(cuGraphExecDestroy(exec));
    // The handle names nothing now.
    unsigned value = 1;
    void *params[] = {&handle, &value};
    assert_ok(cuLaunchKernel(set_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_ok(cuCtxSynchronize());
}

static void what_is_not_allowed_is_an_error(void **state)
{
    (void)state;
    CUgraphConditionalHandle handle;
    assert_is(cuGraphConditionalHandleCreate(NULL, graph, t.context, 0, 0),
              CUDA_ERROR_INVALID_VALUE);
    assert_is(cuGraphConditionalHandleCreate(&handle, NULL, t.context, 0, 0),
              CUDA_ERROR_INVALID_VALUE);
    assert_is(cuGraphConditionalHandleCreate(&handle, graph, t.context, 0, 2),
              CUDA_ERROR_INVALID_VALUE);
    handle = handle_of(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);

    static const struct {
        CUgraphConditionalNodeType type;
        unsigned size;
    } wrong[] = {{CU_GRAPH_COND_TYPE_IF, 0},     {CU_GRAPH_COND_TYPE_IF, 3},
                 {CU_GRAPH_COND_TYPE_WHILE, 0},  {CU_GRAPH_COND_TYPE_WHILE, 2},
                 {CU_GRAPH_COND_TYPE_SWITCH, 0}, {(CUgraphConditionalNodeType)3, 1}};
    CUgraphNode node;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
        params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
            .handle = handle, .type = wrong[i].type, .size = wrong[i].size};
        assert_is(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params),
                  CUDA_ERROR_INVALID_VALUE);
    }
    CUgraph body, clone, other;
    add_conditional(graph, NULL, handle, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    CUgraphNodeParams again = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    again.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = handle, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1};
    assert_is(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &again), CUDA_ERROR_INVALID_VALUE);
    again.conditional.handle = handle + 1000;
    assert_is(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &again), CUDA_ERROR_INVALID_VALUE);

    assert_is(cuGraphDestroy(body), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuGraphCreate(&other, 0));
    assert_is(cuGraphAddChildGraphNode(&node, other, NULL, 0, graph), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuGraphDestroy(other));
    CUgraphExec second;
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_is(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuGraphExecDestroy(exec));

    // A body has no nodes of the host.
    CUDA_HOST_NODE_PARAMS host = {.fn = free};
    assert_ok(cuGraphAddHostNode(&node, body, NULL, 0, &host));
    assert_is(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuGraphDestroyNode(node));
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    end();
}

static int open_modules(void **state)
{
    (void)state;
    CUmodule module;
    testing_open();
    assert_ok(cuModuleLoadData(&module, text));
    assert_ok(cuModuleGetFunction(&count_kernel, module, "count"));
    assert_ok(cuModuleGetFunction(&set_kernel, module, "set"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_body_runs_while_its_condition_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(a_condition_keeps_its_value_without_the_flag, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_of_two_bodies_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_runs_without_a_body_for_the_value, setup, teardown),
        cmocka_unit_test_setup_teardown(a_switch_runs_the_body_of_its_value, setup, teardown),
        cmocka_unit_test_setup_teardown(conditional_nodes_may_be_in_bodies, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_can_be_captured, setup, teardown),
        cmocka_unit_test_setup_teardown(an_executable_graph_keeps_its_conditions, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_allowed_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests(tests, open_modules, testing_teardown);
}
