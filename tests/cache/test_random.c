// SPDX-License-Identifier: Apache-2.0
// The models equal naive ones on random requests, and a share of all lines has the hit rates of
// all.
#include "../base/testing.h"

#include <stdlib.h>
#include <string.h>

#include "naive.h"

enum { OWNERS = 5, REQUESTS = 20000, BATCH = 20, ROUNDS = 60 };

// --- Comparison ----------------------------------------------------------------------------------

static struct cache_request random_request(uint64_t lines)
{
    struct cache_request request = {
        .line = random_below(2) ? random_below(lines) : random_below(lines / 8 + 1),
        .owner = (uint32_t)random_below(OWNERS),
        .kind = (uint8_t)(random_below(8) ? random_below(2) : CACHE_ATOMIC),
        .sectors = (uint8_t)(1 + random_below(15)),
    };
    request.whole = (uint8_t)(random_below(16) & request.sectors);
    return request;
}

static struct naive_level naive_l1s[4];
static struct naive_l2 naive_l2;

// Returns whether half of the lines of a set's piece were only copied.
static bool has_many_weak(const struct naive_level *level, uint64_t number)
{
    const uint64_t piece = naive_piece_of(level, number);
    uint64_t lines = 0, weak = 0;
    for (uint64_t set = 0; set < level->set_count; set++) {
        for (unsigned i = 0; naive_piece_of(level, set) == piece && i < level->ways; i++) {
            lines++;
            weak += level->sets[set].ways[i].weak;
        }
    }
    return weak >= lines / 2;
}

// What a copy leaves: behind all lines that were used, in a way that is free, unless many lines of
// its piece and some of its set were only copied, or in that of the last of these.
static void naive_copy(struct naive_level *level, uint64_t line, struct cache_l2_counts *counts)
{
    struct naive_set *set = &level->sets[naive_set_of(level, line)];
    struct naive_line *found = NULL;
    unsigned used = 0, weak = 0, place = 0;
    for (unsigned i = 0; i < level->ways; i++) {
        if (set->ways[i].used && set->ways[i].line == line)
            found = &set->ways[i];
        used += set->ways[i].used && !set->ways[i].weak;
        weak += set->ways[i].weak;
    }
    if (!found && (level->policy != CACHE_LRU || level->ways != 16)) {
        found = naive_place(level, line, counts);
    } else if (!found) {
        const bool many = weak && has_many_weak(level, naive_set_of(level, line));
        if ((set->count < NAIVE_FREE && !many) || (set->count < 16 && !weak))
            set->order[set->count] = set->count, set->count++;
        place = set->count - 1;
        const unsigned way = set->order[place], at = used < 16 ? used : 15;
        for (; place > at; place--)
            set->order[place] = set->order[place - 1];
        set->order[at] = way;
        found = &set->ways[way];
        naive_write(found, counts);
        *found = (struct naive_line){.used = true, .weak = true, .line = line};
    }
    for (unsigned i = 0; i < CACHE_SECTORS; i++)
        found->present[i] = true;
}

static void models_equal_naive_ones(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random_state = round;
        const struct cache_preset preset = random_preset(1);
        const uint64_t lines = 1 + random_below(600);
        struct cache_l1 *l1s[4];
        struct cache_l2 *l2 = cache_l2_create(&preset, CACHE_ALL);
        struct cache_l1_counts counts1[2][OWNERS] = {0};
        struct cache_l2_counts counts2[2][OWNERS] = {0};
        assert_non_null(l2);
        naive_l2_init(&naive_l2, &preset, CACHE_ALL);
        for (unsigned i = 0; i < 4; i++) {
            l1s[i] = cache_l1_create(&preset, 0, CACHE_ALL);
            assert_non_null(l1s[i]);
            naive_init(&naive_l1s[i], &preset.l1, CACHE_ALL);
        }
        for (unsigned i = 0; i < REQUESTS / BATCH; i++) {
            struct cache_request batch[BATCH];
            const uint32_t sm = (uint32_t)random_below(4);
            uint32_t rest[BATCH];
            for (unsigned k = 0; k < BATCH; k++) {
                batch[k] = random_request(lines);
                batch[k].multiprocessor = (uint16_t)sm;
                rest[k] = naive_l1(&naive_l1s[sm], &preset, &batch[k], counts1[1]);
            }
            cache_l1_run(l1s[sm], batch, BATCH, counts1[0]);
            cache_l2_run(l2, batch, BATCH, counts2[0]);
            for (unsigned k = 0; k < BATCH; k++) {
                assert_int_equal(batch[k].sectors, rest[k]);
                if (rest[k])
                    naive_access(&naive_l2, sm, &batch[k], counts2[1]);
            }
            for (unsigned k = 0; k < random_below(4); k++) {
                const uint64_t line = random_below(lines);
                cache_l2_copy(l2, line, counts2[0]);
                naive_copy(&naive_l2.partitions[cache_home_of(line, preset.partitions)], line,
                           counts2[1]);
            }
            assert_memory_equal(counts2[0], counts2[1], sizeof(counts2[0]));
        }
        assert_memory_equal(counts1[0], counts1[1], sizeof(counts1[0]));
        for (unsigned i = 0; i < 4; i++)
            cache_l1_destroy(l1s[i]);
        cache_l2_destroy(l2);
    }
}

// Loads of random lines of a table that is larger than the cache, of lines in order, and of few
// lines again and again.
static uint64_t next_line(unsigned kind, uint64_t i)
{
    switch (kind) {
    case 0: return random_below(48000);
    case 1: return i % 48000;
    default: return random_below(4) ? random_below(12000) : 100000 + random_below(800000);
    }
}

static double rate_of(unsigned kind, uint32_t share)
{
    const struct cache_preset preset = {.multiprocessors = 1,
                                        .partitions = 1,
                                        .fill_sectors = 1,
                                        .l2 = {32768 * CACHE_LINE_BYTES, 16, CACHE_LRU}};
    struct cache_l2 *l2 = cache_l2_create(&preset, share);
    struct cache_l2_counts counts = {0};
    assert_non_null(l2);
    random_state = 7;
    for (uint64_t i = 0; i < 1000000; i++) {
        const struct cache_request load = {.line = next_line(kind, i), .sectors = 1};
        if (cache_is_sampled(load.line, share))
            cache_l2_run(l2, &load, 1, &counts);
    }
    cache_l2_destroy(l2);
    return 100.0 * (double)counts.kinds[CACHE_LOAD].hits / (double)counts.kinds[CACHE_LOAD].sectors;
}

// Within 2 points; a cache of the whole size would be wrong by tens of points.
static void a_share_of_lines_has_the_hit_rates_of_all(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        const double all = rate_of(kind, CACHE_ALL);
        assert_in_range((uint64_t)all, kind == 1 ? 0 : 60, kind == 1 ? 5 : 80);
        for (uint32_t share = CACHE_ALL / 2; share >= CACHE_ALL / 16; share /= 2) {
            const double some = rate_of(kind, share);
            if (some < all - 2 || some > all + 2)
                fail_msg("kind %u, share %u: %.2f %% instead of %.2f %%", kind, share, some, all);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_equal_naive_ones),
        cmocka_unit_test(a_share_of_lines_has_the_hit_rates_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
