// SPDX-License-Identifier: Apache-2.0
// Known answers of the models: what hits, what goes to L2, and what memory reads and writes.
#include "../base/testing.h"

#include "cache/cache.h"

// One set of four ways, two partitions, and nothing that is counted by percents.
static const struct cache_preset small = {
    .name = "small",
    .multiprocessors = 4,
    .l1 = {(uint64_t)4 * CACHE_LINE_BYTES, 4, CACHE_LRU},
    .l2 = {(uint64_t)16 * CACHE_LINE_BYTES, 16, CACHE_LRU},
    .partitions = 2,
    .fill_sectors = 2,
    .most_dirty = 100,
    .stores_allocate = true,
};

static struct cache_request request_of(enum cache_kind kind, uint64_t line, uint8_t sectors)
{
    return (struct cache_request){.line = line, .kind = (uint8_t)kind, .sectors = sectors};
}

// Returns the sectors that go to L2.
static uint32_t serve(struct cache_l1 *l1, struct cache_request request,
                      struct cache_l1_counts *counts)
{
    cache_l1_run(l1, &request, 1, counts);
    return request.sectors;
}

// --- L1 ------------------------------------------------------------------------------------------

// Loads `count` lines, one sector each, so many times. Returns the hits.
static uint64_t hits_of_loop(const struct cache_preset *preset, uint64_t count, unsigned times)
{
    struct cache_l1_counts counts = {0};
    struct cache_l1 *l1 = cache_l1_create(preset, 0, CACHE_ALL);
    assert_non_null(l1);
    for (unsigned i = 0; i < times; i++) {
        for (uint64_t line = 0; line < count; line++) {
            const struct cache_request load = request_of(CACHE_LOAD, line, 1);
            serve(l1, load, &counts);
        }
    }
    cache_l1_destroy(l1);
    assert_int_equal(counts.kinds[CACHE_LOAD].sectors, count * times);
    return counts.kinds[CACHE_LOAD].hits;
}

// A loop over one line more than fits never hits with LRU, and once with a tree, in the second
// round: lines 0 to 3 are in ways 0 to 3, 4 replaces 0, 0 replaces 2, 1 is still there, and then
// none is in time. Random replacement keeps some.
static void loops_that_fit_hit(void **state)
{
    (void)state;
    struct cache_preset other = small;
    assert_int_equal(hits_of_loop(&small, 4, 10), 36);
    assert_int_equal(hits_of_loop(&small, 5, 10), 0);
    other.l1.policy = CACHE_TREE;
    assert_int_equal(hits_of_loop(&other, 4, 10), 36);
    assert_int_equal(hits_of_loop(&other, 5, 100), 1);
    other.l1.policy = CACHE_RANDOM;
    assert_int_equal(hits_of_loop(&other, 4, 10), 36);
    assert_in_range(hits_of_loop(&other, 5, 100), 100, 400);
}

// Of four ways that were used in order, the tree points to the first; when that was used again, to
// the other half.
static void trees_point_away_from_what_was_used(void **state)
{
    (void)state;
    struct cache_preset preset = small;
    preset.l1.policy = CACHE_TREE;
    struct cache_l1 *l1 = cache_l1_create(&preset, 0, CACHE_ALL);
    struct cache_l1_counts counts = {0};
    const uint64_t lines[] = {0, 1, 2, 3, 0, 4, 2, 0, 1, 3};
    const bool hits[] = {0, 0, 0, 0, 1, 0, 0, 1, 0, 0};
    assert_non_null(l1);
    for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const struct cache_request load = request_of(CACHE_LOAD, lines[i], 1);
        const uint32_t missing = serve(l1, load, &counts);
        if (missing != !hits[i])
            fail_msg("load %u", i);
    }
    cache_l1_destroy(l1);
}

static void sectors_of_a_line_come_one_by_one(void **state)
{
    (void)state;
    struct cache_l1 *l1 = cache_l1_create(&small, 0, CACHE_ALL);
    struct cache_l1_counts counts[2] = {0};
    assert_non_null(l1);
    struct cache_request request = request_of(CACHE_LOAD, 7, 3);
    assert_int_equal(serve(l1, request, counts), 3);
    request = request_of(CACHE_LOAD, 7, 6);
    request.owner = 1;
    assert_int_equal(serve(l1, request, counts), 4);
    assert_int_equal(counts[1].kinds[CACHE_LOAD].hits, 1);
    assert_int_equal(counts[0].kinds[CACHE_LOAD].hits, 0);
    // A store passes through and leaves what it wrote; an atomic operation does not.
    request = request_of(CACHE_STORE, 7, 8);
    assert_int_equal(serve(l1, request, counts), 8);
    request = request_of(CACHE_LOAD, 7, 15);
    assert_int_equal(serve(l1, request, counts), 0);
    request = request_of(CACHE_ATOMIC, 7, 2);
    assert_int_equal(serve(l1, request, counts), 2);
    request = request_of(CACHE_LOAD, 7, 15);
    assert_int_equal(serve(l1, request, counts), 2);
    cache_l1_flush(l1);
    assert_int_equal(serve(l1, request, counts), 15);
    cache_l1_destroy(l1);
}

static void stores_leave_nothing_where_they_do_not_allocate(void **state)
{
    (void)state;
    struct cache_preset preset = small;
    preset.stores_allocate = false;
    struct cache_l1 *l1 = cache_l1_create(&preset, 0, CACHE_ALL);
    struct cache_l1_counts counts = {0};
    assert_non_null(l1);
    const struct cache_request store = request_of(CACHE_STORE, 1, 15),
                               load = request_of(CACHE_LOAD, 1, 15);
    assert_int_equal(serve(l1, store, &counts), 15);
    assert_int_equal(serve(l1, load, &counts), 15);
    cache_l1_destroy(l1);
}

static void shared_memory_takes_room(void **state)
{
    (void)state;
    struct cache_l1_counts counts = {0};
    struct cache_l1 *l1 = cache_l1_create(&small, (uint64_t)2 * CACHE_LINE_BYTES, CACHE_ALL);
    assert_non_null(l1);
    for (unsigned i = 0; i < 20; i++) {
        const struct cache_request load = request_of(CACHE_LOAD, i % 2, 1);
        serve(l1, load, &counts);
    }
    assert_int_equal(counts.kinds[CACHE_LOAD].hits, 18);
    for (unsigned i = 0; i < 20; i++) {
        const struct cache_request load = request_of(CACHE_LOAD, i % 3, 1);
        serve(l1, load, &counts);
    }
    assert_int_equal(counts.kinds[CACHE_LOAD].hits, 18 + 2);
    cache_l1_destroy(l1);
}

// --- L2 ------------------------------------------------------------------------------------------

struct l2_test {
    struct cache_l2 *l2;
    struct cache_l2_counts counts[2];
};

static void begin(struct l2_test *test, const struct cache_preset *preset)
{
    *test = (struct l2_test){.l2 = cache_l2_create(preset, CACHE_ALL)};
    assert_non_null(test->l2);
}

static void does(struct l2_test *test, uint16_t multiprocessor, enum cache_kind kind, uint64_t line,
                 uint8_t sectors, uint8_t whole)
{
    struct cache_request request = request_of(kind, line, sectors);
    request.whole = whole;
    request.multiprocessor = multiprocessor;
    cache_l2_run(test->l2, &request, 1, test->counts);
}

// Multiprocessors 0 and 1 are near to one partition, 2 and 3 to the other. Memory delivers a line
// once. The partition that is not its home misses it, and then has a copy.
static void partitions_keep_copies(void **state)
{
    (void)state;
    struct l2_test test;
    unsigned homes[2] = {0, 0};
    for (uint64_t line = 0; line < 20; line++) { // whatever their home is
        begin(&test, &small);
        const struct cache_count *loads = &test.counts[0].kinds[CACHE_LOAD];
        does(&test, 0, CACHE_LOAD, line, 1, 0);
        does(&test, 2, CACHE_LOAD, line, 1, 0);
        assert_int_equal(loads->sectors, 2);
        assert_int_equal(test.counts[0].read, 2); // a fill is two sectors
        const uint64_t second_hits = loads->hits;
        assert_in_range(second_hits, 0, 1);
        homes[second_hits]++;
        does(&test, 1, CACHE_LOAD, line, 1, 0);
        does(&test, 3, CACHE_LOAD, line, 1, 0);
        assert_int_equal(test.counts[0].read, 2);
        assert_int_equal(loads->hits, second_hits + 2);
        cache_l2_destroy(test.l2);
    }
    assert_true(homes[0] > 4 && homes[1] > 4);
}

static void memory_is_read_in_fills(void **state)
{
    (void)state;
    struct cache_preset preset = small;
    const unsigned expected[] = {1, 2, 4};
    for (unsigned i = 0; i < 3; i++) {
        struct l2_test test;
        preset.partitions = 1;
        preset.fill_sectors = expected[i];
        begin(&test, &preset);
        does(&test, 0, CACHE_LOAD, 3, 4, 0);
        assert_int_equal(test.counts[0].read, expected[i]);
        does(&test, 0, CACHE_LOAD, 3, 8, 0);
        assert_int_equal(test.counts[0].kinds[CACHE_LOAD].hits, i > 0);
        cache_l2_destroy(test.l2);
    }
}

// A whole sector needs nothing from memory; one that was written in part is read when it leaves.
// Both are written once then.
static void stores_are_written_back(void **state)
{
    (void)state;
    struct cache_preset preset = small;
    struct l2_test test;
    preset.partitions = 1;
    begin(&test, &preset);
    const struct cache_l2_counts *counts = test.counts;
    for (unsigned i = 0; i < 3; i++)
        does(&test, 0, CACHE_STORE, 1, 15, 15);
    assert_int_equal(counts[0].kinds[CACHE_STORE].hits, 12);
    assert_int_equal(counts[0].read, 0);
    does(&test, 0, CACHE_STORE, 2, 1, 0);
    assert_int_equal(counts[0].kinds[CACHE_STORE].hits, 12);
    assert_int_equal(counts[0].read, 0);
    assert_int_equal(counts[0].written, 0);
    for (uint64_t line = 10; line < 25; line++) // 15 more: one must leave
        does(&test, 0, CACHE_LOAD, line, 1, 0);
    assert_int_equal(counts[0].written, 4);
    cache_l2_clean(test.l2, test.counts);
    assert_int_equal(counts[0].written, 5);
    cache_l2_clean(test.l2, test.counts);
    assert_int_equal(counts[0].written, 5);
    cache_l2_destroy(test.l2);
}

static void what_leaves_is_the_last_writers(void **state)
{
    (void)state;
    struct cache_preset preset = small;
    struct l2_test test;
    preset.partitions = 1;
    begin(&test, &preset);
    does(&test, 0, CACHE_STORE, 1, 1, 1);
    struct cache_request other = request_of(CACHE_STORE, 1, 2);
    other.whole = 2;
    other.owner = 1;
    cache_l2_run(test.l2, &other, 1, test.counts);
    cache_l2_clean(test.l2, test.counts);
    assert_int_equal(test.counts[0].written, 0);
    assert_int_equal(test.counts[1].written, 2);
    cache_l2_destroy(test.l2);
}

static uint64_t hits_of(struct l2_test *test, uint64_t from, uint64_t to)
{
    const uint64_t before = test->counts[0].kinds[CACHE_LOAD].hits;
    for (uint64_t line = from; line < to; line++)
        does(test, 0, CACHE_LOAD, line, 15, 0);
    return test->counts[0].kinds[CACHE_LOAD].hits - before;
}

// One partition, with one set of 16 ways.
static struct cache_preset one_set(void)
{
    struct cache_preset preset = small;
    preset.partitions = 1;
    preset.l2 = (struct cache_shape){16 * CACHE_LINE_BYTES, 16, CACHE_LRU};
    return preset;
}

// Copies fill what is free, up to half of a set, and then take the room of each other: the last
// ones stay. Of lines that were used they take one in a set.
static void copies_leave_first(void **state)
{
    (void)state;
    struct l2_test test;
    const struct cache_preset preset = one_set();
    begin(&test, &preset);
    for (uint64_t line = 0; line < 10; line++)
        cache_l2_copy(test.l2, line, test.counts);
    assert_int_equal(hits_of(&test, 2, 10), 8 * CACHE_SECTORS);
    assert_int_equal(hits_of(&test, 0, 2), 0);
    hits_of(&test, 10, 16);
    assert_int_equal(hits_of(&test, 0, 16), 16 * CACHE_SECTORS);
    for (uint64_t line = 100; line < 200; line++) // line 0 was used first
        cache_l2_copy(test.l2, line, test.counts);
    assert_int_equal(hits_of(&test, 199, 200) + hits_of(&test, 1, 16), 16 * CACHE_SECTORS);
    cache_l2_copy(test.l2, 5, test.counts); // is there, and stays
    assert_int_equal(hits_of(&test, 5, 6), CACHE_SECTORS);
    cache_l2_destroy(test.l2);
}

// A part of the ways is free at first. When lines have taken these, those that were only copied
// leave, the oldest first, although three ways hold nothing that was used.
static void check_copies_leave(bool thin)
{
    struct l2_test test;
    const struct cache_preset preset = one_set();
    begin(&test, &preset);
    for (uint64_t line = 0; line < 6; line++)
        cache_l2_copy(test.l2, line, test.counts);
    if (thin) {
        struct cache_l2 *same = cache_l2_thin(test.l2, CACHE_ALL);
        assert_non_null(same);
        cache_l2_destroy(test.l2);
        test.l2 = same;
    }
    hits_of(&test, 100, 107 + 4);
    assert_int_equal(hits_of(&test, 4, 6), 2 * CACHE_SECTORS);
    assert_int_equal(hits_of(&test, 100, 111), 11 * CACHE_SECTORS);
    assert_int_equal(hits_of(&test, 3, 4), 0); // what nothing used goes now
    assert_int_equal(hits_of(&test, 0, 2), 0);
    assert_int_equal(hits_of(&test, 100, 111), 11 * CACHE_SECTORS);
    cache_l2_destroy(test.l2);
}

static void copies_leave_before_others_come(void **state)
{
    (void)state;
    check_copies_leave(false);
    check_copies_leave(true); // what another share takes over is the same
}

// A store beyond what may be dirty has another line written, which stays.
static void not_all_may_be_dirty(void **state)
{
    (void)state;
    struct l2_test test;
    struct cache_preset preset = one_set();
    preset.most_dirty = 25;
    begin(&test, &preset);
    for (uint64_t line = 0; line < 4; line++)
        does(&test, 0, CACHE_STORE, line, 15, 15);
    does(&test, 0, CACHE_STORE, 2, 15, 15); // is dirty already
    assert_int_equal(test.counts[0].written, 0);
    does(&test, 0, CACHE_STORE, 4, 3, 3);
    assert_int_equal(test.counts[0].written, 4);
    assert_int_equal(hits_of(&test, 0, 4), 4 * CACHE_SECTORS);
    does(&test, 0, CACHE_STORE, 5, 15, 15);
    assert_in_range(test.counts[0].written, 6, 8);
    cache_l2_clean(test.l2, test.counts);
    assert_int_equal(test.counts[0].written, 5 * CACHE_SECTORS + 2);
    cache_l2_clean(test.l2, test.counts); // nothing is dirty any more
    assert_int_equal(test.counts[0].written, 5 * CACHE_SECTORS + 2);
    for (uint64_t line = 10; line < 14; line++)
        does(&test, 0, CACHE_STORE, line, 15, 15);
    assert_int_equal(test.counts[0].written, 5 * CACHE_SECTORS + 2);
    hits_of(&test, 100, 116); // all leave
    assert_int_equal(test.counts[0].written, 9 * CACHE_SECTORS + 2);
    cache_l2_destroy(test.l2);
}

// What is stored has a copy near to the multiprocessor: a third of the lines do not fit then.
static void stores_leave_copies(void **state)
{
    (void)state;
    struct cache_preset preset = *cache_preset_find("h200");
    struct l2_test test;
    preset.l2.bytes = 512 * CACHE_LINE_BYTES;
    begin(&test, &preset);
    for (uint64_t line = 0; line < 1024; line++)
        does(&test, (uint32_t)(line * 7 % 132), CACHE_STORE, line, 15, 15);
    cache_l2_clean(test.l2, test.counts);
    uint64_t there = 0;
    for (uint64_t line = 0; line < 1024; line++) {
        const uint64_t before = test.counts[0].read;
        struct cache_l2 *same = cache_l2_thin(test.l2, CACHE_ALL);
        assert_non_null(same);
        const struct cache_request one = request_of(CACHE_LOAD, line, 15);
        cache_l2_run(same, &one, 1, test.counts);
        there += test.counts[0].read == before;
        cache_l2_destroy(same);
    }
    assert_in_range(there, 1024 * 55 / 100, 1024 * 75 / 100);
    cache_l2_destroy(test.l2);
}

// A smaller share keeps its lines, what is dirty of them, and their order.
static void a_smaller_share_goes_on(void **state)
{
    (void)state;
    struct cache_preset preset = small;
    struct l2_test test;
    preset.partitions = 1;
    preset.l2 = (struct cache_shape){1024 * CACHE_LINE_BYTES, 16, CACHE_LRU};
    begin(&test, &preset);
    for (uint64_t line = 0; line < 512; line++)
        does(&test, 0, line % 2 ? CACHE_STORE : CACHE_LOAD, line, 15, 15);
    struct cache_l2 *half = cache_l2_thin(test.l2, CACHE_ALL / 2);
    assert_non_null(half);
    uint64_t lines = 0, stored = 0, hits = 0;
    struct cache_l2_counts counts[1] = {0};
    for (uint64_t line = 0; line < 512; line++) {
        if (!cache_is_sampled(line, CACHE_ALL / 2))
            continue;
        const struct cache_request one = request_of(CACHE_LOAD, line, 15);
        cache_l2_run(half, &one, 1, counts);
        lines++;
        stored += line % 2;
    }
    hits = counts[0].kinds[CACHE_LOAD].hits;
    assert_in_range(hits, lines * CACHE_SECTORS * 9 / 10, lines * CACHE_SECTORS);
    cache_l2_clean(half, counts);
    assert_in_range(counts[0].written, stored * CACHE_SECTORS * 9 / 10, stored * CACHE_SECTORS);
    cache_l2_destroy(half);
    cache_l2_destroy(test.l2);
}

// As ncu showed on an H200, except where the program asks for a percentage.
static void shared_memory_follows_from_blocks(void **state)
{
    (void)state;
    const struct cache_preset *h200 = cache_preset_find("h200");
    static const struct {
        uint32_t resident, bytes;
        int percent;
        uint64_t kib;
    } rows[] = {
        {8, 0, -1, 32},     {4, 0, -1, 16},      {2, 0, -1, 8},       {2, 8192, -1, 32},
        {8, 4224, -1, 100}, {8, 16384, -1, 164}, {8, 65536, -1, 228}, {0, 0, -1, 8},
        {8, 0, 0, 8},       {8, 0, 50, 132},     {8, 0, 100, 228},    {1, 40000, 0, 64},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(cache_shared_bytes(h200, rows[i].resident, rows[i].bytes, rows[i].percent),
                         rows[i].kib << 10);
}

static void percents_are_exact_in_the_long_run(void **state)
{
    (void)state;
    struct cache_preset preset = small;
    struct l2_test test;
    preset.part_stores_hit = 92;
    preset.atomics_hit = 54;
    begin(&test, &preset);
    for (uint64_t line = 0; line < 1000; line++) {
        does(&test, 0, CACHE_STORE, line, 1, 0);
        does(&test, 0, CACHE_ATOMIC, 10000 + line, 1, 0);
    }
    assert_int_equal(test.counts[0].kinds[CACHE_STORE].hits, 920);
    assert_int_equal(test.counts[0].kinds[CACHE_ATOMIC].hits, 540);
    cache_l2_destroy(test.l2);
}

// A store invalidates the copy that is near to its multiprocessor.
static void stores_change_the_home(void **state)
{
    (void)state;
    for (uint64_t line = 0; line < 20; line++) {
        struct l2_test test;
        begin(&test, &small);
        does(&test, 0, CACHE_LOAD, line, 1, 0);
        does(&test, 0, CACHE_STORE, line, 1, 1);
        does(&test, 0, CACHE_LOAD, line, 1, 0);
        assert_int_equal(test.counts[0].read, 2);
        cache_l2_clean(test.l2, test.counts);
        assert_int_equal(test.counts[0].written, 1);
        cache_l2_destroy(test.l2);
    }
}

// A store from anywhere also invalidates copies in the other partition, but not what the home has:
// both have the line, multiprocessor 0 stores it, and 2 finds it only if it is near to the home.
static void stores_invalidate_copies_elsewhere(void **state)
{
    (void)state;
    unsigned homes[2] = {0, 0};
    for (uint64_t line = 0; line < 20; line++) {
        struct l2_test test;
        begin(&test, &small);
        const struct cache_count *loads = &test.counts[0].kinds[CACHE_LOAD];
        does(&test, 0, CACHE_LOAD, line, 3, 0);
        does(&test, 2, CACHE_LOAD, line, 3, 0);
        const bool at_home = loads->hits == 2;
        homes[at_home]++;
        does(&test, 0, CACHE_STORE, line, 1, 1);
        const uint64_t before = loads->hits;
        does(&test, 2, CACHE_LOAD, line, 1, 0);
        assert_int_equal(loads->hits - before, at_home);
        does(&test, 2, CACHE_LOAD, line, 2, 0); // was not stored
        assert_int_equal(loads->hits - before, at_home + 1);
        assert_int_equal(test.counts[0].read, 2);
        cache_l2_destroy(test.l2);
    }
    assert_true(homes[0] > 4 && homes[1] > 4);
}

// --- Configuration -------------------------------------------------------------------------------

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    struct cache_preset preset = small;
    assert_null(cache_l1_create(&preset, preset.l1.bytes, CACHE_ALL));
    assert_null(cache_l1_create(&preset, 0, 0));
    assert_null(cache_l1_create(&preset, 0, CACHE_ALL + 1));
    assert_null(cache_l1_create(&preset, preset.l1.bytes - 1, CACHE_ALL)); // less than a line
    preset.l1.ways = 3;
    assert_null(cache_l1_create(&preset, 0, CACHE_ALL));
    preset.l1.ways = 128;
    assert_null(cache_l1_create(&preset, 0, CACHE_ALL));
    preset.partitions = 0;
    assert_null(cache_l2_create(&preset, CACHE_ALL));
    preset.partitions = 9;
    assert_null(cache_l2_create(&preset, CACHE_ALL));
}

static void presets_can_be_found(void **state)
{
    (void)state;
    const char *const names[] = {"h200", "a100", "rtx3090", "rtx2080ti"};
    for (unsigned i = 0; i < 4; i++) {
        const struct cache_preset *preset = cache_preset_find(names[i]);
        assert_non_null(preset);
        struct cache_l1 *l1 = cache_l1_create(preset, 32 << 10, CACHE_ALL / 16);
        struct cache_l2 *l2 = cache_l2_create(preset, CACHE_ALL / 16);
        assert_non_null(l1);
        assert_non_null(l2);
        cache_l1_destroy(l1);
        cache_l2_destroy(l2);
    }
    assert_null(cache_preset_find("h20"));
    assert_null(cache_preset_find(""));
}

static void shares_are_nested(void **state)
{
    (void)state;
    unsigned sixteenth = 0;
    for (uint64_t line = 0; line < 1 << 16; line++) {
        const bool is_in = cache_is_sampled(line, CACHE_ALL / 16);
        assert_true(cache_is_sampled(line, CACHE_ALL));
        assert_false(cache_is_sampled(line, 0));
        if (is_in)
            assert_true(cache_is_sampled(line, CACHE_ALL / 4));
        sixteenth += is_in;
    }
    assert_in_range(sixteenth, 4090, 4102);
}

// Every sequence of uses of six lines, in the only set of four ways, equals a list in order of use.
static void all_orders_of_four_ways_are_lru(void **state)
{
    (void)state;
    enum { LINES = 6, LENGTH = 6, WAYS = 4, SEQUENCES = 46656 };
    const struct cache_preset preset = {.l1 = {WAYS * CACHE_LINE_BYTES, WAYS, CACHE_LRU}};
    struct cache_l1 *l1 = cache_l1_create(&preset, 0, CACHE_ALL);
    assert_non_null(l1);
    for (unsigned sequence = 0; sequence < SEQUENCES; sequence++) {
        unsigned list[LINES + 1], count = 0; // the last used first
        cache_l1_flush(l1);
        for (unsigned i = 0, rest = sequence; i < LENGTH; i++, rest /= LINES) {
            const unsigned line = rest % LINES;
            struct cache_request request = {.line = line, .sectors = 1};
            struct cache_l1_counts counts = {0};
            unsigned place = 0;
            while (place < count && list[place] != line)
                place++;
            cache_l1_run(l1, &request, 1, &counts);
            assert_int_equal(counts.kinds[CACHE_LOAD].hits, place < count && place < WAYS);
            count += place == count;
            memmove(list + 1, list, place * sizeof(list[0]));
            list[0] = line;
        }
    }
    cache_l1_destroy(l1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_orders_of_four_ways_are_lru),
        cmocka_unit_test(loops_that_fit_hit),
        cmocka_unit_test(trees_point_away_from_what_was_used),
        cmocka_unit_test(sectors_of_a_line_come_one_by_one),
        cmocka_unit_test(stores_leave_nothing_where_they_do_not_allocate),
        cmocka_unit_test(shared_memory_takes_room),
        cmocka_unit_test(shared_memory_follows_from_blocks),
        cmocka_unit_test(partitions_keep_copies),
        cmocka_unit_test(memory_is_read_in_fills),
        cmocka_unit_test(stores_are_written_back),
        cmocka_unit_test(what_leaves_is_the_last_writers),
        cmocka_unit_test(copies_leave_first),
        cmocka_unit_test(copies_leave_before_others_come),
        cmocka_unit_test(not_all_may_be_dirty),
        cmocka_unit_test(stores_leave_copies),
        cmocka_unit_test(a_smaller_share_goes_on),
        cmocka_unit_test(percents_are_exact_in_the_long_run),
        cmocka_unit_test(stores_change_the_home),
        cmocka_unit_test(stores_invalidate_copies_elsewhere),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(presets_can_be_found),
        cmocka_unit_test(shares_are_nested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
