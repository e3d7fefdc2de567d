// SPDX-License-Identifier: Apache-2.0
// Which of a pool's kept blocks is given out, and what the pool counts.
#include "inject/correct/memory/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum correct_block_rating all_good(struct correct_block *block, void *user)
{
    (void)block;
    (void)user;
    return CORRECT_BLOCK_GOOD;
}

// The text has the rating of each block, at index address / 2^20.
static enum correct_block_rating as_told(struct correct_block *block, void *user)
{
    return (enum correct_block_rating)(((const char *)user)[block->address >> 20] - '0');
}

#define AT(n) ((uint64_t)(n) << 20)

static struct correct_block *kept(struct correct_blocks *blocks, uint64_t at, uint64_t bytes)
{
    struct correct_block *block = correct_blocks_add(blocks, at, bytes);
    assert_non_null(block);
    assert_true(correct_blocks_keep(blocks, block));
    return block;
}

static struct correct_block *fit(const struct correct_blocks *blocks, uint64_t bytes)
{
    return correct_blocks_fit(blocks, bytes, false, all_good, NULL);
}

static void test_a_block_serves_its_class_and_what_is_a_quarter_smaller(void **unused)
{
    (void)unused;
    struct correct_blocks blocks = {0};
    struct correct_block *ten = kept(&blocks, AT(1), 5120);
    assert_ptr_equal(fit(&blocks, 5120), ten);
    assert_ptr_equal(fit(&blocks, 4609), ten); // the same class
    assert_ptr_equal(fit(&blocks, 4096), ten); // 8 classes and a quarter: 10
    assert_null(fit(&blocks, 3584));           // 7 and a quarter: 8
    assert_null(fit(&blocks, 5121));
    correct_blocks_fini(&blocks);
}

static void test_a_block_of_the_same_class_that_is_too_small_is_not_taken(void **unused)
{
    (void)unused;
    struct correct_blocks blocks = {0};
    kept(&blocks, AT(1), 1000);
    assert_non_null(fit(&blocks, 1000));
    assert_null(fit(&blocks, 1001));
    struct correct_block *larger = kept(&blocks, AT(2), 1024);
    assert_ptr_equal(fit(&blocks, 1001), larger);
    correct_blocks_fini(&blocks);
}

static void test_the_same_class_comes_before_a_larger_one_and_the_oldest_first(void **unused)
{
    (void)unused;
    struct correct_blocks blocks = {0};
    kept(&blocks, AT(1), 20 * 512);
    struct correct_block *second = kept(&blocks, AT(2), 18 * 512);
    struct correct_block *third = kept(&blocks, AT(3), 18 * 512);
    assert_ptr_equal(fit(&blocks, 18 * 512), second);
    assert_ptr_equal(fit(&blocks, 17 * 512), second);
    correct_blocks_use(&blocks, second, 18 * 512);
    assert_ptr_equal(fit(&blocks, 18 * 512), third);
    correct_blocks_fini(&blocks);
}

static void test_a_better_one_is_taken_and_a_poor_one_only_without_a_fresh(void **unused)
{
    (void)unused;
    struct correct_blocks blocks = {0};
    struct correct_block *at[4];
    for (unsigned i = 1; i < 4; i++)
        at[i] = kept(&blocks, AT(i), 512);
    assert_ptr_equal(correct_blocks_fit(&blocks, 512, true, as_told, (void *)" 123"), at[3]);
    assert_ptr_equal(correct_blocks_fit(&blocks, 512, true, as_told, (void *)" 122"), at[2]);
    assert_null(correct_blocks_fit(&blocks, 512, true, as_told, (void *)" 111"));
    assert_ptr_equal(correct_blocks_fit(&blocks, 512, false, as_told, (void *)" 011"), at[2]);
    assert_null(correct_blocks_fit(&blocks, 512, false, as_told, (void *)" 000"));
    correct_blocks_fini(&blocks);
}

static void test_kept_and_used_bytes_are_counted_and_the_peak_bounds(void **unused)
{
    (void)unused;
    struct correct_blocks blocks = {0};
    struct correct_block *a = correct_blocks_add(&blocks, AT(1), 1000),
                         *b = correct_blocks_add(&blocks, AT(2), 500);
    assert_int_equal(blocks.used_bytes, 1500);
    assert_true(correct_blocks_keep(&blocks, a));
    assert_int_equal(blocks.used_bytes, 500);
    assert_int_equal(blocks.kept_bytes, 1000);
    assert_int_equal(blocks.peak_bytes, 1500);
    assert_false(correct_blocks_over(&blocks, 500));
    assert_true(correct_blocks_over(&blocks, 501));
    correct_blocks_use(&blocks, a, 900);
    assert_int_equal(blocks.used_bytes, 1400);
    assert_int_equal(blocks.kept_bytes, 0);
    correct_blocks_remove(&blocks, a);
    correct_blocks_remove(&blocks, b);
    assert_int_equal(blocks.used_bytes, 0);
    assert_null(correct_blocks_find(&blocks, AT(1)));
    correct_blocks_fini(&blocks);
}

static void test_an_address_inside_finds_the_block(void **unused)
{
    (void)unused;
    struct correct_blocks blocks = {0};
    struct correct_block *a = correct_blocks_add(&blocks, AT(1), 1000);
    assert_ptr_equal(correct_blocks_find(&blocks, AT(1) + 999), a);
    assert_null(correct_blocks_find(&blocks, AT(1) + 1000));
    assert_null(correct_blocks_add(&blocks, AT(1) + 999, 10)); // overlaps
    correct_blocks_fini(&blocks);
}

// Compares with lists that are searched from end to end.
static void test_random_sequences_agree_with_a_plain_search(void **unused)
{
    (void)unused;
    enum { ROUNDS = 20000, MOST = 60 };
    struct correct_blocks blocks = {0};
    struct correct_block *all[MOST] = {0}; // kept blocks, oldest first
    size_t count = 0;
    uint64_t next = 1;
    srand(8);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t bytes = (uint64_t)(rand() % 40) * 300 + 1;
        const int what = rand() % 4;
        if (what == 0 && count < MOST) {
            all[count++] = correct_blocks_add(&blocks, AT(next++), bytes);
        } else if (what == 1) {
            const uint64_t class = (bytes + 511) / 512;
            struct correct_block *wanted = NULL;
            for (size_t i = 0; i < count; i++) {
                const uint64_t own = (all[i]->bytes + 511) / 512;
                if (all[i]->kept && all[i]->bytes >= bytes && own >= class &&
                    own <= class + class / 4 && (!wanted || own < (wanted->bytes + 511) / 512))
                    wanted = all[i];
            }
            struct correct_block *found = fit(&blocks, bytes);
            // Only the oldest few blocks of a class are examined, and all of them may be too small.
            if (found || !wanted) {
                assert_ptr_equal(found, wanted);
            }
            if (found)
                correct_blocks_use(&blocks, found, bytes);
        } else if (count) {
            const size_t i = (size_t)rand() % count;
            struct correct_block *block = all[i];
            memmove(&all[i], &all[i + 1], (--count - i) * sizeof(all[0]));
            if (what == 2 && !block->kept) {
                assert_true(correct_blocks_keep(&blocks, block));
                all[count++] = block;
            } else {
                correct_blocks_remove(&blocks, block);
            }
        }
        uint64_t used = 0, kept_bytes = 0;
        for (size_t i = 0; i < count; i++)
            *(all[i]->kept ? &kept_bytes : &used) +=
                all[i]->kept ? all[i]->bytes : all[i]->asked_bytes;
        assert_int_equal(blocks.used_bytes, used);
        assert_int_equal(blocks.kept_bytes, kept_bytes);
        const struct correct_block *oldest = NULL;
        for (size_t i = count; i-- > 0;)
            oldest = all[i]->kept ? all[i] : oldest;
        assert_ptr_equal(blocks.oldest, oldest);
    }
    correct_blocks_fini(&blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_block_serves_its_class_and_what_is_a_quarter_smaller),
        cmocka_unit_test(test_a_block_of_the_same_class_that_is_too_small_is_not_taken),
        cmocka_unit_test(test_the_same_class_comes_before_a_larger_one_and_the_oldest_first),
        cmocka_unit_test(test_a_better_one_is_taken_and_a_poor_one_only_without_a_fresh),
        cmocka_unit_test(test_kept_and_used_bytes_are_counted_and_the_peak_bounds),
        cmocka_unit_test(test_an_address_inside_finds_the_block),
        cmocka_unit_test(test_random_sequences_agree_with_a_plain_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
