// SPDX-License-Identifier: Apache-2.0
// f64: every rounding compared with the host's, and which NaN results.
#include <math.h>

#include "numbers_testing.h"

enum { ROUNDS = 200000 };

static double host_binary(char operation, double a, double b, enum num_round round)
{
    volatile double x = a, y = b, result = 0;
    test_round(round);
    switch (operation) {
    case '+': result = x + y; break;
    case '-': result = x - y; break;
    case '*': result = x * y; break;
    default: result = x / y; break;
    }
    test_round_default();
    return result;
}

static double host_fma(double a, double b, double c, enum num_round round)
{
    volatile double x = a, y = b, z = c, result;
    test_round(round);
    result = fma(x, y, z);
    test_round_default();
    return result;
}

static double host_sqrt(double a, enum num_round round)
{
    volatile double x = a, result;
    test_round(round);
    result = sqrt(x);
    test_round_default();
    return result;
}

// Another test checks which NaN it is.
static void same(double actual, double expected)
{
    if (expected != expected)
        assert_true(actual != actual);
    else
        assert_int_equal(num_bits_f64(actual), num_bits_f64(expected));
}

static void arithmetic_rounds_as_the_host_does(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        double a = test_random_f64(&seed);
        double b = test_random_f64(&seed);
        double c = test_random_f64(&seed);
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            same(num_add_f64(a, b, round), host_binary('+', a, b, round));
            same(num_sub_f64(a, b, round), host_binary('-', a, b, round));
            same(num_mul_f64(a, b, round), host_binary('*', a, b, round));
            same(num_div_f64(a, b, round), host_binary('/', a, b, round));
            same(num_rcp_f64(a, round), host_binary('/', 1.0, a, round));
            same(num_fma_f64(a, b, c, round), host_fma(a, b, c, round));
            same(num_sqrt_f64(a, round), host_sqrt(a, round));
        }
    }
}

static void cancellation_keeps_every_bit(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < ROUNDS; i++) {
        double a = test_random_f64(&seed);
        double b = test_random_f64(&seed);
        double near = -num_from_bits_f64(num_bits_f64(a * b) + test_random(&seed) % 5 - 2);
        double beside = num_from_bits_f64(num_bits_f64(a) + test_random(&seed) % 5 - 2);
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            same(num_fma_f64(a, b, near, round), host_fma(a, b, near, round));
            same(num_sub_f64(a, beside, round), host_binary('-', a, beside, round));
            same(num_add_f64(a, -a, round), host_binary('+', a, -a, round));
        }
    }
}

static uint64_t fma_bits(uint64_t a, uint64_t b, uint64_t c)
{
    return num_bits_f64(
        num_fma_f64(num_from_bits_f64(a), num_from_bits_f64(b), num_from_bits_f64(c), NUM_RN));
}

// As on an H200.
static void nans_keep_sign_and_payload(void **state)
{
    (void)state;
    const uint64_t one = 0x3FF0000000000000, infinity = 0x7FF0000000000000;
    const uint64_t first = 0x7FF4123456789ABC, second = 0xFFF8000000000007,
                   third = 0x7FF8000000000009;
    const uint64_t first_quiet = 0x7FFC123456789ABC;
    assert_int_equal(fma_bits(first, one, one), first_quiet);
    assert_int_equal(fma_bits(first, second, third), second);
    assert_int_equal(fma_bits(first, one, third), third);
    assert_int_equal(fma_bits(one, second, third), second);
    assert_int_equal(fma_bits(0, infinity, one), NUM_NAN_BITS_F64);
    double nan = num_from_bits_f64(first), other = num_from_bits_f64(second);
    assert_int_equal(num_bits_f64(num_add_f64(nan, other, NUM_RZ)), second);
    assert_int_equal(num_bits_f64(num_sub_f64(1, other, NUM_RN)), second);
    assert_int_equal(num_bits_f64(num_sub_f64(1, other, NUM_RM)), second);
    assert_int_equal(num_bits_f64(num_div_f64(nan, other, NUM_RN)), first_quiet);
    assert_int_equal(num_bits_f64(num_min_f64(nan, other)), second);
    assert_int_equal(num_bits_f64(num_abs_f64(other)), second);
    assert_int_equal(num_bits_f64(num_neg_f64(nan)), first_quiet);
    assert_int_equal(num_bits_f64(num_sqrt_f64(-1, NUM_RN)), NUM_NAN_BITS_F64);
    assert_int_equal(num_bits_f64(num_div_f64(0, 0, NUM_RP)), NUM_NAN_BITS_F64);
    assert_int_equal(num_bits_f64(num_add_f64(INFINITY, -INFINITY, NUM_RN)), NUM_NAN_BITS_F64);
}

static void minima_order_zeros_and_prefer_numbers(void **state)
{
    (void)state;
    assert_int_equal(num_bits_f64(num_min_f64(0.0, -0.0)), 0x8000000000000000u);
    assert_int_equal(num_bits_f64(num_max_f64(-0.0, 0.0)), 0);
    same(num_min_f64(NAN, 2), 2);
    same(num_max_f64(2, NAN), 2);
    same(num_min_f64(-INFINITY, 2), -INFINITY);
    same(num_max_f64(-1, -2), -1);
    same(num_abs_f64(-0.0), 0);
    same(num_neg_f64(3), -3);
    same(num_copysign_f64(-1, 3), -3);
    same(num_copysign_f64(1, -3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_rounds_as_the_host_does),
        cmocka_unit_test(cancellation_keeps_every_bit),
        cmocka_unit_test(nans_keep_sign_and_payload),
        cmocka_unit_test(minima_order_zeros_and_prefer_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
