// SPDX-License-Identifier: Apache-2.0
// Elements of matrix products: known answers for each rule of the model, sums without rounding
// compared with exact ones, and a bound on the error of any sum.
#include "gpusim/numbers/mma.h"

#include <math.h>

#include "gpusim/numbers/half.h"
#include "numbers_mma.inc"
#include "numbers_testing.h"

enum { ROUNDS = 50000, K = 16 };

// --- Results of an H200 --------------------------------------------------------------------------

static void products_are_those_of_an_h200(void **state)
{
    (void)state;
    float a[K], b[K];
    for (size_t i = 0; i < sizeof f16_rows / sizeof *f16_rows; i++) {
        for (int k = 0; k < K; k++) {
            a[k] = num_f32_from_f16((uint16_t)f16_rows[i].a[k]);
            b[k] = num_f32_from_f16((uint16_t)f16_rows[i].b[k]);
        }
        float c = num_from_bits_f32(f16_rows[i].c);
        assert_int_equal(num_bits_f32(num_mma_f16_f32(a, b, c, K)), f16_rows[i].result);
    }
    for (size_t i = 0; i < sizeof bf16_rows / sizeof *bf16_rows; i++) {
        for (int k = 0; k < K; k++) {
            a[k] = num_f32_from_bf16((uint16_t)bf16_rows[i].a[k]);
            b[k] = num_f32_from_bf16((uint16_t)bf16_rows[i].b[k]);
        }
        float c = num_from_bits_f32(bf16_rows[i].c);
        assert_int_equal(num_bits_f32(num_mma_f32(a, b, c, K)), bf16_rows[i].result);
    }
    for (size_t i = 0; i < sizeof tf32_rows / sizeof *tf32_rows; i++) {
        for (int k = 0; k < NUM_MMA_STEP_TF32; k++) {
            a[k] = num_tf32_cut(tf32_rows[i].a[k]);
            b[k] = num_tf32_cut(tf32_rows[i].b[k]);
        }
        float c = num_from_bits_f32(tf32_rows[i].c);
        assert_int_equal(num_bits_f32(num_mma_f32(a, b, c, NUM_MMA_STEP_TF32)),
                         tf32_rows[i].result);
    }
    for (size_t i = 0; i < sizeof f16_accumulator_rows / sizeof *f16_accumulator_rows; i++) {
        for (int k = 0; k < K; k++) {
            a[k] = num_f32_from_f16((uint16_t)f16_accumulator_rows[i].a[k]);
            b[k] = num_f32_from_f16((uint16_t)f16_accumulator_rows[i].b[k]);
        }
        assert_int_equal(num_mma_f16(a, b, (uint16_t)f16_accumulator_rows[i].c, K),
                         f16_accumulator_rows[i].result);
    }
}

// --- The rules of the tensor cores ---------------------------------------------------------------

static void small_integers_are_summed_exactly(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        float a[K], b[K];
        int64_t sum = (int64_t)(test_random(&seed) % 2000) - 1000;
        float c = (float)sum;
        for (int k = 0; k < K; k++) {
            a[k] = (float)(int)(test_random(&seed) % 129) - 64;
            b[k] = (float)(int)(test_random(&seed) % 129) - 64;
            sum += (int64_t)a[k] * (int64_t)b[k];
        }
        assert_true(num_mma_f32(a, b, c, K) == (float)sum);
        assert_true(num_mma_f16_f32(a, b, c, K) == (float)sum);
        assert_int_equal(num_mma_f16(a, b, num_f16_nearest(c), K), num_f16_nearest((float)sum));
    }
}

// Terms are truncated at 25 bits below the largest exponent, and the result to 24 bits.
static void terms_and_sums_are_cut_towards_zero(void **state)
{
    (void)state;
    float one[K] = {1, 1, 1, 1};
    float terms[K] = {0x1p-25f, 0x1p-25f, 0x1p-25f, 0x1p-25f};
    assert_true(num_mma_f32(one, terms, 1, 4) == 1 + 0x1p-23f);
    float below[K] = {0x1.fffp-26f, 0x1.fffp-26f, 0x1.fffp-26f, 0x1.fffp-26f};
    assert_true(num_mma_f32(one, below, 1, 4) == 1);
    assert_true(num_mma_f32(one, below, -1, 4) == -1);
    float three[K] = {0x1p-25f, 0x1p-25f, 0x1p-25f};
    assert_true(num_mma_f32(one, three, 1, 3) == 1);
    assert_true(num_mma_f32(one, three, -1, 3) == -0x1.fffffcp-1f); // -1 + 3 * 2^-25, truncated
}

// 1.5 * 1.5 has the exponent 0, not 1.
static void a_product_has_the_sum_of_its_factors_exponents(void **state)
{
    (void)state;
    float a[2] = {1.5f, 0x1p-25f}, b[2] = {1.5f, 1};
    assert_true(num_mma_f32(a, b, -2, 2) == 0.25f); // c has the largest exponent, 1
    float alone[3] = {1.5f, 0x1p-25f, -1.5f}, beside[3] = {1.5f, 1, 1.5f};
    assert_true(num_mma_f32(alone, beside, 0, 3) == 0x1p-25f);
    assert_true(num_mma_f32(alone, beside, 0x1p-26f, 3) == 0x1p-25f);
}

// A subnormal f16 counts with the exponent -14 of the smallest normal one.
static void f16_subnormals_are_not_normalised(void **state)
{
    (void)state;
    float a[2] = {0x1p-24f, 0x1p-14f}, b[2] = {1, 0x1p-14f};
    // The first exponent is -14: terms are truncated to multiples of 2^-39. As f32 it would be -24.
    assert_true(num_mma_f16_f32(a, b, 0x1p-40f, 2) == 0x1p-24f + 0x1p-28f);
    float tiny[1] = {0x1p-24f}, unit[1] = {1};
    assert_true(num_mma_f16_f32(tiny, unit, 0x1p-40f, 1) == 0x1p-24f);
    assert_true(num_mma_f32(tiny, unit, 0x1p-40f, 1) == 0x1p-24f + 0x1p-40f);
}

static void ends_of_the_range(void **state)
{
    (void)state;
    float zero[2] = {-0.0f, 0}, one[2] = {1, -1}, large[2] = {0x1p100f, 0x1p100f};
    assert_int_equal(num_bits_f32(num_mma_f32(zero, one, -0.0f, 2)), 0);
    assert_int_equal(num_mma_f16(zero, one, 0x8000, 2), 0);
    assert_int_equal(num_bits_f32(num_mma_f32(large, large, 0, 2)), 0x7F800000u);
    float huge[1] = {0x1.fep127f}, unit[1] = {1};
    assert_int_equal(num_bits_f32(num_mma_f32(huge, unit, 0x1.fffffep127f, 1)), 0x7F800000u);
    float infinite[2] = {INFINITY, -INFINITY}, ones[2] = {1, 1}, nan[1] = {NAN};
    assert_int_equal(num_bits_f32(num_mma_f32(infinite, ones, 3, 1)), 0x7F800000u);
    assert_int_equal(num_bits_f32(num_mma_f32(infinite, ones, 3, 2)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_mma_f32(infinite, ones, -INFINITY, 1)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_mma_f32(nan, ones, 3, 1)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f32(num_mma_f32(infinite, zero, 3, 1)), NUM_NAN_BITS_F32);
    assert_int_equal(num_mma_f16(nan, ones, 0, 1), 0x7FFF);
    float thousands[1] = {300};
    assert_int_equal(num_mma_f16(thousands, thousands, 0, 1), 0x7C00);
}

// f16 accumulators round to nearest; f32 ones are truncated.
static void f16_sums_round_to_nearest(void **state)
{
    (void)state;
    float a[2] = {1, 0x1p-11f}, b[2] = {1, 1};
    assert_int_equal(num_mma_f16(a, b, 0, 2), 0x3C00);      // a tie
    assert_int_equal(num_mma_f16(a, b, 0x0001, 2), 0x3C01); // more than a tie
}

// A subnormal c has the exponent -14 as well, and terms are truncated to multiples of 2^-39.
static void f16_accumulators_have_no_small_exponents_and_no_minus_zero(void **state)
{
    (void)state;
    float a[2] = {0x1p-12f, 0x1p-20f}, b[2] = {0x1p-13f, 0x1p-20f};
    assert_int_equal(num_mma_f16(a, b, 0x0002, 2), 0x0002); // 2.5 units: a tie, as 2^-40 is lost
    b[1] = 0x1p-19f;
    assert_int_equal(num_mma_f16(a, b, 0x0002, 2), 0x0003); // 2^-39 makes it more than a tie
    float one[1] = {1}, tiny[1] = {-0x1p-26f};
    assert_int_equal(num_mma_f16(one, tiny, 0, 1), 0);
    assert_int_equal(num_mma_f16(one, tiny, 0x8000, 1), 0);
    assert_int_equal(num_mma_f16(one, tiny, 0x8001, 1), 0x8001);
}

// --- Products made of other operations -----------------------------------------------------------

static void k4_is_a_chain_in_f32_to_which_c_is_added(void **state)
{
    (void)state;
    float a[4] = {4096, 1, 1, -4096}, b[4] = {4096, 1, 1, 4096}, one[4] = {1, 1, 1, 1};
    assert_true(num_mma_k4_f32(a, b, 0) == 0); // 2^24 + 1 is a tie, twice
    assert_true(num_mma_k4_f32(one, one, 0x1p24f) == 0x1p24f + 4);
    assert_int_equal(num_mma_k4_f16(a, b, 0), 0x3C00); // 2^24 and 1 - 2^24
    float down[4] = {4096, 0, -4096, 0}, up[4] = {-4096, 0, 4096, 0}, by[4] = {4096, 0, 4096, 0};
    assert_int_equal(num_mma_k4_f16(down, by, 0x3C00), 0);    // 1 + 2^24 is a tie
    assert_int_equal(num_mma_k4_f16(up, by, 0x3C00), 0x3C00); // 1 - 2^24 is exact
    assert_true(num_mma_k4_f32(down, by, 1) == 1);
}

static void k4_keeps_signs_of_zero_only_in_f16(void **state)
{
    (void)state;
    float minus[4] = {-1, -1, -1, -1}, zero[4] = {0}, nan[4] = {NAN}, infinite[4] = {INFINITY};
    assert_int_equal(num_bits_f32(num_mma_k4_f32(minus, zero, -0.0f)), 0);
    assert_int_equal(num_mma_k4_f16(minus, zero, 0x8000), 0x8000);
    assert_int_equal(num_mma_k4_f16(minus, zero, 0), 0);
    float mixed[4] = {-1, -1, -1, 1};
    assert_int_equal(num_mma_k4_f16(mixed, zero, 0x8000), 0);
    assert_int_equal(num_bits_f32(num_mma_k4_f32(nan, minus, 0)), NUM_NAN_BITS_F32);
    assert_int_equal(num_mma_k4_f16(nan, minus, 0), 0x7FFF);
    assert_int_equal(num_mma_k4_f16(infinite, zero, 0), 0x7FFF);
    assert_int_equal(num_bits_f32(num_mma_k4_f32(infinite, minus, 0)), 0xFF800000u);
    assert_int_equal(num_bits_f32(num_mma_k4_f32(zero, zero, 0x1p-149f)), 1);
}

static void e8_is_two_products_to_which_c_is_added(void **state)
{
    (void)state;
    float a[4] = {4096, 1, 4096, 0}, b[4] = {4096, 1, -4096, 0};
    // 2^24 + 1 is truncated; in one step, the result would be 4.
    assert_true(num_mma_e8_f32(a, b, 3, 4) == 3);
    float small[4] = {0x1p-12f, 0x1p-12f}, smaller[4] = {0x1p-12f, 0x1p-13f};
    assert_true(num_mma_e8_f32(small, smaller, 1, 4) == 1 + 0x1p-23f); // rounded to nearest
    assert_true(num_mma_f16_f32(small, smaller, 1, 4) == 1);
    float ones[4] = {1, 0, 1, 0}, halves[4] = {2048, 0, 1, 0};
    assert_int_equal(num_mma_e8_f16(ones, halves, 0x3C00, 4),
                     0x6800);                                       // 2049 is a tie, 2048 + 1 too
    assert_int_equal(num_mma_f16(ones, halves, 0x3C00, 4), 0x6801); // 2050
    float zero[4] = {0}, minus[4] = {-1, -1, -1, -1};
    assert_int_equal(num_mma_e8_f16(zero, minus, 0x8000, 4), 0);
}

// The factors are chosen so that the answers follow from the rule by hand.
static void e8_of_groups_keeps_13_bits_of_the_largest_term(void **state)
{
    (void)state;
    const float one[4] = {1, 1, 1, 1}, b[4] = {8192, 1, 0.5f, 0.5f};
    assert_true(num_mma_group_e8_f32(one, b, 0, 4) == 8193);     // halves are cut off one by one
    assert_true(num_mma_group_e8_f32(one, b, 8192, 4) == 16384); // 16385 has 15 bits
    assert_true(num_mma_group_e8_f32(one, b, -8192, 4) == 1);
    const float far[4] = {16384, 1, 1, 1};
    assert_true(num_mma_group_e8_f32(one, far, 0, 4) == 16384);
    assert_true(num_mma_f16_f32(one, far, 0, 4) == 16387);
    const float large[4] = {2048, 1, 0, 0};
    assert_int_equal(num_mma_group_e8_f16(one, large, 0, 4), 0x6800);      // 2049 is a tie
    assert_int_equal(num_mma_group_e8_f16(one, large, 0x4000, 4), 0x6802); // 2051 is another
    const float minus[4] = {-1, 1, 0, 0};
    assert_int_equal(num_mma_group_e8_f16(one, minus, 0x8000, 4), 0);
    assert_true(num_mma_group_e8_f32(one, (const float[]){1, 1, 1, 1}, 3, 4) == 7);
}

// The error is at most one unit in the last place of the largest term, per term.
static void any_sum_is_near_the_exact_one(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < ROUNDS; i++) {
        float a[K], b[K], c = (float)((double)(int64_t)test_random(&seed) * 0x1p-60);
        long double exact = c, largest = fabsf(c);
        for (int k = 0; k < K; k++) {
            a[k] = num_f32_from_f16((uint16_t)(test_random(&seed) & 0xBFFF));
            b[k] = num_f32_from_f16((uint16_t)(test_random(&seed) & 0xBFFF));
            long double product = (long double)a[k] * b[k];
            exact += product;
            largest = fabsl(product) > largest ? fabsl(product) : largest;
        }
        assert_true(fabsl(num_mma_f16_f32(a, b, c, K) - exact) <= largest * 0x1p-18L);
        assert_true(fabsl(num_mma_f32(a, b, c, K) - exact) <= largest * 0x1p-18L);
    }
}

// --- Others --------------------------------------------------------------------------------------

static void f64_is_a_chain_of_fmas(void **state)
{
    (void)state;
    double a[4] = {0.1, 0.2, 0.3, 0.4}, b[4] = {3, 7, 11, 13};
    double chain = fma(0.4, 13, fma(0.3, 11, fma(0.2, 7, fma(0.1, 3, 1e-17))));
    assert_true(num_mma_f64(a, b, 1e-17, 4, NUM_RN) == chain);
    assert_true(num_mma_f64(a, b, 1e-17, 4, NUM_RM) <= chain);
}

static void integers_wrap_or_saturate(void **state)
{
    (void)state;
    int32_t a[3] = {127, -128, 100}, b[3] = {255, 255, 1};
    assert_int_equal(num_mma_s32(a, b, 7, 3, false), 7 - 255 + 100);
    assert_int_equal(num_mma_s32(a, b, INT32_MAX, 1, true), INT32_MAX);
    assert_int_equal(num_mma_s32(a, b, INT32_MAX, 1, false), INT32_MIN + 127 * 255 - 1);
    assert_int_equal(num_mma_s32(a + 1, b, INT32_MIN, 1, true), INT32_MIN);
}

static void bits_are_counted(void **state)
{
    (void)state;
    uint32_t a[2] = {0xF0F0F0F0u, 1}, b[2] = {0xFF00FF00u, 3};
    assert_int_equal(num_mma_b1(a, b, 5, 2, false), 5 + 16 + 1);
    assert_int_equal(num_mma_b1(a, b, 5, 2, true), 5 + 8 + 1);
    assert_int_equal(num_bits_f32(num_tf32_cut(0x3F801FFFu)), 0x3F800000u);
}

// Random bits, often zeros, subnormals, infinities and NaNs.
static uint16_t any_half(uint64_t *seed)
{
    const uint64_t mixed = test_random(seed);
    return mixed % 8 == 0    ? (uint16_t)(mixed >> 16 & 0x8000)
           : mixed % 8 == 1  ? (uint16_t)(mixed >> 16 & 0x803F)
           : mixed % 64 == 2 ? (uint16_t)(mixed >> 16 | 0x7C00)
                             : (uint16_t)(mixed >> 16 & 0xBFFF);
}

static void rows_are_their_elements(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < ROUNDS / 8; round++) {
        const bool is_f16 = round % 2;
        float (*const widen)(uint16_t) = is_f16 ? num_f32_from_f16 : num_f32_from_bf16;
        float a[K], b[NUM_MMA_COLUMNS][K], sums[NUM_MMA_COLUMNS], before[NUM_MMA_COLUMNS];
        uint16_t halves[NUM_MMA_COLUMNS], half_before[NUM_MMA_COLUMNS];
        const float *columns[NUM_MMA_COLUMNS];
        struct num_mma_panel panel;
        const int k = round % 3 ? K : K / 2;
        for (int i = 0; i < K; i++)
            a[i] = widen(any_half(&seed));
        for (int j = 0; j < NUM_MMA_COLUMNS; j++) {
            columns[j] = b[j];
            for (int i = 0; i < K; i++)
                b[j][i] = widen(any_half(&seed));
            halves[j] = half_before[j] = any_half(&seed);
            sums[j] = before[j] = num_from_bits_f32((uint32_t)any_half(&seed) << 16);
        }
        num_mma_panel_init(&panel, columns, k, is_f16);
        num_mma_row_f32(a, &panel, sums);
        if (is_f16)
            num_mma_row_f16(a, &panel, halves);
        for (int j = 0; j < NUM_MMA_COLUMNS; j++) {
            const float expected = is_f16 ? num_mma_f16_f32(a, b[j], before[j], k)
                                          : num_mma_f32(a, b[j], before[j], k);
            assert_int_equal(num_bits_f32(sums[j]), num_bits_f32(expected));
            if (is_f16)
                assert_int_equal(halves[j], num_mma_f16(a, b[j], half_before[j], k));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_an_h200),
        cmocka_unit_test(small_integers_are_summed_exactly),
        cmocka_unit_test(terms_and_sums_are_cut_towards_zero),
        cmocka_unit_test(a_product_has_the_sum_of_its_factors_exponents),
        cmocka_unit_test(f16_subnormals_are_not_normalised),
        cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(f16_sums_round_to_nearest),
        cmocka_unit_test(f16_accumulators_have_no_small_exponents_and_no_minus_zero),
        cmocka_unit_test(k4_is_a_chain_in_f32_to_which_c_is_added),
        cmocka_unit_test(k4_keeps_signs_of_zero_only_in_f16),
        cmocka_unit_test(e8_is_two_products_to_which_c_is_added),
        cmocka_unit_test(e8_of_groups_keeps_13_bits_of_the_largest_term),
        cmocka_unit_test(rows_are_their_elements),
        cmocka_unit_test(any_sum_is_near_the_exact_one),
        cmocka_unit_test(f64_is_a_chain_of_fmas),
        cmocka_unit_test(integers_wrap_or_saturate),
        cmocka_unit_test(bits_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
