// SPDX-License-Identifier: Apache-2.0
// The estimated start of a kernel without an event before it: not before earlier work on its stream
// ends, and not before the launch can have reached the GPU. One outlier changes nothing.
#include "inject/util/latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct util_latency with_samples(const double *samples, unsigned count,
                                        struct util_latency_errors *errors)
{
    struct util_latency latency = {0};
    for (unsigned i = 0; i < count; i++)
        util_latency_add(&latency, samples[i], errors);
    return latency;
}

static void check_start(const struct util_latency *latency, const double given[3], double wanted,
                        bool wanted_estimated)
{
    bool estimated;
    assert_true(util_latency_start(latency, given[0], given[1], given[2], &estimated) == wanted);
    assert_int_equal(estimated, wanted_estimated);
}

static void work_begins_when_its_stream_is_free_and_the_gpu_knows_of_it(void **unused)
{
    (void)unused;
    struct util_latency_errors errors = {0};
    const struct util_latency latency = with_samples((const double[]){900, 1000, 1100}, 3, &errors);
    check_start(&latency, (const double[]){5000, 9000, 20000}, 10000, true);
    check_start(&latency, (const double[]){15000, 9000, 20000}, 15000, false);
    check_start(&latency, (const double[]){10000, 9000, 20000}, 10000, false);
    // The start is never after the measured end.
    check_start(&latency, (const double[]){5000, 9000, 9500}, 9500, true);
    check_start(&latency, (const double[]){15000, 9000, 14999}, 14999, false);
}

static void too_few_samples_tell_nothing(void **unused)
{
    (void)unused;
    struct util_latency_errors errors = {0};
    const struct util_latency latency = with_samples((const double[]){900, 1000}, 2, &errors);
    check_start(&latency, (const double[]){5000, 9000, 20000}, 5000, false);
}

static void one_sample_far_off_changes_nothing(void **unused)
{
    (void)unused;
    struct util_latency_errors errors = {0};
    static const double samples[] = {1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008};
    struct util_latency latency = with_samples(samples, 9, &errors);
    assert_true(latency.median_ns == 1004);
    util_latency_add(&latency, -15000, &errors);
    assert_true(latency.median_ns == 1004);
    assert_false(latency.unsteady);
    util_latency_add(&latency, 15000, &errors);
    assert_true(latency.median_ns == 1005);
    assert_false(latency.unsteady);
}

// The GPU's clock drifts from the host's, so old samples must be dropped.
static void the_median_follows_the_clocks(void **unused)
{
    (void)unused;
    struct util_latency_errors errors = {0};
    struct util_latency latency = {0};
    for (unsigned i = 0; i < 1000; i++)
        util_latency_add(&latency, 10.0 * i, &errors);
    assert_true(latency.median_ns == 9950);
    assert_false(latency.unsteady);
}

static void samples_that_differ_are_unsteady(void **unused)
{
    (void)unused;
    struct util_latency_errors errors = {0};
    struct util_latency latency = {0};
    for (unsigned i = 0; i < LATENCY_SAMPLES; i++)
        util_latency_add(&latency, i % 2 ? 1000 : 9000, &errors);
    assert_true(latency.unsteady);
    for (unsigned i = 0; i < LATENCY_SAMPLES; i++)
        util_latency_add(&latency, 1000, &errors);
    assert_false(latency.unsteady);
}

static void errors_are_of_samples_against_the_median_before_them(void **unused)
{
    (void)unused;
    struct util_latency_errors errors = {0};
    struct util_latency latency = {0};
    uint64_t count;
    assert_int_equal(util_latency_error_ns(&errors, 50, &count), 0);
    assert_int_equal(count, 0);
    for (unsigned i = 0; i < LATENCY_SAMPLES; i++)
        util_latency_add(&latency, 1000, &errors);
    util_latency_error_ns(&errors, 50, &count);
    assert_int_equal(count, 0);
    for (unsigned i = 0; i < 98; i++)
        util_latency_add(&latency, 1000, &errors);
    util_latency_add(&latency, 1120, &errors);
    util_latency_add(&latency, 1e9, &errors);
    assert_int_equal(util_latency_error_ns(&errors, 50, &count), 50);
    assert_int_equal(util_latency_error_ns(&errors, 99, &count), 150);
    assert_int_equal(util_latency_error_ns(&errors, 100, &count), LATENCY_STEPS * LATENCY_STEP_NS);
    assert_int_equal(count, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_begins_when_its_stream_is_free_and_the_gpu_knows_of_it),
        cmocka_unit_test(too_few_samples_tell_nothing),
        cmocka_unit_test(one_sample_far_off_changes_nothing),
        cmocka_unit_test(the_median_follows_the_clocks),
        cmocka_unit_test(samples_that_differ_are_unsteady),
        cmocka_unit_test(errors_are_of_samples_against_the_median_before_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
