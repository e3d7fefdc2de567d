// SPDX-License-Identifier: Apache-2.0
// f32: every rounding compared with the host's, flush, saturation, NaN, minima and comparisons.
#include <math.h>

#include "numbers_testing.h"

enum { ROUNDS = 200000 };

// --- Compared with the host's rounding modes -----------------------------------------------------

// volatile keeps the operation between the two changes of mode.
static float host_binary(char operation, float a, float b, enum num_round round)
{
    volatile float x = a, y = b, result = 0;
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

static float host_fma(float a, float b, float c, enum num_round round)
{
    volatile float x = a, y = b, z = c, result;
    test_round(round);
    result = fmaf(x, y, z);
    test_round_default();
    return result;
}

static float host_sqrt(float a, enum num_round round)
{
    volatile float x = a, result;
    test_round(round);
    result = sqrtf(x);
    test_round_default();
    return result;
}

static void arithmetic_rounds_as_the_host_does(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        float a = test_random_f32(&seed);
        float b = test_random_f32(&seed);
        float c = test_random_f32(&seed);
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            test_same_f32(num_add_f32(a, b, round, 0), host_binary('+', a, b, round));
            test_same_f32(num_sub_f32(a, b, round, 0), host_binary('-', a, b, round));
            test_same_f32(num_mul_f32(a, b, round, 0), host_binary('*', a, b, round));
            test_same_f32(num_div_f32(a, b, round, 0), host_binary('/', a, b, round));
            test_same_f32(num_rcp_f32(a, round, 0), host_binary('/', 1.0f, a, round));
            test_same_f32(num_fma_f32(a, b, c, round, 0), host_fma(a, b, c, round));
            test_same_f32(num_sqrt_f32(a, round, 0), host_sqrt(a, round));
        }
    }
}

// Sums that cancel, and products added to a c of nearly their size.
static void cancellation_keeps_every_bit(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < ROUNDS; i++) {
        float a = test_random_f32(&seed);
        float b = test_random_f32(&seed);
        float near =
            -num_from_bits_f32(num_bits_f32(a * b) + (uint32_t)(test_random(&seed) % 5) - 2);
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            test_same_f32(num_fma_f32(a, b, near, round, 0), host_fma(a, b, near, round));
            test_same_f32(num_add_f32(a, -a, round, 0), host_binary('+', a, -a, round));
        }
    }
}

// --- Flush, saturation, NaN ----------------------------------------------------------------------

static void flush_makes_zeros_of_their_sign(void **state)
{
    (void)state;
    assert_int_equal(num_bits_f32(num_add_f32(0x1p-127f, 0, NUM_RN, NUM_FTZ)), 0);
    assert_int_equal(num_bits_f32(num_mul_f32(-0x1p-127f, 1, NUM_RN, NUM_FTZ)), 0x80000000u);
    assert_int_equal(num_bits_f32(num_mul_f32(0x1p-100f, -0x1p-40f, NUM_RN, NUM_FTZ)), 0x80000000u);
    assert_int_equal(num_bits_f32(num_add_f32(0x1.8p-126f, -0x1p-126f, NUM_RN, NUM_FTZ)), 0);
    assert_int_equal(num_bits_f32(num_rcp_f32(0x1p-130f, NUM_RN, NUM_FTZ)), 0x7F800000u);
    assert_int_equal(num_bits_f32(num_abs_f32(-0x1p-130f, NUM_FTZ)), 0);
    assert_int_equal(num_bits_f32(num_neg_f32(0x1p-130f, NUM_FTZ)), 0x80000000u);
    assert_true(num_compare_f32(NUM_CMP_EQ, 0x1p-130f, -0x1p-131f, NUM_FTZ));
    assert_false(num_compare_f32(NUM_CMP_EQ, 0x1p-130f, -0x1p-131f, 0));
}

// As on an H200: flushed, although f32 rounds it to the smallest normal number.
static void flush_looks_at_24_bits_below_the_normal_numbers(void **state)
{
    (void)state;
    float below_one = num_from_bits_f32(0x3F7FFFFF);
    assert_int_equal(num_bits_f32(num_mul_f32(-below_one, 0x1p-126f, NUM_RN, NUM_FTZ)),
                     0x80000000u);
    assert_int_equal(num_bits_f32(num_mul_f32(-below_one, 0x1p-126f, NUM_RN, 0)), 0x80800000u);
    assert_int_equal(num_bits_f32(num_mul_f32(-below_one, 0x1p-126f, NUM_RM, NUM_FTZ)),
                     0x80000000u);
    assert_int_equal(num_bits_f32(num_rcp_f32(num_from_bits_f32(0x7E800001), NUM_RP, NUM_FTZ)), 0);
    assert_int_equal(num_bits_f32(num_rcp_f32(num_from_bits_f32(0x7E800001), NUM_RP, 0)),
                     0x00800000u);
}

static void saturation_clamps_and_drops_nan(void **state)
{
    (void)state;
    float nan = num_from_bits_f32(NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_add_f32(2, 3, NUM_RN, NUM_SAT)), 0x3F800000u);
    assert_int_equal(num_bits_f32(num_add_f32(-2, 1, NUM_RN, NUM_SAT)), 0);
    assert_int_equal(num_bits_f32(num_mul_f32(-0.0f, 1, NUM_RN, NUM_SAT)), 0);
    assert_int_equal(num_bits_f32(num_fma_f32(nan, 1, 1, NUM_RN, NUM_SAT)), 0);
    assert_int_equal(num_bits_f32(num_fma_f32(0.5f, 0.5f, 0.25f, NUM_RZ, NUM_SAT)), 0x3F000000u);
}

static void every_nan_is_the_canonical_one(void **state)
{
    (void)state;
    float nan = num_from_bits_f32(0xFFC12345);
    assert_int_equal(num_bits_f32(num_add_f32(nan, 1, NUM_RN, 0)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_add_f32(INFINITY, -INFINITY, NUM_RZ, 0)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_mul_f32(0, INFINITY, NUM_RP, 0)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_sqrt_f32(-1, NUM_RM, 0)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_abs_f32(nan, 0)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_neg_f32(nan, 0)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_copysign_f32(-1, nan)), 0xFFC12345u);
}

// --- Minima, comparisons, classes ----------------------------------------------------------------

static void minima_order_zeros_and_prefer_numbers(void **state)
{
    (void)state;
    float nan = num_from_bits_f32(0x7FC00001);
    assert_int_equal(num_bits_f32(num_min_f32(0.0f, -0.0f, 0)), 0x80000000u);
    assert_int_equal(num_bits_f32(num_max_f32(-0.0f, 0.0f, 0)), 0);
    test_same_f32(num_min_f32(nan, 2, 0), 2);
    test_same_f32(num_max_f32(2, nan, 0), 2);
    test_same_f32(num_max_f32(nan, nan, 0), NAN);
    test_same_f32(num_min_f32(nan, 2, NUM_NAN), NAN);
    test_same_f32(num_min_f32(2, nan, NUM_NAN), NAN);
    test_same_f32(num_min_f32(-3, 2, NUM_XORSIGN), -2);
    test_same_f32(num_max_f32(-3, -2, NUM_XORSIGN), 3);
    test_same_f32(num_min_f32(0x1p-130f, 1, NUM_FTZ), 0);
    test_same_f32(num_min3_f32(3, nan, -1, 0), -1);
    test_same_f32(num_max3_f32(3, 7, 5, 0), 7);
    test_same_f32(num_max3_f32(3, nan, 5, NUM_NAN), NAN);
    test_same_f32(num_max3_f32(-3, -7, -5, NUM_XORSIGN), -7);
    uint64_t seed = 3;
    for (int i = 0; i < ROUNDS; i++) {
        float a = test_random_f32(&seed);
        float b = test_random_f32(&seed);
        if (a != a || b != b || a == b)
            continue;
        test_same_f32(num_min_f32(a, b, 0), a < b ? a : b);
        test_same_f32(num_max_f32(a, b, 0), a < b ? b : a);
    }
}

static void comparisons_say_what_nan_is(void **state)
{
    (void)state;
    static const struct {
        enum num_cmp cmp;
        bool less, equal, greater, unordered;
    } rows[] = {
        {NUM_CMP_EQ, 0, 1, 0, 0},  {NUM_CMP_NE, 1, 0, 1, 0},  {NUM_CMP_LT, 1, 0, 0, 0},
        {NUM_CMP_LE, 1, 1, 0, 0},  {NUM_CMP_GT, 0, 0, 1, 0},  {NUM_CMP_GE, 0, 1, 1, 0},
        {NUM_CMP_EQU, 0, 1, 0, 1}, {NUM_CMP_NEU, 1, 0, 1, 1}, {NUM_CMP_LTU, 1, 0, 0, 1},
        {NUM_CMP_LEU, 1, 1, 0, 1}, {NUM_CMP_GTU, 0, 0, 1, 1}, {NUM_CMP_GEU, 0, 1, 1, 1},
        {NUM_CMP_NUM, 1, 1, 1, 0}, {NUM_CMP_NAN, 0, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(num_compare_f32(rows[i].cmp, 1, 2, 0), rows[i].less);
        assert_int_equal(num_compare_f32(rows[i].cmp, -0.0f, 0.0f, 0), rows[i].equal);
        assert_int_equal(num_compare_f32(rows[i].cmp, INFINITY, 2, 0), rows[i].greater);
        assert_int_equal(num_compare_f32(rows[i].cmp, NAN, 2, 0), rows[i].unordered);
        assert_int_equal(num_compare_f32(rows[i].cmp, 2, NAN, 0), rows[i].unordered);
        assert_int_equal(num_compare_f64(rows[i].cmp, 1, 2), rows[i].less);
        assert_int_equal(num_compare_f64(rows[i].cmp, -0.0, 0.0), rows[i].equal);
        assert_int_equal(num_compare_f64(rows[i].cmp, 2, -INFINITY), rows[i].greater);
        assert_int_equal(num_compare_f64(rows[i].cmp, NAN, NAN), rows[i].unordered);
    }
}

static void classes_agree_with_the_host(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < ROUNDS; i++) {
        float a = test_random_f32(&seed);
        double b = test_random_f64(&seed);
        assert_int_equal(num_testp_f32(NUM_CLASS_FINITE, a), isfinite(a) != 0);
        assert_int_equal(num_testp_f32(NUM_CLASS_INFINITE, a), isinf(a) != 0);
        assert_int_equal(num_testp_f32(NUM_CLASS_NUMBER, a), !isnan(a));
        assert_int_equal(num_testp_f32(NUM_CLASS_NOTANUMBER, a), isnan(a) != 0);
        assert_int_equal(num_testp_f32(NUM_CLASS_NORMAL, a), a == 0 || isnormal(a));
        assert_int_equal(num_testp_f32(NUM_CLASS_SUBNORMAL, a), fpclassify(a) == FP_SUBNORMAL);
        assert_int_equal(num_testp_f64(NUM_CLASS_FINITE, b), isfinite(b) != 0);
        assert_int_equal(num_testp_f64(NUM_CLASS_NORMAL, b), b == 0 || isnormal(b));
        assert_int_equal(num_testp_f64(NUM_CLASS_SUBNORMAL, b), fpclassify(b) == FP_SUBNORMAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_rounds_as_the_host_does),
        cmocka_unit_test(cancellation_keeps_every_bit),
        cmocka_unit_test(flush_makes_zeros_of_their_sign),
        cmocka_unit_test(flush_looks_at_24_bits_below_the_normal_numbers),
        cmocka_unit_test(saturation_clamps_and_drops_nan),
        cmocka_unit_test(every_nan_is_the_canonical_one),
        cmocka_unit_test(minima_order_zeros_and_prefer_numbers),
        cmocka_unit_test(comparisons_say_what_nan_is),
        cmocka_unit_test(classes_agree_with_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
