// SPDX-License-Identifier: Apache-2.0
// The caches between launches: copies and sets leave their lines in L2, and a launch with another
// share of lines has an L2 of its own.
#include "../base/testing.h"

#include "record/cache_state.h"

enum { LINES = 8192, FIRST = 0x100000 };

static struct record_cache_state *state;

static int begin(void **unused)
{
    (void)unused;
    state = record_cache_state_create();
    return state ? 0 : -1;
}

static int end(void **unused)
{
    (void)unused;
    record_cache_state_destroy(state);
    return 0;
}

static struct record_cache_state_l2 *take(uint32_t share, bool cold)
{
    struct record_cache_state_l2 *level =
        record_cache_state_take(state, cache_preset_find("h200"), share, cold);
    assert_non_null(level);
    return level;
}

static void move(uint64_t rows, uint64_t pitch, uint32_t dirty_percent)
{
    const struct record_cache_state_move one = {.call = 1,
                                                .object = 7,
                                                .address = FIRST,
                                                .width = (uint64_t)LINES * CACHE_LINE_BYTES / rows,
                                                .pitch = pitch,
                                                .rows = rows,
                                                .dirty_percent = dirty_percent};
    assert_true(record_cache_state_move(state, &one, 1));
}

// Returns how many of the lines, so many apart, L2 has at their home.
static unsigned hits(const struct record_cache_state_l2 *level, unsigned step)
{
    struct cache_l2_counts counts[2] = {0};
    for (unsigned i = 0; i < LINES; i++)
        cache_l2_copy(level->l2,
                      &(struct cache_request){.line = FIRST / CACHE_LINE_BYTES + i * step,
                                              .owner = 1,
                                              .kind = CACHE_LOAD,
                                              .sectors = 1},
                      counts);
    return (unsigned)counts[1].kinds[CACHE_LOAD].hits;
}

static void what_was_moved_is_there(void **unused)
{
    (void)unused;
    const struct record_cache_state_l2 *level = take(CACHE_ALL, false);
    move(1, 0, 0);
    assert_int_equal(hits(level, 1), LINES);
    level = take(CACHE_ALL, true);
    assert_int_equal(hits(level, 1), 0);
}

// Rows of one line, a line apart: what lies between them was not moved.
static void rows_are_apart(void **unused)
{
    (void)unused;
    const struct record_cache_state_l2 *level = take(CACHE_ALL, true);
    move(LINES, (uint64_t)2 * CACHE_LINE_BYTES, 0);
    assert_int_equal(hits(level, 2), LINES);
    level = take(CACHE_ALL, true);
    move(LINES, (uint64_t)2 * CACHE_LINE_BYTES, 0);
    assert_int_equal(hits(level, 1), LINES / 2);
}

static uint64_t left_to_write(uint32_t percent)
{
    struct cache_l2_counts counts[2] = {0};
    const struct record_cache_state_l2 *level = take(CACHE_ALL, true);
    move(1, 0, percent);
    cache_l2_clean(level->l2, counts);
    return counts[0].written;
}

static void some_of_it_is_dirty(void **unused)
{
    (void)unused;
    const uint64_t all = (uint64_t)LINES * CACHE_SECTORS;
    assert_int_equal(left_to_write(0), 0);
    assert_int_equal(left_to_write(100), all);
    assert_in_range(left_to_write(38), all * 36 / 100, all * 40 / 100);
}

// A launch with a smaller share goes on with its own L2, and what had a larger share begins anew.
static void shares_have_their_own(void **unused)
{
    (void)unused;
    take(CACHE_ALL, true);
    const struct record_cache_state_l2 *small = take(CACHE_ALL / 2, false);
    move(1, 0, 0);
    const struct record_cache_state_l2 *all = take(CACHE_ALL, false);
    assert_int_equal(hits(all, 1), 0);
    assert_ptr_equal(take(CACHE_ALL / 2, false), small);
    struct cache_l2_counts counts[2] = {0};
    unsigned sampled = 0;
    for (uint64_t line = FIRST / CACHE_LINE_BYTES; line < FIRST / CACHE_LINE_BYTES + LINES;
         line++) {
        if (!cache_is_sampled(line, CACHE_ALL / 2))
            continue;
        sampled++;
        cache_l2_copy(small->l2,
                      &(struct cache_request){.line = line, .kind = CACHE_LOAD, .sectors = 15},
                      counts);
    }
    assert_int_equal(counts[0].kinds[CACHE_LOAD].hits, sampled * CACHE_SECTORS);
    assert_int_not_equal(sampled, 0);
}

static void owners_are_numbered_once(void **unused)
{
    (void)unused;
    const size_t one = record_cache_state_own(state, 1, 2, 3);
    assert_int_equal(record_cache_state_own(state, 1, 2, 3), one);
    assert_int_not_equal(record_cache_state_own(state, 1, 2, 4), one);
    assert_int_not_equal(record_cache_state_own(state, 1, 3, 3), one);
    assert_int_not_equal(record_cache_state_own(state, 2, 2, 3), one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_moved_is_there),  cmocka_unit_test(rows_are_apart),
        cmocka_unit_test(some_of_it_is_dirty),      cmocka_unit_test(shares_have_their_own),
        cmocka_unit_test(owners_are_numbered_once),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
