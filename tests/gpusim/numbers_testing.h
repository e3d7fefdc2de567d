// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of src/gpusim/numbers: cmocka, random numbers that are the same on every
// machine, random operands near the limits of their formats, and the host's rounding modes.
#ifndef GLINT_TESTS_GPUSIM_NUMBERS_TESTING_H
#define GLINT_TESTS_GPUSIM_NUMBERS_TESTING_H

#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpusim/numbers/numbers.h"

// splitmix64; the initial state is the seed.
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

// Any bits, bits near a special value, or a number within 2^-6 to 2^6.
static inline float test_random_f32(uint64_t *state)
{
    static const uint32_t edges[] = {0x00000000, 0x00400000, 0x00800000, 0x3F800000, 0x3F000000,
                                     0x7F800000, 0x7F000000, 0x4B800000, 0x1F800000, 0x20000000};
    uint64_t bits = test_random(state);
    uint32_t sign = (uint32_t)(bits >> 63) << 31;
    uint32_t pick = (uint32_t)(bits >> 32);
    switch (bits >> 60 & 3) {
    case 0: return num_from_bits_f32(pick);
    case 1: return num_from_bits_f32((edges[pick % 10] + (uint32_t)(bits % 7) - 3) ^ sign);
    default: return num_from_bits_f32((0x3F800000u - (6u << 23) + pick % (12u << 23)) | sign);
    }
}

static inline double test_random_f64(uint64_t *state)
{
    static const uint64_t edges[] = {0,
                                     0x0008000000000000,
                                     0x0010000000000000,
                                     0x3FF0000000000000,
                                     0x3FE0000000000000,
                                     0x7FF0000000000000,
                                     0x7FE0000000000000,
                                     0x1FF0000000000000,
                                     0x2000000000000000};
    uint64_t bits = test_random(state);
    uint64_t sign = test_random(state) << 63;
    switch (test_random(state) & 3) {
    case 0: return num_from_bits_f64(bits);
    case 1: return num_from_bits_f64((edges[bits % 9] + bits % 7 - 3) ^ sign);
    default:
        return num_from_bits_f64((bits & 0x000FFFFFFFFFFFFFu) | (1023 - 6 + bits % 13) << 52 |
                                 sign);
    }
}

// Sets the host's rounding mode. The caller must call test_round_default() afterwards.
static inline void test_round(enum num_round round)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    assert_int_equal(fesetround(modes[round]), 0);
}

static inline void test_round_default(void)
{
    assert_int_equal(fesetround(FE_TONEAREST), 0);
}

// Both values have the same bits, or both are NaN and the actual one has the required bits.
static inline void test_same_f32(float actual, float expected)
{
    uint32_t wanted = expected != expected ? NUM_NAN_BITS_F32 : num_bits_f32(expected);
    assert_int_equal(num_bits_f32(actual), wanted);
}

#endif
