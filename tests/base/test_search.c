// SPDX-License-Identifier: Apache-2.0
// Tests of binary search: compared with a linear search over every small range, and its
// comparisons.
#include "testing.h"

static void it_finds_what_a_linear_search_finds(void **state)
{
    (void)state;
    enum { LARGEST = 40 };
    for (size_t end = 0; end <= LARGEST; end++) {
        uint32_t numbers[LARGEST + 1]; // pairs of equal numbers: 0 0 2 2 4 4 ...
        for (size_t i = 0; i < end; i++)
            numbers[i] = (uint32_t)(i / 2 * 2);
        for (size_t first = 0; first <= end; first++)
            for (uint32_t key = 0; key <= LARGEST + 2; key++) {
                size_t below = first, above = first;
                while (below < end && numbers[below] < key)
                    below++;
                while (above < end && numbers[above] <= key)
                    above++;
                assert_int_equal(base_search(first, end, i, numbers[i] < key), below);
                assert_int_equal(base_search(first, end, i, numbers[i] <= key), above);
            }
    }
}

static void the_bounds_are_evaluated_once(void **state)
{
    (void)state;
    size_t first = 3, end = 9;
    assert_int_equal(base_search(first++, end++, i, i < 7), 7);
    assert_int_equal(first, 4);
    assert_int_equal(end, 10);
}

static void it_looks_at_a_logarithm_of_the_items(void **state)
{
    (void)state;
    for (size_t wanted = 0; wanted <= 1024; wanted++) {
        unsigned compared = 0;
        assert_int_equal(base_search(0, 1024, i, (compared++, i < wanted)), wanted);
        assert_true(compared <= 11);
    }
}

static void indices_near_the_largest_do_not_overflow(void **state)
{
    (void)state;
    assert_true(base_search(SIZE_MAX - 9, SIZE_MAX, i, i < SIZE_MAX - 3) == SIZE_MAX - 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_what_a_linear_search_finds),
        cmocka_unit_test(the_bounds_are_evaluated_once),
        cmocka_unit_test(it_looks_at_a_logarithm_of_the_items),
        cmocka_unit_test(indices_near_the_largest_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
