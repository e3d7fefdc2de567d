// SPDX-License-Identifier: Apache-2.0
// Patterns inside graph launches: what the edges between nodes prove, and what they do not.
#include "wanted.h"

// Adds a graph whose nodes run one after the other, or side by side.
static uint32_t add_graph(struct analyze_model *model, uint32_t nodes, bool in_a_row)
{
    static const bool is_api[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    uint32_t graph = analyze_add_graph(model, is_api, nodes);
    assert_int_not_equal(graph, ANALYZE_NONE);
    for (uint32_t i = 1; i < nodes && in_a_row; i++)
        assert_true(analyze_add_edge(model, graph, i - 1, i));
    return graph;
}

static uint32_t launch_graph(struct analyze_model *model, uint32_t graph)
{
    uint32_t call = add_call(model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
    model->calls.items[call].flags |= ANALYZE_LAUNCHES;
    model->calls.items[call].graph = graph + 1;
    return call;
}

static struct analyze_touch *node_uses(struct analyze_model *model, uint32_t node, uint32_t object)
{
    struct analyze_touch *row = uses(model, object, ANALYZE_WRITE);
    row->kernel = 1;
    row->node = node;
    return row;
}

static void make_pair(struct analyze_model *model, bool in_a_row, bool unseen)
{
    model_begin(model);
    uint32_t graph = add_graph(model, 2, in_a_row);
    uint32_t b = allocate(model, 1000), a = allocate(model, 1000); // 0, 1
    uint32_t call = launch_graph(model, graph);                    // 2
    node_uses(model, 0, a);
    node_uses(model, 1, b);
    if (unseen)
        model->calls.items[call].flags |= ANALYZE_UNSEEN;
    release(model, b);
    release(model, a);
}

static void nodes_in_a_row_can_use_the_same_memory(void **state)
{
    (void)state;
    struct analyze_model model;
    make_pair(&model, true, false);
    CHECK(&model, {ANALYZE_REDUNDANT_ALLOCATION, 0, 0, 2, 0, 1000, 0, 0},
          {ANALYZE_EARLY_ALLOCATION, 0, 0, 2, 2, 0, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, 1, 4, 2, 2, 0, 0, 0});
}

static void nodes_side_by_side_cannot(void **state)
{
    (void)state;
    struct analyze_model model;
    make_pair(&model, false, false);
    CHECK(&model, {ANALYZE_EARLY_ALLOCATION, 0, 0, 2, 2, 0, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, 1, 4, 2, 2, 0, 0, 0});
}

static void nor_where_a_node_may_touch_anything(void **state)
{
    (void)state;
    struct analyze_model model;
    make_pair(&model, true, true);
    CHECK(&model, {ANALYZE_EARLY_ALLOCATION, 0, 0, 2, 2, 0, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, 1, 4, 2, 2, 0, 0, 0});
}

// Three nodes: the second touches both objects.
static void nor_where_a_later_node_touches_it_again(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t graph = add_graph(&model, 3, true);
    uint32_t b = allocate(&model, 1000), a = allocate(&model, 1000); // 0, 1
    launch_graph(&model, graph);                                     // 2
    node_uses(&model, 0, a);
    node_uses(&model, 1, a);
    node_uses(&model, 1, b);
    node_uses(&model, 2, b);
    release(&model, b);
    release(&model, a);
    CHECK(&model, {ANALYZE_EARLY_ALLOCATION, b, 0, 2, 2, 0, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, a, 4, 2, 2, 0, 0, 0});
}

// A launch is one call and cannot be split: distances are to its start and from its end.
static void distances_are_to_the_launch_and_from_its_end(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t graph = add_graph(&model, 5, true);
    uint32_t a = allocate(&model, 1000); // 0
    launch_graph(&model, graph);         // 1 to 5
    node_uses(&model, 3, a);
    copy_out(&model, a, 0, 1000); // 6
    release(&model, a);
    CHECK_NOTHING(&model);

    model_begin(&model);
    graph = add_graph(&model, 5, true);
    uint32_t b = allocate(&model, 1000); // 0
    copy_in(&model, b, 0, 1000);         // 1
    launch_graph(&model, graph);         // 2 to 6, without it
    copy_out(&model, b, 0, 1000);        // 7
    release(&model, b);
    CHECK(&model, {ANALYZE_TEMPORARY_IDLENESS, b, 1, 3, 6, 0, 0, 0});
}

static void make_slices(struct analyze_model *model, bool in_a_row)
{
    model_begin(model);
    uint32_t graph = add_graph(model, 10, in_a_row);
    uint32_t a = allocate(model, 4000);
    launch_graph(model, graph);
    for (uint32_t i = 0; i < 10; i++) {
        struct analyze_touch *row = node_uses(model, i, a);
        row->elements = row->new_elements = 100;
        row->element_bytes = 4;
    }
    release(model, a);
}

static void slices_of_nodes_in_a_row_can_be_one(void **state)
{
    (void)state;
    struct analyze_model model;
    make_slices(&model, true);
    CHECK(&model, {ANALYZE_STRUCTURED_ACCESS, 0, 1, 0, 0, 3600, 10, 0});
    make_slices(&model, false);
    CHECK_NOTHING(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_in_a_row_can_use_the_same_memory),
        cmocka_unit_test(nodes_side_by_side_cannot),
        cmocka_unit_test(nor_where_a_node_may_touch_anything),
        cmocka_unit_test(nor_where_a_later_node_touches_it_again),
        cmocka_unit_test(distances_are_to_the_launch_and_from_its_end),
        cmocka_unit_test(slices_of_nodes_in_a_row_can_be_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
