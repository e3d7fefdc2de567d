// SPDX-License-Identifier: Apache-2.0
// Graph nodes at element level: each replay is recorded exactly, in the order of its nodes, also
// after other objects have replaced those that existed when the graph was made.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/shadow/graph.h"
#include "shadow_world.h"

// --- Graphs --------------------------------------------------------------------------------------

enum { NODES = 3, LIST = 300 };

struct core_node {
    struct harness_run run;
    struct harness_params params;
    struct harness_access *list;
    struct shadow_ticket *ticket;
    uint64_t strays;
};

// Discards the expectations of the last launch, which did not run.
static void world_forget(struct world *world)
{
    for (int i = 0; i < MODELS; i++) {
        struct model *model = world_model(world, i);
        memset(model->counts, 0, model->elements * sizeof(*model->counts));
        model->read = model->written = 0;
    }
}

// Makes a graph whose nodes run one after the other, with roots into random objects.
static CUgraphExec make_graph(struct world *world, struct core_node *nodes)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode last = NULL;
    MUST(DRIVER(cuGraphCreate)(&graph, 0));
    for (int i = 0; i < NODES; i++) {
        struct core_node *node = &nodes[i];
        node->list = harness_pinned(LIST * sizeof(*node->list));
        node->run = (struct harness_run){
            .stream = harness_context->legacy, .kernel = &world_kernel, .facts = world->facts};
        world_launch(world, &node->run, node->list, LIST); // sets its roots
        world_forget(world);
        harness_fill(&node->run, &node->params);
        struct shadow_launch launch = {.stream = node->run.stream,
                                       .kernel = &world_kernel,
                                       .kernel_number = 1,
                                       .given = node->run.roots,
                                       .roots = node->run.roots,
                                       .grid = {(LIST + HARNESS_BLOCK - 1) / HARNESS_BLOCK, 1, 1},
                                       .block = {HARNESS_BLOCK, 1, 1},
                                       .facts = world->facts};
        node->ticket = shadow_begin_node(&launch, node->params.context);
        assert_non_null(node->ticket);
        CUDA_KERNEL_NODE_PARAMS params = {
            .func = harness_function(world->facts),
            .gridDimX = launch.grid[0],
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = HARNESS_BLOCK,
            .blockDimY = 1,
            .blockDimZ = 1,
            .kernelParams = node->params.pointers,
        };
        CUgraphNode added;
        MUST(DRIVER(cuGraphAddKernelNode_v2)(&added, graph, &last, last ? 1 : 0, &params));
        last = added;
    }
    MUST(DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    MUST(DRIVER(cuGraphDestroy)(graph));
    return exec;
}

// Replaces the accesses and keeps the roots.
static void renew_list(struct world *world, struct core_node *node)
{
    static const uint32_t near[HARNESS_SLOTS] = {OBJECTS, OBJECTS, OBJECTS, OBJECTS};
    world_accesses(world, &node->run, node->list, LIST, near);
}

// Replaces the object by another of the same size at the same address, as after free and malloc.
// The element size stays, because the same root is used first.
static void take_place(struct model *model, enum core_objects_layer layer)
{
    struct core_object taken, object = model->object;
    const uint32_t shift = model->shift;
    assert_true(core_objects_take(&core_state.objects, layer, object.start, &taken));
    shadow_object_ended(object.number);
    object.number = 0;
    assert_true(core_objects_add_new(&core_state.objects, layer, &object));
    model_free(model);
    model_make(model, &object);
    model_use(model, shift);
}

static void replays_are_told_each(uint32_t seed, uint32_t facts)
{
    world_kernel.root_count = HARNESS_SLOTS;
    enum { REPLAYS = 10 };
    static struct expected expected[NODES];
    static struct core_node nodes[NODES];
    struct world world;
    struct core_stream *streams[2] = {harness_stream(harness_context, 0), harness_context->legacy};
    world_start(&world, seed, facts);
    CUgraphExec exec = make_graph(&world, nodes);
    struct shadow_ticket *tickets[NODES];
    uint32_t numbers[NODES];
    for (int i = 0; i < NODES; i++) {
        tickets[i] = nodes[i].ticket;
        numbers[i] = 1 + 2 * (uint32_t)i;
    }
    for (uint64_t call = 1; call <= REPLAYS; call++) {
        struct core_object more = harness_object(1000 * call, 0);
        if (call == 5) { // replaces all objects
            for (int i = 0; i < OBJECTS; i++)
                take_place(&world.objects[i], OBJECTS_MEMORY);
            for (int i = 0; i < PARTS; i++)
                take_place(&world.parts[i], OBJECTS_PARTS);
        }
        for (int i = 0; i < NODES; i++) {
            renew_list(&world, &nodes[i]);
            world_take(&world, call, numbers[i], &expected[i]);
        }
        struct core_stream *stream = streams[call % 2];
        shadow_replay(stream, tickets, NODES, NULL);
        const bool launched = call % 4 != 0;
        if (launched)
            MUST(DRIVER(cuGraphLaunch)(exec, stream->handle));
        shadow_replayed(stream, tickets, numbers, NODES, call, launched);
        if (!launched) { // tries again
            shadow_replay(stream, tickets, NODES, NULL);
            MUST(DRIVER(cuGraphLaunch)(exec, stream->handle));
            shadow_replayed(stream, tickets, numbers, NODES, call, true);
        }
        harness_settle();
        world_check(&world, expected, NODES);
        harness_end_object(&more);
    }
    MUST(DRIVER(cuGraphExecDestroy)(exec));
    for (int i = 0; i < NODES; i++)
        shadow_release(tickets[i]);
    world_finish(&world);
}

static void replays_are_told_each_time(void **unused)
{
    (void)unused;
    replays_are_told_each(5, INSTRUMENT_OBJECTS | INSTRUMENT_ELEMENTS);
}

static void replays_are_told_with_counts(void **unused)
{
    (void)unused;
    replays_are_told_each(6, INSTRUMENT_OBJECTS | INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_start, harness_finish)
    const struct CMUnitTest tests[] = {
        TEST(replays_are_told_each_time),
        TEST(replays_are_told_with_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
