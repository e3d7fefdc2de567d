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
        assert_int_equal(count, kind ? 8 : 5); // each was tried, and then all succeed
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_created_or_not),
        cmocka_unit_test(distances_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
