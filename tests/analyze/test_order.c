// SPDX-License-Identifier: Apache-2.0
// The order of calls: small programs with known levels, and random ones compared with an oracle
// that examines every pair of calls and computes levels by Kahn's algorithm.
#include "models.h"

static void set_order(struct analyze_model *model, struct analyze_clocks **clocks)
{
    assert_true(analyze_index_uses(model));
    assert_true(analyze_set_order(model, NULL, clocks));
}

static void check_orders(struct analyze_model *model, const uint32_t *wanted, size_t count)
{
    struct analyze_clocks *clocks;
    set_order(model, &clocks);
    assert_int_equal(model->calls.count, count);
    for (size_t i = 0; i < count; i++) {
        if (model->calls.items[i].order != wanted[i])
            fail_msg("call %zu: order %u, not %u", i, model->calls.items[i].order, wanted[i]);
    }
    analyze_clocks_free(clocks);
    analyze_model_fini(model);
}
#define CHECK_ORDERS(model, ...)                         \
    check_orders(model, (const uint32_t[]){__VA_ARGS__}, \
                 sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void calls_of_one_stream_follow_one_another(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 100);
    copy_in(&model, a, 0, 100);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_READ | ANALYZE_WRITE);
    copy_out(&model, a, 0, 100);
    release(&model, a);
    CHECK_ORDERS(&model, 0, 1, 2, 3, 4);
}

static void streams_run_side_by_side(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    launch(&model, BLOCKING, 1);
    launch(&model, BLOCKING_TOO, 1);
    launch(&model, BLOCKING, 1);
    launch(&model, FREE_RUNNING, 1);
    launch(&model, LEGACY, 1);
    launch(&model, BLOCKING_TOO, 1);
    launch(&model, FREE_RUNNING, 1);
    CHECK_ORDERS(&model, 0, 0, 1, 0, 2, 3, 1);
}

static void data_orders_streams(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 100); // 0
    launch(&model, BLOCKING, 1);        // 1: writes
    uses(&model, a, ANALYZE_WRITE);
    launch(&model, BLOCKING_TOO, 1); // 2: reads after the write
    uses(&model, a, ANALYZE_READ);
    launch(&model, FREE_RUNNING, 1); // 2: reads at the same time
    uses(&model, a, ANALYZE_READ);
    launch(&model, BLOCKING, 1); // 3: writes after both
    uses(&model, a, ANALYZE_WRITE);
    CHECK_ORDERS(&model, 0, 1, 2, 2, 3);
}

static void events_and_synchronisations_count_nothing_and_order(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    launch(&model, FREE_RUNNING, 1); // 0
    uint32_t record = add_call(&model, PROFILE_CALL_EVENT_RECORD, FREE_RUNNING);
    model.calls.items[record].event = 7; // 1
    launch(&model, FREE_RUNNING, 1);     // 1
    uint32_t wait = add_call(&model, PROFILE_CALL_EVENT_WAIT, BLOCKING);
    model.calls.items[wait].event = 7; // 1
    model.calls.items[wait].record = 1;
    launch(&model, BLOCKING, 1); // 1
    uint32_t sync = add_call(&model, PROFILE_CALL_SYNC, 0);
    model.calls.items[sync].sync_stream = FREE_RUNNING; // 2
    launch(&model, BLOCKING_TOO, 1);                    // 2
    add_call(&model, PROFILE_CALL_SYNC, 0);             // 3: all of the context
    launch(&model, FREE_RUNNING, 1);                    // 3
    CHECK_ORDERS(&model, 0, 1, 1, 1, 1, 2, 2, 3, 3);
}

// An allocation by the host takes its memory when it is called, whatever the GPU is still doing.
static void memory_of_the_host_s_making_comes_after_all_that_was_called(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    launch(&model, BLOCKING, 1);      // 0
    launch(&model, BLOCKING, 1);      // 1
    uint32_t a = allocate(&model, 8); // 2
    launch(&model, FREE_RUNNING, 1);  // 3
    uses(&model, a, ANALYZE_WRITE);
    uint32_t pool = add_object(&model, PROFILE_OBJECT_POOL, 8);
    model.objects.items[pool].call = add_call(&model, PROFILE_CALL_ALLOC, FREE_RUNNING); // 4
    model.objects.items[pool].has_end = true;
    model.objects.items[pool].end = add_call(&model, PROFILE_CALL_FREE, FREE_RUNNING); // 5
    launch(&model, BLOCKING, 1);                                                       // 3
    CHECK_ORDERS(&model, 0, 1, 2, 3, 4, 5, 3);
}

static void what_failed_or_was_captured_is_no_step(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    launch(&model, BLOCKING, 1);
    uint32_t failed = launch(&model, BLOCKING, 1);
    model.calls.items[failed].flags = 0;
    launch(&model, BLOCKING, 1);
    CHECK_ORDERS(&model, 0, 0, 1);
}

static void host_memory_is_no_step(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    allocate(&model, 8);
    uint32_t pinned = add_object(&model, PROFILE_OBJECT_PINNED, 8);
    model.objects.items[pinned].call = add_call(&model, PROFILE_CALL_ALLOC, 0);
    model.calls.items[1].flags |= ANALYZE_HOST_MEMORY;
    allocate(&model, 8);
    CHECK_ORDERS(&model, 0, 1, 1);
}

// --- Graphs --------------------------------------------------------------------------------------

// Adds a graph. apis: which nodes are GPU APIs. edges: pairs of nodes.
static uint32_t add_graph(struct analyze_model *model, uint32_t nodes, const char *apis,
                          const uint32_t (*edges)[2], size_t count)
{
    bool is_api[16];
    for (uint32_t i = 0; i < nodes; i++)
        is_api[i] = apis[i] == 'x';
    uint32_t graph = analyze_add_graph(model, is_api, nodes);
    assert_int_not_equal(graph, ANALYZE_NONE);
    for (size_t i = 0; i < count; i++)
        assert_true(analyze_add_edge(model, graph, edges[i][0], edges[i][1]));
    return graph;
}

static uint32_t launch_graph(struct analyze_model *model, uint32_t stream, uint32_t graph)
{
    uint32_t call = add_call(model, PROFILE_CALL_GRAPH_LAUNCH, stream);
    model->calls.items[call].flags |= ANALYZE_LAUNCHES;
    model->calls.items[call].graph = graph + 1;
    return call;
}

static void a_graph_is_as_long_as_its_longest_chain(void **state)
{
    (void)state;
    struct analyze_model model;
    // 0 to 1 and 2, both to 4; 3 is isolated and no GPU API; 4 to 5, which is none, to 6.
    static const uint32_t edges[][2] = {{0, 1}, {0, 2}, {1, 4}, {2, 4}, {4, 5}, {5, 6}};
    model_begin(&model);
    uint32_t graph = add_graph(&model, 7, "xxx.x.x", edges, 6);
    uint32_t wide = add_graph(&model, 3, "xxx", NULL, 0),
             empty = add_graph(&model, 2, "..", NULL, 0);
    assert_int_equal(model.graphs.items[graph].steps, 4);
    launch(&model, BLOCKING, 1);                  // 0
    launch_graph(&model, BLOCKING, graph);        // 1 to 4
    launch(&model, BLOCKING, 1);                  // 5
    launch_graph(&model, BLOCKING, wide);         // 6
    launch_graph(&model, BLOCKING, empty);        // 7
    launch(&model, FREE_RUNNING, 1);              // 0: parallel to all of it
    launch(&model, BLOCKING, 1);                  // 8
    launch_graph(&model, BLOCKING, ANALYZE_NONE); // 9: an unknown graph
    launch(&model, BLOCKING, 1);                  // 10
    CHECK_ORDERS(&model, 0, 1, 5, 6, 7, 0, 8, 9, 10);
}

// A graph's access to an object is complete when the whole graph is.
static void data_of_a_graph_comes_after_all_of_it(void **state)
{
    (void)state;
    struct analyze_model model;
    static const uint32_t edges[][2] = {{0, 1}, {1, 2}};
    model_begin(&model);
    uint32_t graph = add_graph(&model, 3, "xxx", edges, 2);
    uint32_t a = allocate(&model, 8);          // 0
    launch_graph(&model, FREE_RUNNING, graph); // 1 to 3
    touch(&model, a, ANALYZE_WRITE);
    launch(&model, BLOCKING, 1); // 4
    uses(&model, a, ANALYZE_READ);
    CHECK_ORDERS(&model, 0, 1, 4);
}

static void what_failed_of_graphs_is_no_step(void **state)
{
    (void)state;
    struct analyze_model model;
    static const uint32_t edges[][2] = {{0, 1}};
    model_begin(&model);
    uint32_t graph = add_graph(&model, 2, "xx", edges, 1);
    uint32_t failed = launch_graph(&model, BLOCKING, graph);
    model.calls.items[failed].flags = 0;
    launch(&model, BLOCKING, 1);
    CHECK_ORDERS(&model, 0, 0);
}

// --- Random programs -----------------------------------------------------------------------------

enum { MOST_CALLS = 60, THREADS = 2, EVENTS = 3, MOST_OBJECTS = 8 };

enum { MOST_NODES = 8, GRAPHS = 3 };

// A random graph in the oracle's form: a matrix of edges.
struct random_graph {
    uint32_t nodes;
    bool is_api[MOST_NODES], edge[MOST_NODES][MOST_NODES];
};

static void make_graph(struct analyze_model *model, uint64_t *seed, struct random_graph *made)
{
    *made = (struct random_graph){.nodes = 1 + random_below(seed, MOST_NODES)};
    for (uint32_t i = 0; i < made->nodes; i++)
        made->is_api[i] = random_below(seed, 4) != 0;
    uint32_t graph = analyze_add_graph(model, made->is_api, made->nodes);
    assert_int_not_equal(graph, ANALYZE_NONE);
    for (uint32_t to = 0; to < made->nodes; to++) {
        for (uint32_t from = 0; from < to; from++) {
            made->edge[from][to] = random_below(seed, 3) == 0;
            if (made->edge[from][to])
                assert_true(analyze_add_edge(model, graph, from, to));
        }
    }
}

// Follows every path from the node.
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are nodes
static uint32_t longest_from(const struct random_graph *graph, uint32_t node)
{
    uint32_t most = 0;
    for (uint32_t to = node + 1; to < graph->nodes; to++) {
        uint32_t length = graph->edge[node][to] ? longest_from(graph, to) : 0;
        most = length > most ? length : most;
    }
    return most + graph->is_api[node];
}

// NOLINTNEXTLINE(misc-no-recursion): likewise
static bool leads_to(const struct random_graph *graph, uint32_t node, uint32_t other)
{
    for (uint32_t to = node + 1; to <= other && to < graph->nodes; to++) {
        if (graph->edge[node][to] && (to == other || leads_to(graph, to, other)))
            return true;
    }
    return false;
}

static void check_graph(const struct analyze_model *model, uint32_t index,
                        const struct random_graph *graph)
{
    uint32_t steps = 0;
    for (uint32_t i = 0; i < graph->nodes; i++) {
        uint32_t length = longest_from(graph, i);
        steps = length > steps ? length : steps;
        for (uint32_t k = 0; k < graph->nodes; k++)
            assert_int_equal(analyze_is_node_before(model, index, i, k), leads_to(graph, i, k));
    }
    assert_int_equal(model->graphs.items[index].steps, steps);
}

static void make_program(struct analyze_model *model, uint64_t seed, struct random_graph *graphs)
{
    model_begin(model);
    for (uint32_t i = 0; i < GRAPHS; i++)
        make_graph(model, &seed, &graphs[i]);
    uint32_t count = 1 + random_below(&seed, MOST_CALLS), records[EVENTS] = {0};
    static const enum profile_object_kind kinds[] = {PROFILE_OBJECT_DEVICE, PROFILE_OBJECT_POOL,
                                                     PROFILE_OBJECT_MAPPING};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stream = 1 + random_below(&seed, STREAMS), event = random_below(&seed, EVENTS);
        uint32_t objects = (uint32_t)model->objects.count, object = 0, call;
        switch (random_below(&seed, 12)) {
        case 0:
        case 1:
            if (objects < MOST_OBJECTS) {
                enum profile_object_kind kind = kinds[random_below(&seed, 3)];
                object = add_object(model, kind, 64);
                call =
                    add_call(model, PROFILE_CALL_ALLOC, kind == PROFILE_OBJECT_POOL ? stream : 0);
                model->objects.items[object].call = call;
                break;
            }
            // fall through
        case 2:
            object = objects ? random_below(&seed, objects) : 0;
            if (objects && !model->objects.items[object].has_end) {
                bool pool = model->objects.items[object].kind == PROFILE_OBJECT_POOL;
                call = add_call(model, PROFILE_CALL_FREE, pool ? stream : 0);
                model->objects.items[object].has_end = true;
                model->objects.items[object].end = call;
                break;
            }
            // fall through
        case 3:
            call = add_call(model, PROFILE_CALL_SYNC, 0);
            if (random_below(&seed, 3)) {
                model->calls.items[call].sync_stream = stream;
            } else if (records[event]) {
                model->calls.items[call].event = event + 1;
                model->calls.items[call].record = records[event];
            }
            break;
        case 4:
            call = add_call(model, PROFILE_CALL_EVENT_RECORD, stream);
            model->calls.items[call].event = event + 1;
            records[event]++;
            break;
        case 5:
            call = add_call(model, PROFILE_CALL_EVENT_WAIT, stream);
            model->calls.items[call].event = event + 1;
            model->calls.items[call].record = random_below(&seed, 4) ? records[event] : 1;
            break;
        case 6: call = add_call(model, PROFILE_CALL_MODULE, 0); break;
        default:
            call = add_call(model, random_below(&seed, 3) ? PROFILE_CALL_LAUNCH : PROFILE_CALL_COPY,
                            stream);
            if (random_below(&seed, 4) == 0) {
                model->calls.items[call].kind = PROFILE_CALL_GRAPH_LAUNCH;
                model->calls.items[call].graph = random_below(&seed, GRAPHS + 1);
            }
            for (uint32_t o = 0; o < objects; o++) {
                if (random_below(&seed, objects) < 2 && !model->objects.items[o].has_end)
                    touch(model, o, 1 + random_below(&seed, 3));
            }
            break;
        }
        struct analyze_call *row = &model->calls.items[call];
        row->thread = 1 + random_below(&seed, THREADS);
        if (random_below(&seed, 8) == 0)
            row->flags |= ANALYZE_WAITED;
        if (row->kind == PROFILE_CALL_COPY && random_below(&seed, 2))
            row->flags |= ANALYZE_HOST_END;
        if (row->kind == PROFILE_CALL_COPY && random_below(&seed, 2))
            row->flags |= ANALYZE_ASYNC;
    }
}

static bool is_work(const struct analyze_call *call) // on its stream
{
    return call->stream && call->kind != PROFILE_CALL_SYNC;
}

static bool is_over_at_return(const struct analyze_call *call)
{
    switch (call->kind) {
    case PROFILE_CALL_ALLOC:
    case PROFILE_CALL_FREE: return call->stream == 0;
    case PROFILE_CALL_SYNC: return true;
    case PROFILE_CALL_EVENT_WAIT: return false;
    case PROFILE_CALL_COPY:
        return call->flags & ANALYZE_WAITED ||
               (call->flags & ANALYZE_HOST_END && !(call->flags & ANALYZE_ASYNC));
    default: return call->flags & ANALYZE_WAITED;
    }
}

// The record that the wait refers to, if no other followed it; NONE: there is none.
static uint32_t record_before(const struct analyze_model *model, uint32_t wait)
{
    uint32_t count = 0, last = ANALYZE_NONE;
    const struct analyze_call *call = &model->calls.items[wait];
    for (uint32_t i = 0; i < wait; i++) {
        if (model->calls.items[i].kind == PROFILE_CALL_EVENT_RECORD &&
            model->calls.items[i].event == call->event) {
            last = i;
            count++;
        }
    }
    return call->record == 0 || call->record == count ? last : ANALYZE_NONE;
}

static bool waits_for_all(const struct analyze_model *model, uint32_t index)
{
    const struct analyze_call *call = &model->calls.items[index];
    if (call->kind == PROFILE_CALL_SYNC)
        return call->event == 0 && call->sync_stream == 0;
    if (call->kind == PROFILE_CALL_FREE) {
        for (size_t o = 0; o < model->objects.count; o++) {
            if (model->objects.items[o].end == index)
                return model->objects.items[o].kind == PROFILE_OBJECT_DEVICE;
        }
    }
    return call->flags & ANALYZE_WAITED && call->kind != PROFILE_CALL_FREE &&
           call->kind != PROFILE_CALL_ALLOC && call->kind != PROFILE_CALL_COPY &&
           call->kind != PROFILE_CALL_SET && call->kind != PROFILE_CALL_EVENT_WAIT;
}

// Whether there is an edge that does not depend on data.
static bool is_ordered(const struct analyze_model *model, uint32_t i, uint32_t j)
{
    const struct analyze_call *a = &model->calls.items[i], *b = &model->calls.items[j];
    if (a->thread == b->thread && is_over_at_return(a))
        return true;
    if (is_work(a) && is_work(b)) {
        bool a_blocks = a->stream == BLOCKING || a->stream == BLOCKING_TOO;
        bool b_blocks = b->stream == BLOCKING || b->stream == BLOCKING_TOO;
        if (a->stream == b->stream || (a->stream == LEGACY && b_blocks) ||
            (a_blocks && b->stream == LEGACY))
            return true;
    }
    if (is_work(a) && waits_for_all(model, j))
        return true;
    if ((b->kind == PROFILE_CALL_EVENT_WAIT || b->kind == PROFILE_CALL_SYNC) && b->event)
        return record_before(model, j) == i;
    return is_work(a) && b->kind == PROFILE_CALL_SYNC && b->sync_stream == a->stream;
}

enum { MAKES = 4, ENDS = 8 };

static unsigned does(const struct analyze_model *model, uint32_t call, uint32_t object)
{
    unsigned how = 0;
    uint32_t end = analyze_touches_end(model, call);
    for (uint32_t i = model->calls.items[call].touches; i < end; i++) {
        if (model->touches.items[i].object == object)
            how |= model->touches.items[i].how;
    }
    if (model->objects.items[object].call == call)
        how |= MAKES;
    if (model->objects.items[object].end == call)
        how |= ENDS;
    return how;
}

// Definition 5.1: edges through objects.
static bool depends(const struct analyze_model *model, uint32_t i, uint32_t j)
{
    for (uint32_t o = 0; o < model->objects.count; o++) {
        unsigned a = does(model, i, o), b = does(model, j, o), written = 0, touched = 0;
        for (uint32_t k = i + 1; k < j; k++) {
            written |= does(model, k, o) & ANALYZE_WRITE;
            touched |= does(model, k, o);
        }
        if (a & (MAKES | ANALYZE_WRITE) && b & ANALYZE_READ && !written)
            return true;
        if (a & (MAKES | ANALYZE_WRITE) && b & (ENDS | ANALYZE_WRITE) && !touched)
            return true;
        if (a & ANALYZE_READ && b & (ENDS | ANALYZE_WRITE) && !written)
            return true;
    }
    return false;
}

static bool is_hosts_memory(const struct analyze_call *call)
{
    return (call->kind == PROFILE_CALL_ALLOC || call->kind == PROFILE_CALL_FREE) && !call->stream;
}

// By how much the call lengthens a chain.
static uint32_t length_of(const struct analyze_call *call, const struct random_graph *graphs)
{
    uint32_t most = 0;
    if (call->kind != PROFILE_CALL_GRAPH_LAUNCH || call->graph == 0)
        return analyze_is_api(call);
    for (uint32_t i = 0; i < graphs[call->graph - 1].nodes; i++) {
        uint32_t length = longest_from(&graphs[call->graph - 1], i);
        most = length > most ? length : most;
    }
    return most ? most : 1;
}

static void check_program(uint64_t seed)
{
    struct analyze_model model;
    struct random_graph graphs[GRAPHS];
    struct analyze_clocks *clocks;
    static bool edge[MOST_CALLS][MOST_CALLS], before[MOST_CALLS][MOST_CALLS];
    uint32_t level[MOST_CALLS] = {0}, degree[MOST_CALLS] = {0}, done = 0;
    bool taken[MOST_CALLS] = {false};
    make_program(&model, seed, graphs);
    for (uint32_t i = 0; i < GRAPHS; i++)
        check_graph(&model, i, &graphs[i]);
    set_order(&model, &clocks);
    uint32_t count = (uint32_t)model.calls.count;
    for (uint32_t j = 0; j < count; j++) {
        for (uint32_t i = 0; i < j; i++) {
            const struct analyze_call *a = &model.calls.items[i], *b = &model.calls.items[j];
            before[i][j] = is_ordered(&model, i, j);
            edge[i][j] = before[i][j] || depends(&model, i, j) ||
                         (is_hosts_memory(b) && a->thread == b->thread);
            degree[j] += edge[i][j];
        }
    }
    while (done < count) {
        for (uint32_t i = 0; i < count; i++) {
            if (taken[i] || degree[i])
                continue;
            taken[i] = true;
            done++;
            for (uint32_t j = i + 1; j < count; j++) {
                uint32_t after = level[i] + length_of(&model.calls.items[i], graphs);
                if (edge[i][j]) {
                    degree[j]--;
                    level[j] = after > level[j] ? after : level[j];
                }
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (model.calls.items[i].order != level[i])
            fail_msg("seed %llu, call %u: order %u, not %u", (unsigned long long)seed, i,
                     model.calls.items[i].order, level[i]);
    }
    // Calls that have certainly completed: paths of edges that do not depend on data.
    for (uint32_t j = 0; j < count; j++) {
        for (uint32_t k = j; k-- > 0;) {
            for (uint32_t i = 0; before[k][j] && i < k; i++)
                before[i][j] |= before[i][k];
        }
    }
    for (uint32_t o = 0; o < model.objects.count; o++) {
        uint32_t j = model.objects.items[o].first;
        for (uint32_t i = 0; j != ANALYZE_NONE && i < j; i++) {
            if (is_work(&model.calls.items[i]) &&
                analyze_is_before(&model, clocks, i, j) != before[i][j])
                fail_msg("seed %llu: call %u is%s before %u", (unsigned long long)seed, i,
                         before[i][j] ? "" : " not", j);
        }
    }
    analyze_clocks_free(clocks);
    analyze_model_fini(&model);
}

static void random_programs_have_the_levels_of_kahn_s_algorithm(void **state)
{
    (void)state;
    const char *only = getenv("SEED");
    for (uint64_t seed = 1; seed <= 3000 && !only; seed++)
        check_program(seed);
    if (only)
        check_program(strtoull(only, NULL, 10));
    print_message("seeds 1 to 3000; SEED=N runs one\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_one_stream_follow_one_another),
        cmocka_unit_test(streams_run_side_by_side),
        cmocka_unit_test(data_orders_streams),
        cmocka_unit_test(events_and_synchronisations_count_nothing_and_order),
        cmocka_unit_test(memory_of_the_host_s_making_comes_after_all_that_was_called),
        cmocka_unit_test(what_failed_or_was_captured_is_no_step),
        cmocka_unit_test(host_memory_is_no_step),
        cmocka_unit_test(a_graph_is_as_long_as_its_longest_chain),
        cmocka_unit_test(data_of_a_graph_comes_after_all_of_it),
        cmocka_unit_test(what_failed_of_graphs_is_no_step),
        cmocka_unit_test(random_programs_have_the_levels_of_kahn_s_algorithm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
