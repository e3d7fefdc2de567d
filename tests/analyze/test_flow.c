// SPDX-License-Identifier: Apache-2.0
// The value flow graph of models with known answers. test_flow_parts.c has slices of it.
#include "flows.h"

static void the_figure_of_the_paper_has_its_edges(void **state)
{
    (void)state;
    struct flow_test test;
    make_figure(&test);
    check_vertices(&test, "allocation 1 x1, allocation 2 x1, set 3 x1, set 4 x1, launch 5 x1, "
                          "launch 6 x1, launch 7 x1");
    check_edges(&test, "1>3 of 1 write 1x 16384\n"
                       "3>5 of 1 write 1x 16384 same 16384/16384\n"
                       "5>7 of 1 read 1x 16384\n"
                       "2>4 of 2 write 1x 16384\n"
                       "4>6 of 2 write 1x 8192 same 8192/8192\n"
                       "6>7 of 2 write 1x 16384 same 4096/16384\n");
    finish(&test);
}

// The host is the source and sink of transfers. No path leads through it.
static void transfers_begin_and_end_at_the_host(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N); // 1
    copy_in(&test.model, a, 0, N);               // 2
    copy_out(&test.model, a, 0, N / 2);          // 3
    copy_in(&test.model, a, 0, N);               // 4
    build(&test);
    check_edges(&test, "1>2 of 1 write 1x 4096\n"
                       "host>2 of 1 read 1x 4096\n"
                       "2>3 of 1 read 1x 2048\n"
                       "3>host of 1 write 1x 2048\n"
                       "2>4 of 1 write 1x 4096\n"
                       "host>4 of 1 read 1x 4096\n");
    slice(&test, 3);
    check_edges(&test, "1>2 of 1 write 1x 4096\n"
                       "host>2 of 1 read 1x 4096\n"
                       "2>3 of 1 read 1x 2048\n"
                       "3>host of 1 write 1x 2048\n");
    analyze_flow_part_fini(&test.part);
    assert_true(analyze_flow_whole(&test.flow, &test.part));
    const uint32_t host = HOST; // all paths that begin or end there
    assert_true(analyze_flow_slice(&test.flow, &host, 1, &test.part));
    check_edges(&test, "1>2 of 1 write 1x 4096\n"
                       "host>2 of 1 read 1x 4096\n"
                       "2>3 of 1 read 1x 2048\n"
                       "3>host of 1 write 1x 2048\n"
                       "2>4 of 1 write 1x 4096\n"
                       "host>4 of 1 read 1x 4096\n");
    finish(&test);
}

// A copy between objects reads one and writes the other.
static void copies_on_the_device_do_not_use_the_host(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N), b = allocate(&test.model, N);
    set(&test.model, a, 0, N); // 3
    add_call(&test.model, PROFILE_CALL_COPY, LEGACY);
    *touch(&test.model, a, ANALYZE_READ) = (struct analyze_touch){
        .call = 3, .object = a, .how = ANALYZE_READ, .rows = 2, .row_bytes = 100};
    *touch(&test.model, b, ANALYZE_WRITE) = (struct analyze_touch){
        .call = 3, .object = b, .how = ANALYZE_WRITE, .rows = 2, .row_bytes = 100};
    build(&test);
    check_edges(&test, "1>3 of 1 write 1x 4096\n"
                       "3>4 of 1 read 1x 200\n"
                       "2>4 of 2 write 1x 200\n");
    finish(&test);
}

// A loop: calls of one path are one vertex, and their edges one edge.
static void calls_of_one_path_are_one_vertex(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N); // 1
    for (int i = 0; i < 10; i++) {
        const uint32_t fill = set(&test.model, a, 0, N);
        const uint32_t first = launch(&test.model, LEGACY, 1);
        uses(&test.model, a, ANALYZE_READ | ANALYZE_WRITE);
        const uint32_t second = launch(&test.model, LEGACY, 2); // of the same path
        uses_elements(&test.model, a, ANALYZE_READ | ANALYZE_WRITE, 8);
        test.model.calls.items[fill].path = 1000; // as of another kind of call
        test.model.calls.items[first].path = test.model.calls.items[second].path = 1000;
        test.model.calls.items[first].gpu_ns = 7;
    }
    build(&test);
    check_vertices(&test, "allocation 1 x1, set 2 x10, launch 3 x10, launch 4 x10");
    assert_int_equal(test.flow.vertices[vertex_at(&test, 3)].gpu_ns, 70);
    check_edges(&test, "1>2 of 1 write 1x 4096\n"
                       "2>3 of 1 read 10x <=40960\n"
                       "2>3 of 1 write 10x <=40960\n"
                       "3>4 of 1 read 10x <=320\n"
                       "3>4 of 1 write 10x <=320\n"
                       "4>2 of 1 write 9x 36864\n");
    finish(&test);
}

// The bytes of an edge are a bound if they are in any of its calls.
static void one_bound_is_enough(void **state)
{
    (void)state;
    for (unsigned bound = 0; bound < 3; bound++) { // in this call; 2: in none
        struct flow_test test = {0};
        model_begin(&test.model);
        const uint32_t a = allocate(&test.model, N); // 1
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t call = launch(&test.model, LEGACY, 1); // 2, 3
            test.model.calls.items[call].path = 1000;
            if (i == bound)
                uses(&test.model, a, ANALYZE_READ);
            else
                uses_elements(&test.model, a, ANALYZE_READ, 8);
        }
        build(&test);
        check_edges(&test, bound < 2 ? "1>2 of 1 read 2x <=4128\n" : "1>2 of 1 read 2x 64\n");
        finish(&test);
    }
}

// A copy of slices may write any bytes of the object, but only in the pieces that its row
// describes.
static void a_row_bounds_what_is_written(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, 4 * N);     // 1
    copy_in(&test.model, a, 0, 4 * N);                   // 2
    test.model.touches.items[0].rows = 0;                // of slices
    contents(&test.model, a, 2 * N, N);                  // of two pieces
    copy_in(&test.model, a, 0, N);                       // 3
    contents(&test.model, a, 2 * N, N)->moved_bytes = N; // which it does not fill
    build(&test);
    check_edges(&test, "1>2 of 1 write 1x <=8192 same 4096/8192\n"
                       "host>2 of 1 read 1x <=16384\n"
                       "2>3 of 1 write 1x 4096 same 4096/4096\n"
                       "host>3 of 1 read 1x 4096\n");
    finish(&test);
}

// Objects that one call path allocates share a vertex, but each has its own last writer.
static void objects_of_one_path_share_their_edges(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N), b = allocate(&test.model, 2 * N);
    test.model.calls.items[1].path = test.model.calls.items[0].path;
    set(&test.model, a, 0, N);      // 3
    launch(&test.model, LEGACY, 1); // 4
    uses(&test.model, a, ANALYZE_READ);
    uses(&test.model, b, ANALYZE_READ);
    build(&test);
    check_vertices(&test, "allocation 1 x2, set 3 x1, launch 4 x1");
    assert_int_equal(test.flow.vertices[vertex_at(&test, 1)].bytes, 3 * N);
    check_edges(&test, "1>3 of 1 write 1x 4096\n"
                       "3>4 of 1 read 1x <=4096\n"
                       "1>4 of 1 read 1x <=8192\n");
    finish(&test);
}

// A launch or batch that may access anything has no edges, and hides the last writers before it.
static void expect_unknown_after(unsigned flag)
{
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N); // 1
    set(&test.model, a, 0, N);                   // 2
    const uint32_t unseen = launch(&test.model, LEGACY, 1);
    uses(&test.model, a, ANALYZE_READ);
    test.model.calls.items[unseen].flags |= (uint16_t)flag;
    const uint32_t b = allocate(&test.model, N); // 4
    launch(&test.model, LEGACY, 2);              // 5
    uses(&test.model, a, ANALYZE_READ);
    uses(&test.model, b, ANALYZE_READ);
    set(&test.model, a, 0, N);      // 6
    launch(&test.model, LEGACY, 2); // 7
    uses(&test.model, a, ANALYZE_READ);
    build(&test);
    check_vertices(&test, "unknown 0 x0, allocation 1 x1, set 2 x1, launch 3 x1, allocation 4 x1, "
                          "launch 5 x1, set 6 x1, launch 7 x1");
    assert_int_equal(test.flow.vertices[vertex_at(&test, 3)].unknown_calls, 1);
    assert_int_equal(test.flow.vertices[vertex_at(&test, 5)].unknown_calls, 0);
    check_edges(&test, "1>2 of 1 write 1x 4096\n"
                       "?>5 of 1 read 1x <=4096\n"
                       "?>6 of 1 write 1x 4096\n"
                       "6>7 of 1 read 1x <=4096\n"
                       "4>5 of 4 read 1x <=4096\n");
    finish(&test);
}

static void after_unknown_work_last_writers_are_unknown(void **state)
{
    (void)state;
    expect_unknown_after(ANALYZE_UNSEEN);
    expect_unknown_after(ANALYZE_BATCH);
}

// Copies whose object is unknown, or from a call on that shares memory with others.
static void edges_may_be_uncertain(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct flow_test test = {0};
        model_begin(&test.model);
        const uint32_t a = allocate(&test.model, N); // 1
        test.model.objects.items[a].blurred = kind == 1;
        set(&test.model, a, 0, N);                                               // 2
        const uint32_t call = add_call(&test.model, PROFILE_CALL_OTHER, LEGACY); // 3
        test.model.calls.items[call].flags |= kind == 2 ? ANALYZE_SHARES : 0;
        copy_out(&test.model, a, 0, N); // 4
        build(&test);
        check_edges(&test, kind == 0   ? "1>2 of 1 write 1x 4096\n2>4 of 1 read 1x 4096\n"
                                         "4>host of 1 write 1x 4096\n"
                           : kind == 1 ? "1>2 of 1 write 1x 4096 uncertain\n"
                                         "2>4 of 1 read 1x 4096 uncertain\n"
                                         "4>host of 1 write 1x 4096\n"
                                       : "1>2 of 1 write 1x 4096\n"
                                         "2>4 of 1 read 1x 4096 uncertain\n"
                                         "4>host of 1 write 1x 4096\n");
        finish(&test);
    }
}

// What a call reads was written before it, even if it writes the object, too. It cannot read more
// than the object has.
static void a_call_reads_what_was_there_before_it(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N); // 1
    set(&test.model, a, 0, N);                   // 2
    launch(&test.model, LEGACY, 1);              // 3
    uses_elements(&test.model, a, ANALYZE_WRITE, N / 4);
    uses_elements(&test.model, a, ANALYZE_READ, N);
    build(&test);
    check_edges(&test, "1>2 of 1 write 1x 4096\n2>3 of 1 write 1x 4096\n2>3 of 1 read 1x 4096\n");
    finish(&test);
}

// Nodes are steps of their own. What a step compared counts only for it and its object.
static void nodes_of_a_graph_are_vertices(void **state)
{
    (void)state;
    static const bool is_api[3] = {true, true, true};
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N), b = allocate(&test.model, N);
    const uint32_t graph = analyze_add_graph(&test.model, is_api, 3);
    for (int i = 0; i < 2; i++) {
        const uint32_t call = add_call(&test.model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
        test.model.calls.items[call].graph = graph + 1;
        test.model.calls.items[call].path = 50;
        test.model.calls.items[call].gpu_ns = 9;
        *touch(&test.model, a, ANALYZE_WRITE) =
            (struct analyze_touch){.call = call,
                                   .object = a,
                                   .how = ANALYZE_WRITE,
                                   .rows = 1,
                                   .row_bytes = N,
                                   .maker = ANALYZE_MADE_BY_SET};
        struct analyze_touch *row = uses_elements(&test.model, a, ANALYZE_READ, 10);
        row->node = 1;
        row->kernel = 7;
        row = uses_elements(&test.model, b, ANALYZE_WRITE, 10);
        row->node = 1;
        row->kernel = 7;
        *touch(&test.model, b, ANALYZE_READ) =
            (struct analyze_touch){.call = call,
                                   .object = b,
                                   .node = 2,
                                   .how = ANALYZE_READ,
                                   .rows = 1,
                                   .row_bytes = N,
                                   .maker = ANALYZE_MADE_BY_HOST_COPY};
        contents(&test.model, a, N, N);
        contents(&test.model, b, N, 0);
        stores(&test.model, 1, b, 24, 8); // two sites
        stores(&test.model, 1, b, 16, 4);
    }
    build(&test);
    check_vertices(&test,
                   "host 0 x0, allocation 1 x1, allocation 2 x1, set 3 x2, launch 3 x2, copy 3 x2");
    // All three vertices of the graph have call 3 as their first.
    check_edges(&test, "1>3 of 1 write 1x 4096 same 4096/4096\n"
                       "3>3 of 1 read 2x 80\n"
                       "3>3 of 1 write 1x 4096 same 4096/4096\n"
                       "2>3 of 2 write 1x 40 same 12/40\n"
                       "3>3 of 2 read 2x 8192\n"
                       "3>host of 2 write 2x 8192\n"
                       "3>3 of 2 write 1x 40 same 12/40\n");
    for (size_t i = 0; i < test.flow.vertex_count; i++)
        assert_int_equal(test.flow.vertices[i].gpu_ns, 0); // that of the launch is for all nodes
    finish(&test);
}

// Two kernels of a graph store to one object, each its own bytes. Of another object, which two sets
// write, it is unknown which of them changed it. A third is written by one set, of which all bytes
// that changed in the pieces may be.
static void nodes_have_their_own_redundancy(void **state)
{
    (void)state;
    static const bool is_api[5] = {true, true, true, true, true};
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N), b = allocate(&test.model, N); // 1, 2
    const uint32_t c = allocate(&test.model, N), objects[] = {a, a, b, b, c};  // 3
    const uint32_t graph = analyze_add_graph(&test.model, is_api, 5);
    const uint32_t call = add_call(&test.model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY); // 4
    test.model.calls.items[call].graph = graph + 1;
    for (uint32_t node = 0; node < 5; node++) {
        struct analyze_touch *row = node < 2 ? uses_elements(&test.model, a, ANALYZE_WRITE, 10)
                                             : touch(&test.model, objects[node], ANALYZE_WRITE);
        row->node = node;
        row->kernel = node < 2 ? 7 + node : 0;
        row->rows = node < 2 ? 0 : 1;
        row->row_bytes = 100;
        row->maker = node < 2 ? ANALYZE_MADE_BY_CALL : ANALYZE_MADE_BY_SET;
        if (node < 2)
            stores(&test.model, node, a, 40, 4 * node);
    }
    contents(&test.model, a, N, 0);
    contents(&test.model, b, N, N);
    contents(&test.model, c, N, N - 30);
    build(&test);
    check_edges(&test, "1>4 of 1 write 1x 40 same 0/40\n"
                       "4>4 of 1 write 1x 40 same 4/40\n"
                       "2>4 of 2 write 1x 100\n"
                       "4>4 of 2 write 1x 100\n"
                       "3>4 of 3 write 1x 100 same 70/100\n");
    finish(&test);
}

// A copy has the bytes that did not change. Nothing is known if the contents before were unknown,
// or other work was in flight. What a launch wrote bounds the bytes of its edge.
static void redundancy_is_known_only_from_known_contents(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, 4 * N); // 1
    copy_in(&test.model, a, 0, N);                   // 2
    contents(&test.model, a, N, 0)->fresh_pieces = 1;
    copy_in(&test.model, a, 0, N); // 3
    contents(&test.model, a, N, 0)->kind = PROFILE_CONTENTS_FOUND;
    contents(&test.model, a, N, 100);
    copy_in(&test.model, a, 0, N); // 4
    contents(&test.model, a, N, N)->flags = PROFILE_CONTENTS_CONCURRENT;
    launch(&test.model, LEGACY, 1); // 5
    uses(&test.model, a, ANALYZE_WRITE);
    contents(&test.model, a, 2 * N, 0);
    stores(&test.model, 0, a, 400, 40);
    stores(&test.model, 0, ANALYZE_NONE, 800, 800); // to several objects
    stores(&test.model, 0, a, 400, 400);
    add_atomic_site(&test.model);   // of the last stores
    launch(&test.model, LEGACY, 1); // 6
    uses(&test.model, a, ANALYZE_WRITE);
    contents(&test.model, a, 2 * N, 0)->fresh_pieces = 1;
    stores(&test.model, 0, a, 400, 40);
    copy_in(&test.model, a, 0, N); // 7
    contents(&test.model, a, N, 0);
    build(&test);
    check_edges(&test, "1>2 of 1 write 1x 4096\n"
                       "host>2 of 1 read 1x 4096\n"
                       "2>3 of 1 write 1x 4096 same 100/4096\n"
                       "host>3 of 1 read 1x 4096\n"
                       "3>4 of 1 write 1x 4096\n"
                       "host>4 of 1 read 1x 4096\n"
                       "4>5 of 1 write 1x <=8192 same 40/400\n"
                       "5>6 of 1 write 1x <=8192\n"
                       "6>7 of 1 write 1x 4096 same 0/4096\n"
                       "host>7 of 1 read 1x 4096\n");
    finish(&test);
}

// Pinned memory is the host's. Managed memory is too until a kernel writes it, and may change any
// time.
static void host_memory_belongs_to_the_host(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t pinned = add_object(&test.model, PROFILE_OBJECT_PINNED, N);
    test.model.objects.items[pinned].call = add_call(&test.model, PROFILE_CALL_ALLOC, 0); // 1
    test.model.objects.items[pinned].is_host = true;
    const uint32_t managed = add_object(&test.model, PROFILE_OBJECT_MANAGED, N);
    test.model.objects.items[managed].call = add_call(&test.model, PROFILE_CALL_ALLOC, 0); // 2
    test.model.objects.items[managed].elsewhere = true;
    launch(&test.model, LEGACY, 1); // 3
    uses_elements(&test.model, pinned, ANALYZE_READ, 4);
    uses_elements(&test.model, managed, ANALYZE_WRITE, 5);
    launch(&test.model, LEGACY, 2); // 4
    uses_elements(&test.model, pinned, ANALYZE_WRITE, 6);
    uses_elements(&test.model, managed, ANALYZE_READ, 7);
    const uint32_t device = allocate(&test.model, N); // 5
    add_call(&test.model, PROFILE_CALL_COPY, LEGACY); // 6: the direction is unknown
    *touch(&test.model, pinned, ANALYZE_READ) = (struct analyze_touch){
        .call = 5, .object = pinned, .how = ANALYZE_READ, .rows = 1, .row_bytes = 64};
    *touch(&test.model, device, ANALYZE_WRITE) = (struct analyze_touch){
        .call = 5, .object = device, .how = ANALYZE_WRITE, .rows = 1, .row_bytes = 64};
    build(&test);
    check_vertices(
        &test, "host 0 x0, allocation 2 x1, launch 3 x1, launch 4 x1, allocation 5 x1, copy 6 x1");
    check_edges(&test, "host>3 of host read 1x 16\n"
                       "4>host of host write 1x 24\n"
                       "host>3 of 2 write 1x 20 uncertain\n"
                       "3>4 of 2 read 1x 28 uncertain\n"
                       "5>6 of 5 write 1x 64\n"
                       "host>6 of 5 read 1x 64\n");
    finish(&test);
}

static void failed_calls_do_nothing(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N); // 1
    const uint32_t failed = set(&test.model, a, 0, N);
    test.model.calls.items[failed].flags = 0;
    launch(&test.model, LEGACY, 1); // 3
    uses(&test.model, a, ANALYZE_READ);
    release(&test.model, a);
    build(&test);
    check_vertices(&test, "allocation 1 x1, launch 3 x1");
    check_edges(&test, "1>3 of 1 read 1x <=4096\n");
    finish(&test);
}

// Objects without a call path are one vertex for each name: here two globals of modules.
static void objects_without_a_path_are_told_apart_by_name(void **state)
{
    (void)state;
    static const char one[] = "one", other[] = "other";
    struct flow_test test = {0};
    model_begin(&test.model);
    const char *const names[] = {one, other, one};
    for (int i = 0; i < 3; i++) {
        const uint32_t object = add_object(&test.model, PROFILE_OBJECT_DEVICE, N);
        test.model.objects.items[object].name = names[i];
    }
    launch(&test.model, LEGACY, 1);
    for (uint32_t i = 0; i < 3; i++)
        uses(&test.model, i, ANALYZE_READ);
    build(&test);
    check_vertices(&test, "allocation 0 x2, allocation 0 x1, launch 1 x1");
    assert_int_equal(test.flow.edge_count, 2);
    assert_int_equal(test.flow.edges[0].times, 2);
    assert_int_equal(test.flow.vertices[2].object, 1);
    assert_int_equal(test.flow.vertices[3].object, 2);
    finish(&test);
}

// 100,000 calls of 500 paths on 1,000 objects: the sums of edges are those of the accesses.
static void large_runs_are_summed_exactly(void **state)
{
    (void)state;
    enum { OBJECTS = 1000, CALLS = 100000, PATHS = 500 };
    struct flow_test test = {0};
    uint64_t seed = 1, accesses = 0, times = 0, bytes = 0, found = 0;
    model_begin(&test.model);
    for (uint32_t i = 0; i < OBJECTS; i++)
        allocate(&test.model, N);
    for (uint32_t i = 0; i < CALLS; i++) {
        const uint32_t call = launch(&test.model, LEGACY, 1 + i % 7);
        test.model.calls.items[call].path = 1 + random_below(&seed, PATHS);
        for (uint32_t k = 0; k < 3; k++) {
            uses_elements(&test.model, random_below(&seed, OBJECTS),
                          k ? ANALYZE_READ : ANALYZE_WRITE, k + 1);
            accesses++;
            bytes += 4 * (k + 1);
        }
    }
    build(&test);
    for (size_t i = 0; i < test.flow.edge_count; i++) {
        times += test.flow.edges[i].times;
        found += test.flow.edges[i].bytes;
        assert_true(i == 0 || test.flow.edges[i - 1].object <= test.flow.edges[i].object);
    }
    assert_int_equal(times, accesses);
    assert_int_equal(found, bytes);
    assert_true(test.flow.vertex_count <= 2 + OBJECTS + 7 * PATHS);
    finish(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_figure_of_the_paper_has_its_edges),
        cmocka_unit_test(transfers_begin_and_end_at_the_host),
        cmocka_unit_test(copies_on_the_device_do_not_use_the_host),
        cmocka_unit_test(calls_of_one_path_are_one_vertex),
        cmocka_unit_test(one_bound_is_enough),
        cmocka_unit_test(a_row_bounds_what_is_written),
        cmocka_unit_test(objects_of_one_path_share_their_edges),
        cmocka_unit_test(after_unknown_work_last_writers_are_unknown),
        cmocka_unit_test(edges_may_be_uncertain),
        cmocka_unit_test(a_call_reads_what_was_there_before_it),
        cmocka_unit_test(nodes_of_a_graph_are_vertices),
        cmocka_unit_test(nodes_have_their_own_redundancy),
        cmocka_unit_test(redundancy_is_known_only_from_known_contents),
        cmocka_unit_test(host_memory_belongs_to_the_host),
        cmocka_unit_test(failed_calls_do_nothing),
        cmocka_unit_test(objects_without_a_path_are_told_apart_by_name),
        cmocka_unit_test(large_runs_are_summed_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
