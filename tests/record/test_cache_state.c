// SPDX-License-Identifier: Apache-2.0
// The caches between launches: copies and sets leave their lines in L2, and a launch with another
// share of lines goes on with what earlier launches left.
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

// Of a GPU with one partition, so that no copies of lines push out others.
static struct record_cache_state_l2 *take(uint32_t share, bool cold)
{
    struct record_cache_state_l2 *level =
        record_cache_state_take(state, cache_preset_find("rtx3090"), share, cold);
    assert_non_null(level);
    return level;
}

static void move(uint64_t rows, uint64_t pitch, enum record_cache_state_mover mover)
{
    const struct record_cache_state_move one = {.call = 1,
                                                .object = 7,
                                                .address = FIRST,
                                                .width = (uint64_t)LINES * CACHE_LINE_BYTES / rows,
                                                .pitch = pitch,
                                                .rows = rows,
                                                .mover = mover};
    assert_true(record_cache_state_move(state, &one, 1));
}

// Returns how many of the lines, so many apart, need not be read from memory.
static unsigned hits(const struct record_cache_state_l2 *level, unsigned step)
{
    struct cache_l2_counts counts[2] = {0};
    for (unsigned i = 0; i < LINES; i++)
        cache_l2_run(level->l2,
                     &(struct cache_request){.line = FIRST / CACHE_LINE_BYTES + i * step,
                                             .owner = 1,
                                             .kind = CACHE_LOAD,
                                             .sectors = 15},
                     1, counts);
    return LINES - (unsigned)(counts[1].read / CACHE_SECTORS);
}

static void what_was_moved_is_there(void **unused)
{
    (void)unused;
    for (unsigned mover = RECORD_CACHE_HOST; mover <= RECORD_CACHE_STORES; mover++) {
        const struct record_cache_state_l2 *level = take(CACHE_ALL, true);
        move(1, 0, (enum record_cache_state_mover)mover);
        assert_int_equal(hits(level, 1), LINES);
        level = take(CACHE_ALL, true);
        assert_int_equal(hits(level, 1), 0);
    }
}

// Rows of one line, a line apart: what lies between them was not moved.
static void rows_are_apart(void **unused)
{
    (void)unused;
    const struct record_cache_state_l2 *level = take(CACHE_ALL, true);
    move(LINES, (uint64_t)2 * CACHE_LINE_BYTES, RECORD_CACHE_LOADS);
    assert_int_equal(hits(level, 2), LINES);
    level = take(CACHE_ALL, true);
    move(LINES, (uint64_t)2 * CACHE_LINE_BYTES, RECORD_CACHE_LOADS);
    assert_int_equal(hits(level, 1), LINES / 2);
}

static uint64_t left_to_write(enum record_cache_state_mover mover)
{
    struct cache_l2_counts counts[2] = {0};
    const struct record_cache_state_l2 *level = take(CACHE_ALL, true);
    move(1, 0, mover);
    cache_l2_clean(level->l2, counts);
    return counts[0].written;
}

static void only_stores_are_dirty(void **unused)
{
    (void)unused;
    assert_int_equal(left_to_write(RECORD_CACHE_HOST), 0);
    assert_int_equal(left_to_write(RECORD_CACHE_LOADS), 0);
    assert_int_equal(left_to_write(RECORD_CACHE_STORES), (uint64_t)LINES * CACHE_SECTORS);
}

// Returns how many of the lines that the L2 samples need not be read from memory, of all of these.
static double rate_of(const struct record_cache_state_l2 *level)
{
    struct cache_l2_counts counts[2] = {0};
    unsigned sampled = 0;
    for (uint64_t line = FIRST / CACHE_LINE_BYTES; line < FIRST / CACHE_LINE_BYTES + LINES;
         line++) {
        if (!cache_is_sampled(line, level->share))
            continue;
        sampled++;
        cache_l2_run(level->l2,
                     &(struct cache_request){.line = line, .kind = CACHE_LOAD, .sectors = 15}, 1,
                     counts);
    }
    assert_int_not_equal(sampled, 0);
    return 1 - (double)counts[0].read / sampled / CACHE_SECTORS;
}

// A launch with a smaller share goes on with those of the lines that it samples.
static void smaller_shares_go_on(void **unused)
{
    (void)unused;
    take(CACHE_ALL, true);
    move(1, 0, RECORD_CACHE_STORES);
    const struct record_cache_state_l2 *half = take(CACHE_ALL / 2, false);
    assert_int_equal(half->share, CACHE_ALL / 2);
    assert_true(rate_of(half) > 0.95);
    assert_ptr_equal(take(CACHE_ALL / 2, false), half);
}

// One with a larger share uses the smaller L2, which has seen more, until the larger one has
// brought as many lines as there is room for.
static void larger_shares_are_filled_first(void **unused)
{
    (void)unused;
    const struct cache_preset *preset = cache_preset_find("rtx3090");
    const uint64_t room = preset->l2.bytes * preset->partitions / CACHE_LINE_BYTES / 2;
    const struct record_cache_state_l2 *small = take(CACHE_ALL / 4, true);
    move(1, 0, RECORD_CACHE_STORES);
    assert_ptr_equal(take(CACHE_ALL / 2, false), small);
    struct record_cache_state_l2 *large = state->levels;
    assert_int_equal(large->share, CACHE_ALL / 2);
    record_cache_state_ran(large, (room - 1) * CACHE_SECTORS);
    assert_ptr_equal(take(CACHE_ALL / 2, false), small);
    record_cache_state_ran(large, CACHE_SECTORS);
    assert_ptr_equal(take(CACHE_ALL / 2, false), large);
    assert_ptr_equal(take(CACHE_ALL / 4, false), small);
    assert_null(small->next);
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
        cmocka_unit_test(what_was_moved_is_there),
        cmocka_unit_test(rows_are_apart),
        cmocka_unit_test(only_stores_are_dirty),
        cmocka_unit_test(smaller_shares_go_on),
        cmocka_unit_test(larger_shares_are_filled_first),
        cmocka_unit_test(owners_are_numbered_once),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
