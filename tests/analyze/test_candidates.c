// SPDX-License-Identifier: Apache-2.0
// shared-candidate, on small models: which objects are found, what is said about them and what they
// are worth, and which of several that do not fit together are chosen.
#include "last.h"

enum { KIB = 1024, FREE_BYTES = 28 * KIB };

static size_t count_found(void)
{
    size_t count = 0;
    for (size_t i = 0; i < last->finding_count; i++)
        count += last->findings[i].pattern == ANALYZE_SHARED_CANDIDATE;
    return count;
}

// Returns the finding on the object; NULL if there is none.
static const struct analyze_finding *found(uint32_t object)
{
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (finding->pattern == ANALYZE_SHARED_CANDIDATE && finding->object == object + 1)
            return finding;
    }
    return NULL;
}

static uint32_t add_site(struct analyze_model *model, uint32_t line)
{
    struct analyze_site *made = base_array_push(&model->sites);
    assert_non_null(made);
    *made = (struct analyze_site){
        .kernel = 1, .site = (uint32_t)model->sites.count, .line = {"a.cu", line, 1}, .bytes = 4};
    return (uint32_t)model->sites.count - 1;
}

// The last call's kernel reads the object: each of 4 blocks loads so many bytes, each word so
// often, and no two lanes of a warp load one at once.
static struct profile_block_reuse *loads(struct analyze_model *model, uint32_t object,
                                         uint64_t bytes, uint64_t reuse)
{
    const uint32_t call = (uint32_t)model->calls.count - 1;
    struct analyze_reuse *made = base_array_push(&model->reuse);
    assert_non_null(made);
    uses(model, object, ANALYZE_READ);
    *made = (struct analyze_reuse){.call = call,
                                   .object = object,
                                   .place = ANALYZE_NONE,
                                   .row = {.call = call + 1,
                                           .object = object + 1,
                                           .blocks = 4,
                                           .loads = bytes * reuse,
                                           .moved = bytes * reuse,
                                           .words = bytes,
                                           .most_words = bytes / 4,
                                           .extent = bytes / 4 + 10,
                                           .free_bytes = FREE_BYTES,
                                           .kernel = model->calls.items[call].kernel,
                                           .looked = 4,
                                           .resident = 8,
                                           .site = 1}};
    return &made->row;
}

// --- What is found -------------------------------------------------------------------------------

static void data_that_blocks_load_again_is_found(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB), at = add_site(&model, 29);
    launch(&model, LEGACY, 1); // 2
    struct profile_block_reuse *row = loads(&model, a, 8 * KIB, 4);
    row->moved = row->words * 3; // of four loads, two are of one warp
    model.reuse.items[0].place = at;
    run(&model);
    assert_int_equal(count_found(), 1);
    const struct analyze_finding *finding = found(a);
    assert_non_null(finding);
    assert_int_equal(finding->kernel, 1);
    assert_int_equal(finding->call, 2);
    assert_int_equal(finding->times, 1);
    assert_int_equal(finding->traffic_bytes, 4 * 2 * 8 * KIB);
    assert_true(finding->traffic_is_bound);
    assert_int_equal(finding->gpu_ns, 0);
    assert_int_equal(value_of(finding, "loads"), 4 * 8 * KIB);
    assert_int_equal(value_of(finding, "words"), 8 * KIB);
    assert_int_equal(value_of(finding, "block_bytes"), 8 * KIB);
    assert_int_equal(value_of(finding, "free_bytes"), FREE_BYTES);
    assert_int_equal(value_of(finding, "resident_blocks"), 8);
    assert_int_equal(value_of(finding, "is_written"), 0);
    assert_int_equal(analyze_line_at(finding).line, 29);
}

// A word less, and each is loaded four times.
static void data_that_is_loaded_less_often_is_not_found(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB), b = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    loads(&model, a, KIB, 4)->loads--;
    struct profile_block_reuse *row = loads(&model, b, KIB, 4);
    row->loads--;
    row->words--;
    run(&model);
    assert_null(found(a));
    assert_non_null(found(b));
}

static void what_does_not_fit_is_not_found(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB), b = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    loads(&model, a, FREE_BYTES + 4, 8);
    launch(&model, LEGACY, 2);
    loads(&model, b, FREE_BYTES, 8);
    run(&model);
    assert_null(found(a));
    assert_non_null(found(b));
}

// The launch with the least free memory decides, and the one that loads most.
static void all_launches_of_a_kernel_must_have_room(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB), b = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    loads(&model, a, 8 * KIB, 8);
    launch(&model, LEGACY, 1);
    loads(&model, a, 8 * KIB, 8)->free_bytes = 8 * KIB - 4;
    launch(&model, LEGACY, 2);
    loads(&model, b, 8 * KIB, 8)->free_bytes = 9 * KIB;
    launch(&model, LEGACY, 2);
    loads(&model, b, 9 * KIB, 8);
    run(&model);
    assert_null(found(a));
    assert_int_equal(value_of(found(b), "block_bytes"), 9 * KIB);
    assert_int_equal(value_of(found(b), "free_bytes"), 9 * KIB);
}

static void parameters_are_not_found(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64), b = allocate(&model, 68);
    launch(&model, LEGACY, 1);
    loads(&model, a, 64, 1000);
    loads(&model, b, 68, 1000);
    run(&model);
    assert_null(found(a));
    assert_non_null(found(b));
}

// Every lane of a warp loads the same words, and no warp loads a word twice: nothing is saved.
static void what_a_warp_loads_at_once_is_not_found(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    loads(&model, a, KIB, 32)->moved = KIB;
    run(&model);
    assert_int_equal(count_found(), 0);
}

// --- What is written -----------------------------------------------------------------------------

static void what_the_kernel_writes_must_be_apart(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB), b = allocate(&model, 64 * KIB);
    const uint32_t c = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    loads(&model, a, KIB, 8);
    model.touches.items[model.touches.count - 1].how = ANALYZE_READ | ANALYZE_WRITE;
    loads(&model, b, KIB, 8)->stores = 1;
    struct profile_block_reuse *row = loads(&model, c, KIB, 8);
    row->stores = 100;
    row->flags = PROFILE_REUSE_APART;
    run(&model);
    assert_null(found(a));
    assert_null(found(b));
    assert_int_equal(value_of(found(c), "is_written"), 1);
    assert_int_equal(value_of(found(c), "block_bytes"), KIB + 40); // all between first and last
}

// One launch that writes is enough, whichever comes first.
static void one_launch_that_writes_is_enough(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t a = allocate(&model, 64 * KIB);
        for (int i = 0; i < 2; i++) {
            launch(&model, LEGACY, 1);
            struct profile_block_reuse *row = loads(&model, a, KIB, 8);
            row->stores = i == first;
            row->flags = PROFILE_REUSE_APART;
        }
        run(&model);
        assert_int_equal(value_of(found(a), "block_bytes"), KIB + 40);
        assert_int_equal(value_of(found(a), "launches_looked_at"), 2);
    }
}

// --- What is unknown -----------------------------------------------------------------------------

static void what_is_unknown_is_not_found(void **state)
{
    (void)state;
    for (int which = 0; which < 6; which++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t a = allocate(&model, 64 * KIB);
        const uint32_t call = launch(&model, LEGACY, 1);
        struct profile_block_reuse *row = loads(&model, a, KIB, 8);
        if (which == 0)
            row->flags = PROFILE_REUSE_INCOMPLETE;
        if (which == 1)
            row->flags = PROFILE_REUSE_LARGE;
        if (which == 2)
            row->free_bytes = PROFILE_UNKNOWN;
        if (which == 3)
            model.calls.items[call].flags |= ANALYZE_UNSEEN;
        if (which == 4)
            model.touches.count = 0; // what the launch did to the object
        launch(&model, LEGACY, 1);
        loads(&model, a, KIB, 8);
        if (which == 4)
            model.calls.items[call].touches = model.calls.items[call + 1].touches = 0;
        run(&model);
        assert_int_equal(count_found(), which == 5);
    }
}

// --- Choices -------------------------------------------------------------------------------------

// 16 KiB save most, but 14 and 14 KiB together more. Another kernel has room of its own.
static void those_are_chosen_that_save_most_together(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t objects[5];
    for (int i = 0; i < 5; i++)
        objects[i] = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    loads(&model, objects[0], 16 * KIB, 10);
    loads(&model, objects[1], 14 * KIB, 9);
    loads(&model, objects[2], 14 * KIB, 9);
    loads(&model, objects[3], 20 * KIB, 5);
    launch(&model, LEGACY, 2);
    loads(&model, objects[4], 28 * KIB, 5);
    run(&model);
    assert_int_equal(count_found(), 3);
    assert_non_null(found(objects[1]));
    assert_non_null(found(objects[2]));
    assert_non_null(found(objects[4]));
}

// More objects than are compared, all of which fit alone.
static void many_objects_are_chosen_among(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t objects[40];
    for (unsigned i = 0; i < 40; i++)
        objects[i] = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    for (unsigned i = 0; i < 40; i++)
        loads(&model, objects[i], 4 * KIB, 5 + i);
    run(&model);
    assert_int_equal(count_found(), 7);
    for (unsigned i = 33; i < 40; i++)
        assert_non_null(found(objects[i]));
}

// Equal choices: the first object.
static void equal_choices_are_made_by_number(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB), b = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    loads(&model, b, 16 * KIB, 5);
    loads(&model, a, 16 * KIB, 5);
    run(&model);
    assert_int_equal(count_found(), 1);
    assert_non_null(found(a));
}

// --- What it is worth ----------------------------------------------------------------------------

// One of 10 blocks and 2 of 6 launches were looked at.
static void blocks_and_launches_stand_for_others(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB);
    for (int i = 0; i < 6; i++) {
        launch(&model, LEGACY, 1);
        if (i >= 2)
            continue;
        struct profile_block_reuse *row = loads(&model, a, KIB, 5);
        row->blocks = 40;
    }
    run(&model);
    const struct analyze_finding *finding = found(a);
    assert_int_equal(finding->traffic_bytes, 6 * 10 * 4 * 4 * KIB);
    assert_int_equal(finding->times, 6);
    assert_int_equal(value_of(finding, "blocks"), 80);
    assert_int_equal(value_of(finding, "blocks_looked_at"), 8);
    assert_int_equal(value_of(finding, "launches"), 6);
    assert_int_equal(value_of(finding, "launches_looked_at"), 2);
}

// L2 delivers 6050 bytes in a nanosecond to 100 multiprocessors. What is saved is at most the time
// of all launches, as far as no block is looked at.
static void time_is_that_of_l2_but_at_most_the_kernels(void **state)
{
    (void)state;
    for (int short_ones = 0; short_ones < 2; short_ones++) {
        struct analyze_model model;
        model_begin(&model);
        model.multiprocessors = 100;
        model.host.end_ns = 1000000;
        const uint32_t a = allocate(&model, 64 * KIB);
        uint32_t call = launch(&model, LEGACY, 1);
        struct profile_block_reuse *row = loads(&model, a, 9 * KIB, 5);
        row->words = 6050;
        row->loads = row->moved = 1001 * 6050;
        model.calls.items[call].gpu_ns = 900000;
        call = launch(&model, LEGACY, 1);
        model.calls.items[call].gpu_ns = short_ones ? 3000 : 30000;
        run(&model);
        assert_int_equal(found(a)->gpu_ns, short_ones ? 6000 : 8000);
        assert_true(found(a)->time_is_estimate);
        assert_true(found(a)->only_time_counts);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(data_that_blocks_load_again_is_found),
        TEST(data_that_is_loaded_less_often_is_not_found),
        TEST(what_does_not_fit_is_not_found),
        TEST(all_launches_of_a_kernel_must_have_room),
        TEST(parameters_are_not_found),
        TEST(what_a_warp_loads_at_once_is_not_found),
        TEST(what_the_kernel_writes_must_be_apart),
        TEST(one_launch_that_writes_is_enough),
        TEST(what_is_unknown_is_not_found),
        TEST(those_are_chosen_that_save_most_together),
        TEST(many_objects_are_chosen_among),
        TEST(equal_choices_are_made_by_number),
        TEST(blocks_and_launches_stand_for_others),
        TEST(time_is_that_of_l2_but_at_most_the_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
