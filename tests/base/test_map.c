// SPDX-License-Identifier: Apache-2.0
// Tests of the hash map: compared with a naive one, with removals, and when memory runs out.
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "failing_memory.h"

static void an_empty_map_holds_nothing(void **state)
{
    (void)state;
    struct base_map map = {0};
    assert_null(base_map_get(&map, 0));
    assert_null(base_map_get_str(&map, base_str("")));
    assert_false(base_map_remove(&map, 0));
    assert_false(base_map_remove_str(&map, base_str("x")));
    base_map_fini(&map);
}

static void put_makes_a_zero_once(void **state)
{
    (void)state;
    struct base_map map = {0};
    bool added = false;
    uint64_t *value = base_map_put(&map, UINT64_MAX, &added);
    assert_true(added);
    assert_int_equal(*value, 0);
    *value = 5;
    value = base_map_put(&map, UINT64_MAX, &added);
    assert_false(added);
    assert_int_equal(*value, 5);
    assert_ptr_equal(base_map_get(&map, UINT64_MAX), value);
    assert_int_equal(map.live, 1);
    base_map_put(&map, 7, NULL);
    assert_int_equal(map.live, 2);
    base_map_fini(&map);
    assert_int_equal(map.live, 0);
}

static void numbers_and_texts_are_different_keys(void **state)
{
    (void)state;
    struct base_map map = {0};
    *base_map_put(&map, 0, NULL) = 1;
    *base_map_put_str(&map, base_str(""), NULL) = 2;
    *base_map_put(&map, 3, NULL) = 3;
    *base_map_put_str(&map, base_str("abc"), NULL) = 4;
    *base_map_put_str(&map, (struct base_str){"a\0c", 3}, NULL) = 5;
    *base_map_put_str(&map, base_str("a"), NULL) = 6;
    assert_int_equal(map.live, 6);
    assert_int_equal(*base_map_get(&map, 0), 1);
    assert_int_equal(*base_map_get_str(&map, base_str("")), 2);
    assert_int_equal(*base_map_get(&map, 3), 3);
    assert_int_equal(*base_map_get_str(&map, base_str("abc")), 4);
    assert_int_equal(*base_map_get_str(&map, (struct base_str){"a\0c", 3}), 5);
    assert_int_equal(*base_map_get_str(&map, (struct base_str){"abc", 1}), 6);
    assert_null(base_map_get_str(&map, base_str("ab")));
    base_map_fini(&map);
}

static void an_empty_view_is_the_empty_text(void **state)
{
    (void)state;
    struct base_map map = {0};
    struct base_str none = {0};
    *base_map_put_str(&map, none, NULL) = 9;
    assert_int_equal(*base_map_get_str(&map, base_str("")), 9);
    assert_null(base_map_get(&map, 0));
    assert_true(base_map_remove_str(&map, none));
    assert_null(base_map_get_str(&map, base_str("")));
    base_map_fini(&map);
}

static void iteration_is_in_order_of_insertion(void **state)
{
    (void)state;
    struct base_map map = {0};
    uint64_t random = 3;
    uint64_t keys[3000];
    for (size_t i = 0; i < 3000; i++) {
        keys[i] = test_random(&random);
        *base_map_put(&map, keys[i], NULL) = i;
    }
    for (size_t i = 0; i < 3000; i += 3)
        assert_true(base_map_remove(&map, keys[i]));
    for (size_t i = 0; i < 3000; i += 3)
        *base_map_put(&map, keys[i], NULL) = 3000 + i;
    size_t seen = 0;
    uint64_t newest = 0;
    for (size_t i = 0; i < map.count; i++) {
        if (map.entries[i].removed)
            continue;
        assert_true(seen == 0 || map.entries[i].value > newest);
        newest = map.entries[i].value;
        seen++;
    }
    assert_int_equal(seen, 3000);
    assert_int_equal(map.live, 3000);
    base_map_fini(&map);
}

static void removed_keys_are_gone_and_can_return(void **state)
{
    (void)state;
    struct base_map map = {0};
    for (uint64_t i = 0; i < 1000; i++)
        *base_map_put(&map, i * 4096, NULL) = i;
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(base_map_remove(&map, i * 4096));
        assert_false(base_map_remove(&map, i * 4096));
        assert_null(base_map_get(&map, i * 4096));
        assert_int_equal(map.live, 999 - i);
    }
    bool added = false;
    assert_int_equal(*base_map_put(&map, 4096, &added), 0);
    assert_true(added);
    assert_int_equal(map.live, 1);
    base_map_fini(&map);
}

// Every used slot is a tombstone when the search begins.
static void a_search_ends_where_all_entries_are_removed(void **state)
{
    (void)state;
    for (size_t filled = 1; filled <= 600; filled++) {
        struct base_map map = {0};
        for (uint64_t i = 0; i < filled; i++)
            base_map_put(&map, i, NULL);
        for (uint64_t i = 0; i < filled; i++)
            base_map_remove(&map, i);
        for (uint64_t i = 0; i < 2 * filled; i++)
            assert_null(base_map_get(&map, i));
        assert_int_equal(map.live, 0);
        base_map_fini(&map);
    }
}

// If tombstones were not reused, each of these steps would walk over all earlier ones. The test
// would then exceed its time limit rather than fail.
static void a_key_that_comes_and_goes_costs_no_more_each_time(void **state)
{
    (void)state;
    struct base_map map = {0};
    for (uint64_t i = 1; i <= 300000; i++)
        base_map_put(&map, i, NULL);
    for (size_t i = 0; i < 1000000; i++) {
        *base_map_put(&map, 0, NULL) = i;
        assert_true(base_map_remove(&map, 0));
    }
    assert_int_equal(map.live, 300000);
    assert_true(map.capacity <= 1 << 20);
    for (uint64_t i = 1; i <= 300000; i++)
        assert_non_null(base_map_get(&map, i));
    base_map_fini(&map);
}

static void it_agrees_with_a_naive_map(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {11, 12, 13, 14};
    enum { KEYS = 700, STEPS = 60000 };
    static char names[KEYS][16];
    for (size_t i = 0; i < KEYS; i++)
        snprintf(names[i], sizeof(names[i]), "%zx", i * 77777777);
    for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
        uint64_t random = seeds[s];
        struct base_map map = {0};
        bool present[2][KEYS] = {0};
        uint64_t values[2][KEYS] = {0};
        size_t live = 0;
        for (size_t step = 0; step < STEPS; step++) {
            uint64_t dice = test_random(&random);
            size_t key = dice % KEYS;
            bool text = dice >> 32 & 1;
            bool growing = step / 5000 % 2 == 0;
            unsigned action = (unsigned)(dice >> 40) % 8;
            struct base_str name = base_str(names[key]);
            uint64_t number = (uint64_t)key << 32;
            if (action < (growing ? 4 : 1)) {
                bool added;
                uint64_t *value = text ? base_map_put_str(&map, name, &added)
                                       : base_map_put(&map, number, &added);
                if (!value || added == present[text][key] ||
                    *value != (added ? 0 : values[text][key]))
                    fail_msg("put: seed %d, step %zu", (int)seeds[s], step);
                live += added;
                present[text][key] = true;
                *value = values[text][key] = dice;
            } else if (action < 5) {
                bool removed =
                    text ? base_map_remove_str(&map, name) : base_map_remove(&map, number);
                if (removed != present[text][key])
                    fail_msg("remove: seed %d, step %zu", (int)seeds[s], step);
                live -= removed;
                present[text][key] = false;
            } else {
                const uint64_t *value =
                    text ? base_map_get_str(&map, name) : base_map_get(&map, number);
                if (present[text][key] ? !value || *value != values[text][key] : value != NULL)
                    fail_msg("get: seed %d, step %zu", (int)seeds[s], step);
            }
            if (map.live != live)
                fail_msg("live: seed %d, step %zu", (int)seeds[s], step);
        }
        base_map_fini(&map);
    }
}

static void without_memory_the_map_stays_as_it_was(void **state)
{
    (void)state;
    for (size_t granted = 0; granted < 2; granted++) {
        struct base_map map = {0};
        uint64_t key = 0;
        for (; key < 8; key++)
            *base_map_put(&map, key, NULL) = key;
        bool added = true;
        allocations_left = granted;
        assert_null(base_map_put(&map, key, &added));
        assert_false(added);
        allocations_left = SIZE_MAX;
        assert_int_equal(map.live, 8);
        assert_null(base_map_get(&map, key));
        for (uint64_t i = 0; i < 8; i++)
            assert_int_equal(*base_map_get(&map, i), i);
        assert_non_null(base_map_put(&map, key, &added));
        assert_true(added);
        base_map_fini(&map);
    }
}

static void a_removed_text_is_not_touched_again(void **state)
{
    (void)state;
    struct base_map map = {0};
    for (int i = 0; i < 1000; i++) {
        char *name = __real_malloc(32);
        snprintf(name, 32, "name %d", i);
        base_map_put_str(&map, base_str(name), NULL);
        assert_true(base_map_remove_str(&map, base_str(name)));
        free(name);
        assert_null(base_map_get_str(&map, base_str("name 1")));
    }
    base_map_fini(&map);
}

static void the_hash_depends_on_every_byte_and_the_length(void **state)
{
    (void)state;
    unsigned char bytes[40];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    uint64_t shorter = base_hash(NULL, 0);
    for (size_t length = 1; length <= sizeof(bytes); length++) {
        uint64_t hash = base_hash(bytes, length);
        assert_int_not_equal(hash, shorter);
        for (size_t bit = 0; bit < length * 8; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_int_not_equal(base_hash(bytes, length), hash);
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        assert_int_equal(base_hash(bytes, length), hash);
        shorter = hash;
    }
    assert_int_not_equal(base_hash("\0", 1), base_hash("\0\0", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_holds_nothing),
        cmocka_unit_test(put_makes_a_zero_once),
        cmocka_unit_test(numbers_and_texts_are_different_keys),
        cmocka_unit_test(an_empty_view_is_the_empty_text),
        cmocka_unit_test(iteration_is_in_order_of_insertion),
        cmocka_unit_test(removed_keys_are_gone_and_can_return),
        cmocka_unit_test(a_search_ends_where_all_entries_are_removed),
        cmocka_unit_test(a_key_that_comes_and_goes_costs_no_more_each_time),
        cmocka_unit_test(it_agrees_with_a_naive_map),
        cmocka_unit_test(without_memory_the_map_stays_as_it_was),
        cmocka_unit_test(a_removed_text_is_not_touched_again),
        cmocka_unit_test(the_hash_depends_on_every_byte_and_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
