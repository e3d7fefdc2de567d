// SPDX-License-Identifier: Apache-2.0
// Tests of growing arrays, on the heap and in an arena.
#include "testing.h"

#include <string.h>

#include "failing_memory.h"

static void items_survive_growth_on_the_heap(void **state)
{
    (void)state;
    BASE_ARRAY(uint64_t) numbers = {0};
    for (size_t i = 0; i < 100000; i++) {
        uint64_t *slot = base_array_push(&numbers);
        assert_non_null(slot);
        assert_int_equal(*slot, 0);
        *slot = i * i;
    }
    assert_int_equal(numbers.count, 100000);
    for (size_t i = 0; i < numbers.count; i++)
        assert_int_equal(numbers.items[i], i * i);
    base_array_fini(&numbers);
    assert_null(numbers.items);
    assert_int_equal(numbers.count, 0);
    assert_int_equal(numbers.capacity, 0);
}

static void items_survive_growth_in_an_arena(void **state)
{
    (void)state;
    struct item {
        char name[12];
        int number;
    };
    struct base_arena arena;
    base_arena_init(&arena, 0);
    BASE_ARRAY(struct item) first = {0};
    BASE_ARRAY(struct item) second = {0};
    for (int i = 0; i < 5000; i++) {
        base_array_push_in(&first, &arena)->number = i;
        base_array_push_in(&second, &arena)->number = -i;
    }
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(first.items[i].number, i);
        assert_int_equal(second.items[i].number, -i);
        assert_string_equal(first.items[i].name, "");
    }
    base_arena_fini(&arena);
}

static void a_pushed_item_is_zeroed_where_another_had_been(void **state)
{
    (void)state;
    BASE_ARRAY(int) numbers = {0};
    *base_array_push(&numbers) = 7;
    numbers.count--;
    assert_int_equal(*base_array_push(&numbers), 0);
    base_array_fini(&numbers);
}

static void an_array_that_cannot_grow_stays_as_it_was(void **state)
{
    (void)state;
    BASE_ARRAY(int) numbers = {0};
    allocations_left = 0;
    assert_null(base_array_push(&numbers));
    assert_null(numbers.items);
    allocations_left = SIZE_MAX;
    for (int i = 0; i < 8; i++)
        *base_array_push(&numbers) = i;
    assert_int_equal(numbers.capacity, 8);
    allocations_left = 0;
    assert_null(base_array_push(&numbers));
    allocations_left = SIZE_MAX;
    assert_int_equal(numbers.count, 8);
    assert_int_equal(numbers.capacity, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(numbers.items[i], i);
    base_array_fini(&numbers);
}

static void an_arena_that_is_full_yields_null_or_the_escape(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, 8192);
    BASE_ARRAY(uint64_t) numbers = {0};
    uint64_t *slot;
    while ((slot = base_array_push_in(&numbers, &arena)))
        *slot = numbers.count;
    size_t count = numbers.count;
    assert_true(count >= 64);
    jmp_buf escape;
    volatile bool escaped = true;
    if (setjmp(escape) == 0) {
        arena.escape = &escape;
        base_array_push_in(&numbers, &arena);
        escaped = false;
    }
    assert_true(escaped);
    assert_int_equal(numbers.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(numbers.items[i], i + 1);
    base_arena_fini(&arena);
}

static void capacities_that_overflow_are_refused(void **state)
{
    (void)state;
    static const size_t capacities[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 8,
                                        SIZE_MAX / 16 + 1};
    for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
        base_array_items items = NULL;
        size_t count = capacities[i], capacity = capacities[i];
        assert_int_equal(base_array_grow(&items, &count, &capacity, 8, NULL), SIZE_MAX);
        assert_int_equal(count, capacities[i]);
        assert_int_equal(capacity, capacities[i]);
        assert_null(items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_survive_growth_on_the_heap),
        cmocka_unit_test(items_survive_growth_in_an_arena),
        cmocka_unit_test(a_pushed_item_is_zeroed_where_another_had_been),
        cmocka_unit_test(an_array_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(an_arena_that_is_full_yields_null_or_the_escape),
        cmocka_unit_test(capacities_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
