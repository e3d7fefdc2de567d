// SPDX-License-Identifier: Apache-2.0
// Conversions between integers, f32 and f64, compared with 128-bit integers and the host's
// roundings.
#include "gpusim/numbers/cvt.h"

#include <math.h>

#include "numbers_testing.h"

enum { ROUNDS = 100000 };

static const unsigned widths[] = {8, 16, 32, 64};

static __int128 largest(unsigned bits, bool is_signed)
{
    return ((__int128)1 << (is_signed ? bits - 1 : bits)) - 1;
}

static __int128 smallest(unsigned bits, bool is_signed)
{
    return is_signed ? -((__int128)1 << (bits - 1)) : 0;
}

static __int128 clamp(__int128 value, unsigned bits, bool is_signed)
{
    return value > largest(bits, is_signed)    ? largest(bits, is_signed)
           : value < smallest(bits, is_signed) ? smallest(bits, is_signed)
                                               : value;
}

// Returns the value that the bits of a type represent.
static __int128 meaning(uint64_t value, unsigned bits, bool is_signed)
{
    __int128 low = bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
    return is_signed && low > largest(bits, true) ? low - ((__int128)1 << bits) : low;
}

// --- Integer to integer --------------------------------------------------------------------------

static void integers_keep_low_bits_or_saturate(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t value = test_random(&seed) >> (test_random(&seed) & 63);
        if (test_random(&seed) & 1)
            value = (UINT64_C(1) << (value & 63)) + test_random(&seed) % 5 - 2;
        unsigned from = widths[test_random(&seed) & 3], to = widths[test_random(&seed) & 3];
        for (unsigned signs = 0; signs < 4; signs++) {
            bool from_signed = signs & 1, to_signed = signs >> 1;
            __int128 number = meaning(value, from, from_signed);
            uint64_t cut = num_int_from_int(value, from, from_signed, to, to_signed, false);
            uint64_t near = num_int_from_int(value, from, from_signed, to, to_signed, true);
            assert_int_equal(cut, (uint64_t)meaning((uint64_t)number, to, to_signed));
            assert_int_equal(near, (uint64_t)clamp(number, to, to_signed));
        }
    }
}

static void packing_clamps_both_and_keeps_c(void **state)
{
    (void)state;
    assert_int_equal(num_pack(70000, -70000, 0, 16, true), 0x7FFF8000u);
    assert_int_equal(num_pack(70000, -70000, 0, 16, false), 0xFFFF0000u);
    assert_int_equal(num_pack(-1, 200, 0xABCD1234u, 8, true), 0x1234FF7Fu);
    assert_int_equal(num_pack(-1, 200, 0xABCD1234u, 8, false), 0x123400C8u);
    assert_int_equal(num_pack(-9, 5, 0x12345678u, 4, true), 0x34567885u);
    assert_int_equal(num_pack(3, -3, 0x12345678u, 2, true), 0x23456786u);
    assert_int_equal(num_pack(3, -3, 0x12345678u, 2, false), 0x2345678Cu);
}

// --- Floating point to integer -------------------------------------------------------------------

// Computes with integers, to be independent of the host's floating point. a is finite.
static __int128 rounded(double a, enum num_round round)
{
    uint64_t bits = num_bits_f64(a);
    bool negative = bits >> 63;
    int exponent = (int)(bits >> 52 & 2047);
    unsigned __int128 magnitude = bits & 0x000FFFFFFFFFFFFFu;
    magnitude |= exponent ? UINT64_C(1) << 52 : 0;
    int shift = (exponent ? exponent : 1) - 1075;
    if (shift > 60)
        shift = 60; // larger than every integer anyway
    if (shift >= 0) {
        magnitude <<= shift;
        return negative ? -(__int128)magnitude : (__int128)magnitude;
    }
    shift = shift < -100 ? -100 : shift;
    unsigned __int128 kept = magnitude >> -shift, lost = magnitude - (kept << -shift);
    unsigned __int128 half = (unsigned __int128)1 << (-shift - 1);
    bool up = round == NUM_RN   ? lost > half || (lost == half && (kept & 1))
              : round == NUM_RM ? lost && negative
              : round == NUM_RP ? lost && !negative
                                : false;
    kept += up;
    return negative ? -(__int128)kept : (__int128)kept;
}

// A number that an integer type can hold, just cannot hold, or by far cannot hold.
static double random_number(uint64_t *seed)
{
    static const double edges[] = {128,    255,    256,    32768, 65536, 0x1p31,
                                   0x1p32, 0x1p63, 0x1p64, 0.5,   1.5,   2.5};
    uint64_t bits = test_random(seed);
    double edge = edges[bits % 12] * (bits >> 32 & 1 ? -1 : 1);
    switch (bits >> 62) {
    case 0: return edge + (double)(int)(bits >> 40 & 7) * 0.25 - 1;
    case 1: return num_from_bits_f64(num_bits_f64(edge) + (bits >> 40 & 7) - 3);
    case 2: return test_random_f64(seed);
    default: return ldexp((double)(int64_t)test_random(seed), -(int)(bits & 63));
    }
}

static void numbers_round_and_clamp_to_integers(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < ROUNDS; i++) {
        double a = random_number(&seed);
        float narrow = (float)a;
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            for (unsigned type = 0; type < 8; type++) {
                unsigned bits = widths[type / 2];
                bool is_signed = type & 1;
                if (isfinite(a))
                    assert_int_equal(num_int_from_f64(a, bits, is_signed, round),
                                     (uint64_t)clamp(rounded(a, round), bits, is_signed));
                if (isfinite(narrow))
                    assert_int_equal(num_int_from_f32(narrow, bits, is_signed, round, 0),
                                     (uint64_t)clamp(rounded(narrow, round), bits, is_signed));
            }
            assert_int_equal((uint64_t)(int64_t)num_s32_from_f32(narrow, round, 0),
                             num_int_from_f32(narrow, 32, true, round, 0));
            assert_int_equal(num_u32_from_f32(narrow, round, 0),
                             num_int_from_f32(narrow, 32, false, round, 0));
        }
    }
}

// 0, or only the highest bit set if f64 or 64-bit integers are involved.
static void nan_and_infinities_have_their_integers(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 8; type++) {
        unsigned bits = widths[type / 2];
        bool is_signed = type & 1;
        uint64_t top = num_extend(UINT64_C(1) << (bits - 1), bits, is_signed);
        assert_int_equal(num_int_from_f32(NAN, bits, is_signed, NUM_RZ, 0), bits == 64 ? top : 0);
        assert_int_equal(num_int_from_f64(NAN, bits, is_signed, NUM_RZ), top);
        assert_int_equal(num_int_from_f32(INFINITY, bits, is_signed, NUM_RN, 0),
                         (uint64_t)largest(bits, is_signed));
        assert_int_equal(num_int_from_f64(-INFINITY, bits, is_signed, NUM_RN),
                         (uint64_t)smallest(bits, is_signed));
    }
    assert_int_equal(num_s32_from_f32(NAN, NUM_RZ, 0), 0);
    assert_int_equal(num_u32_from_f32(NAN, NUM_RZ, 0), 0);
    assert_int_equal(num_s32_from_f32(0x1p-130f, NUM_RP, 0), 1);
    assert_int_equal(num_s32_from_f32(0x1p-130f, NUM_RP, NUM_FTZ), 0);
    assert_int_equal(num_int_from_f32(-0x1p-130f, 64, true, NUM_RM, 0), UINT64_MAX);
    assert_int_equal(num_int_from_f32(-0x1p-130f, 64, true, NUM_RM, NUM_FTZ), 0);
}

// --- To floating point ---------------------------------------------------------------------------

static void integers_become_numbers_as_on_the_host(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < ROUNDS; i++) {
        volatile uint64_t value = test_random(&seed) >> (test_random(&seed) & 63);
        if (test_random(&seed) & 1)
            value = -value;
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            volatile float f32_signed, f32_unsigned;
            volatile double f64_signed, f64_unsigned;
            test_round(round);
            f32_signed = (float)(int64_t)value;
            f32_unsigned = (float)value;
            f64_signed = (double)(int64_t)value;
            f64_unsigned = (double)value;
            test_round_default();
            test_same_f32(num_f32_from_int(value, true, round, 0), f32_signed);
            test_same_f32(num_f32_from_int(value, false, round, 0), f32_unsigned);
            assert_true(num_f64_from_int(value, true, round, 0) == f64_signed);
            assert_true(num_f64_from_int(value, false, round, 0) == f64_unsigned);
        }
    }
    test_same_f32(num_f32_from_int(7, false, NUM_RN, NUM_SAT), 1);
    test_same_f32(num_f32_from_int((uint64_t)-7, true, NUM_RN, NUM_SAT), 0);
    assert_true(num_f64_from_int(7, true, NUM_RZ, NUM_SAT) == 1);
}

static void f64_narrows_as_on_the_host(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < ROUNDS; i++) {
        double wide = test_random_f64(&seed);
        if (test_random(&seed) & 1)
            wide =
                (double)test_random_f32(&seed) * (1 + (double)(test_random(&seed) & 15) * 0x1p-27);
        volatile double a = wide;
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            volatile float narrow;
            test_round(round);
            narrow = (float)a;
            test_round_default();
            if (wide == wide)
                test_same_f32(num_f32_from_f64(wide, round, 0), narrow);
        }
    }
    // As on an H200: values that 24 bits with an unlimited exponent can represent are flushed.
    double below = num_from_bits_f64(0x380FFFFFE0000000),
           far_below = num_from_bits_f64(0x380FFFFFFFFFFFFF);
    assert_int_equal(num_bits_f32(num_f32_from_f64(below, NUM_RN, NUM_FTZ)), 0);
    assert_int_equal(num_bits_f32(num_f32_from_f64(far_below, NUM_RN, NUM_FTZ)), 0x00800000);
    assert_int_equal(num_bits_f32(num_f32_from_f64(-2, NUM_RN, NUM_SAT)), 0);
    assert_int_equal(num_bits_f32(num_f32_from_f64(NAN, NUM_RN, NUM_SAT)), 0);
}

static void nans_keep_sign_and_payload(void **state)
{
    (void)state;
    double wide = num_from_bits_f64(0xFFF4123456789ABC);
    float narrow = num_from_bits_f32(0xFFA12345);
    assert_int_equal(num_bits_f32(num_f32_from_f64(wide, NUM_RN, 0)), 0xFFE091A2u);
    assert_int_equal(num_bits_f64(num_f64_from_f32(narrow, 0)), 0xFFFC2468A0000000u);
    assert_int_equal(num_bits_f64(num_f64_from_f32(narrow, NUM_FTZ)), 0x7FFFFFFFE0000000u);
    assert_int_equal(num_bits_f64(num_f64_from_f32(narrow, NUM_SAT)), 0);
    assert_int_equal(num_bits_f32(num_f32_from_f32(narrow, 0)), 0xFFA12345u);
    assert_int_equal(num_bits_f32(num_f32_from_f32(narrow, NUM_FTZ)), NUM_NAN_BITS_F32);
    assert_int_equal(num_bits_f64(num_f64_from_f64(wide, 0)), 0xFFF4123456789ABCu);
    assert_int_equal(num_bits_f64(num_rint_f64(wide, NUM_RM, 0)), 0xFFFC123456789ABCu);
    assert_int_equal(num_bits_f32(num_rint_f32(narrow, NUM_RM, 0)), NUM_NAN_BITS_F32);
}

static void integral_values_round_as_on_the_host(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < ROUNDS; i++) {
        volatile double a = random_number(&seed);
        volatile float b = (float)a;
        for (enum num_round round = NUM_RN; round <= NUM_RP; round++) {
            volatile double wide;
            volatile float narrow;
            test_round(round);
            wide = nearbyint(a);
            narrow = nearbyintf(b);
            test_round_default();
            if (wide == wide)
                assert_int_equal(num_bits_f64(num_rint_f64(a, round, 0)), num_bits_f64(wide));
            test_same_f32(num_rint_f32(b, round, 0), narrow);
        }
    }
    test_same_f32(num_rint_f32(-0x1p-130f, NUM_RM, 0), -1);
    test_same_f32(num_rint_f32(-0x1p-130f, NUM_RM, NUM_FTZ), -0.0f);
    test_same_f32(num_rint_f32(7.5f, NUM_RZ, NUM_SAT), 1);
    test_same_f32(num_f32_from_f32(-3, NUM_SAT), 0);
    test_same_f32(num_f32_from_f32(0x1p-130f, NUM_FTZ), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_keep_low_bits_or_saturate),
        cmocka_unit_test(packing_clamps_both_and_keeps_c),
        cmocka_unit_test(numbers_round_and_clamp_to_integers),
        cmocka_unit_test(nan_and_infinities_have_their_integers),
        cmocka_unit_test(integers_become_numbers_as_on_the_host),
        cmocka_unit_test(f64_narrows_as_on_the_host),
        cmocka_unit_test(nans_keep_sign_and_payload),
        cmocka_unit_test(integral_values_round_as_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
