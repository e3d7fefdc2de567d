// SPDX-License-Identifier: Apache-2.0
// The clock agrees with the system's, never runs backwards, and does without the processor's
// counter where the system does.
#include "inject/util/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static uint64_t system_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Between two looks at the system's clock it says something between them, but for the nanoseconds
// by which it may be wrong.
static void compare(struct util_clock_rate *rate)
{
    const uint64_t slack_ns = 200, until = system_ns() + 50000000;
    uint64_t last = 0, before;
    do {
        before = system_ns();
        const uint64_t now = util_clock_now_ns(rate);
        const uint64_t after = system_ns();
        assert_in_range(now, before - slack_ns, after + slack_ns);
        assert_true(now >= last);
        last = now;
    } while (before < until);
}

static void it_agrees_with_the_system(void **unused)
{
    (void)unused;
    struct util_clock_rate rate = {0};
    util_clock_prepare(&rate);
    compare(&rate);
    // Where the counter can be used, its rate is known by now.
    assert_int_equal(rate.usable, rate.ns_a_count != 0);
}

static void a_counter_that_the_system_does_not_use_is_not_used(void **unused)
{
    (void)unused;
    struct util_clock_rate rate = {0};
    util_clock_init(&rate, "hpet");
    assert_false(rate.usable);
    compare(&rate);
    assert_int_equal(rate.ns_a_count, 0);
}

// A thread that slept goes on from the system's clock, not from a moment long ago; and another
// process's rate is not taken for its own.
static void it_agrees_after_a_pause(void **unused)
{
    (void)unused;
    struct util_clock_rate rate = {0};
    util_clock_prepare(&rate);
    for (int i = 0; i < 20; i++) {
        const struct timespec pause = {0, i * 1000000};
        nanosleep(&pause, NULL);
        const uint64_t before = system_ns(), now = util_clock_now_ns(&rate), after = system_ns();
        assert_in_range(now, before - 200, after + 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_agrees_with_the_system),
        cmocka_unit_test(a_counter_that_the_system_does_not_use_is_not_used),
        cmocka_unit_test(it_agrees_after_a_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
