// SPDX-License-Identifier: Apache-2.0
// Reuse distances: known answers, and that they tell the hits of caches of all sizes, which are
// simulated one by one.
#include "../base/testing.h"

#include <string.h>

#include "cache/cache.h"
#include "random.h"

enum { OWNERS = 3, REQUESTS = 30000, SIZES = 7 };

static void distances_are_other_lines(void **state)
{
    (void)state;
    static const struct {
        uint64_t line;
        uint8_t sectors;
        int place; // -1: the first use
    } rows[] = {
        {5, 1, -1}, {5, 1, 0},  {6, 1, -1}, {6, 2, -1}, {5, 1, 1},
        {7, 1, -1}, {8, 1, -1}, {5, 1, 2},  {6, 1, 2},  {6, 2, 2},
        {7, 1, 2},  {8, 1, 2},  {8, 2, -1}, {5, 2, -1}, {5, 1, 2},
    };
    struct cache_reuse *reuse = cache_reuse_create(CACHE_ALL);
    assert_non_null(reuse);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct cache_request request = {.line = rows[i].line, .sectors = rows[i].sectors};
        struct cache_distances counts = {0}, expected = {0};
        assert_true(cache_reuse_run(reuse, &request, 1, &counts));
        if (rows[i].place < 0)
            expected.first = 1;
        else
            expected.sectors[rows[i].place] = 1;
        if (memcmp(&counts, &expected, sizeof(counts)) != 0)
            fail_msg("request %u", i);
    }
    cache_reuse_destroy(reuse);
}

// A fully associative cache: lines in order of use, the last used first.
struct naive {
    struct {
        uint64_t line;
        unsigned present;
    } lines[1 << SIZES];
    unsigned count, room;
};

static unsigned hits_of(struct naive *naive, const struct cache_request *request)
{
    unsigned place = 0, present = 0;
    while (place < naive->count && naive->lines[place].line != request->line)
        place++;
    if (place < naive->count)
        present = naive->lines[place].present;
    else if (naive->count < naive->room)
        naive->count++;
    else
        place--;
    memmove(naive->lines + 1, naive->lines, place * sizeof(naive->lines[0]));
    naive->lines[0].line = request->line;
    naive->lines[0].present = present | request->sectors;
    return (unsigned)__builtin_popcount(present & request->sectors);
}

// Few lines, of which all are used again soon, and many, so that time begins anew.
static void distances_tell_hits_of_all_sizes(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 6; round++) {
        static struct naive naive[SIZES];
        struct cache_distances counts[OWNERS] = {0};
        uint64_t hits[SIZES][OWNERS] = {0}, sectors[OWNERS] = {0};
        const uint64_t lines = round < 3 ? 10u << (2 * round) : 20000;
        struct cache_reuse *reuse = cache_reuse_create(CACHE_ALL);
        assert_non_null(reuse);
        random_state = round;
        memset(naive, 0, sizeof(naive));
        for (unsigned i = 0; i < REQUESTS; i++) {
            const struct cache_request request = {
                .line = random_below(4) ? random_below(lines / 4 + 1) : random_below(lines),
                .owner = (uint32_t)random_below(OWNERS),
                .sectors = (uint8_t)(1 + random_below(15)),
            };
            assert_true(cache_reuse_run(reuse, &request, 1, counts));
            sectors[request.owner] += (uint64_t)__builtin_popcount(request.sectors);
            for (unsigned k = 0; k < SIZES; k++) {
                naive[k].room = 1u << k;
                hits[k][request.owner] += hits_of(&naive[k], &request);
            }
        }
        for (unsigned i = 0; i < OWNERS; i++) {
            for (unsigned k = 0; k < SIZES; k++)
                assert_int_equal(cache_reuse_hits(&counts[i], k), hits[k][i]);
            assert_int_equal(cache_reuse_hits(&counts[i], CACHE_DISTANCES) + counts[i].first,
                             sectors[i]);
        }
        cache_reuse_destroy(reuse);
    }
}

// Of a loop over 1024 lines, each has 1023 others between two uses; so it is in a share, nearly.
static void shares_have_the_distances_of_all(void **state)
{
    (void)state;
    for (uint32_t share = CACHE_ALL; share >= CACHE_ALL / 8; share /= 8) {
        struct cache_distances counts = {0};
        struct cache_reuse *reuse = cache_reuse_create(share);
        uint64_t count = 0;
        assert_non_null(reuse);
        for (uint64_t i = 0; i < 10240; i++) {
            const struct cache_request request = {.line = i % 1024, .sectors = 1};
            if (!cache_is_sampled(request.line, share))
                continue;
            assert_true(cache_reuse_run(reuse, &request, 1, &counts));
            count++;
        }
        assert_int_equal(counts.first, count / 10);
        assert_int_equal(counts.sectors[10] + counts.sectors[11], count / 10 * 9);
        cache_reuse_destroy(reuse);
    }
    assert_null(cache_reuse_create(0));
    assert_null(cache_reuse_create(CACHE_ALL + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_other_lines),
        cmocka_unit_test(distances_tell_hits_of_all_sizes),
        cmocka_unit_test(shares_have_the_distances_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
