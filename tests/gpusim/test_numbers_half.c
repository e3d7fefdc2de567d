// SPDX-License-Identifier: Apache-2.0
// f16, bf16, tf32 and the small formats: conversions of all values and of the points between them,
// and arithmetic compared with exact results in 128-bit floating point.
#include "gpusim/numbers/half.h"
#include "gpusim/numbers/half_row.h"

#include <math.h>

#include "numbers_testing.h"

enum { ROUNDS = 400000 };

// --- An independent model of a format ------------------------------------------------------------

struct format {
    int exponent_bits, fraction_bits;
    unsigned largest; // magnitude bits of the largest finite value
};
static const struct format f16 = {5, 10, 0x7BFF}, bf16 = {8, 7, 0x7F7F}, tf32 = {8, 10, 0x3FBFF},
                           e4m3 = {4, 3, 0x7E}, e5m2 = {5, 2, 0x7B}, e3m2 = {3, 2, 0x1F},
                           e2m3 = {2, 3, 0x1F}, e2m1 = {2, 1, 0x7};

// Returns the value of a magnitude; largest + 1 gives the value that would follow the largest.
static double value_of(const struct format *format, unsigned magnitude)
{
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    int exponent = (int)(magnitude >> format->fraction_bits);
    int fraction = (int)(magnitude & ((1u << format->fraction_bits) - 1));
    if (exponent)
        fraction |= 1 << format->fraction_bits;
    return ldexp(fraction, (exponent ? exponent : 1) - bias - format->fraction_bits);
}

// Returns the magnitude to which a number >= 0 rounds; largest + 1 if it overflows.
static unsigned nearest(const struct format *format, _Float128 number, enum num_round round)
{
    unsigned below = 0, above = format->largest + 1;
    if (number >= value_of(format, above))
        return above;
    while (above - below > 1) {
        unsigned middle = (above + below) / 2;
        if (value_of(format, middle) <= number)
            below = middle;
        else
            above = middle;
    }
    _Float128 to_below = number - value_of(format, below);
    _Float128 to_above = value_of(format, above) - number;
    if (to_below == 0 || round == NUM_RZ)
        return below;
    if (round == NUM_RP)
        return above;
    if (to_below == to_above)
        return round == NUM_RNA || below & 1 ? above : below;
    return to_below < to_above ? below : above;
}

// The same for any number except NaN, with the sign bit. Overflow gives infinity or the largest
// value, as in IEEE 754.
static unsigned expected(const struct format *format, _Float128 number, bool negative,
                         enum num_round round)
{
    bool inward =
        round == NUM_RZ || (round == NUM_RM && !negative) || (round == NUM_RP && negative);
    enum num_round way = round == NUM_RN || round == NUM_RNA ? round : inward ? NUM_RZ : NUM_RP;
    unsigned magnitude = nearest(format, negative ? -number : number, way);
    if (magnitude > format->largest && inward && !isinf((double)number))
        magnitude = format->largest;
    return magnitude | (unsigned)negative << (format->exponent_bits + format->fraction_bits);
}

// --- Conversions ---------------------------------------------------------------------------------

static void halves_widen_exactly(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        unsigned magnitude = bits & 0x7FFF;
        double sign = bits >> 15 ? -1 : 1;
        float from_f16 = num_f32_from_f16((uint16_t)bits),
              from_bf16 = num_f32_from_bf16((uint16_t)bits);
        if (magnitude < 0x7C00) {
            test_same_f32(from_f16, (float)(sign * value_of(&f16, magnitude)));
            assert_true(num_f64_from_f16((uint16_t)bits) == sign * value_of(&f16, magnitude));
        } else if (magnitude == 0x7C00) {
            test_same_f32(from_f16, (float)(sign * INFINITY));
        } else {
            test_same_f32(from_f16, NAN);
        }
        if (magnitude < 0x7F80) {
            test_same_f32(from_bf16, (float)(sign * value_of(&bf16, magnitude)));
            assert_true(num_f64_from_bf16((uint16_t)bits) == sign * value_of(&bf16, magnitude));
        }
        assert_int_equal(num_bits_f32(from_bf16), bits << 16);
    }
    assert_int_equal(num_bits_f64(num_f64_from_f16(0x7C01)), 0x7FF8040000000000u);
    assert_int_equal(num_bits_f64(num_f64_from_bf16(0xFF81)), 0xFFF8200000000000u);
}

static void check_narrowing(double number)
{
    float narrow = (float)number;
    for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
        bool negative = signbit(narrow);
        assert_int_equal(num_f16_from_f32(narrow, round, 0),
                         expected(&f16, narrow, negative, round));
        assert_int_equal(num_bf16_from_f32(narrow, round, 0),
                         expected(&bf16, narrow, negative, round));
        negative = signbit(number);
        assert_int_equal(num_f16_from_f64(number, round, 0),
                         expected(&f16, number, negative, round));
        assert_int_equal(num_bf16_from_f64(number, round, 0),
                         expected(&bf16, number, negative, round));
    }
}

// Each value, the midpoint to the next, and the numbers just beside both.
static void narrowing_rounds_between_all_neighbours(void **state)
{
    (void)state;
    const struct format *formats[] = {&f16, &bf16};
    for (int which = 0; which < 2; which++) {
        for (unsigned magnitude = 0; magnitude <= formats[which]->largest; magnitude++) {
            double here = value_of(formats[which], magnitude);
            double middle = (here + value_of(formats[which], magnitude + 1)) / 2;
            double sign = magnitude & 1 ? -1 : 1;
            check_narrowing(sign * here);
            check_narrowing(sign * middle);
            check_narrowing(sign * (double)nextafterf((float)middle, 0));
            check_narrowing(sign * (double)nextafterf((float)middle, INFINITY));
            check_narrowing(sign * nextafter(middle, 0));
            check_narrowing(sign * nextafter(middle, INFINITY));
        }
    }
    check_narrowing(65504.0 * 4);
    check_narrowing(-1e39);
    check_narrowing(0x1p-1070);
}

static void narrowing_flags_change_the_ends(void **state)
{
    (void)state;
    assert_int_equal(num_f16_from_f32(1e6f, NUM_RN, NUM_FINITE), 0x7BFF);
    assert_int_equal(num_f16_from_f32(-INFINITY, NUM_RN, NUM_FINITE), 0xFBFF);
    assert_int_equal(num_f16_from_f32(-3, NUM_RZ, NUM_RELU), 0);
    assert_int_equal(num_f16_from_f32(NAN, NUM_RZ, NUM_RELU), 0x7FFF);
    assert_int_equal(num_f16_from_f32(NAN, NUM_RN, NUM_SAT), 0);
    assert_int_equal(num_f16_from_f32(3, NUM_RN, NUM_SAT), 0x3C00);
    assert_int_equal(num_bf16_from_f32(NAN, NUM_RN, 0), 0x7FFF);
    assert_int_equal(num_bf16_from_f32(3e38f, NUM_RN, NUM_FINITE), 0x7F62);
    assert_int_equal(num_bf16_from_f32(num_from_bits_f32(0x7F7FFFFF), NUM_RN, NUM_FINITE), 0x7F7F);
    assert_int_equal(num_bf16_from_f32(num_from_bits_f32(0x7F7FFFFF), NUM_RN, 0), 0x7F80);
    assert_int_equal(num_f16x2_from_f32(1, -2, NUM_RN, 0), 0x3C00C000u);
    assert_int_equal(num_bf16x2_from_f32(1, -2, NUM_RN, NUM_RELU), 0x3F800000u);
    assert_int_equal(num_f16_from_f64(num_from_bits_f64(0xFFF4123456789ABC), NUM_RN, 0), 0xFF04);
    assert_int_equal(num_bf16_from_f64(num_from_bits_f64(0x7FF4123456789ABC), NUM_RZ, 0), 0x7FE0);
    assert_int_equal(num_f16_from_bf16(0x7F00, NUM_RN, 0), 0x7C00);
    assert_int_equal(num_f16_from_bf16(0x3F81, NUM_RN, 0), 0x3C08);
    assert_int_equal(num_bf16_from_f16(0x3C01, NUM_RP, 0), 0x3F81);
    assert_int_equal(num_bf16_from_f16(0x0001, NUM_RN, 0), 0x3380);
}

static void integers_and_halves_convert(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROUNDS / 4; i++) {
        uint64_t value = test_random(&seed) >> (test_random(&seed) & 63);
        int64_t negative = -(int64_t)(value >> 1);
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            assert_int_equal(num_f16_from_int(value, false, round, 0),
                             expected(&f16, value, false, round));
            assert_int_equal(num_bf16_from_int(value, false, round, 0),
                             expected(&bf16, value, false, round));
            assert_int_equal(num_f16_from_int((uint64_t)negative, true, round, 0),
                             expected(&f16, negative, negative < 0, round));
            assert_int_equal(num_bf16_from_int((uint64_t)negative, true, round, 0),
                             expected(&bf16, negative, negative < 0, round));
        }
    }
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        float wide = num_f32_from_f16((uint16_t)bits), wide_b = num_f32_from_bf16((uint16_t)bits);
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            assert_int_equal(num_int_from_f16((uint16_t)bits, 16, true, round),
                             num_int_from_f32(wide, 16, true, round, 0));
            assert_int_equal(num_int_from_bf16((uint16_t)bits, 64, false, round),
                             num_int_from_f32(wide_b, 64, false, round, 0));
            test_same_f32(num_f32_from_f16(num_rint_f16((uint16_t)bits, round)),
                          num_rint_f32(wide, round, 0));
            test_same_f32(
                num_canonical_f32(num_f32_from_bf16(num_rint_bf16((uint16_t)bits, round))),
                num_rint_f32(wide_b, round, 0));
        }
    }
}

static void tf32_rounds_to_ten_bits(void **state)
{
    (void)state;
    uint64_t seed = 2;
    static const enum num_round rounds[] = {NUM_RN, NUM_RZ, NUM_RNA};
    for (int i = 0; i < ROUNDS; i++) {
        float a = test_random_f32(&seed);
        if (test_random(&seed) & 1) // a tie
            a = num_from_bits_f32((num_bits_f32(a) & 0xFFFFE000u) | 0x1000u);
        if (!isfinite(a))
            continue;
        for (int j = 0; j < 3; j++)
            assert_int_equal(num_tf32_from_f32(a, rounds[j], 0),
                             (uint32_t)expected(&tf32, a, signbit(a), rounds[j]) << 13);
    }
    assert_int_equal(num_tf32_from_f32(-3, NUM_RN, NUM_RELU), 0);
    assert_int_equal(num_tf32_from_f32(num_from_bits_f32(0x7F7FFFFF), NUM_RNA, 0), 0x7F800000u);
    assert_int_equal(num_tf32_from_f32(num_from_bits_f32(0x7F7FFFFF), NUM_RN, NUM_FINITE),
                     0x7F7FE000u);
    assert_int_equal(num_tf32_from_f32(num_from_bits_f32(0xFFC12345), NUM_RNA, 0), 0xFFC12000u);
    assert_int_equal(num_tf32_from_f32(num_from_bits_f32(0xFFC12345), NUM_RN, 0), 0x7FFFE000u);
}

static void small_formats_saturate_and_widen(void **state)
{
    (void)state;
    static const struct {
        enum num_small small;
        const struct format *format;
        int nan; // -1: the format has none
    } rows[] = {{NUM_E4M3, &e4m3, 0x7F},
                {NUM_E5M2, &e5m2, 0x7F},
                {NUM_E3M2, &e3m2, -1},
                {NUM_E2M3, &e2m3, -1},
                {NUM_E2M1, &e2m1, -1}};
    for (int i = 0; i < 5; i++) {
        const struct format *format = rows[i].format;
        unsigned sign = 1u << (format->exponent_bits + format->fraction_bits);
        for (unsigned bits = 0; bits < 0x10000; bits++) { // every f16, and a nearby f32
            float wide = num_f32_from_f16((uint16_t)bits);
            float beside = num_from_bits_f32(num_bits_f32(wide) + (bits & 1));
            if (wide != wide || beside != beside)
                continue;
            unsigned whole = nearest(format, fabsf(wide), NUM_RN),
                     near = nearest(format, fabsf(beside), NUM_RN);
            whole = whole > format->largest ? format->largest : whole;
            near = near > format->largest ? format->largest : near;
            unsigned minus = signbit(wide) ? sign : 0;
            assert_int_equal(num_small_from_f16(rows[i].small, (uint16_t)bits, 0), whole | minus);
            assert_int_equal(num_small_from_f32(rows[i].small, beside, 0), near | minus);
            assert_int_equal(num_small_from_f32(rows[i].small, beside, NUM_RELU), minus ? 0 : near);
        }
        for (unsigned magnitude = 0; magnitude <= format->largest; magnitude++) {
            double value = value_of(format, magnitude);
            assert_true(num_f32_from_f16(
                            num_f16_from_small(rows[i].small, (uint8_t)magnitude, 0)) == value);
            assert_true(num_f32_from_f16(num_f16_from_small(
                            rows[i].small, (uint8_t)(magnitude | sign), 0)) == -value);
        }
        if (rows[i].nan >= 0) {
            assert_int_equal(num_small_from_f32(rows[i].small, NAN, 0), rows[i].nan);
            assert_int_equal(num_f16_from_small(rows[i].small, (uint8_t)rows[i].nan, 0), 0x7FFF);
        }
    }
    assert_int_equal(num_small_x2_from_f32(NUM_E4M3, 1, -2, 0), 0x38C0);
    assert_int_equal(num_small_x2_from_f16x2(NUM_E5M2, 0x3C00C000u, NUM_RELU), 0x3C00);
    assert_int_equal(num_small_x2_from_f32(NUM_E2M1, 1, -2, 0), 0x2C);
    assert_int_equal(num_f16x2_from_small_x2(NUM_E4M3, 0x38C0, 0), 0x3C00C000u);
    assert_int_equal(num_f16x2_from_small_x2(NUM_E2M1, 0x2C, 0), 0x3C00C000u);
    assert_int_equal(num_f16_from_small(NUM_E5M2, 0x7C, 0), 0x7C00);
}

static void ue8m0_holds_powers_of_two(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 255; bits++) {
        float power = ldexpf(1, (int)bits - 127);
        assert_int_equal(num_ue8m0_from_f32(power, NUM_RZ, 0), bits);
        assert_int_equal(num_ue8m0_from_f32(power, NUM_RP, 0), bits);
        assert_true(num_f32_from_bf16(num_bf16_from_ue8m0((uint8_t)bits)) == power);
    }
    assert_int_equal(num_ue8m0_from_f32(1.5f, NUM_RZ, 0), 127);
    assert_int_equal(num_ue8m0_from_f32(1.5f, NUM_RP, 0), 128);
    assert_int_equal(num_ue8m0_from_f32(NAN, NUM_RP, 0), 255);
    assert_int_equal(num_ue8m0_from_f32(INFINITY, NUM_RP, NUM_FINITE), 254);
    assert_int_equal(num_bf16_from_ue8m0(255), 0x7FFF);
}

// --- Arithmetic ----------------------------------------------------------------------------------

static bool is_number(const struct format *format, uint16_t bits)
{
    return (bits & 0x7FFFu) <= format->largest;
}

static _Float128 number_of(const struct format *format, uint16_t bits)
{
    double value = value_of(format, bits & 0x7FFFu);
    return bits >> 15 ? -value : value;
}

// minus: the sign of the result if exact is 0.
static void check(const struct format *format, uint16_t actual, _Float128 exact, bool minus)
{
    bool negative = exact < 0 || (exact == 0 && minus);
    assert_int_equal(actual, expected(format, exact, negative, NUM_RN));
}

static void arithmetic_rounds_once(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t bits = test_random(&seed);
        const struct format *format = bits >> 63 ? &f16 : &bf16;
        uint16_t operand[3] = {(uint16_t)bits, (uint16_t)(bits >> 16), (uint16_t)(bits >> 32)};
        // Bf16: exponents so close that 113 bits can represent every sum.
        for (int j = 0; j < 3; j++)
            if (format == &bf16 || bits >> 62 & 1)
                operand[j] =
                    (uint16_t)((operand[j] & 0x83FFu) | (format == &bf16 ? 0x3E00u : 0x3000u));
        uint16_t a = operand[0], b = operand[1], c = operand[2];
        if (!is_number(format, a) || !is_number(format, b) || !is_number(format, c))
            continue;
        _Float128 x = number_of(format, a), y = number_of(format, b), z = number_of(format, c);
        bool minus_product = (a ^ b) >> 15, both = a >> 15 && b >> 15;
        bool f = format == &f16;
        check(format, f ? num_add_f16(a, b, 0) : num_add_bf16(a, b, 0), x + y, both);
        check(format, f ? num_sub_f16(a, b, 0) : num_sub_bf16(a, b, 0), x - y,
              a >> 15 && !(b >> 15));
        check(format, f ? num_mul_f16(a, b, 0) : num_mul_bf16(a, b, 0), x * y, minus_product);
        check(format, f ? num_fma_f16(a, b, c, 0) : num_fma_bf16(a, b, c, 0), x * y + z,
              minus_product && c >> 15);
    }
}

// bf16 products can be smaller than f32's subnormals; 113 bits represent a product of 16 bits
// exactly.
static void bf16_products_may_underflow(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t bits = test_random(&seed);
        uint16_t a = (uint16_t)(bits & 0x9FFF), b = (uint16_t)((bits >> 16 & 0x87FF) | 0x1C00);
        _Float128 exact = number_of(&bf16, a) * number_of(&bf16, b);
        check(&bf16, num_mul_bf16(a, b, 0), exact, (a ^ b) >> 15);
        check(&bf16, num_fma_bf16(a, b, 0, 0), exact, false);
    }
}

static void flags_flush_saturate_and_clip(void **state)
{
    (void)state;
    assert_int_equal(num_add_f16(0x0001, 0x8000, NUM_FTZ), 0);
    assert_int_equal(num_add_f16(0x8001, 0x8000, NUM_FTZ), 0x8000);
    assert_int_equal(num_mul_f16(0x0400, 0x3BFF, NUM_FTZ), 0); // as on an H200
    assert_int_equal(num_mul_f16(0x0400, 0x3BFF, 0), 0x0400);
    assert_int_equal(num_add_f16(0x3C00, 0x3C00, NUM_SAT), 0x3C00);
    assert_int_equal(num_sub_f16(0x3C00, 0x4000, NUM_SAT), 0);
    assert_int_equal(num_add_f16(0x7E00, 0x4000, NUM_SAT), 0);
    assert_int_equal(num_fma_f16(0x3C00, 0xC000, 0, NUM_RELU), 0);
    assert_int_equal(num_fma_f16(0x3C00, 0xFE00, 0, NUM_RELU), 0x7FFF);
    assert_int_equal(num_fma_bf16(0x3F80, 0xC000, 0, NUM_RELU), 0);
    assert_int_equal(num_add_f16(0x7C00, 0xFC00, 0), 0x7FFF);
    assert_int_equal(num_add_bf16(0x7F80, 0xFF80, 0), 0x7FFF);
    assert_int_equal(num_abs_f16(0xFE00, 0), 0x7FFF);
    assert_int_equal(num_neg_bf16(0x7FC0), 0x7FFF);
    assert_int_equal(num_neg_f16(0x0001, NUM_FTZ), 0x8000);
    assert_int_equal(num_min_f16(0x0000, 0x8000, 0), 0x8000);
    assert_int_equal(num_max_f16(0x7E00, 0xC000, 0), 0xC000);
    assert_int_equal(num_max_f16(0x7E00, 0xC000, NUM_NAN), 0x7FFF);
    assert_int_equal(num_min_f16(0xC725, 0xFD23, NUM_XORSIGN), 0x4725); // a NaN's sign counts
    assert_int_equal(num_max_bf16(0xBF80, 0x3F00, NUM_XORSIGN), 0xBF80);
    assert_true(num_compare_f16(NUM_CMP_EQ, 0x0001, 0x8000, NUM_FTZ));
    assert_true(num_compare_f16(NUM_CMP_LTU, 0x7E00, 0, 0));
    assert_true(num_compare_bf16(NUM_CMP_GT, 0x4000, 0x3F80));
    assert_int_equal(num_add_f16x2(0x3C00C000u, 0x3C003C00u, 0), 0x4000BC00u);
    assert_int_equal(num_fma_bf16x2(0x3F804000u, 0x40004000u, 0x00003F80u, 0), 0x400040A0u);
    assert_int_equal(num_neg_f16x2(0x3C00FE00u, 0), 0xBC007FFFu);
    assert_int_equal(num_abs_bf16x2(0xBF808000u), 0x3F800000u);
}

#ifdef __x86_64__
// Any bits, or bits near those of a special value.
static uint16_t any_half(uint64_t *state)
{
    static const uint16_t edges[] = {0, 0x0400, 0x3C00, 0x7C00, 0x1400, 0x7BFF, 0x0200, 0x6400};
    const uint64_t bits = test_random(state);
    const uint16_t near = (uint16_t)(edges[bits % 8] + (bits >> 8) % 7 - 3);
    return (uint16_t)(bits >> 60 & 1 ? bits >> 16 : near ^ (bits >> 48 & 0x8000));
}

static void rows_are_computed_as_single_values_are(void **unused)
{
    (void)unused;
    uint64_t state = 11;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c"))
        skip();
    for (int round = 0; round < 20000; round++) {
        uint32_t a[NUM_HALF_ROW], b[NUM_HALF_ROW], c[NUM_HALF_ROW], out[NUM_HALF_ROW];
        const uint32_t flip_a = round & 1 ? 0x80008000u : 0, flip_c = round & 2 ? 0x80008000u : 0;
        const enum num_half_op op = (enum num_half_op)(round / 4 % 4);
        for (int i = 0; i < NUM_HALF_ROW; i++) {
            a[i] = (uint32_t)any_half(&state) << 16 | any_half(&state);
            b[i] = (uint32_t)any_half(&state) << 16 | any_half(&state);
            c[i] = (uint32_t)any_half(&state) << 16 | any_half(&state);
        }
        num_half_row(op, out, a, b, c, flip_a, flip_c);
        for (int i = 0; i < NUM_HALF_ROW; i++) {
            const uint32_t left = a[i] ^ flip_a, third = c[i] ^ flip_c;
            const uint32_t expected = op == NUM_HALF_ADD   ? num_add_f16x2(left, b[i], 0)
                                      : op == NUM_HALF_SUB ? num_sub_f16x2(left, b[i], 0)
                                      : op == NUM_HALF_MUL ? num_mul_f16x2(left, b[i], 0)
                                                           : num_fma_f16x2(left, b[i], third, 0);
            if (out[i] != expected)
                fail_msg("operation %d of 0x%08x, 0x%08x, 0x%08x: 0x%08x instead of 0x%08x",
                         (int)op, left, b[i], third, out[i], expected);
        }
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_widen_exactly),
        cmocka_unit_test(narrowing_rounds_between_all_neighbours),
        cmocka_unit_test(narrowing_flags_change_the_ends),
        cmocka_unit_test(integers_and_halves_convert),
        cmocka_unit_test(tf32_rounds_to_ten_bits),
        cmocka_unit_test(small_formats_saturate_and_widen),
        cmocka_unit_test(ue8m0_holds_powers_of_two),
        cmocka_unit_test(arithmetic_rounds_once),
        cmocka_unit_test(bf16_products_may_underflow),
        cmocka_unit_test(flags_flush_saturate_and_clip),
#ifdef __x86_64__
        cmocka_unit_test(rows_are_computed_as_single_values_are),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
