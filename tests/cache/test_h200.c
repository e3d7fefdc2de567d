// SPDX-License-Identifier: Apache-2.0
// The preset h200 has the hit rates of L2 that the counters of an H200 showed (ncu, reads by
// multiprocessors) for a kernel that loads random words from a table of some size. One LRU cache of
// 60 MiB would be wrong by up to 36 points.
#include "../base/testing.h"

#include "cache/cache.h"
#include "random.h"

struct gather {
    struct cache_l2 *l2;
    uint32_t share;
    struct cache_l2_counts counts[3];
};

static void take(struct gather *gather, struct cache_request request)
{
    if (cache_is_sampled(request.line, gather->share))
        cache_l2_run(gather->l2, &request, 1, gather->counts);
}

// Each warp loads a line of indices, then 32 random words, and stores a line of results. L1 does
// not matter: no multiprocessor finds a word of so large a table there.
static double rate_of(uint64_t bytes)
{
    const struct cache_preset *preset = cache_preset_find("h200");
    struct gather gather = {.share = CACHE_ALL / 16};
    const uint64_t lines = bytes / CACHE_LINE_BYTES, indices = (uint64_t)1 << 32,
                   results = (uint64_t)2 << 32;
    gather.l2 = cache_l2_create(preset, gather.share);
    assert_non_null(gather.l2);
    random_state = 1;
    for (uint64_t warp = 0; warp < 1 << 19; warp++) {
        const uint16_t sm = (uint16_t)random_below(preset->multiprocessors);
        take(&gather, (struct cache_request){.line = indices + warp,
                                             .owner = 1,
                                             .kind = CACHE_LOAD,
                                             .sectors = 15,
                                             .multiprocessor = sm});
        for (unsigned lane = 0; lane < 32; lane++)
            take(&gather, (struct cache_request){.line = random_below(lines),
                                                 .kind = CACHE_LOAD,
                                                 .sectors = (uint8_t)(1u << random_below(4)),
                                                 .multiprocessor = sm});
        take(&gather, (struct cache_request){.line = results + warp,
                                             .owner = 2,
                                             .kind = CACHE_STORE,
                                             .sectors = 15,
                                             .whole = 15,
                                             .multiprocessor = sm});
    }
    cache_l2_destroy(gather.l2);
    const struct cache_count *table = &gather.counts[0].kinds[CACHE_LOAD],
                             *index = &gather.counts[1].kinds[CACHE_LOAD];
    return 100.0 * (double)(table->hits + index->hits) / (double)(table->sectors + index->sectors);
}

static void gathers_hit_as_on_an_h200(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        double hits; // percent
    } rows[] = {
        {15000000, 87.8}, {30000000, 66.1},  {45000000, 39.5}, {60000000, 27.2},
        {90000000, 16.6}, {120000000, 11.9}, {268435456, 5.0},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double rate = rate_of(rows[i].bytes);
        if (rate < rows[i].hits - 3 || rate > rows[i].hits + 3)
            fail_msg("%llu bytes: %.1f %% instead of %.1f %%", (unsigned long long)rows[i].bytes,
                     rate, rows[i].hits);
    }
}

// A range of memory that fits into a partition stays there, also if it does not begin at a multiple
// of anything, and nearly so if a sixteenth of all lines is looked at.
static void ranges_that_fit_stay(void **state)
{
    (void)state;
    const uint64_t first = 12345;
    for (uint32_t share = CACHE_ALL; share >= CACHE_ALL / 16; share /= 4) {
        const uint64_t lines =
            (uint64_t)(share == CACHE_ALL ? 28 << 20 : 20 << 20) / CACHE_LINE_BYTES;
        struct gather gather = {.share = share,
                                .l2 = cache_l2_create(cache_preset_find("h200"), share)};
        assert_non_null(gather.l2);
        for (unsigned round = 0; round < 2; round++) {
            for (uint64_t i = 0; i < lines; i++)
                take(&gather,
                     (struct cache_request){
                         .line = first + i, .owner = round, .kind = CACHE_LOAD, .sectors = 1});
        }
        cache_l2_destroy(gather.l2);
        const struct cache_count *again = &gather.counts[1].kinds[CACHE_LOAD];
        if (share == CACHE_ALL)
            assert_int_equal(again->hits, lines);
        assert_true(again->hits * 100 >= again->sectors * 98);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_hit_as_on_an_h200),
        cmocka_unit_test(ranges_that_fit_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
