// SPDX-License-Identifier: Apache-2.0
// Tests of the interval map with known answers: every border, a million ranges, and running out of
// memory. test_intervals_random.c has random steps.
#include "testing.h"

#include "failing_memory.h"

#define TOP UINT64_MAX

static void is_range(const struct base_interval *range, uint64_t start, uint64_t last,
                     uint64_t value)
{
    assert_non_null(range);
    assert_int_equal(range->start, start);
    assert_int_equal(range->last, last);
    assert_int_equal(range->value, value);
}

// --- Known answers -------------------------------------------------------------------------------

static void an_empty_map_answers_nothing(void **state)
{
    (void)state;
    struct base_intervals map;
    struct base_intervals_walk walk;
    base_intervals_init(&map, 0);
    assert_int_equal(base_intervals_count(&map), 0);
    assert_null(base_intervals_find(&map, 0));
    assert_null(base_intervals_before(&map, TOP));
    assert_null(base_intervals_after(&map, 0));
    assert_null(base_intervals_first(&map, &walk));
    assert_null(base_intervals_next(&walk));
    assert_null(base_intervals_first_overlap(&map, 0, TOP, &walk));
    assert_null(base_intervals_next(&walk));
    assert_false(base_intervals_remove(&map, 0, NULL));
    assert_int_equal(base_intervals_remove_range(&map, 0, TOP), BASE_OK);
    assert_int_equal(map.allocated_bytes, 0);
    base_intervals_fini(&map);
}

static void a_range_holds_its_first_and_last_byte_and_no_more(void **state)
{
    (void)state;
    struct base_intervals map;
    base_intervals_init(&map, 0);
    assert_int_equal(base_intervals_insert(&map, 100, 10, 1, NULL), BASE_OK);
    assert_null(base_intervals_find(&map, 99));
    is_range(base_intervals_find(&map, 100), 100, 109, 1);
    is_range(base_intervals_find(&map, 109), 100, 109, 1);
    assert_null(base_intervals_find(&map, 110));
    assert_int_equal(base_interval_size_bytes(base_intervals_find(&map, 105)), 10);
    base_intervals_fini(&map);
    assert_null(base_intervals_find(&map, 105));
    assert_int_equal(base_intervals_insert(&map, 105, 1, 2, NULL), BASE_OK);
    base_intervals_fini(&map);
}

static void empty_ranges_and_those_beyond_the_top_are_refused(void **state)
{
    (void)state;
    struct base_intervals map;
    struct base_intervals_walk walk;
    base_intervals_init(&map, 0);
    assert_int_equal(base_intervals_insert(&map, 5, 0, 1, NULL), BASE_INVALID);
    assert_int_equal(base_intervals_insert(&map, 0, 0, 1, NULL), BASE_INVALID);
    assert_int_equal(base_intervals_insert(&map, TOP, 2, 1, NULL), BASE_INVALID);
    assert_int_equal(base_intervals_insert(&map, 2, TOP, 1, NULL), BASE_INVALID);
    struct base_interval *overlapping = (struct base_interval *)&map;
    assert_int_equal(base_intervals_insert(&map, TOP, TOP, 1, &overlapping), BASE_INVALID);
    assert_null(overlapping);
    assert_int_equal(base_intervals_count(&map), 0);
    base_intervals_insert(&map, 5, 10, 1, NULL);
    assert_int_equal(base_intervals_remove_range(&map, 6, 0), BASE_INVALID);
    assert_int_equal(base_intervals_remove_range(&map, 6, TOP - 4), BASE_INVALID);
    assert_null(base_intervals_first_overlap(&map, 6, 0, &walk));
    assert_null(base_intervals_next(&walk));
    is_range(base_intervals_first_overlap(&map, 6, TOP, &walk), 5, 14, 1);
    is_range(base_intervals_first(&map, &walk), 5, 14, 1);
    base_intervals_fini(&map);
}

static void ranges_may_begin_at_zero_and_end_at_the_top(void **state)
{
    (void)state;
    struct base_intervals map;
    struct base_intervals_walk walk;
    base_intervals_init(&map, 0);
    assert_int_equal(base_intervals_insert(&map, TOP, 1, 3, NULL), BASE_OK);
    assert_int_equal(base_intervals_insert(&map, 0, 1, 1, NULL), BASE_OK);
    assert_int_equal(base_intervals_insert(&map, 1, TOP - 1, 2, NULL), BASE_OK);
    is_range(base_intervals_find(&map, 0), 0, 0, 1);
    is_range(base_intervals_find(&map, 1), 1, TOP - 1, 2);
    is_range(base_intervals_find(&map, TOP - 1), 1, TOP - 1, 2);
    is_range(base_intervals_find(&map, TOP), TOP, TOP, 3);
    assert_null(base_intervals_before(&map, 0));
    is_range(base_intervals_before(&map, 1), 0, 0, 1);
    is_range(base_intervals_before(&map, TOP - 1), 0, 0, 1);
    is_range(base_intervals_before(&map, TOP), 1, TOP - 1, 2);
    assert_null(base_intervals_after(&map, TOP));
    is_range(base_intervals_after(&map, TOP - 1), TOP, TOP, 3);
    is_range(base_intervals_after(&map, 0), 1, TOP - 1, 2);
    is_range(base_intervals_first_overlap(&map, TOP, 1, &walk), TOP, TOP, 3);
    assert_null(base_intervals_next(&walk));
    assert_null(base_intervals_next(&walk));
    assert_int_equal(base_intervals_insert(&map, 0, TOP, 4, NULL), BASE_CONFLICT);
    assert_int_equal(base_intervals_remove_range(&map, 1, TOP), BASE_OK);
    is_range(base_intervals_first(&map, &walk), 0, 0, 1);
    assert_int_equal(base_intervals_insert(&map, 1, TOP, 5, NULL), BASE_OK);
    is_range(base_intervals_find(&map, TOP), 1, TOP, 5);
    assert_int_equal(base_interval_size_bytes(base_intervals_find(&map, TOP)), TOP);
    base_intervals_fini(&map);
}

static void an_overlap_is_refused_and_named(void **state)
{
    (void)state;
    struct base_intervals map;
    struct base_interval *overlapping;
    base_intervals_init(&map, 0);
    base_intervals_insert(&map, 10, 10, 1, NULL);
    base_intervals_insert(&map, 30, 10, 2, NULL);
    static const struct {
        uint64_t start, size, named;
    } refused[] = {
        {10, 10, 1}, {5, 6, 1},  {19, 1, 1},  {19, 100, 1}, {0, TOP, 1}, {12, 3, 1},
        {20, 11, 2}, {39, 1, 2}, {39, 20, 2}, {25, 100, 2}, {10, 1, 1},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(
            base_intervals_insert(&map, refused[i].start, refused[i].size, 9, &overlapping),
            BASE_CONFLICT);
        is_range(overlapping, refused[i].named * 20 - 10, refused[i].named * 20 - 1,
                 refused[i].named);
        assert_int_equal(base_intervals_count(&map), 2);
    }
    assert_int_equal(base_intervals_insert(&map, 20, 10, 3, &overlapping), BASE_OK);
    assert_null(overlapping);
    assert_int_equal(base_intervals_insert(&map, 9, 1, 4, NULL), BASE_OK);
    assert_int_equal(base_intervals_insert(&map, 40, 1, 5, NULL), BASE_OK);
    base_intervals_fini(&map);
}

static void neighbours_lie_wholly_below_and_above(void **state)
{
    (void)state;
    struct base_intervals map;
    base_intervals_init(&map, 0);
    base_intervals_insert(&map, 10, 10, 1, NULL);
    base_intervals_insert(&map, 20, 10, 2, NULL);
    base_intervals_insert(&map, 40, 10, 3, NULL);
    assert_null(base_intervals_before(&map, 10));
    assert_null(base_intervals_before(&map, 19));
    is_range(base_intervals_before(&map, 20), 10, 19, 1);
    is_range(base_intervals_before(&map, 29), 10, 19, 1);
    is_range(base_intervals_before(&map, 30), 20, 29, 2);
    is_range(base_intervals_before(&map, 49), 20, 29, 2);
    is_range(base_intervals_before(&map, 50), 40, 49, 3);
    is_range(base_intervals_after(&map, 0), 10, 19, 1);
    is_range(base_intervals_after(&map, 9), 10, 19, 1);
    is_range(base_intervals_after(&map, 10), 20, 29, 2);
    is_range(base_intervals_after(&map, 19), 20, 29, 2);
    is_range(base_intervals_after(&map, 35), 40, 49, 3);
    assert_null(base_intervals_after(&map, 40));
    base_intervals_fini(&map);
}

static void overlaps_come_in_order_and_stop_at_the_border(void **state)
{
    (void)state;
    struct base_intervals map;
    struct base_intervals_walk walk;
    base_intervals_init(&map, 0);
    for (uint64_t i = 0; i < 10; i++)
        base_intervals_insert(&map, i * 10, 5, i, NULL);
    is_range(base_intervals_first_overlap(&map, 14, 17, &walk), 10, 14, 1);
    is_range(base_intervals_next(&walk), 20, 24, 2);
    is_range(base_intervals_next(&walk), 30, 34, 3);
    assert_null(base_intervals_next(&walk));
    is_range(base_intervals_first_overlap(&map, 15, 15, &walk), 20, 24, 2);
    assert_null(base_intervals_next(&walk));
    assert_null(base_intervals_first_overlap(&map, 15, 5, &walk));
    assert_null(base_intervals_first_overlap(&map, 95, TOP, &walk));
    base_intervals_fini(&map);
}

static void only_the_start_of_a_range_removes_it(void **state)
{
    (void)state;
    struct base_intervals map;
    struct base_interval removed = {0};
    base_intervals_init(&map, 0);
    base_intervals_insert(&map, 10, 10, 1, NULL);
    base_intervals_insert(&map, 20, 10, 2, NULL);
    assert_false(base_intervals_remove(&map, 11, &removed));
    assert_false(base_intervals_remove(&map, 19, &removed));
    assert_false(base_intervals_remove(&map, 9, &removed));
    assert_int_equal(removed.last, 0);
    assert_true(base_intervals_remove(&map, 10, &removed));
    is_range(&removed, 10, 19, 1);
    assert_false(base_intervals_remove(&map, 10, NULL));
    assert_null(base_intervals_find(&map, 19));
    is_range(base_intervals_find(&map, 20), 20, 29, 2);
    assert_true(base_intervals_remove(&map, 20, NULL));
    assert_int_equal(base_intervals_count(&map), 0);
    base_intervals_fini(&map);
}

// Each case begins with [100, 200) = 1, [200, 300) = 2, [400, 500) = 3.
static void clearing_cuts_exactly(void **state)
{
    (void)state;
    static const struct {
        uint64_t start, size;
        size_t count;
        struct base_interval left[4];
    } cases[] = {
        {0, 100, 3, {{100, 199, 1}, {200, 299, 2}, {400, 499, 3}}},
        {300, 100, 3, {{100, 199, 1}, {200, 299, 2}, {400, 499, 3}}},
        {500, TOP - 499, 3, {{100, 199, 1}, {200, 299, 2}, {400, 499, 3}}},
        {0, TOP, 0, {{0, 0, 0}}},
        {0, 101, 3, {{101, 199, 1}, {200, 299, 2}, {400, 499, 3}}},
        {199, 1, 3, {{100, 198, 1}, {200, 299, 2}, {400, 499, 3}}},
        {199, 2, 3, {{100, 198, 1}, {201, 299, 2}, {400, 499, 3}}},
        {150, 1, 4, {{100, 149, 1}, {151, 199, 1}, {200, 299, 2}, {400, 499, 3}}},
        {101, 98, 4, {{100, 100, 1}, {199, 199, 1}, {200, 299, 2}, {400, 499, 3}}},
        {100, 100, 2, {{200, 299, 2}, {400, 499, 3}}},
        {100, 99, 3, {{199, 199, 1}, {200, 299, 2}, {400, 499, 3}}},
        {150, 300, 2, {{100, 149, 1}, {450, 499, 3}}},
        {100, 200, 1, {{400, 499, 3}}},
        {250, 1000, 2, {{100, 199, 1}, {200, 249, 2}}},
        {499, 1, 3, {{100, 199, 1}, {200, 299, 2}, {400, 498, 3}}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct base_intervals map;
        struct base_intervals_walk walk;
        base_intervals_init(&map, 0);
        base_intervals_insert(&map, 100, 100, 1, NULL);
        base_intervals_insert(&map, 200, 100, 2, NULL);
        base_intervals_insert(&map, 400, 100, 3, NULL);
        assert_int_equal(base_intervals_remove_range(&map, cases[i].start, cases[i].size), BASE_OK);
        assert_int_equal(base_intervals_count(&map), cases[i].count);
        const struct base_interval *range = base_intervals_first(&map, &walk);
        for (size_t k = 0; k < cases[i].count; k++, range = base_intervals_next(&walk))
            is_range(range, cases[i].left[k].start, cases[i].left[k].last, cases[i].left[k].value);
        assert_null(range);
        base_intervals_fini(&map);
    }
}

static void values_may_be_changed_in_place(void **state)
{
    (void)state;
    struct base_intervals map;
    struct base_intervals_walk walk;
    base_intervals_init(&map, 0);
    for (uint64_t i = 0; i < 1000; i++)
        base_intervals_insert(&map, i * 2, 1, 0, NULL);
    for (struct base_interval *it = base_intervals_first(&map, &walk); it;
         it = base_intervals_next(&walk))
        it->value = it->start + 1;
    for (uint64_t i = 0; i < 1000; i++)
        is_range(base_intervals_find(&map, i * 2), i * 2, i * 2, i * 2 + 1);
    base_intervals_fini(&map);
}

// A node with only its first entry is emptied again. It may be the only child of its parent.
static void the_newest_range_may_go_at_every_size(void **state)
{
    (void)state;
    struct base_intervals map;
    base_intervals_init(&map, 0);
    base_intervals_insert(&map, 0, 16, 0, NULL);
    for (uint64_t i = 1; i < 41 * 62 * 3; i++) {
        base_intervals_insert(&map, i * 16, 16, i, NULL);
        assert_true(base_intervals_remove(&map, i * 16, NULL));
        assert_null(base_intervals_find(&map, i * 16));
        assert_null(base_intervals_after(&map, i * 16 - 1));
        is_range(base_intervals_before(&map, TOP), i * 16 - 16, i * 16 - 1, i - 1);
        assert_int_equal(base_intervals_insert(&map, i * 16, 16, i, NULL), BASE_OK);
        is_range(base_intervals_after(&map, i * 16 - 1), i * 16, i * 16 + 15, i);
    }
    base_intervals_fini(&map);
}

// --- Memory --------------------------------------------------------------------------------------

// Fails the first, second, ... allocation of one operation until it succeeds, and expects the map
// to be unharmed each time.
static void every_single_failure_leaves_the_map_as_it_was(void **state)
{
    (void)state;
    enum { RANGES = 41 * 62 * 2 };
    struct base_intervals map;
    size_t failures = 0;
    base_intervals_init(&map, 0);
    for (uint64_t i = 0; i < RANGES; i++) {
        uint64_t start = i * 40503 % RANGES * 16; // 40503 and RANGES have no common factor
        enum base_code code = BASE_NO_MEMORY;
        for (size_t granted = 0; code != BASE_OK; granted++) {
            allocations_left = granted;
            code = base_intervals_insert(&map, start, 16, start, NULL);
            allocations_left = SIZE_MAX;
            if (code == BASE_OK)
                break;
            failures++;
            assert_int_equal(code, BASE_NO_MEMORY);
            assert_int_equal(base_intervals_count(&map), i);
            assert_null(base_intervals_find(&map, start));
        }
    }
    assert_true(failures > RANGES / 41);
    for (uint64_t i = 0; i < RANGES; i++)
        is_range(base_intervals_find(&map, i * 16 + 8), i * 16, i * 16 + 15, i * 16);

    failures = 0;
    for (uint64_t i = 0; i < RANGES; i++) {
        enum base_code code = BASE_NO_MEMORY;
        for (size_t granted = 0; code != BASE_OK; granted++) {
            allocations_left = granted;
            code = base_intervals_remove_range(&map, i * 16 + 4, 8);
            allocations_left = SIZE_MAX;
            if (code == BASE_OK)
                break;
            failures++;
            assert_int_equal(code, BASE_NO_MEMORY);
            is_range(base_intervals_find(&map, i * 16 + 8), i * 16, i * 16 + 15, i * 16);
        }
        is_range(base_intervals_find(&map, i * 16), i * 16, i * 16 + 3, i * 16);
        assert_null(base_intervals_find(&map, i * 16 + 4));
        assert_null(base_intervals_find(&map, i * 16 + 11));
        is_range(base_intervals_find(&map, i * 16 + 12), i * 16 + 12, i * 16 + 15, i * 16);
    }
    assert_true(failures > 0);
    assert_int_equal(base_intervals_count(&map), 2 * RANGES);
    base_intervals_fini(&map);
}

static void clearing_without_a_piece_above_needs_no_memory(void **state)
{
    (void)state;
    struct base_intervals map;
    base_intervals_init(&map, 0);
    for (uint64_t i = 0; i < 10000; i++)
        base_intervals_insert(&map, i * 16, 16, i, NULL);
    allocations_left = 0;
    assert_int_equal(base_intervals_remove_range(&map, 7, 16 * 5000 - 7), BASE_OK);
    for (uint64_t i = 5000; i < 10000; i++)
        assert_true(base_intervals_remove(&map, i * 16, NULL));
    allocations_left = SIZE_MAX;
    assert_int_equal(base_intervals_count(&map), 1);
    is_range(base_intervals_find(&map, 0), 0, 6, 0);
    base_intervals_fini(&map);
}

// --- A million -----------------------------------------------------------------------------------

enum { MILLION = 1 << 20 };

// Range i is [i * 48, i * 48 + 32), its value i * 3.
static void million_holds(const struct base_intervals *map, uint64_t i, bool present)
{
    uint64_t start = i * 48;
    if (present) {
        is_range(base_intervals_find(map, start), start, start + 31, i * 3);
        is_range(base_intervals_find(map, start + 31), start, start + 31, i * 3);
    } else {
        assert_null(base_intervals_find(map, start));
        assert_null(base_intervals_find(map, start + 31));
    }
    assert_null(base_intervals_find(map, start + 32));
    assert_null(base_intervals_find(map, start + 47));
}

static void a_million_ranges_are_all_found_and_removed(void **state)
{
    (void)state;
    struct base_intervals map;
    struct base_intervals_walk walk;
    base_intervals_init(&map, 0);
    for (uint64_t i = 0; i < MILLION; i++) {
        uint64_t k = i * 0x9E3779B1u % MILLION; // an odd factor: each one once, in no order
        assert_int_equal(base_intervals_insert(&map, k * 48, 32, k * 3, NULL), BASE_OK);
    }
    assert_int_equal(base_intervals_count(&map), MILLION);
    for (uint64_t i = 0; i < MILLION; i++)
        million_holds(&map, i, true);
    uint64_t seen = 0;
    for (const struct base_interval *it = base_intervals_first(&map, &walk); it;
         it = base_intervals_next(&walk), seen++)
        is_range(it, seen * 48, seen * 48 + 31, seen * 3);
    assert_int_equal(seen, MILLION);

    for (uint64_t i = 0; i < MILLION; i++) {
        uint64_t k = i * 0x85EBCA6Bu % MILLION;
        if (k % 8)
            assert_true(base_intervals_remove(&map, k * 48, NULL));
    }
    assert_int_equal(base_intervals_count(&map), MILLION / 8);
    for (uint64_t i = 0; i < MILLION; i++)
        million_holds(&map, i, i % 8 == 0);
    is_range(base_intervals_after(&map, 0), 8 * 48, 8 * 48 + 31, 24);
    is_range(base_intervals_before(&map, 16 * 48), 8 * 48, 8 * 48 + 31, 24);

    for (uint64_t i = 0; i < MILLION; i++) {
        uint64_t k = i * 0xC2B2AE35u % MILLION;
        assert_int_equal(base_intervals_insert(&map, k * 48, 32, k * 3, NULL),
                         k % 8 ? BASE_OK : BASE_CONFLICT);
    }
    assert_int_equal(base_intervals_count(&map), MILLION);
    for (uint64_t i = 0; i < MILLION; i++)
        million_holds(&map, i, true);

    assert_int_equal(base_intervals_remove_range(&map, 1, (uint64_t)MILLION * 48), BASE_OK);
    assert_int_equal(base_intervals_count(&map), 1);
    is_range(base_intervals_first(&map, &walk), 0, 0, 0);
    assert_int_equal(map.height, 0);
    assert_true(base_intervals_remove(&map, 0, NULL));
    assert_true(map.allocated_bytes < 16384);
    base_intervals_fini(&map);
    assert_int_equal(map.allocated_bytes, 0);
}

static void a_million_ranges_in_order_take_little_more_than_their_own_size(void **state)
{
    (void)state;
    struct base_intervals map;
    base_intervals_init(&map, 0);
    for (uint64_t i = 0; i < MILLION; i++)
        assert_int_equal(base_intervals_insert(&map, i * 48, 32, i * 3, NULL), BASE_OK);
    for (uint64_t i = 0; i < MILLION; i++)
        million_holds(&map, i, true);
    assert_true(map.allocated_bytes < MILLION * sizeof(struct base_interval) * 11 / 10);
    base_intervals_fini(&map);
}

static void memory_shrinks_with_the_map(void **state)
{
    (void)state;
    struct base_intervals map;
    uint64_t random = 5;
    base_intervals_init(&map, 0);
    for (uint64_t i = 0; i < 100000; i++)
        base_intervals_insert(&map, i * 48, 32, i, NULL);
    // Removes a random ninety-nine of a hundred ranges. The rest is spread over all leaves.
    for (uint64_t i = 0; i < 100000; i++) {
        if (test_random(&random) % 100)
            base_intervals_remove(&map, i * 48, NULL);
    }
    size_t left = base_intervals_count(&map);
    assert_true(left > 500 && left < 2000);
    assert_true(map.allocated_bytes < left * sizeof(struct base_interval) * 5 + 16384);
    base_intervals_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_answers_nothing),
        cmocka_unit_test(a_range_holds_its_first_and_last_byte_and_no_more),
        cmocka_unit_test(empty_ranges_and_those_beyond_the_top_are_refused),
        cmocka_unit_test(ranges_may_begin_at_zero_and_end_at_the_top),
        cmocka_unit_test(an_overlap_is_refused_and_named),
        cmocka_unit_test(neighbours_lie_wholly_below_and_above),
        cmocka_unit_test(overlaps_come_in_order_and_stop_at_the_border),
        cmocka_unit_test(only_the_start_of_a_range_removes_it),
        cmocka_unit_test(clearing_cuts_exactly),
        cmocka_unit_test(values_may_be_changed_in_place),
        cmocka_unit_test(the_newest_range_may_go_at_every_size),
        cmocka_unit_test(every_single_failure_leaves_the_map_as_it_was),
        cmocka_unit_test(clearing_without_a_piece_above_needs_no_memory),
        cmocka_unit_test(a_million_ranges_are_all_found_and_removed),
        cmocka_unit_test(a_million_ranges_in_order_take_little_more_than_their_own_size),
        cmocka_unit_test(memory_shrinks_with_the_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
