// SPDX-License-Identifier: Apache-2.0
// The models equal naive ones on random requests: sector by sector, with lists in order of use, and
// trees that are walked from the root. And a share of all lines has the hit rates of all.
#include "../base/testing.h"

#include <stdlib.h>
#include <string.h>

#include "cache/level.h"
#include "random.h"

enum { OWNERS = 5, MOST_SETS = 64, REQUESTS = 20000, BATCH = 20, ROUNDS = 60 };

// --- The naive level -----------------------------------------------------------------------------

struct naive_line {
    bool used;
    uint64_t line;
    bool present[CACHE_SECTORS], dirty[CACHE_SECTORS];
    uint32_t writer;
};

struct naive_set {
    struct naive_line ways[CACHE_MOST_WAYS];
    unsigned order[CACHE_MOST_WAYS]; // ways, the last used first
    unsigned count;                  // of these
    bool right[CACHE_MOST_WAYS];     // of a node of the tree: the right half is to leave next
};

struct naive_level {
    struct naive_set sets[MOST_SETS];
    uint64_t set_count, random;
    unsigned ways;
    enum cache_policy policy;
};

static void naive_init(struct naive_level *level, const struct cache_shape *shape, uint32_t share)
{
    memset(level, 0, sizeof(*level));
    const uint64_t lines = shape->bytes / CACHE_LINE_BYTES * share / CACHE_ALL;
    level->ways = shape->ways;
    while (level->ways > lines)
        level->ways /= 2;
    level->set_count = (2 * lines / level->ways + 1) / 2; // rounded
    level->policy = shape->policy;
    level->random = 1;
    assert_in_range(level->set_count, 1, MOST_SETS);
}

static struct naive_set *naive_set_of(struct naive_level *level, uint64_t line)
{
    const uint64_t sets = level->set_count, run = line / sets;
    const uint64_t turned = (uint64_t)((unsigned __int128)cache_mix(run) * sets >> 64);
    return &level->sets[(line % sets + turned) % sets];
}

static void walk_to(struct naive_set *set, unsigned way, unsigned from, unsigned to, unsigned node)
{
    if (to - from == 1)
        return;
    const unsigned middle = (from + to) / 2;
    set->right[node] = way < middle;
    if (way < middle)
        walk_to(set, way, from, middle, 2 * node);
    else
        walk_to(set, way, middle, to, 2 * node + 1);
}

static unsigned walk_down(const struct naive_set *set, unsigned from, unsigned to, unsigned node)
{
    if (to - from == 1)
        return from;
    const unsigned middle = (from + to) / 2;
    return set->right[node] ? walk_down(set, middle, to, 2 * node + 1)
                            : walk_down(set, from, middle, 2 * node);
}

static void naive_use(const struct naive_level *level, struct naive_set *set, unsigned way)
{
    unsigned place = 0;
    while (place < set->count && set->order[place] != way)
        place++;
    if (place == set->count)
        set->count++;
    for (; place; place--)
        set->order[place] = set->order[place - 1];
    set->order[0] = way;
    walk_to(set, way, 0, level->ways, 1);
}

static struct naive_line *naive_find(struct naive_level *level, uint64_t line)
{
    struct naive_set *set = naive_set_of(level, line);
    for (unsigned i = 0; i < level->ways; i++) {
        if (set->ways[i].used && set->ways[i].line == line) {
            naive_use(level, set, i);
            return &set->ways[i];
        }
    }
    return NULL;
}

static struct naive_line *naive_place(struct naive_level *level, uint64_t line,
                                      struct cache_l2_counts *counts)
{
    struct naive_set *set = naive_set_of(level, line);
    unsigned way = set->count;
    if (way == level->ways) {
        level->random = level->random * 6364136223846793005u + 1442695040888963407u;
        way = level->policy == CACHE_LRU    ? set->order[level->ways - 1]
              : level->policy == CACHE_TREE ? walk_down(set, 0, level->ways, 1)
                                            : (unsigned)(level->random >> 40) % level->ways;
    }
    struct naive_line *found = &set->ways[way];
    for (unsigned i = 0; counts && i < CACHE_SECTORS; i++)
        counts[found->writer].written += found->dirty[i];
    *found = (struct naive_line){.used = true, .line = line};
    naive_use(level, set, way);
    return found;
}

static struct naive_line *naive_line(struct naive_level *level, uint64_t line,
                                     struct cache_l2_counts *counts)
{
    struct naive_line *found = naive_find(level, line);
    return found ? found : naive_place(level, line, counts);
}

// --- The naive caches ----------------------------------------------------------------------------

static uint32_t naive_l1(struct naive_level *level, const struct cache_preset *preset,
                         const struct cache_request *request, struct cache_l1_counts *counts)
{
    const bool allocates =
        request->kind == CACHE_LOAD || (request->kind == CACHE_STORE && preset->stores_allocate);
    struct naive_line *line = naive_find(level, request->line);
    uint32_t rest = 0;
    if (!line && allocates)
        line = naive_place(level, request->line, NULL);
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (!(request->sectors >> i & 1))
            continue;
        struct cache_count *count = &counts[request->owner].kinds[request->kind];
        const bool hit = line && line->present[i];
        count->sectors++;
        count->hits += hit;
        rest |= request->kind != CACHE_LOAD || !hit ? 1u << i : 0;
        if (line && request->kind == CACHE_ATOMIC)
            line->present[i] = false;
        if (line && allocates)
            line->present[i] = true;
    }
    return rest;
}

struct naive_l2 {
    struct naive_level partitions[2];
    const struct cache_preset *preset;
    unsigned owed[CACHE_KINDS];
};

static void naive_fill(const struct naive_l2 *l2, struct naive_line *home, unsigned sector,
                       uint64_t *read)
{
    const unsigned size = l2->preset->fill_sectors;
    for (unsigned i = sector / size * size;
         !home->present[sector] && i < sector / size * size + size; i++) {
        if (i == sector)
            continue;
        *read += !home->present[i];
        home->present[i] = true;
    }
    *read += !home->present[sector];
    home->present[sector] = true;
}

static void naive_change(struct naive_l2 *l2, struct naive_level *near, struct naive_level *home,
                         const struct cache_request *request, struct cache_l2_counts *counts)
{
    struct cache_l2_counts *own = &counts[request->owner];
    struct naive_line *line = naive_line(home, request->line, counts), *copy;
    bool was[CACHE_SECTORS];
    memcpy(was, line->present, sizeof(was));
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (request->kind == CACHE_STORE && request->whole >> i & 1)
            was[i] = line->present[i] = true;
    }
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (!(request->sectors >> i & 1))
            continue;
        if (!was[i]) {
            l2->owed[request->kind] += request->kind == CACHE_STORE ? l2->preset->part_stores_hit
                                                                    : l2->preset->atomics_hit;
            own->kinds[request->kind].hits += l2->owed[request->kind] >= 100;
            l2->owed[request->kind] %= 100;
            naive_fill(l2, line, i, &own->read);
        } else {
            own->kinds[request->kind].hits++;
        }
        line->dirty[i] = true;
        line->writer = request->owner;
    }
    if (near != home && (copy = naive_find(near, request->line))) {
        for (unsigned i = 0; i < CACHE_SECTORS; i++)
            copy->present[i] &= !(request->sectors >> i & 1);
    }
}

static void naive_access(struct naive_l2 *l2, uint32_t multiprocessor,
                         const struct cache_request *request, struct cache_l2_counts *counts)
{
    const struct cache_preset *preset = l2->preset;
    struct cache_l2_counts *own = &counts[request->owner];
    struct naive_level *near =
        &l2->partitions[multiprocessor * preset->partitions / preset->multiprocessors];
    struct naive_level *home = &l2->partitions[cache_home_of(request->line, preset->partitions)];
    for (unsigned i = 0; i < CACHE_SECTORS; i++)
        own->kinds[request->kind].sectors += request->sectors >> i & 1;
    if (request->kind != CACHE_LOAD) {
        naive_change(l2, near, home, request, counts);
        return;
    }
    struct naive_line *line = naive_line(near, request->line, counts);
    unsigned missing = 0;
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (!(request->sectors >> i & 1))
            continue;
        own->kinds[CACHE_LOAD].hits += line->present[i];
        missing |= line->present[i] ? 0 : 1u << i;
        line->present[i] |= near != home;
    }
    if (!missing)
        return;
    struct naive_line *origin = near == home ? line : naive_line(home, request->line, counts);
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (request->sectors >> i & 1)
            naive_fill(l2, origin, i, &own->read);
    }
}

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

static struct cache_preset random_preset(void)
{
    return (struct cache_preset){
        .name = "random",
        .multiprocessors = 4,
        .l1 = {CACHE_LINE_BYTES * (2 + random_below(100)), 1u << random_below(6),
               (enum cache_policy)random_below(3)},
        .l2 = {CACHE_LINE_BYTES * (8 + random_below(200)), 4u << random_below(3),
               (enum cache_policy)random_below(3)},
        .partitions = 1 + (uint32_t)random_below(2),
        .fill_sectors = 1u << random_below(3),
        .part_stores_hit = (uint32_t)random_below(101),
        .atomics_hit = (uint32_t)random_below(101),
        .stores_allocate = random_below(2),
    };
}

static struct naive_level naive_l1s[4];
static struct naive_l2 naive_l2;

static void models_equal_naive_ones(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random_state = round;
        const struct cache_preset preset = random_preset();
        const uint64_t lines = 1 + random_below(600);
        struct cache_l1 *l1s[4];
        struct cache_l2 *l2 = cache_l2_create(&preset, CACHE_ALL);
        struct cache_l1_counts counts1[2][OWNERS] = {0};
        struct cache_l2_counts counts2[2][OWNERS] = {0};
        assert_non_null(l2);
        naive_l2.preset = &preset;
        memset(naive_l2.owed, 0, sizeof(naive_l2.owed));
        for (unsigned i = 0; i < preset.partitions; i++)
            naive_init(&naive_l2.partitions[i], &preset.l2, CACHE_ALL);
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
