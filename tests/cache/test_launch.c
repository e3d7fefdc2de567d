// SPDX-License-Identifier: Apache-2.0
// Launches equal naive ones: all records are sorted by time, turn and warp, and run through naive
// models one after the other. See test_order.c for what the order must be.
#include "naive.h"

#include <stdlib.h>

#include "cache/launch.h"

enum {
    OWNERS = 5,
    GROUPS = 2,
    ROUNDS = 60,
    MOST_BLOCKS = 40,
    MOST_WARPS = 4,
    MOST_RECORDS = 20000
};
enum { MOST_MULTIPROCESSORS = 7 }; // of a launch

static const uint32_t group_of[OWNERS] = {0, 1, 1, 0, 1};

// What is counted for a launch.
struct sums {
    struct cache_result results[OWNERS];
    struct cache_distances l1[GROUPS], l2[GROUPS];
};

// --- The naive launch ----------------------------------------------------------------------------

struct naive_block {
    bool started;
    uint64_t begin, pace;
};

struct naive_record {
    uint64_t time, turn;
    uint32_t warp, multiprocessor;
    size_t index; // of the record; for L2: in the order of all L1s
    struct cache_request request;
};

static struct naive_block naive_blocks[MOST_BLOCKS];
static struct naive_record naive_records[MOST_RECORDS];

static uint64_t naive_length(const struct cache_launch *launch, uint64_t block)
{
    uint64_t length = launch->blocks[block].length;
    for (size_t i = 0; !launch->blocks[block].length && i < launch->record_count; i++) {
        const struct cache_record *record = &launch->records[i];
        if (record->warp / launch->warps_per_block == block && record->counter + 1 > length)
            length = record->counter + 1;
    }
    return length ? length : 1;
}

// Returns the block of this multiprocessor that begins next, or MOST_BLOCKS.
static uint64_t naive_next(const struct cache_launch *launch, uint32_t multiprocessor)
{
    uint64_t next = MOST_BLOCKS;
    for (uint64_t i = 0; i < launch->block_count; i++) {
        if (launch->blocks[i].multiprocessor == multiprocessor && !naive_blocks[i].started &&
            (next == MOST_BLOCKS || launch->blocks[i].began < launch->blocks[next].began))
            next = i;
    }
    return next;
}

// Lets the blocks of a multiprocessor begin one after the other, each in the place that is free
// first. Returns when the last one ends.
static uint64_t naive_begin(const struct cache_launch *launch, const struct cache_order *order,
                            uint32_t multiprocessor)
{
    uint64_t ends[MOST_BLOCKS] = {0}, last = 0, block;
    const uint32_t places = launch->resident ? launch->resident : 1;
    while ((block = naive_next(launch, multiprocessor)) < MOST_BLOCKS) {
        uint32_t place = 0;
        for (uint32_t i = 1; i < places; i++)
            place = ends[i] < ends[place] ? i : place;
        struct naive_block *it = &naive_blocks[block];
        const uint64_t range = (uint64_t)65536 * order->drift_percent / 100;
        it->pace = 65536 - range / 2 + ((cache_mix(block + 1) >> 32) * range >> 32);
        it->begin = ends[place];
        it->started = true;
        ends[place] += naive_length(launch, block) * it->pace / 4096;
        last = ends[place] > last ? ends[place] : last;
    }
    return last;
}

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_turn(const void *left, const void *right)
{
    const struct naive_record *a = left, *b = right;
    const int time = by_number(a->time, b->time), turn = by_number(a->turn, b->turn),
              warp = by_number(a->warp, b->warp);
    return time ? time : turn ? turn : warp ? warp : by_number(a->index, b->index);
}

static int by_multiprocessor(const void *left, const void *right)
{
    const struct naive_record *a = left, *b = right;
    const int time = by_number(a->time, b->time),
              multiprocessor = by_number(a->multiprocessor, b->multiprocessor);
    return time ? time : multiprocessor ? multiprocessor : by_number(a->index, b->index);
}

// Gives all records their times and turns, and sorts them. Returns how many there are: those of
// blocks, owners and kinds that do not exist are left out.
static size_t naive_order(const struct cache_launch *launch, const struct cache_order *order)
{
    static struct naive_record lasts[MOST_BLOCKS * MOST_WARPS]; // of each warp
    static uint32_t counters[MOST_BLOCKS * MOST_WARPS];
    bool seen[MOST_BLOCKS * MOST_WARPS] = {0};
    size_t count = 0;
    uint64_t unit = 1;
    memset(naive_blocks, 0, sizeof(naive_blocks));
    for (uint64_t i = 0; i < launch->block_count; i++) {
        const uint64_t end = naive_begin(launch, order, launch->blocks[i].multiprocessor);
        while (end / unit >= 1 << 24)
            unit *= 2;
    }
    for (size_t i = 0; i < launch->record_count; i++) {
        const struct cache_record *record = &launch->records[i];
        const uint32_t block = record->warp / launch->warps_per_block;
        if (block >= launch->block_count || record->owner >= OWNERS ||
            record->kind >= CACHE_KINDS || !record->sectors)
            continue;
        const struct naive_block *it = &naive_blocks[block];
        struct naive_record *last = &lasts[record->warp],
                            new = {
                                .time = (it->begin + record->counter * it->pace / 4096) / unit,
                                .warp = record->warp,
                                .multiprocessor = launch->blocks[block].multiprocessor,
                                .index = i,
                                .request = {.line = record->line,
                                            .owner = record->owner,
                                            .kind = record->kind,
                                            .sectors = record->sectors,
                                            .whole = record->whole},
                            };
        new.time = new.time < 1 << 24 ? new.time : (1 << 24) - 1;
        if (seen[record->warp] && new.time <= last->time) {
            const bool goes_on = order->whole_instructions &&
                                 record->owner == last->request.owner &&
                                 record->counter == counters[record->warp];
            new.time = last->time;
            new.turn = last->turn + !goes_on;
        }
        seen[record->warp] = true;
        counters[record->warp] = record->counter;
        *last = naive_records[count++] = new;
    }
    qsort(naive_records, count, sizeof(naive_records[0]), by_turn);
    return count;
}

static struct naive_level naive_l1s[MOST_MULTIPROCESSORS];
static struct naive_l2 naive_l2;

static void naive_reuse(struct cache_reuse *reuse, struct cache_request request,
                        struct cache_distances *counts)
{
    request.owner = group_of[request.owner];
    assert_true(cache_reuse_run(reuse, &request, 1, counts));
}

static void naive_group(struct cache_count *groups, struct cache_count count)
{
    groups->sectors += count.sectors;
    groups->hits += count.hits;
}

// Groups of lines are not counted.
static void naive_launch(const struct cache_launch *launch, const struct cache_order *order,
                         uint32_t share, struct cache_reuse *l2_reuse, struct sums *sums)
{
    const size_t count = naive_order(launch, order);
    struct cache_reuse *reuse[MOST_MULTIPROCESSORS];
    uint32_t numbers[MOST_MULTIPROCESSORS], known = 0;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        struct naive_record *record = &naive_records[i];
        uint32_t place = 0;
        while (place < known && numbers[place] != record->multiprocessor)
            place++;
        if (place == known) {
            assert_true(known < MOST_MULTIPROCESSORS);
            numbers[known++] = record->multiprocessor;
            naive_init(&naive_l1s[place], &naive_l2.preset->l1, share);
            reuse[place] = cache_reuse_create(share);
        }
        struct cache_l1_counts counts[OWNERS] = {0};
        naive_reuse(reuse[place], record->request, sums->l1);
        const uint32_t rest =
            naive_l1(&naive_l1s[place], naive_l2.preset, &record->request, counts);
        struct cache_result *result = &sums->results[record->request.owner];
        naive_group(&result->l1.kinds[record->request.kind],
                    counts[record->request.owner].kinds[record->request.kind]);
        record->request.sectors = (uint8_t)rest;
        record->request.whole &= (uint8_t)rest;
        record->index = i;
        if (rest)
            naive_records[left++] = *record;
    }
    qsort(naive_records, left, sizeof(naive_records[0]), by_multiprocessor);
    struct cache_l2_counts counts[OWNERS];
    for (uint32_t i = 0; i < OWNERS; i++)
        counts[i] = sums->results[i].l2;
    for (size_t i = 0; i < left; i++) {
        naive_reuse(l2_reuse, naive_records[i].request, sums->l2);
        naive_access(&naive_l2, naive_records[i].multiprocessor, &naive_records[i].request, counts);
    }
    for (uint32_t i = 0; i < OWNERS; i++)
        sums->results[i].l2 = counts[i];
    for (uint32_t i = 0; i < known; i++)
        cache_reuse_destroy(reuse[i]);
}

// --- Random launches -----------------------------------------------------------------------------

static struct cache_block blocks[MOST_BLOCKS];
static struct cache_record records[MOST_RECORDS];

static uint64_t random_line(uint32_t share, uint64_t lines)
{
    for (;;) {
        const uint64_t line = random_below(2) ? random_below(lines) : random_below(lines / 8 + 1);
        if (cache_is_sampled(line, share))
            return line;
    }
}

// Appends a record of a random warp, which is mostly a little farther than before.
static void add_record(struct cache_launch *launch, uint32_t *counters, uint32_t share,
                       uint64_t lines)
{
    const uint32_t warp = (uint32_t)random_below(launch->block_count * launch->warps_per_block);
    counters[warp] += (uint32_t)(random_below(3) ? 0 : random_below(9));
    counters[warp] += (uint32_t)(random_below(20000) ? 0 : 1 << 21);
    if (!random_below(50))
        counters[warp] -= counters[warp] / 4;
    struct cache_record *record = &records[launch->record_count++];
    *record = (struct cache_record){
        .line = random_line(share, lines),
        .warp = warp,
        .counter = counters[warp],
        .owner = (uint32_t)random_below(OWNERS),
        .kind = (uint8_t)(random_below(8) ? random_below(2) : CACHE_ATOMIC),
        .sectors = (uint8_t)(1 + random_below(15)),
    };
    record->whole = (uint8_t)(random_below(16) & record->sectors);
    switch (random_below(500)) { // some that are left out
    case 0: record->warp = (uint32_t)launch->block_count * launch->warps_per_block; break;
    case 1: record->owner = OWNERS; break;
    case 2: record->kind = CACHE_KINDS; break;
    case 3: record->sectors = record->whole = 0; break;
    default: break;
    }
}

static int by_warp(const void *left, const void *right)
{
    const struct cache_record *a = left, *b = right;
    return by_number(a->warp, b->warp) ? by_number(a->warp, b->warp) : by_number(a->line, b->line);
}

static struct cache_launch random_launch(uint32_t share, uint64_t lines)
{
    struct cache_launch launch = {
        .records = records,
        .blocks = blocks,
        .block_count = 1 + random_below(MOST_BLOCKS),
        .warps_per_block = 1 + (uint32_t)random_below(MOST_WARPS),
        .resident = (uint32_t)random_below(5),
        .owner_count = OWNERS,
    };
    uint32_t counters[MOST_BLOCKS * MOST_WARPS] = {0};
    for (uint64_t i = 0; i < launch.block_count; i++) {
        const uint64_t number = random_below(MOST_MULTIPROCESSORS);
        blocks[i] = (struct cache_block){
            .began = ((uint64_t)1 << 40) * random_below(3) + random_below(20),
            .multiprocessor = number ? (uint32_t)number : 4000000000, // more than the preset has
            .length = (uint32_t)(random_below(2) * random_below(200)),
        };
        if (!random_below(200)) // longer than times have bits
            blocks[i].length = (uint32_t)1 << (20 + random_below(12));
    }
    const uint64_t count = random_below(MOST_RECORDS);
    for (uint64_t i = 0; i < count; i++)
        add_record(&launch, counters, share, lines);
    if (random_below(2)) // already in the order of warps, though not in that of each warp
        qsort(records, launch.record_count, sizeof(records[0]), by_warp);
    return launch;
}

// --- Comparison ----------------------------------------------------------------------------------

static struct cache_count sum_of(const struct cache_count *counts, unsigned count)
{
    struct cache_count sum = {0};
    for (unsigned i = 0; i < count; i++)
        naive_group(&sum, counts[i]);
    return sum;
}

// Groups of lines have the same in all as kinds have, or nothing if there is no sample.
static void check_groups(struct cache_result *result, uint32_t share)
{
    const struct cache_count none = {0};
    const struct cache_count l1 = sum_of(result->l1.kinds, CACHE_KINDS),
                             l2 = sum_of(result->l2.kinds, CACHE_KINDS),
                             l1_groups = sum_of(result->l1_groups, CACHE_GROUPS),
                             l2_groups = sum_of(result->l2_groups, CACHE_GROUPS);
    assert_memory_equal(&l1_groups, share == CACHE_ALL ? &none : &l1, sizeof(l1));
    assert_memory_equal(&l2_groups, share == CACHE_ALL ? &none : &l2, sizeof(l2));
    memset(result->l1_groups, 0, sizeof(result->l1_groups)); // the naive launch does not have them
    memset(result->l2_groups, 0, sizeof(result->l2_groups));
}

static void compare(const struct sums *real, const struct sums *naive, uint32_t share)
{
    struct sums copy = *real;
    for (uint32_t i = 0; i < OWNERS; i++)
        check_groups(&copy.results[i], share);
    assert_memory_equal(&copy, naive, sizeof(copy));
}

static void check(uint32_t share, const struct cache_order *order)
{
    enum { THREADS = 2, LAUNCHES = 3 };
    static const unsigned threads[THREADS] = {1, 3};
    static struct sums naive, real[THREADS];
    const struct cache_preset preset = random_preset(CACHE_ALL / share);
    const uint64_t lines = (1 + random_below(600)) * (CACHE_ALL / share) + 1000;
    struct cache_l2 *l2s[THREADS];
    struct cache_reuse *reuse[THREADS + 1];
    memset(&naive, 0, sizeof(naive));
    memset(real, 0, sizeof(real));
    naive_l2_init(&naive_l2, &preset, share);
    for (unsigned i = 0; i <= THREADS; i++)
        assert_non_null(reuse[i] = cache_reuse_create(share));
    for (unsigned i = 0; i < THREADS; i++)
        assert_non_null(l2s[i] = cache_l2_create(&preset, share));
    for (unsigned launch = 0; launch < LAUNCHES; launch++) {
        const struct cache_launch it = random_launch(share, lines);
        naive_launch(&it, order, share, reuse[THREADS], &naive);
        for (unsigned i = 0; i < THREADS; i++) {
            const struct cache_launch_reuse distances = {
                group_of, GROUPS, real[i].l1, real[i].l2, reuse[i],
            };
            assert_true(
                cache_launch_run(l2s[i], &it, order, threads[i], real[i].results, &distances));
            compare(&real[i], &naive, share);
        }
        assert_memory_equal(&real[0], &real[1], sizeof(real[0]));
    }
    for (unsigned i = 0; i <= THREADS; i++)
        cache_reuse_destroy(reuse[i]);
    for (unsigned i = 0; i < THREADS; i++)
        cache_l2_destroy(l2s[i]);
}

static void launches_equal_naive_ones(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random_state = round;
        const struct cache_order order = {.drift_percent = (uint32_t)random_below(3) * 20,
                                          .whole_instructions = random_below(2)};
        check(round % 2 ? CACHE_ALL : CACHE_ALL / 16, &order);
    }
}

// Without distances, all else is the same.
static void distances_are_optional(void **state)
{
    (void)state;
    struct cache_result with[OWNERS] = {0}, without[OWNERS] = {0};
    struct cache_distances l1[GROUPS] = {0}, l2[GROUPS] = {0};
    random_state = 1;
    const struct cache_launch launch = random_launch(CACHE_ALL, 3000);
    const struct cache_preset *preset = cache_preset_find("a100");
    for (unsigned i = 0; i < 2; i++) {
        struct cache_l2 *model = cache_l2_create(preset, CACHE_ALL);
        struct cache_reuse *kept = cache_reuse_create(CACHE_ALL);
        const struct cache_launch_reuse reuse = {group_of, GROUPS, l1, l2, kept};
        assert_true(
            cache_launch_run(model, &launch, NULL, 2, i ? with : without, i ? &reuse : NULL));
        cache_l2_destroy(model);
        cache_reuse_destroy(kept);
    }
    assert_memory_equal(with, without, sizeof(with));
    assert_true(l1[0].first > l2[0].first / 2 && l2[0].first > 0);
}

// A launch of one warp has its records in the given order. Pieces of this L2 have so many sets that
// their numbers do not fit into items.
static void many_sets_equal_requests_in_order(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static struct cache_request requests[COUNT];
    static struct cache_record in_order[COUNT];
    struct cache_preset preset = *cache_preset_find("h200");
    preset.l2 = (struct cache_shape){.bytes = (uint64_t)4 << 20, .ways = 1};
    const struct cache_block block = {.length = COUNT};
    struct cache_result result = {0};
    struct cache_l1_counts l1_counts = {0};
    struct cache_l2_counts l2_counts = {0};
    struct cache_l1 *l1 = cache_l1_create(&preset, 0, CACHE_ALL);
    struct cache_l2 *l2 = cache_l2_create(&preset, CACHE_ALL), *same = NULL;
    assert_true(l1 && l2 && (same = cache_l2_create(&preset, CACHE_ALL)));
    random_state = 1;
    for (uint32_t i = 0; i < COUNT; i++) {
        requests[i] = (struct cache_request){.line = random_below(COUNT / 2) * 101,
                                             .kind = (uint8_t)random_below(CACHE_KINDS),
                                             .sectors = (uint8_t)(1 + random_below(15))};
        in_order[i] = (struct cache_record){.line = requests[i].line,
                                            .counter = i,
                                            .kind = requests[i].kind,
                                            .sectors = requests[i].sectors};
    }
    const struct cache_launch launch = {.records = in_order,
                                        .record_count = COUNT,
                                        .blocks = &block,
                                        .block_count = 1,
                                        .warps_per_block = 1,
                                        .owner_count = 1};
    cache_l1_run(l1, requests, COUNT, &l1_counts);
    cache_l2_run(same, requests, COUNT, &l2_counts);
    assert_true(cache_launch_run(l2, &launch, NULL, 1, &result, NULL));
    assert_memory_equal(&result.l1, &l1_counts, sizeof(l1_counts));
    assert_int_equal(result.l2.read, l2_counts.read);
    assert_int_equal(result.l2.kinds[CACHE_LOAD].hits, l2_counts.kinds[CACHE_LOAD].hits);
    assert_in_range(l2_counts.kinds[CACHE_LOAD].hits, 1000, COUNT);
    cache_l1_destroy(l1);
    cache_l2_destroy(l2);
    cache_l2_destroy(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_equal_naive_ones),
        cmocka_unit_test(distances_are_optional),
        cmocka_unit_test(many_sets_equal_requests_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
