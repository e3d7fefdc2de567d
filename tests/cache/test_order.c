// SPDX-License-Identifier: Apache-2.0
// Known answers of launches: what the order of warps and blocks does to hits, how errors of samples
// are estimated, and that the work grows like the number of records.
#include "../base/testing.h"

#include <math.h>
#include <stdlib.h>

#include "cache/launch.h"

// An L1 of four lines, and no drift, so that times are those of the counters.
static const struct cache_preset small = {
    .name = "small",
    .multiprocessors = 2,
    .l1 = {(uint64_t)4 * CACHE_LINE_BYTES, 4, CACHE_LRU},
    .l2 = {(uint64_t)64 * CACHE_LINE_BYTES, 16, CACHE_LRU},
    .partitions = 1,
    .fill_sectors = 1,
    .stores_allocate = true,
};

static const struct cache_order steady = {.whole_instructions = true};

// Runs a launch with one warp a block. Returns the hits of loads in L1.
static uint64_t l1_hits(const struct cache_record *records, size_t count,
                        const struct cache_block *blocks, uint64_t block_count, uint32_t resident,
                        const struct cache_order *order)
{
    struct cache_result results[2] = {0};
    struct cache_l2 *l2 = cache_l2_create(&small, CACHE_ALL);
    const struct cache_launch launch = {
        .records = records,
        .record_count = count,
        .blocks = blocks,
        .block_count = block_count,
        .warps_per_block = 1,
        .resident = resident,
        .owner_count = 2,
    };
    assert_non_null(l2);
    assert_true(cache_launch_run(l2, &launch, order, 1, results, NULL));
    cache_l2_destroy(l2);
    return results[0].l1.kinds[CACHE_LOAD].hits + results[1].l1.kinds[CACHE_LOAD].hits;
}

static struct cache_record load_of(uint64_t line, uint32_t warp, uint32_t counter)
{
    return (struct cache_record){.line = line, .warp = warp, .counter = counter, .sectors = 1};
}

// Two blocks load three lines each, twice. One after the other, all second loads hit; at the same
// time, six lines do not fit. On two multiprocessors, each has an L1.
static void resident_blocks_share_a_cache(void **state)
{
    (void)state;
    struct cache_record records[12];
    struct cache_block blocks[2] = {{.length = 6}, {.length = 6}};
    for (uint32_t i = 0; i < 12; i++)
        records[i] = load_of(i / 6 * 100 + i % 3, i / 6, i % 6);
    assert_int_equal(l1_hits(records, 12, blocks, 2, 1, &steady), 6);
    assert_int_equal(l1_hits(records, 12, blocks, 2, 0, &steady), 6);
    assert_int_equal(l1_hits(records, 12, blocks, 2, 2, &steady), 0);
    blocks[1].multiprocessor = 77;
    assert_int_equal(l1_hits(records, 12, blocks, 2, 2, &steady), 6);
}

// Three blocks, of which the first and the one that begins next use the same lines. The records of
// block 1 are where the input has them, not where the block began.
static void blocks_begin_in_the_order_of_the_run(void **state)
{
    (void)state;
    struct cache_record records[12];
    struct cache_block blocks[3] = {{.began = 10}, {.began = 30}, {.began = 20}};
    for (uint32_t i = 0; i < 12; i++)
        records[i] = load_of((i / 4 == 1 ? 100 : 0) + i % 4, i / 4, i % 4);
    assert_int_equal(l1_hits(records, 12, blocks, 3, 1, &steady), 4);
    blocks[2].began = 40;
    assert_int_equal(l1_hits(records, 12, blocks, 3, 1, &steady), 0);
}

// The third block begins when the shorter one of two ends, and finds what that has loaded: the
// longer one uses lines only later.
static void a_block_begins_when_there_is_room(void **state)
{
    (void)state;
    const struct cache_block blocks[3] = {
        {.began = 0, .length = 100}, {.began = 1, .length = 10}, {.began = 2, .length = 10}};
    struct cache_record records[12];
    for (uint32_t i = 0; i < 12; i++)
        records[i] = load_of((i < 4 ? 100 : 0) + i % 4, i / 4, i < 4 ? 50 + i % 4 : i % 4);
    assert_int_equal(l1_hits(records, 12, blocks, 3, 2, &steady), 4);
    for (uint32_t i = 0; i < 4; i++) // between the other two
        records[i].counter = 5 + i;
    assert_int_equal(l1_hits(records, 12, blocks, 3, 2, &steady), 0);
}

// A warp's records stay in order, also if its counters go back: five lines in a row never hit, and
// sorted by counter they would.
static void records_of_a_warp_stay_in_order(void **state)
{
    (void)state;
    const struct cache_block block = {0};
    struct cache_record records[10];
    for (uint32_t i = 0; i < 10; i++)
        records[i] = load_of(i % 5, 0, i % 5);
    assert_int_equal(l1_hits(records, 10, &block, 1, 1, &steady), 0);
    for (uint32_t i = 0; i < 10; i++)
        records[i].counter = i / 2 * 100;
    assert_int_equal(l1_hits(records, 10, &block, 1, 1, &steady), 0);
}

// Two warps load four lines each in one basic block, and then line 7. A turn is an instruction, or
// a record.
static void warps_take_turns(void **state)
{
    (void)state;
    const struct cache_block blocks[2] = {{.length = 9}, {.length = 9}};
    const struct cache_order by_record = {0};
    struct cache_record records[10];
    for (uint32_t i = 0; i < 10; i++)
        records[i] = load_of(i % 5 == 4 ? 7 : i / 5 * 100 + i % 5, i / 5, 0);
    // 0 1 2 3 7, then 100 101 102 103 7: line 7 is the fifth before.
    assert_int_equal(l1_hits(records, 10, blocks, 2, 2, &steady), 0);
    // 0 100 1 101 2 102 3 103 7 7
    assert_int_equal(l1_hits(records, 10, blocks, 2, 2, &by_record), 1);
    // Another owner is another instruction: 0 1 2 3, 100 101 102 103, 7, 7.
    records[4].owner = records[9].owner = 1;
    assert_int_equal(l1_hits(records, 10, blocks, 2, 2, &steady), 1);
}

// Two blocks load the same lines side by side: one of both hits. With drift, one is soon so far
// ahead that its lines have left.
static void blocks_drift_apart(void **state)
{
    (void)state;
    enum { LENGTH = 2000, BLOCKS = 2 };
    const struct cache_order drifting = {.drift_percent = 100, .whole_instructions = true};
    const struct cache_block blocks[BLOCKS] = {{.length = LENGTH}, {.length = LENGTH}};
    static struct cache_record records[BLOCKS * LENGTH];
    for (uint32_t i = 0; i < BLOCKS * LENGTH; i++)
        records[i] = load_of(i % LENGTH, i / LENGTH, i % LENGTH);
    assert_int_equal(l1_hits(records, BLOCKS * LENGTH, blocks, BLOCKS, 2, &steady), LENGTH);
    assert_true(l1_hits(records, BLOCKS * LENGTH, blocks, BLOCKS, 2, &drifting) < LENGTH / 2);
}

// L2 has what multiprocessors load in order of time: the one that is ahead misses.
static void l2_merges_by_time(void **state)
{
    (void)state;
    const struct cache_block blocks[2] = {{.multiprocessor = 0, .length = 100},
                                          {.multiprocessor = 1, .length = 100}};
    for (uint32_t ahead = 0; ahead < 2; ahead++) {
        struct cache_result results[2] = {0};
        struct cache_record records[20];
        struct cache_l2 *l2 = cache_l2_create(&small, CACHE_ALL);
        for (uint32_t i = 0; i < 20; i++) {
            const uint32_t warp = i % 2;
            records[i] = load_of(i / 2, warp, i + (warp == ahead ? 0 : 5));
            records[i].owner = warp;
        }
        const struct cache_launch launch = {.records = records,
                                            .record_count = 20,
                                            .blocks = blocks,
                                            .block_count = 2,
                                            .warps_per_block = 1,
                                            .owner_count = 2};
        assert_true(cache_launch_run(l2, &launch, &steady, 1, results, NULL));
        cache_l2_destroy(l2);
        assert_int_equal(results[ahead].l2.kinds[CACHE_LOAD].hits, 0);
        assert_int_equal(results[1 - ahead].l2.kinds[CACHE_LOAD].hits, 10);
    }
}

static void an_empty_launch_counts_nothing(void **state)
{
    (void)state;
    struct cache_l2 *l2 = cache_l2_create(&small, CACHE_ALL);
    const struct cache_launch none = {.warps_per_block = 1};
    struct cache_launch full = none;
    full.shared_bytes = small.l1.bytes;
    assert_true(cache_launch_run(l2, &none, NULL, 4, NULL, NULL));
    assert_false(cache_launch_run(l2, &full, NULL, 4, NULL, NULL)); // no room in L1
    cache_l2_destroy(l2);
}

// --- Errors --------------------------------------------------------------------------------------

// Of 16 groups of 100 sectors each, half hit always, and half never: 50 %. Leaving one out gives
// 700 or 800 of 1,500, so the error is sqrt(15 / 16 * 16 * (50 / 1500)^2), less what the share
// says.
static void errors_come_from_groups(void **state)
{
    (void)state;
    struct cache_count groups[CACHE_GROUPS] = {0};
    for (unsigned i = 0; i < CACHE_GROUPS; i++)
        groups[i] = (struct cache_count){.sectors = 100, .hits = i % 2 * 100};
    const double expected = sqrt(15.0) / 30 * sqrt(15.0 / 16);
    assert_true(fabs(cache_error(groups, CACHE_ALL / 16) - expected) < 1e-12);
    assert_true(cache_error(groups, CACHE_ALL) == 0);
    for (unsigned i = 0; i < CACHE_GROUPS; i++)
        groups[i].hits = groups[i].sectors = 10 + i;
    assert_true(cache_error(groups, CACHE_ALL / 16) == 0); // all hit
    for (unsigned i = 0; i < 9; i++)
        groups[i] = (struct cache_count){0};
    assert_true(cache_error(groups, CACHE_ALL / 16) < 0); // seven groups are too few
    assert_true(cache_error(groups, CACHE_ALL) == 0);
}

// --- Work ----------------------------------------------------------------------------------------

// Returns the steps of a launch with so many blocks of 8 warps with 20 records each.
static uint64_t steps_of(uint64_t block_count, bool in_order)
{
    enum { WARPS = 8, RECORDS = 20 };
    const size_t count = block_count * WARPS * RECORDS;
    struct cache_block *blocks = calloc(block_count, sizeof(*blocks));
    struct cache_record *records = calloc(count, sizeof(*records));
    struct cache_result result = {0};
    struct cache_l2 *l2 = cache_l2_create(cache_preset_find("h200"), CACHE_ALL / 16);
    uint64_t steps = 0, line = 1;
    assert_true(blocks && records && l2);
    for (uint64_t i = 0; i < block_count; i++)
        blocks[i] = (struct cache_block){.began = i, .multiprocessor = (uint32_t)(i % 132)};
    for (size_t i = 0; i < count; i++) {
        const size_t warp = in_order ? i / RECORDS : i % (block_count * WARPS);
        const size_t place = in_order ? i % RECORDS : i / (block_count * WARPS);
        line = line * 6364136223846793005u + 1442695040888963407u;
        records[i] = load_of(line >> 44, (uint32_t)warp, (uint32_t)place / 4);
    }
    const struct cache_launch launch = {.records = records,
                                        .record_count = count,
                                        .blocks = blocks,
                                        .block_count = block_count,
                                        .warps_per_block = WARPS,
                                        .resident = 16,
                                        .owner_count = 1};
    assert_true(cache_launch_run_counted(l2, &launch, NULL, 1, &result, NULL, &steps));
    assert_int_equal(result.l1.kinds[CACHE_LOAD].sectors, count);
    cache_l2_destroy(l2);
    free(blocks);
    free(records);
    return steps;
}

// Four times as many records are four times the work, and little more: sorting has another digit
// now and then.
static void work_is_linear(void **state)
{
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        const uint64_t once = steps_of(2000, in_order), more = steps_of(8000, in_order);
        assert_true(once > (uint64_t)2000 * 8 * 20);
        if (more * 10 > once * 44)
            fail_msg("%llu steps become %llu", (unsigned long long)once, (unsigned long long)more);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resident_blocks_share_a_cache),
        cmocka_unit_test(blocks_begin_in_the_order_of_the_run),
        cmocka_unit_test(a_block_begins_when_there_is_room),
        cmocka_unit_test(records_of_a_warp_stay_in_order),
        cmocka_unit_test(warps_take_turns),
        cmocka_unit_test(blocks_drift_apart),
        cmocka_unit_test(l2_merges_by_time),
        cmocka_unit_test(an_empty_launch_counts_nothing),
        cmocka_unit_test(errors_come_from_groups),
        cmocka_unit_test(work_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
