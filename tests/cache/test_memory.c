// SPDX-License-Identifier: Apache-2.0
// Wherever memory runs out, models are not created, or say so, and all else stays right.
#include "../base/testing.h"

#include "../base/failing_memory.h"
#include "cache/cache.h"

enum { LINES = 10000 };

static void models_are_created_or_not(void **state)
{
    (void)state;
    const struct cache_preset *preset = cache_preset_find("h200");
    for (unsigned kind = 0; kind < 2; kind++) {
        size_t count = 0;
        for (bool created = false; !created; count++) {
            allocations_left = count;
            struct cache_l1 *l1 = kind ? NULL : cache_l1_create(preset, 0, CACHE_ALL / 16);
            struct cache_l2 *l2 = kind ? cache_l2_create(preset, CACHE_ALL / 16) : NULL;
            allocations_left = SIZE_MAX;
            created = l1 || l2;
            cache_l1_destroy(l1);
            cache_l2_destroy(l2);
        }
        assert_int_equal(count, 3); // each of two was tried, and then all succeed
    }
}

// What was counted before memory ran out is right, and when there is memory again, it goes on.
static void distances_survive(void **state)
{
    (void)state;
    for (size_t count = 0;; count++) {
        struct cache_distances counts = {0};
        uint64_t used = 0;
        struct cache_reuse *reuse = cache_reuse_create(CACHE_ALL);
        assert_non_null(reuse);
        allocations_left = count;
        for (uint64_t line = 0; line < LINES; line++) {
            const struct cache_request request = {.line = line, .sectors = 1};
            if (!cache_reuse_run(reuse, &request, 1, &counts))
                break;
            used++;
        }
        allocations_left = SIZE_MAX;
        assert_int_equal(counts.first, used);
        for (uint64_t line = 0; line < LINES; line++) {
            const struct cache_request request = {.line = line, .sectors = 1};
            assert_true(cache_reuse_run(reuse, &request, 1, &counts));
        }
        assert_int_equal(counts.first, LINES);
        assert_int_equal(cache_reuse_hits(&counts, CACHE_DISTANCES), used);
        cache_reuse_destroy(reuse);
        if (used == LINES)
            break;
    }
    cache_reuse_destroy(NULL);
    cache_l1_destroy(NULL);
    cache_l2_destroy(NULL);
}

// A launch that fails leaves L2 and the results as they were; each allocation is tried.
static void launches_fail_without_a_trace(void **state)
{
    (void)state;
    enum { RECORDS = 3000, LEAST_ALLOCATIONS = 20 };
    static struct cache_record records[RECORDS];
    const struct cache_block blocks[2] = {{.multiprocessor = 0}, {.multiprocessor = 1}};
    const uint32_t group = 0;
    struct cache_l2 *l2 = cache_l2_create(cache_preset_find("h200"), CACHE_ALL / 16);
    assert_non_null(l2);
    for (uint32_t i = 0; i < RECORDS; i++)
        records[i] = (struct cache_record){.line = i, .warp = i % 2, .sectors = 1};
    const struct cache_launch launch = {.records = records,
                                        .record_count = RECORDS,
                                        .blocks = blocks,
                                        .block_count = 2,
                                        .warps_per_block = 1,
                                        .owner_count = 1};
    size_t count = 0;
    for (bool done = false; !done; count++) {
        struct cache_result result = {0};
        struct cache_distances l1 = {0}, distances = {0};
        struct cache_reuse *kept = cache_reuse_create(CACHE_ALL / 16);
        const struct cache_launch_reuse reuse = {&group, 1, &l1, &distances, kept};
        assert_non_null(kept);
        allocations_left = count;
        done = cache_launch_run(l2, &launch, NULL, 1, &result, &reuse);
        allocations_left = SIZE_MAX;
        assert_int_equal(result.l1.kinds[CACHE_LOAD].sectors, done ? RECORDS : 0);
        assert_int_equal(result.l2.kinds[CACHE_LOAD].sectors, done ? RECORDS : 0);
        assert_int_equal(result.l2.kinds[CACHE_LOAD].hits, 0);
        assert_int_equal(l1.first, done ? RECORDS : 0);
        cache_reuse_destroy(kept);
    }
    assert_true(count > LEAST_ALLOCATIONS);
    cache_l2_destroy(l2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_created_or_not),
        cmocka_unit_test(distances_survive),
        cmocka_unit_test(launches_fail_without_a_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
