// SPDX-License-Identifier: Apache-2.0
// Tests of the interval map with random steps, tens of thousands at a time, compared with a naive
// list and with a bitmap. A failure prints its seed and step.
#include "testing.h"

#include <inttypes.h>
#include <stdlib.h>

#define TOP UINT64_MAX

// --- Compared with a naive list ------------------------------------------------------------------

enum { NAIVE_LIMIT = 8192 };

// An unsorted list, searched directly by the definitions.
struct naive {
    struct base_interval ranges[NAIVE_LIMIT];
    size_t count;
};

static bool overlaps(const struct base_interval *range, uint64_t start, uint64_t last)
{
    return range->start <= last && range->last >= start;
}

// The lowest range that ends at or above address, and begins at or below last.
static const struct base_interval *naive_lowest(const struct naive *naive, uint64_t address,
                                                uint64_t last)
{
    const struct base_interval *lowest = NULL;
    for (size_t i = 0; i < naive->count; i++) {
        const struct base_interval *range = &naive->ranges[i];
        if (overlaps(range, address, last) && (!lowest || range->start < lowest->start))
            lowest = range;
    }
    return lowest;
}

static const struct base_interval *naive_before(const struct naive *naive, uint64_t address)
{
    const struct base_interval *highest = NULL;
    for (size_t i = 0; i < naive->count; i++) {
        const struct base_interval *range = &naive->ranges[i];
        if (range->last < address && (!highest || range->start > highest->start))
            highest = range;
    }
    return highest;
}

static const struct base_interval *naive_after(const struct naive *naive, uint64_t address)
{
    const struct base_interval *lowest = NULL;
    for (size_t i = 0; i < naive->count; i++) {
        const struct base_interval *range = &naive->ranges[i];
        if (range->start > address && (!lowest || range->start < lowest->start))
            lowest = range;
    }
    return lowest;
}

static void naive_clear(struct naive *naive, uint64_t start, uint64_t last)
{
    for (size_t i = naive->count; i-- > 0;) {
        struct base_interval range = naive->ranges[i];
        if (!overlaps(&range, start, last))
            continue;
        naive->ranges[i] = naive->ranges[--naive->count];
        if (range.start < start)
            naive->ranges[naive->count++] =
                (struct base_interval){range.start, start - 1, range.value};
        if (range.last > last)
            naive->ranges[naive->count++] =
                (struct base_interval){last + 1, range.last, range.value};
    }
}

static int by_start(const void *a, const void *b)
{
    uint64_t first = ((const struct base_interval *)a)->start;
    uint64_t second = ((const struct base_interval *)b)->start;
    return (first > second) - (first < second);
}

// The address range of a random run: `bytes` bytes from `origin` on. It may wrap around, so that it
// covers both ends of the address space.
struct space {
    const char *name;
    uint64_t origin;
    uint64_t bytes;
    uint64_t largest; // largest size of an inserted range
    size_t steps;
    size_t prefilled;
    size_t limit_bytes;
    unsigned levels; // inner levels that the tree must have reached, else the test is too weak
};

struct run {
    const struct space *space;
    uint64_t seed;
    uint64_t random;
    size_t step;
    size_t out_of_memory;
    struct base_intervals map;
    struct naive *naive;
};

#define AGREE(run, condition)                                                               \
    do {                                                                                    \
        if (!(condition))                                                                   \
            fail_msg("%s: seed %" PRIu64 ", step %zu: %s", (run)->space->name, (run)->seed, \
                     (run)->step, #condition);                                              \
    } while (0)

static bool same(const struct base_interval *a, const struct base_interval *b)
{
    if (!a || !b)
        return a == b;
    return a->start == b->start && a->last == b->last && a->value == b->value;
}

static uint64_t any_address(struct run *run)
{
    return run->space->origin + test_random(&run->random) % run->space->bytes;
}

// A size from 1 to largest that stays below 2^64; small ones are as likely as large ones.
static uint64_t any_size(struct run *run, uint64_t start, uint64_t largest)
{
    uint64_t bits = test_random(&run->random);
    uint64_t size = 1 + (bits >> 8) % largest;
    size >>= bits % 64 % (64 - (unsigned)__builtin_clzll(largest));
    size = size ? size : 1;
    return size - 1 > TOP - start ? TOP - start + 1 : size;
}

static void try_insert(struct run *run)
{
    uint64_t start = any_address(run);
    uint64_t size = any_size(run, start, run->space->largest);
    uint64_t last = start + (size - 1);
    struct base_interval *overlapping;
    const struct base_interval *expected = naive_lowest(run->naive, start, last);
    enum base_code code = base_intervals_insert(&run->map, start, size, run->step, &overlapping);
    if (expected) {
        AGREE(run, code == BASE_CONFLICT);
        AGREE(run, same(overlapping, expected));
        return;
    }
    AGREE(run, !overlapping);
    if (code == BASE_NO_MEMORY) {
        AGREE(run, run->space->limit_bytes);
        run->out_of_memory++;
        return;
    }
    AGREE(run, code == BASE_OK);
    run->naive->ranges[run->naive->count++] = (struct base_interval){start, last, run->step};
}

static void try_remove(struct run *run)
{
    struct base_interval removed = {0};
    uint64_t start = any_address(run);
    size_t index = run->naive->count;
    if (index && test_random(&run->random) % 4) {
        index = test_random(&run->random) % index;
        start = run->naive->ranges[index].start;
    } else {
        for (index = 0; index < run->naive->count; index++) {
            if (run->naive->ranges[index].start == start)
                break;
        }
    }
    bool expected = index < run->naive->count;
    AGREE(run, base_intervals_remove(&run->map, start, &removed) == expected);
    if (!expected)
        return;
    AGREE(run, same(&removed, &run->naive->ranges[index]));
    run->naive->ranges[index] = run->naive->ranges[--run->naive->count];
}

static void try_clear(struct run *run, uint64_t largest)
{
    uint64_t start = any_address(run);
    uint64_t size = any_size(run, start, largest);
    enum base_code code = base_intervals_remove_range(&run->map, start, size);
    if (code == BASE_NO_MEMORY) {
        const struct base_interval *holder =
            naive_lowest(run->naive, start + (size - 1), start + (size - 1));
        AGREE(run, run->space->limit_bytes);
        AGREE(run, holder && holder->last > start + (size - 1));
        run->out_of_memory++;
        return;
    }
    AGREE(run, code == BASE_OK);
    naive_clear(run->naive, start, start + (size - 1));
}

static void ask(struct run *run)
{
    uint64_t address = any_address(run);
    if (run->naive->count && test_random(&run->random) % 2) {
        // Errors are most likely at borders.
        const struct base_interval *range =
            &run->naive->ranges[test_random(&run->random) % run->naive->count];
        uint64_t bits = test_random(&run->random);
        address = (bits & 1 ? range->start : range->last) + (bits >> 1) % 3 - 1;
    }
    AGREE(run, same(base_intervals_find(&run->map, address),
                    naive_lowest(run->naive, address, address)));
    AGREE(run, same(base_intervals_before(&run->map, address), naive_before(run->naive, address)));
    AGREE(run, same(base_intervals_after(&run->map, address), naive_after(run->naive, address)));

    uint64_t size = any_size(run, address, run->space->bytes / 8 + 1);
    uint64_t last = address + (size - 1);
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first_overlap(&run->map, address, size, &walk);
    const struct base_interval *expected = naive_lowest(run->naive, address, last);
    for (unsigned i = 0; i < 12; i++) {
        AGREE(run, same(it, expected));
        if (!it)
            return;
        it = base_intervals_next(&walk);
        expected =
            expected->last >= last ? NULL : naive_lowest(run->naive, expected->last + 1, last);
    }
}

static void compare_all(struct run *run)
{
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&run->map, &walk);
    qsort(run->naive->ranges, run->naive->count, sizeof(run->naive->ranges[0]), by_start);
    for (size_t i = 0; i < run->naive->count; i++, it = base_intervals_next(&walk))
        AGREE(run, same(it, &run->naive->ranges[i]));
    AGREE(run, !it);
}

static size_t run_random(const struct space *space, uint64_t seed)
{
    static struct naive naive;
    struct run run = {.space = space, .seed = seed, .random = seed, .naive = &naive};
    naive.count = 0;
    base_intervals_init(&run.map, space->limit_bytes);
    size_t attempts = 0;
    unsigned levels = 0;
    while (naive.count < space->prefilled && attempts++ < 2 * space->prefilled)
        try_insert(&run);
    for (run.step = 1; run.step <= space->steps; run.step++) {
        // Phases of growth and decline alternate, so that nodes split and merge.
        bool growing = run.step * 8 / space->steps % 2 == 0;
        unsigned dice = (unsigned)(test_random(&run.random) % 100);
        if (dice < (growing ? 70 : 25) && naive.count < NAIVE_LIMIT - 8)
            try_insert(&run);
        else if (dice < 80)
            try_remove(&run);
        else if (dice < 99)
            try_clear(&run, space->largest * 3);
        else
            try_clear(&run, space->bytes / 4);
        AGREE(&run, base_intervals_count(&run.map) == naive.count);
        AGREE(&run, !space->limit_bytes || run.map.allocated_bytes <= space->limit_bytes);
        ask(&run);
        levels = run.map.height > levels ? run.map.height : levels;
        if (run.step % 500 == 0)
            compare_all(&run);
    }
    compare_all(&run);
    while (naive.count)
        try_remove(&run);
    compare_all(&run);
    AGREE(&run, levels >= space->levels);
    base_intervals_fini(&run.map);
    return run.out_of_memory;
}

static void run_seeds(const struct space *space, uint64_t seeds)
{
    for (uint64_t seed = 1; seed <= seeds; seed++)
        assert_int_equal(run_random(space, seed), 0);
}

static void it_agrees_with_a_list_in_a_small_dense_space(void **state)
{
    (void)state;
    static const struct space tiny = {"tiny", 1000, 64, 8, 20000, 0, 0, 0};
    static const struct space dense = {"dense", 1 << 20, 2048, 6, 30000, 0, 0, 1};
    run_seeds(&tiny, 3);
    run_seeds(&dense, 2);
}

static void it_agrees_with_a_list_near_zero(void **state)
{
    (void)state;
    static const struct space space = {"near zero", 0, 1024, 12, 30000, 0, 0, 1};
    run_seeds(&space, 3);
}

static void it_agrees_with_a_list_near_the_top(void **state)
{
    (void)state;
    static const struct space space = {"near the top", TOP - 1023, 1024, 12, 30000, 0, 0, 1};
    run_seeds(&space, 3);
}

static void it_agrees_with_a_list_at_both_ends(void **state)
{
    (void)state;
    static const struct space space = {"both ends", TOP - 511, 1024, 12, 30000, 0, 0, 1};
    run_seeds(&space, 3);
}

static void it_agrees_with_a_list_of_huge_ranges(void **state)
{
    (void)state;
    static const struct space space = {"huge", 0, TOP, TOP / 64, 15000, 0, 0, 1};
    run_seeds(&space, 2);
}

static void it_agrees_with_a_list_in_a_tree_of_many_levels(void **state)
{
    (void)state;
    static const struct space space = {"many levels", TOP - 199999, 400000, 40, 10000, 7000, 0, 2};
    run_seeds(&space, 2);
}

static void it_agrees_with_a_list_where_memory_runs_out(void **state)
{
    (void)state;
    static const struct space small = {"little memory", 0, 4096, 3, 30000, 0, 8 * 1024, 1};
    static const struct space large = {"some memory", 0, 100000, 3, 3000, 3000, 90 * 1024, 2};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        assert_int_not_equal(run_random(&small, seed), 0);
        assert_int_not_equal(run_random(&large, seed), 0);
    }
}

// --- Trees of several levels, compared with one bit per range ------------------------------------

enum { SLOTS = 41 * 62 * 12 };

static void compare_slots(const struct base_intervals *map, const bool *present, size_t wave)
{
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(map, &walk);
    size_t count = 0;
    for (uint64_t i = 0; i < SLOTS; i++) {
        const struct base_interval *found = base_intervals_find(map, i * 16 + 8);
        if (!present[i]) {
            if (found)
                fail_msg("wave %zu: range %" PRIu64 " should be gone", wave, i);
            continue;
        }
        if (!found || found->start != i * 16 || found->last != i * 16 + 15 || found != it)
            fail_msg("wave %zu: range %" PRIu64 " is lost", wave, i);
        it = base_intervals_next(&walk);
        count++;
    }
    assert_null(it);
    assert_int_equal(base_intervals_count(map), count);
}

// Whole regions are emptied and filled again, so that nodes of every level lose their first
// children, merge, disappear and split.
static void regions_may_empty_and_fill_again(void **state)
{
    (void)state;
    static bool present[SLOTS];
    uint64_t random = 77;
    struct base_intervals map;
    base_intervals_init(&map, 0);
    for (uint64_t i = 0; i < SLOTS; i++) {
        assert_int_equal(base_intervals_insert(&map, i * 16, 16, i, NULL), BASE_OK);
        present[i] = true;
    }
    for (size_t wave = 0; wave < 150; wave++) {
        uint64_t start = test_random(&random) % SLOTS;
        uint64_t size = 1 + test_random(&random) % (wave % 5 ? 6000 : SLOTS);
        uint64_t end = start + size < SLOTS ? start + size : SLOTS;
        uint64_t part = 1 + test_random(&random) % 100; // percent of the ranges that are touched
        bool backwards = test_random(&random) % 2;
        bool insert = wave % 2;
        if (wave % 7 == 0)
            part = 100;
        for (uint64_t k = start; k < end; k++) {
            uint64_t i = backwards ? start + end - 1 - k : k;
            if (test_random(&random) % 100 >= part)
                continue;
            if (insert)
                assert_int_equal(base_intervals_insert(&map, i * 16, 16, i, NULL),
                                 present[i] ? BASE_CONFLICT : BASE_OK);
            else
                assert_int_equal(base_intervals_remove(&map, i * 16, NULL), present[i]);
            present[i] = insert;
        }
        compare_slots(&map, present, wave);
    }
    base_intervals_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_agrees_with_a_list_in_a_small_dense_space),
        cmocka_unit_test(it_agrees_with_a_list_near_zero),
        cmocka_unit_test(it_agrees_with_a_list_near_the_top),
        cmocka_unit_test(it_agrees_with_a_list_at_both_ends),
        cmocka_unit_test(it_agrees_with_a_list_of_huge_ranges),
        cmocka_unit_test(it_agrees_with_a_list_in_a_tree_of_many_levels),
        cmocka_unit_test(it_agrees_with_a_list_where_memory_runs_out),
        cmocka_unit_test(regions_may_empty_and_fill_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
