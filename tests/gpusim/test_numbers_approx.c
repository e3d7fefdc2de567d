// SPDX-License-Identifier: Apache-2.0
// Approximations differ from libm's f64 results by at most the error that the PTX manual states,
// and have the manual's results for special values.
#include "gpusim/numbers/approx.h"

#include <float.h>
#include <math.h>

#include "numbers_testing.h"

enum { ROUNDS = 400000 };

static bool flushed(double exact)
{
    return fabs(exact) < 0x1p-126;
}

// The error is at most the given fraction of exact, or of the smallest normal number if exact is
// less.
static void close_to(float actual, double exact, double relative)
{
    if (exact != exact) {
        assert_int_equal(num_bits_f32(actual), NUM_NAN_BITS_F32);
    } else if (fabs(exact) > 0x1.fffff0p127) { // the error decides whether it overflows
        assert_true(fabs(actual) > 0x1.ffff00p127 && (actual > 0) == (exact > 0));
    } else {
        double size = fabs(exact) > 0x1p-126 ? fabs(exact) : 0x1p-126;
        assert_true(fabs(actual - exact) <= size * relative);
    }
}

// --- f32 -----------------------------------------------------------------------------------------

static void f32_stays_within_the_stated_errors(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        float a = test_random_f32(&seed), b = test_random_f32(&seed);
        double x = a, y = b;
        close_to(num_rcp_approx_f32(a, 0), 1 / x, 0x1p-23);
        close_to(num_sqrt_approx_f32(a, 0), sqrt(x), 0x1p-23);
        close_to(num_rsqrt_approx_f32(a, 0), 1 / sqrt(x), 1.3e-7);
        close_to(num_ex2_approx_f32(a, 0), exp2(x), 0x1p-22);
        close_to(num_tanh_approx_f32(a), tanh(x), 0x1p-11);
        close_to(num_div_full_f32(a, b, 0), x / y, 0x1p-22);
        if (fabs(y) <= 0x1p126 && fabs(y) >= 0x1p-126 && a == a)
            close_to(num_div_approx_f32(a, b, 0), x / y, 0x1p-22);
        if (a > 0 && a < INFINITY) {
            double logarithm = log2(x), size = fabs(logarithm) > 1 ? fabs(logarithm) : 1;
            assert_true(fabs(num_lg2_approx_f32(a, 0) - logarithm) <= 0x1p-22 * size);
        }
    }
}

static void sines_stay_within_the_stated_error(void **state)
{
    (void)state;
    for (int i = -200000; i <= 200000; i++) {
        float a = (float)i * 1.5707964e-5f; // up to pi
        assert_true(fabs(num_sin_approx_f32(a, 0) - sin(a)) <= 6.7e-7);
        assert_true(fabs(num_cos_approx_f32(a, 0) - cos(a)) <= 6.7e-7);
    }
}

static void f32_knows_the_special_values(void **state)
{
    (void)state;
    const float inf = INFINITY, tiny = 0x1p-130f;
    static const struct {
        float (*function)(float, unsigned);
        float minus_infinity, minus_one, minus_zero, zero, infinity;
    } rows[] = {
        {num_rcp_approx_f32, -0.0f, -1, -INFINITY, INFINITY, 0},
        {num_sqrt_approx_f32, NAN, NAN, -0.0f, 0, INFINITY},
        {num_rsqrt_approx_f32, NAN, NAN, -INFINITY, INFINITY, 0},
        {num_lg2_approx_f32, NAN, NAN, -INFINITY, -INFINITY, INFINITY},
        {num_ex2_approx_f32, 0, 0.5f, 1, 1, INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (unsigned flags = 0; flags <= NUM_FTZ; flags += NUM_FTZ) {
            test_same_f32(rows[i].function(-inf, flags), rows[i].minus_infinity);
            test_same_f32(rows[i].function(-1, flags), rows[i].minus_one);
            test_same_f32(rows[i].function(-0.0f, flags), rows[i].minus_zero);
            test_same_f32(rows[i].function(0, flags), rows[i].zero);
            test_same_f32(rows[i].function(inf, flags), rows[i].infinity);
            test_same_f32(rows[i].function(num_from_bits_f32(0xFFC00001), flags), NAN);
        }
        test_same_f32(rows[i].function(-tiny, NUM_FTZ), rows[i].minus_zero);
        test_same_f32(rows[i].function(tiny, NUM_FTZ), rows[i].zero);
    }
    test_same_f32(num_lg2_approx_f32(-tiny, 0), NAN);
    test_same_f32(num_lg2_approx_f32(0x1p-149f, 0), -149);
    test_same_f32(num_lg2_approx_f32(8, 0), 3);
    test_same_f32(num_ex2_approx_f32(-149, 0), 0x1p-149f);
    test_same_f32(num_ex2_approx_f32(-149, NUM_FTZ), 0);
    test_same_f32(num_ex2_approx_f32(127, 0), 0x1p127f);
    test_same_f32(num_ex2_approx_f32(128, 0), inf);
    test_same_f32(num_sin_approx_f32(-0.0f, 0), -0.0f);
    test_same_f32(num_sin_approx_f32(inf, 0), NAN);
    test_same_f32(num_sin_approx_f32(-tiny, NUM_FTZ), -0.0f);
    test_same_f32(num_cos_approx_f32(0, 0), 1);
    test_same_f32(num_cos_approx_f32(-inf, 0), NAN);
    test_same_f32(num_sin_approx_f32(num_from_bits_f32(0xC0490FDB), 0), -0.0f); // as on an H200
    test_same_f32(num_sin_approx_f32(num_from_bits_f32(0xB5710D69), 0),
                  num_from_bits_f32(0xB5490FDB));
    test_same_f32(num_tanh_approx_f32(-0.0f), -0.0f);
    test_same_f32(num_tanh_approx_f32(inf), 1);
    test_same_f32(num_tanh_approx_f32(-inf), -1);
    test_same_f32(num_tanh_approx_f32(NAN), NAN);
}

// a * rcp(b): the manual defines the result for large b, the hardware that for small b.
static void division_loses_large_divisors(void **state)
{
    (void)state;
    test_same_f32(num_div_approx_f32(0x1p100f, 0x1.8p126f, 0), 0);
    test_same_f32(num_div_approx_f32(-0x1p100f, 0x1.8p126f, NUM_FTZ), -0.0f);
    test_same_f32(num_div_approx_f32(INFINITY, 0x1.8p126f, 0), NAN);
    test_same_f32(num_div_approx_f32(6, 0x1p126f, 0), 0x1.8p-124f);
    test_same_f32(num_div_approx_f32(0x1p-148f, -0x1p-148f, 0), -1);
    test_same_f32(num_div_approx_f32(1, 0x1p-148f, NUM_FTZ), INFINITY);
    test_same_f32(num_div_approx_f32(0, 0, 0), NAN);
    test_same_f32(num_div_full_f32(0x1p100f, 0x1.8p126f, 0), 0x1.555556p-27f);
}

// --- f64 -----------------------------------------------------------------------------------------

static void seeds_have_twenty_bits(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < ROUNDS; i++) {
        double a = test_random_f64(&seed);
        double reciprocal = num_rcp_approx_ftz_f64(a), root = num_rsqrt_approx_ftz_f64(a);
        assert_int_equal(num_bits_f64(reciprocal) & 0xFFFFFFFFu, 0);
        assert_int_equal(num_bits_f64(root) & 0xFFFFFFFFu, 0);
        if (isnormal(a) && fabs(a) < 0x1p1021)
            assert_true(fabs(reciprocal * a - 1) < 0x1p-19);
        if (isnormal(a) && a > 0) {
            assert_true(fabs(root * sqrt(a) - 1) < 0x1p-19);
            assert_true(fabs(num_rsqrt_approx_f64(a) * sqrt(a) - 1) < 0x1p-50);
        }
    }
    const double inf = INFINITY;
    assert_true(num_rcp_approx_ftz_f64(0x1p-1060) == inf && num_rcp_approx_ftz_f64(-0.0) == -inf);
    assert_true(num_rcp_approx_ftz_f64(-0x1p-1060) == -inf);
    assert_int_equal(num_bits_f64(num_rcp_approx_ftz_f64(-inf)), 0x8000000000000000u);
    assert_int_equal(num_bits_f64(num_rcp_approx_ftz_f64(-0x1.8p1023)), 0x8000000000000000u);
    assert_int_equal(num_bits_f64(num_rcp_approx_ftz_f64(NAN)), NUM_NAN_BITS_F64_SEED);
    // Only the upper half counts, as on an H200.
    assert_int_equal(num_bits_f64(num_rcp_approx_ftz_f64(num_from_bits_f64(0x7FF0000000000001))),
                     0);
    assert_true(num_rsqrt_approx_ftz_f64(-0x1p-1060) == -inf);
    assert_int_equal(num_bits_f64(num_rsqrt_approx_ftz_f64(inf)), 0);
    assert_int_equal(num_bits_f64(num_rsqrt_approx_ftz_f64(-1)), NUM_NAN_BITS_F64_SEED);
}

// --- f16 and bf16 --------------------------------------------------------------------------------

static void halves_stay_within_the_stated_errors(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        double f = num_f32_from_f16((uint16_t)bits), b = num_f32_from_bf16((uint16_t)bits);
        if (f == f && exp2(f) < 65504) {
            double power = num_f32_from_f16(num_ex2_approx_f16((uint16_t)bits));
            assert_true(fabs(power - exp2(f)) <= 1.04e-3 * exp2(f) + 0x1p-24);
        }
        if (f == f) {
            double tangent = num_f32_from_f16(num_tanh_approx_f16((uint16_t)bits));
            assert_true(fabs(tangent - tanh(f)) <= 4.93e-4);
        }
        if (b == b && exp2(b) < 3.38e38) {
            double power = num_f32_from_bf16(num_ex2_approx_ftz_bf16((uint16_t)bits));
            assert_true(fabs(power - (flushed(exp2(b)) ? 0 : exp2(b))) <= 0x1p-7 * exp2(b));
        }
        if (b == b) {
            double tangent = num_f32_from_bf16(num_tanh_approx_bf16((uint16_t)bits));
            assert_true(fabs(tangent - tanh(b)) <= 0x1p-8);
        }
    }
    assert_int_equal(num_ex2_approx_f16(0xFC00), 0);
    assert_int_equal(num_ex2_approx_f16(0x7C00), 0x7C00);
    assert_int_equal(num_ex2_approx_f16(0x8000), 0x3C00);
    assert_int_equal(num_ex2_approx_f16(0xFE00), 0x7FFF);
    assert_int_equal(num_ex2_approx_ftz_bf16(0xC300), 0);
    assert_int_equal(num_ex2_approx_ftz_bf16(0x7F81), 0x7FFF);
    assert_int_equal(num_tanh_approx_f16(0xFC00), 0xBC00);
    assert_int_equal(num_tanh_approx_bf16(0x7FC0), 0x7FFF);
    assert_int_equal(num_ex2_approx_f16x2(0x3C00BC00u), 0x40003800u);
    assert_int_equal(num_tanh_approx_bf16x2(0x7F80FF80u), 0x3F80BF80u);
}

// A faster method than a root and a division has the same results. Subnormals, zeros, infinities,
// negative numbers and NaN are not for it.
static void reciprocal_roots_are_rounded_once(void **state)
{
    (void)state;
    uint64_t seed = 1;
    assert_true(num_is_positive_normal_f32(0x1p-126f) && num_is_positive_normal_f32(FLT_MAX));
    assert_false(num_is_positive_normal_f32(0x1.fffffcp-127f) ||
                 num_is_positive_normal_f32(INFINITY) || num_is_positive_normal_f32(0) ||
                 num_is_positive_normal_f32(-1) || num_is_positive_normal_f32(NAN) ||
                 num_is_positive_normal_f32(-0.0f));
    for (int i = 0; i < 300000; i++) {
        const float a = num_from_bits_f32((uint32_t)test_random(&seed) >> 1);
        if (num_is_positive_normal_f32(a))
            assert_int_equal(num_bits_f32(num_rsqrt_normal_f32(a)),
                             num_bits_f32(num_rsqrt_approx_f32(a, 0)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reciprocal_roots_are_rounded_once),
        cmocka_unit_test(f32_stays_within_the_stated_errors),
        cmocka_unit_test(sines_stay_within_the_stated_error),
        cmocka_unit_test(f32_knows_the_special_values),
        cmocka_unit_test(division_loses_large_divisors),
        cmocka_unit_test(seeds_have_twenty_bits),
        cmocka_unit_test(halves_stay_within_the_stated_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
