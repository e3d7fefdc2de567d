// SPDX-License-Identifier: Apache-2.0
// Tests of arena allocation: alignment, zeroing, limits, and both ways to run out of memory.
#include "testing.h"

#include <string.h>

#include "failing_memory.h"

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, 0);
    char *pieces[2000];
    size_t sizes[2000];
    uint64_t random = 1;
    for (size_t i = 0; i < 2000; i++) {
        sizes[i] = test_random(&random) % (i % 100 ? 300 : 100000);
        pieces[i] = base_alloc(&arena, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)(i % 251) + 1, sizes[i]);
    }
    for (size_t i = 0; i < 2000; i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal((unsigned char)pieces[i][k], i % 251 + 1);
    }
    base_arena_fini(&arena);
}

static void pieces_of_no_bytes_have_addresses_of_their_own(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, 0);
    void *first = base_alloc(&arena, 0);
    void *second = base_alloc(&arena, 0);
    assert_non_null(first);
    assert_non_null(second);
    assert_ptr_not_equal(first, second);
    base_arena_fini(&arena);
}

static void sizes_that_overflow_count_as_out_of_memory(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, 0);
    for (size_t less = 0; less < 64; less++) {
        assert_null(base_alloc(&arena, SIZE_MAX - less));
        assert_null(base_alloc_text(&arena, "text", SIZE_MAX - less));
    }
    assert_null(base_alloc_array(&arena, SIZE_MAX / 8 + 1, 8));
    assert_null(base_alloc_array(&arena, (size_t)1 << 32, (size_t)1 << 32));
    assert_null(base_alloc_array(&arena, SIZE_MAX, 1));
    assert_int_equal(arena.allocated_bytes, 0);
    assert_non_null(base_alloc_array(&arena, 0, SIZE_MAX));
    base_arena_fini(&arena);
}

static void a_limit_is_kept_and_can_be_used_up(void **state)
{
    (void)state;
    enum { LIMIT_BYTES = 100000, PIECE_BYTES = 112 };
    struct base_arena arena;
    base_arena_init(&arena, LIMIT_BYTES);
    assert_null(base_alloc(&arena, LIMIT_BYTES));
    size_t pieces = 0;
    while (base_alloc(&arena, PIECE_BYTES))
        pieces++;
    assert_true(arena.allocated_bytes <= LIMIT_BYTES);
    assert_true(pieces * PIECE_BYTES > LIMIT_BYTES * 8 / 10);
    assert_true(pieces * PIECE_BYTES < LIMIT_BYTES);
    base_arena_fini(&arena);
    assert_int_equal(arena.allocated_bytes, 0);
    assert_int_equal(arena.limit_bytes, LIMIT_BYTES);
    assert_non_null(base_alloc(&arena, PIECE_BYTES));
    base_arena_fini(&arena);
}

static void a_limit_below_the_first_chunk_still_serves_small_pieces(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, 64);
    assert_non_null(base_alloc(&arena, 48));
    assert_null(base_alloc(&arena, 1));
    base_arena_fini(&arena);
}

static void large_pieces_do_not_waste_the_chunk_in_use(void **state)
{
    (void)state;
    const size_t large_bytes = (size_t)3 << 20;
    struct base_arena arena;
    base_arena_init(&arena, 0);
    for (size_t i = 0; i < 20; i++) {
        assert_non_null(base_alloc(&arena, large_bytes));
        assert_non_null(base_alloc(&arena, 16));
    }
    assert_true(arena.allocated_bytes < 20 * (large_bytes + 16) + 8192);
    base_arena_fini(&arena);
}

static void out_of_memory_jumps_to_the_escape(void **state)
{
    (void)state;
    struct base_arena arena;
    jmp_buf escape;
    volatile size_t pieces = 0;
    base_arena_init(&arena, 1 << 16);
    if (setjmp(escape) == 0) {
        arena.escape = &escape;
        for (;;) {
            assert_non_null(base_alloc(&arena, 100));
            pieces++;
        }
    }
    assert_true(pieces > 100);
    arena.escape = NULL;
    assert_null(base_alloc(&arena, 1 << 16));
    base_arena_fini(&arena);
}

static void every_kind_of_allocation_takes_the_escape(void **state)
{
    (void)state;
    struct base_arena arena;
    jmp_buf escape;
    volatile int jumps = 0;
    base_arena_init(&arena, 1 << 16);
    setjmp(escape);
    arena.escape = &escape;
    switch (jumps++) {
    case 0: base_alloc(&arena, SIZE_MAX); break;
    case 1: base_alloc(&arena, 1 << 20); break;
    case 2: base_alloc_array(&arena, SIZE_MAX, 2); break;
    case 3: base_alloc_text(&arena, "", SIZE_MAX); break;
    default: break;
    }
    assert_int_equal(jumps, 5);
    base_arena_fini(&arena);
    assert_null(arena.escape);
}

static void failure_of_the_system_is_reported_and_survived(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, 0);
    allocations_left = 0;
    assert_null(base_alloc(&arena, 10));
    allocations_left = SIZE_MAX;
    char *piece = base_alloc(&arena, 10);
    assert_non_null(piece);
    allocations_left = 0;
    assert_null(base_alloc(&arena, 1 << 20));
    assert_non_null(base_alloc(&arena, 10)); // from the chunk in use
    allocations_left = SIZE_MAX;
    base_arena_fini(&arena);
}

static void text_is_copied_with_its_nul(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, 0);
    assert_string_equal(base_alloc_text(&arena, "glint and more", 5), "glint");
    assert_string_equal(base_alloc_text(&arena, NULL, 0), "");
    base_arena_fini(&arena);
}

static void typed_allocation_has_the_type_and_size(void **state)
{
    (void)state;
    struct pair {
        uint64_t a, b;
    };
    struct base_arena arena;
    base_arena_init(&arena, 0);
    struct pair *one = base_new(&arena, struct pair);
    struct pair *many = base_new_array(&arena, struct pair, 100);
    one->b = 1;
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(many[i].a + many[i].b, 0);
        many[i].b = i;
    }
    assert_int_equal(one->b, 1);
    base_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(pieces_of_no_bytes_have_addresses_of_their_own),
        cmocka_unit_test(sizes_that_overflow_count_as_out_of_memory),
        cmocka_unit_test(a_limit_is_kept_and_can_be_used_up),
        cmocka_unit_test(a_limit_below_the_first_chunk_still_serves_small_pieces),
        cmocka_unit_test(large_pieces_do_not_waste_the_chunk_in_use),
        cmocka_unit_test(out_of_memory_jumps_to_the_escape),
        cmocka_unit_test(every_kind_of_allocation_takes_the_escape),
        cmocka_unit_test(failure_of_the_system_is_reported_and_survived),
        cmocka_unit_test(text_is_copied_with_its_nul),
        cmocka_unit_test(typed_allocation_has_the_type_and_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
