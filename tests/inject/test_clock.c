// SPDX-License-Identifier: Apache-2.0
// The clock agrees with the system's clock and never runs backwards. It does not use the
// processor's counter if the system does not.
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

// A reading between two readings of the system's clock lies between them, give or take the clock's
// error in nanoseconds.
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
    // If the counter is usable, its rate has been measured by now.
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

// A thread that slept continues from the system's clock, not from an old reading. Readings
// made with another rate do not count.
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
