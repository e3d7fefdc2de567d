// SPDX-License-Identifier: Apache-2.0
// shared-unused and shared-no-reuse, on small models: which arrays are found, what is said about
// them, and what they are worth; how many blocks a multiprocessor holds; and what is read from a
// profile.
#include "last.h"

#include "occupancy.h"

enum { KIB = 1024 };

// Adds an array of a kernel that is launched once, in 1000 blocks of 256 threads on 100
// multiprocessors of compute capability 9.0. All of its words are used: each is stored and loaded
// once by a thread of its own.
static struct analyze_shared *add(struct analyze_model *model, uint64_t bytes)
{
    struct analyze_site *site = base_array_push(&model->sites);
    struct analyze_shared *made = base_array_push(&model->shared);
    assert_non_null(site);
    assert_non_null(made);
    const uint32_t number = (uint32_t)model->shared.count;
    *site = (struct analyze_site){.kernel = 1, .site = number, .line = {"a.cu", 10 * number, 1}};
    *made = (struct analyze_shared){
        .kernel = 1,
        .number = number,
        .name = "tile",
        .bytes = bytes,
        .launches = 1,
        .is_known = true,
        .traced = 1,
        .call = (uint32_t)model->calls.count - 1,
        .place = number - 1,
        .shape = {.major = 9,
                  .multiprocessors = 100,
                  .threads = 256,
                  .registers = 32,
                  .shared_bytes = bytes,
                  .blocks = 1000},
        .touched_words = bytes / 4,
        .loads = 250 * bytes,
        .stores = 250 * bytes,
        .lives = {.ranges = 250 * bytes, .loads = 250 * bytes, .own = 250 * bytes},
    };
    return made;
}

static struct analyze_shared *begin(struct analyze_model *model, uint64_t bytes)
{
    model_begin(model);
    model->host.end_ns = 1000000;
    launch(model, LEGACY, 1);
    return add(model, bytes);
}

static const struct analyze_finding *found(enum analyze_pattern pattern)
{
    const struct analyze_finding *only = NULL;
    for (size_t i = 0; i < last->finding_count; i++) {
        if (last->findings[i].pattern != pattern)
            continue;
        assert_null(only);
        only = &last->findings[i];
    }
    return only;
}

static const char *name_of(const struct analyze_finding *finding)
{
    return analyze_field_word(finding, analyze_find_field(finding->pattern, "array", 5));
}

static bool knows_blocks(const struct analyze_finding *finding)
{
    return analyze_field_is_known(finding, analyze_find_field(finding->pattern, "more_blocks", 11));
}

// --- shared-unused -------------------------------------------------------------------------------

static void set_unused(struct analyze_shared *shared, uint64_t first, uint64_t bytes)
{
    shared->unused_first = first;
    shared->unused_bytes = bytes;
    shared->touched_words = (shared->bytes - bytes) / 4;
    shared->lives.again = 1; // it is reused
    if (!shared->touched_words)
        memset(&shared->lives, 0, sizeof(shared->lives));
}

// A block takes 49 of 228 KiB, so that 4 fit; registers and threads allow 8.
static void an_array_that_no_block_touches_is_found(void **state)
{
    (void)state;
    struct analyze_model model;
    set_unused(begin(&model, 48 * KIB), 0, 48 * KIB);
    run(&model);
    const struct analyze_finding *finding = found(ANALYZE_SHARED_UNUSED);
    assert_non_null(finding);
    assert_null(found(ANALYZE_SHARED_NO_REUSE));
    assert_string_equal(name_of(finding), "tile");
    assert_int_equal(finding->kernel, 1);
    assert_int_equal(finding->call, 1);
    assert_int_equal(value_of(finding, "bytes"), 48 * KIB);
    assert_int_equal(value_of(finding, "unused_bytes"), 48 * KIB);
    assert_int_equal(value_of(finding, "is_whole"), 1);
    assert_true(knows_blocks(finding));
    assert_int_equal(finding->more_blocks, 4);
    assert_true(finding->worthwhile);
}

static void so_is_a_large_part_in_one_piece(void **state)
{
    (void)state;
    struct analyze_model model;
    set_unused(begin(&model, 48 * KIB), 40 * KIB, 8 * KIB);
    run(&model);
    const struct analyze_finding *finding = found(ANALYZE_SHARED_UNUSED);
    assert_non_null(finding);
    assert_int_equal(value_of(finding, "first"), 40 * KIB);
    assert_int_equal(value_of(finding, "is_whole"), 0);
    assert_int_equal(finding->more_blocks, 1); // of 41 KiB
    // A small array that is unused as a whole counts, too.
    set_unused(begin(&model, 16), 0, 16);
    run(&model);
    assert_non_null(found(ANALYZE_SHARED_UNUSED));
}

// Near misses.
static void small_parts_are_not_found(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, unused;
        bool found;
    } rows[] = {{8 * KIB, 1024, true},        {8 * KIB, 1020, false}, // less than 1 KiB
                {16 * KIB, 1924, false},                              // 11.7 percent
                {16 * KIB, 2048, true},       {4224, 4, false},       // padding of a row
                {8 * KIB, 8 * KIB - 4, true}, {1000, 996, false},     // one word is touched
                {8 * KIB, 0, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct analyze_model model;
        set_unused(begin(&model, rows[i].bytes), 0, rows[i].unused);
        run(&model);
        assert_int_equal(found(ANALYZE_SHARED_UNUSED) != NULL, rows[i].found);
    }
}

static void what_is_unknown_is_not_found(void **state)
{
    (void)state;
    struct analyze_model model;
    struct analyze_shared *shared = begin(&model, 48 * KIB);
    set_unused(shared, 0, 48 * KIB);
    shared->is_known = false;
    run(&model);
    assert_null(found(ANALYZE_SHARED_UNUSED));
    shared = begin(&model, 1 * KIB);
    shared->is_known = false;
    run(&model);
    assert_null(found(ANALYZE_SHARED_NO_REUSE));
    shared = begin(&model, 1 * KIB);
    shared->traced = 0;
    run(&model);
    assert_null(found(ANALYZE_SHARED_NO_REUSE));
}

// Not worth reading: other limits, or no more blocks to run. Of an unknown GPU it is not estimated.
static void only_more_blocks_are_worth_something(void **state)
{
    (void)state;
    struct analyze_model model;
    struct analyze_shared *shared = begin(&model, 48 * KIB);
    set_unused(shared, 0, 48 * KIB);
    shared->shape.registers = 128; // 2 blocks
    run(&model);
    const struct analyze_finding *finding = found(ANALYZE_SHARED_UNUSED);
    assert_int_equal(finding->more_blocks, 0);
    assert_true(knows_blocks(finding));
    assert_false(finding->worthwhile);
    assert_false(finding->gain_is_unknown);
    shared = begin(&model, 48 * KIB);
    set_unused(shared, 0, 48 * KIB);
    shared->shape.blocks = 500;
    run(&model);
    assert_int_equal(found(ANALYZE_SHARED_UNUSED)->more_blocks, 1);
    shared = begin(&model, 48 * KIB);
    set_unused(shared, 0, 48 * KIB);
    shared->shape.blocks = 400;
    run(&model);
    assert_false(found(ANALYZE_SHARED_UNUSED)->worthwhile);
    shared = begin(&model, 48 * KIB);
    set_unused(shared, 0, 48 * KIB);
    shared->shape.major = 99;
    run(&model);
    finding = found(ANALYZE_SHARED_UNUSED);
    assert_false(knows_blocks(finding));
    assert_false(finding->worthwhile);
    assert_true(finding->gain_is_unknown);
}

// --- shared-no-reuse -----------------------------------------------------------------------------

static void an_array_for_each_thread_alone_is_found(void **state)
{
    (void)state;
    struct analyze_model model;
    begin(&model, 1 * KIB);
    run(&model);
    const struct analyze_finding *finding = found(ANALYZE_SHARED_NO_REUSE);
    assert_non_null(finding);
    assert_null(found(ANALYZE_SHARED_UNUSED));
    assert_string_equal(name_of(finding), "tile");
    assert_int_equal(analyze_line_at(finding).line, 10);
    assert_int_equal(finding->traffic_bytes, 2 * 250 * KIB * 4);
    assert_int_equal(finding->gpu_ns, 0);
    assert_int_equal(finding->more_blocks, 0);
    assert_int_equal(value_of(finding, "bytes"), 1 * KIB);
    assert_int_equal(value_of(finding, "ranges"), 250 * KIB);
    assert_int_equal(value_of(finding, "loads"), 250 * KIB);
    assert_int_equal(value_of(finding, "words"), 256);
    assert_true(finding->worthwhile);
    // Data that is not loaded at all does not change that.
    begin(&model, 1 * KIB)->lives.ranges *= 2;
    run(&model);
    assert_non_null(found(ANALYZE_SHARED_NO_REUSE));
}

// What is found in one launch of ten is worth what all of them load and store.
static void one_traced_launch_is_enough(void **state)
{
    (void)state;
    struct analyze_model model;
    struct analyze_shared *shared = begin(&model, 1 * KIB);
    shared->launches = 10;
    shared->loads *= 10;
    shared->stores *= 10;
    run(&model);
    const struct analyze_finding *finding = found(ANALYZE_SHARED_NO_REUSE);
    assert_non_null(finding);
    assert_int_equal(finding->traffic_bytes, 2 * 2500 * KIB * 4);
    assert_int_equal(value_of(finding, "ranges"), 250 * KIB);
    assert_int_equal(value_of(finding, "launches"), 10);
    assert_int_equal(value_of(finding, "launches_traced"), 1);
}

// Near misses.
static void data_that_is_shared_or_reused_is_not_found(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct analyze_model model;
        struct analyze_shared *shared = begin(&model, i == 5 ? 9 * KIB : 8 * KIB);
        switch (i) {
        case 0: shared->lives.again = 1; break;                     // one live range has two loads
        case 1: shared->lives.own--; break;                         // one load by another thread
        case 2: shared->lives.unstored = 1; break;                  // of what was there before
        case 3: shared->lives.loads = shared->lives.own = 0; break; // stored for nothing
        case 4: shared->loads_exceed = true; break; // in a launch that was not traced
        default: break;                             // 9 words of each thread
        }
        run(&model);
        assert_null(found(ANALYZE_SHARED_NO_REUSE));
    }
}

// 100 multiprocessors have 198 clocks in a nanosecond, each of which is a wavefront.
static void wavefronts_say_how_much_time_it_takes(void **state)
{
    (void)state;
    struct analyze_model model;
    begin(&model, 1 * KIB);
    model.multiprocessors = 100;
    model.calls.items[0].gpu_ns = 100000;
    model.calls.items[0].blocks = 1000;
    struct analyze_requests *row = base_array_push(&model.requests);
    assert_non_null(row);
    *row = (struct analyze_requests){.kernel = 1,
                                     .site = 1,
                                     .object = ANALYZE_NONE,
                                     .requests = 8000,
                                     .taken = 11800,
                                     .needed = 8000,
                                     .shared = true};
    row = base_array_push(&model.requests);
    assert_non_null(row);
    *row = (struct analyze_requests){.kernel = 1,
                                     .site = 2,
                                     .object = ANALYZE_NONE,
                                     .place = ANALYZE_NONE,
                                     .requests = 100000,
                                     .taken = 100000,
                                     .needed = 100000,
                                     .shared = true};
    run(&model);
    const struct analyze_finding *finding = found(ANALYZE_SHARED_NO_REUSE);
    assert_non_null(finding);
    assert_int_equal(finding->gpu_ns, (11800 + 250 * KIB * 4 / 128) / 198);
    assert_true(finding->only_time_counts);
}

// --- Blocks --------------------------------------------------------------------------------------

// As the vendor's occupancy calculator has them.
static void blocks_of_a_multiprocessor(void **state)
{
    (void)state;
    static const struct {
        uint32_t major, minor, threads, registers;
        uint64_t shared;
        uint32_t blocks;
    } rows[] = {
        {9, 0, 256, 32, 0, 8},         {9, 0, 32, 16, 0, 32},         {9, 0, 1024, 32, 0, 2},
        {9, 0, 256, 64, 0, 4},         {9, 0, 256, 255, 0, 1},        {9, 0, 128, 32, 48 * KIB, 4},
        {9, 0, 128, 32, 227 * KIB, 1}, {9, 0, 128, 32, 228 * KIB, 0}, {8, 0, 128, 32, 40 * KIB, 4},
        {8, 6, 256, 32, 0, 6},         {7, 5, 256, 32, 0, 4},         {7, 5, 64, 32, 16 * KIB, 4},
        {8, 9, 64, 32, 0, 24},         {7, 0, 256, 32, 48 * KIB, 2},  {3, 5, 256, 32, 0, 0},
        {9, 0, 0, 32, 0, 0},           {9, 0, 256, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct analyze_shape shape = {.major = rows[i].major,
                                            .minor = rows[i].minor,
                                            .threads = rows[i].threads,
                                            .registers = rows[i].registers};
        assert_int_equal(analyze_resident_blocks(&shape, rows[i].shared), rows[i].blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_array_that_no_block_touches_is_found, forget),
        cmocka_unit_test_teardown(so_is_a_large_part_in_one_piece, forget),
        cmocka_unit_test_teardown(small_parts_are_not_found, forget),
        cmocka_unit_test_teardown(what_is_unknown_is_not_found, forget),
        cmocka_unit_test_teardown(only_more_blocks_are_worth_something, forget),
        cmocka_unit_test_teardown(an_array_for_each_thread_alone_is_found, forget),
        cmocka_unit_test_teardown(one_traced_launch_is_enough, forget),
        cmocka_unit_test_teardown(data_that_is_shared_or_reused_is_not_found, forget),
        cmocka_unit_test_teardown(wavefronts_say_how_much_time_it_takes, forget),
        cmocka_unit_test(blocks_of_a_multiprocessor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
