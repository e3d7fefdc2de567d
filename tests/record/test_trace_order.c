// SPDX-License-Identifier: Apache-2.0
// The order of traced records: warps one after the other, and those of a warp as it made them, also
// where its threads have executed different numbers of basic blocks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "cache/cache.h"
#include "record/trace_order.h"

enum { SHARE = CACHE_ALL / 16, WARPS = 3 };

// Returns a line of that level: the first that is among those looked at with a share that is halved
// so often, and not with half of that.
static uint64_t line_of(uint32_t level)
{
    uint64_t line = 1;
    while (!cache_is_sampled(line, SHARE >> level) || cache_is_sampled(line, SHARE >> (level + 1)))
        line++;
    return line;
}

static struct event_traced record(uint32_t warp, uint32_t level, uint32_t site, uint32_t steps)
{
    return (struct event_traced){
        .what = line_of(level) | (uint64_t)site << EVENT_TRACED_SITE_AT,
        .warp = warp,
        .steps = steps,
    };
}

// Checks which sites the records are about, in order.
static void check(const struct event_traced *records, size_t count, const uint32_t *sites)
{
    struct event_traced *sorted = record_order_traced(records, count, WARPS, SHARE);
    assert_non_null(sorted);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(record_traced_site(&sorted[i]), sites[i]);
        if (i && sorted[i].warp == sorted[i - 1].warp)
            assert_true(sorted[i].steps >= sorted[i - 1].steps);
        assert_true(!i || sorted[i].warp >= sorted[i - 1].warp);
    }
    free(sorted);
}

static void warps_follow_one_another(void **state)
{
    (void)state;
    const struct event_traced records[] = {record(2, 0, 5, 1), record(0, 0, 1, 9),
                                           record(2, 0, 6, 2), record(1, 0, 3, 4),
                                           record(0, 1, 2, 10)};
    check(records, 5, (const uint32_t[]){1, 2, 3, 5, 6});
}

static void steps_order_records_of_different_levels(void **state)
{
    (void)state;
    const struct event_traced records[] = {record(0, 0, 1, 1), record(0, 0, 4, 7),
                                           record(0, 1, 2, 3), record(0, 2, 3, 5),
                                           record(0, 2, 5, 7)};
    check(records, 5, (const uint32_t[]){1, 2, 3, 4, 5});
}

// A thread that skips a branch in a loop falls behind: what it records first in a line comes with
// fewer steps than what others recorded before.
static void records_of_a_line_stay_in_order(void **state)
{
    (void)state;
    const struct event_traced records[] = {record(0, 0, 1, 700), record(0, 0, 2, 400),
                                           record(0, 0, 1, 727), record(0, 0, 2, 412),
                                           record(0, 1, 3, 713), record(0, 1, 4, 406)};
    check(records, 6, (const uint32_t[]){1, 2, 3, 4, 1, 2});
}

// After the thread that was ahead has ended, the order is still that of the others.
static void records_stay_in_order_while_threads_catch_up(void **state)
{
    (void)state;
    const struct event_traced records[] = {record(0, 0, 9, 1000), record(0, 0, 1, 10),
                                           record(0, 0, 2, 11), record(0, 0, 1, 20),
                                           record(0, 0, 2, 21)};
    check(records, 5, (const uint32_t[]){9, 1, 2, 1, 2});
}

static void warps_beyond_the_grid_are_refused(void **state)
{
    (void)state;
    const struct event_traced records[] = {record(WARPS, 0, 1, 1)};
    assert_null(record_order_traced(records, 1, WARPS, SHARE));
    struct event_traced *none = record_order_traced(records, 0, WARPS, SHARE);
    assert_non_null(none);
    free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warps_follow_one_another),
        cmocka_unit_test(steps_order_records_of_different_levels),
        cmocka_unit_test(records_of_a_line_stay_in_order),
        cmocka_unit_test(records_stay_in_order_while_threads_catch_up),
        cmocka_unit_test(warps_beyond_the_grid_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
