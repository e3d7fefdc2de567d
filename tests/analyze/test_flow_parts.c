// SPDX-License-Identifier: Apache-2.0
// Slices of the value flow graph and its important part, of models with known answers.
#include "flows.h"

static void its_slice_of_vertex_6_leaves_out_the_other_object(void **state)
{
    (void)state;
    struct flow_test test;
    make_figure(&test);
    slice(&test, 6);
    check_vertices(&test, "allocation 2 x1, set 4 x1, launch 6 x1, launch 7 x1");
    check_edges(&test, "2>4 of 2 write 1x 16384\n"
                       "4>6 of 2 write 1x 8192 same 8192/8192\n"
                       "6>7 of 2 write 1x 16384 same 4096/16384\n");
    finish(&test);
}

// Vertex 7 uses both objects, so its slice has everything.
static void its_slice_of_vertex_7_has_both(void **state)
{
    (void)state;
    struct flow_test test;
    make_figure(&test);
    slice(&test, 7);
    check_vertices(&test, "allocation 1 x1, allocation 2 x1, set 3 x1, set 4 x1, launch 5 x1, "
                          "launch 6 x1, launch 7 x1");
    finish(&test);
}

static void the_important_part_of_the_slice_has_the_large_edges(void **state)
{
    (void)state;
    struct flow_test test;
    make_figure(&test);
    slice(&test, 6);
    for (uint64_t least = 8193; least <= 16384; least += 8191) {
        analyze_flow_important(&test.flow, least, 2, &test.part);
        check_vertices(&test, "allocation 2 x1, set 4 x1, launch 6 x1, launch 7 x1");
        check_edges(&test, "2>4 of 2 write 1x 16384\n"
                           "6>7 of 2 write 1x 16384 same 4096/16384\n");
    }
    analyze_flow_important(&test.flow, 16385, 1, &test.part); // every vertex has one call
    check_vertices(&test, "allocation 2 x1, set 4 x1, launch 6 x1, launch 7 x1");
    check_edges(&test, "");
    analyze_flow_important(&test.flow, 16385, 2, &test.part);
    check_vertices(&test, "");
    finish(&test);
}

// A slice follows a chain in both directions, but not from a reader to what the reader writes.
static void a_slice_ends_where_another_object_begins(void **state)
{
    (void)state;
    struct flow_test test = {0};
    model_begin(&test.model);
    const uint32_t a = allocate(&test.model, N), b = allocate(&test.model, N);
    copy_in(&test.model, a, 0, N);  // 3
    launch(&test.model, LEGACY, 1); // 4
    uses_elements(&test.model, a, ANALYZE_READ, N / 4);
    uses_elements(&test.model, b, ANALYZE_WRITE, N / 4);
    launch(&test.model, LEGACY, 2); // 5
    uses_elements(&test.model, b, ANALYZE_READ, N / 4);
    copy_out(&test.model, b, 0, N); // 6
    build(&test);
    slice(&test, 3);
    check_edges(&test, "1>3 of 1 write 1x 4096\nhost>3 of 1 read 1x 4096\n3>4 of 1 read 1x 4096\n");
    analyze_flow_part_fini(&test.part);
    assert_true(analyze_flow_whole(&test.flow, &test.part));
    slice(&test, 5); // the copy to the host uses b, but neither reaches 5 nor is reached from it
    check_edges(&test, "2>4 of 2 write 1x 4096\n4>5 of 2 read 1x 4096\n");
    finish(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_slice_of_vertex_6_leaves_out_the_other_object),
        cmocka_unit_test(its_slice_of_vertex_7_has_both),
        cmocka_unit_test(the_important_part_of_the_slice_has_the_large_edges),
        cmocka_unit_test(a_slice_ends_where_another_object_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
