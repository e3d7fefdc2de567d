// SPDX-License-Identifier: Apache-2.0
// libglint.so's allocator: blocks are aligned, do not overlap and are reused; NULL when memory runs
// out.
#include "inject/util/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 1000, 1008, 4096, 65520, 65521, 300000};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void pieces_are_aligned_and_apart(void **unused)
{
    (void)unused;
    unsigned char *pieces[SIZES * 20];
    size_t count = 0;
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < SIZES; i++, count++) {
            pieces[count] = __wrap_malloc(sizes[i]);
            assert_non_null(pieces[count]);
            assert_int_equal((uintptr_t)pieces[count] % 16, 0);
            memset(pieces[count], (int)count, sizes[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < sizes[i % SIZES]; j++)
            assert_int_equal(pieces[i][j], i & 0xff);
        __wrap_free(pieces[i]);
    }
    __wrap_free(NULL);
}

static void what_is_freed_is_used_again(void **unused)
{
    (void)unused;
    void *first = __wrap_malloc(1000);
    __wrap_free(first);
    assert_ptr_equal(__wrap_malloc(1000), first);
    __wrap_free(first);
}

static void calloc_zeroes_what_was_used(void **unused)
{
    (void)unused;
    unsigned char *used = __wrap_malloc(500);
    memset(used, 0xff, 500);
    __wrap_free(used);
    unsigned char *zeroed = __wrap_calloc(50, 10);
    for (int i = 0; i < 500; i++)
        assert_int_equal(zeroed[i], 0);
    __wrap_free(zeroed);
    assert_null(__wrap_calloc(SIZE_MAX / 2, 3));
    assert_null(__wrap_malloc(SIZE_MAX));
}

static void realloc_keeps_the_content(void **unused)
{
    (void)unused;
    unsigned char *piece = __wrap_realloc(NULL, 1);
    piece[0] = 42;
    for (size_t i = 0; i < SIZES; i++) {
        piece = __wrap_realloc(piece, sizes[i] + 1);
        assert_int_equal(piece[0], 42);
        memset(piece, 42, sizes[i] + 1);
    }
    for (size_t i = 0; i <= sizes[SIZES - 1]; i++)
        assert_int_equal(piece[i], 42);
    __wrap_free(piece);
}

static void without_memory_there_is_null(void **unused)
{
    (void)unused;
    struct rlimit old, none;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    void *large = __wrap_malloc(1 << 20), *small = NULL;
    bool ended = false;
    // Memory that is mapped already serves until it is used up.
    for (int i = 0; i < 100 && !ended; i++) {
        small = __wrap_malloc(30000);
        ended = !small;
    }
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    assert_null(large);
    assert_true(ended);
    small = __wrap_malloc(30000); // the allocator recovers
    assert_non_null(small);
}

static void a_child_leaves_the_parents_pieces_behind(void **unused)
{
    (void)unused;
    void *first = __wrap_malloc(1000);
    __wrap_free(first);
    util_pool_forget();
    assert_ptr_not_equal(__wrap_malloc(1000), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(what_is_freed_is_used_again),
        cmocka_unit_test(calloc_zeroes_what_was_used),
        cmocka_unit_test(realloc_keeps_the_content),
        cmocka_unit_test(without_memory_there_is_null),
        cmocka_unit_test(a_child_leaves_the_parents_pieces_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
