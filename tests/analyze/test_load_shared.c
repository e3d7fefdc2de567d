// SPDX-License-Identifier: Apache-2.0
// What is loaded of shared memory from a profile: which words no launch touches, the sums of live
// ranges, and the shape of the largest launch. An array of which something is unknown is not known.
#include "models.h"

#include "../profile/folder.h"

static struct base_error error;
static struct profile_writer *writer;

enum { BYTES = 62, WORDS = 16 };

static void launched(uint64_t number, uint32_t kernel, uint32_t blocks)
{
    const struct profile_call row = {.number = number,
                                     .kind = PROFILE_CALL_LAUNCH,
                                     .launch = {.kernel = kernel,
                                                .grid = {blocks, 2, 1},
                                                .block = {16, 4, 1},
                                                .dynamic_shared_bytes = 100}};
    assert_int_equal(profile_add_call(writer, &row, &error), BASE_OK);
}

// The launch touches words [from, to) of an array of so many bytes.
static void touched(uint64_t call, uint32_t node, uint64_t from, uint64_t to, uint32_t bytes,
                    uint32_t flags)
{
    const struct profile_shared_run runs[] = {{from, 0, 0}, {to - from, 3, 0}, {WORDS - to, 0, 0}};
    const uint32_t first = from == 0; // no run is empty
    const struct profile_shared_words row = {.call = call,
                                             .blocks = 1,
                                             .node = node,
                                             .kernel = 1,
                                             .array = 1,
                                             .bytes = bytes,
                                             .flags = flags,
                                             .runs = runs + first,
                                             .run_count = 3 - first};
    assert_int_equal(profile_add_shared_words(writer, &row, &error), BASE_OK);
}

static void lived(uint64_t call, uint64_t again)
{
    const struct profile_shared_lives lives = {.call = call,
                                               .unstored = 1,
                                               .ranges = 20,
                                               .loads = 10,
                                               .again = again,
                                               .own = 7,
                                               .kernel = 1,
                                               .array = 1};
    const struct profile_shared_ranges ranges = {.call = call,
                                                 .ranges = 20,
                                                 .loads = 10,
                                                 .again = again,
                                                 .own = 7,
                                                 .kernel = 1,
                                                 .array = 1,
                                                 .site = 2,
                                                 .words = 4};
    assert_int_equal(profile_add_shared_lives(writer, &lives, &error), BASE_OK);
    assert_int_equal(profile_add_shared_ranges(writer, &ranges, &error), BASE_OK);
}

// A kernel with two instructions and an array, on one GPU.
static void begin(void)
{
    const struct profile_device device = {
        .number = 1, .major = 9, .minor = 0, .multiprocessors = 132};
    const struct profile_kernel kernel = {
        .number = 1, .registers = 40, .static_shared_bytes = 62, .name = "k"};
    const struct profile_shared_array array = {
        .kernel = 1, .number = 1, .bytes = BYTES, .name = "tile"};
    assert_int_equal(profile_create(test_path, true, &writer, &error), BASE_OK);
    assert_int_equal(profile_add_device(writer, &device, &error), BASE_OK);
    assert_int_equal(profile_add_kernel(writer, &kernel, &error), BASE_OK);
    assert_int_equal(profile_add_shared_array(writer, &array, &error), BASE_OK);
    for (uint32_t i = 1; i <= 2; i++) {
        const struct profile_kernel_site site = {
            .kernel = 1, .number = i, .file = "a.cu", .line = i, .access = PROFILE_SITE_STORE};
        assert_int_equal(profile_add_kernel_site(writer, &site, &error), BASE_OK);
    }
}

static struct analyze_shared load(void)
{
    struct profile *profile;
    struct analyze_model model = {0};
    assert_int_equal(profile_finish(writer, PROFILE_EXITED, 0, &error), BASE_OK);
    assert_int_equal(profile_open(test_path, &profile, &error), BASE_OK);
    assert_int_equal(analyze_load(&model, profile, NULL, &error), BASE_OK);
    assert_int_equal(model.shared.count, 1);
    struct analyze_shared shared = model.shared.items[0];
    shared.name = NULL; // belongs to the profile
    analyze_model_fini(&model);
    profile_close(profile);
    return shared;
}

static void launches_are_joined(void **state)
{
    (void)state;
    begin();
    launched(1, 1, 5);
    touched(1, 0, 0, 4, BYTES, 0);
    lived(1, 2);
    launched(2, 1, 9);
    touched(2, 0, 2, 6, BYTES, 0);
    lived(2, 0);
    launched(3, 2, 100); // of another kernel
    const struct analyze_shared shared = load();
    assert_true(shared.is_known);
    assert_int_equal(shared.traced, 2);
    assert_int_equal(shared.launches, 2);
    assert_int_equal(shared.bytes, BYTES);
    assert_int_equal(shared.touched_words, 6);
    assert_int_equal(shared.unused_first, 24);
    assert_int_equal(shared.unused_bytes, BYTES - 24); // the last word has only two bytes
    assert_int_equal(shared.lives.ranges, 40);
    assert_int_equal(shared.lives.loads, 20);
    assert_int_equal(shared.lives.again, 2);
    assert_int_equal(shared.lives.own, 14);
    assert_int_equal(shared.lives.unstored, 2);
    assert_int_equal(shared.loads, 24); // 3 of each word that is touched
    assert_int_equal(shared.stores, 0);
    assert_true(shared.loads_exceed);
    assert_int_equal(shared.call, 1);
    assert_int_equal(shared.place, 1);
    assert_int_equal(shared.shape.major, 9);
    assert_int_equal(shared.shape.multiprocessors, 132);
    assert_int_equal(shared.shape.threads, 64);
    assert_int_equal(shared.shape.registers, 40);
    assert_int_equal(shared.shape.blocks, 18);
    assert_int_equal(shared.shape.shared_bytes, 162);
}

static void nothing_is_known_if_a_launch_is_not(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        begin();
        launched(1, 1, 5);
        touched(1, 0, 0, 4, BYTES, 0);
        launched(2, 1, 5);
        switch (i) {
        case 0: break; // it was not counted
        case 1: touched(2, 0, 0, 4, BYTES, PROFILE_SHARED_INCOMPLETE); break;
        case 2: touched(2, 0, 0, 4, BYTES, PROFILE_SHARED_AT_LEAST); break;
        default: touched(2, 0, 0, 4, 64, 0); break; // another size
        }
        assert_false(load().is_known);
    }
}

static void live_ranges_are_those_of_traced_launches(void **state)
{
    (void)state;
    begin();
    launched(1, 1, 5);
    touched(1, 0, 0, 4, BYTES, 0);
    lived(1, 2);
    launched(2, 1, 9);
    touched(2, 0, 2, 6, BYTES, 0);
    const struct analyze_shared shared = load();
    assert_true(shared.is_known);
    assert_int_equal(shared.launches, 2);
    assert_int_equal(shared.traced, 1);
    assert_int_equal(shared.lives.ranges, 20);
    assert_int_equal(shared.loads, 24); // of both
}

// A graph launches the kernel twice. How often an unknown graph does is unknown.
static void nodes_of_graphs_are_launches(void **state)
{
    (void)state;
    const struct profile_node nodes[] = {
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 2}},
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
    };
    const struct profile_graph graph = {.number = 7, .nodes = nodes, .node_count = 3};
    for (int i = 0; i < 3; i++) {
        const struct profile_call row = {
            .number = 1, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = i == 2 ? 8 : 7};
        begin();
        assert_int_equal(profile_add_graph(writer, &graph, &error), BASE_OK);
        assert_int_equal(profile_add_call(writer, &row, &error), BASE_OK);
        touched(1, 1, 0, 4, BYTES, 0);
        if (i != 1)
            touched(1, 3, 8, 9, BYTES, 0);
        const struct analyze_shared shared = load();
        assert_int_equal(shared.is_known, i == 0);
        if (i == 0) {
            assert_int_equal(shared.touched_words, 5);
            assert_int_equal(shared.shape.threads, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launches_are_joined, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(nothing_is_known_if_a_launch_is_not, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(live_ranges_are_those_of_traced_launches, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(nodes_of_graphs_are_launches, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
