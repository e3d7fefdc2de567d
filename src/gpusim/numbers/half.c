// SPDX-License-Identifier: Apache-2.0
// Implements the conversions of half.h that no hot loop needs. They use soft.h, except for tf32
// NaNs and ue8m0, which need special handling.
#include "half.h"

#include "soft.h"

// --- f16 and bf16 --------------------------------------------------------------------------------

uint16_t num_f16_from_f32_soft(float a, enum num_round round, unsigned flags)
{
    return (uint16_t)num_exact_convert(num_bits_f32(a), &num_format_f32, &num_format_f16, round,
                                       flags);
}

uint16_t num_bf16_from_f32_soft(float a, enum num_round round, unsigned flags)
{
    return (uint16_t)num_exact_convert(num_bits_f32(a), &num_format_f32, &num_format_bf16, round,
                                       flags);
}

double num_f64_from_f16(uint16_t a)
{
    uint64_t nan =
        (uint64_t)(a & 0x8000u) << 48 | 0x7FF8000000000000u | (uint64_t)(a & 0x01FFu) << 42;
    return (a & 0x7FFFu) > 0x7C00u ? num_from_bits_f64(nan) : num_f32_from_f16(a);
}

double num_f64_from_bf16(uint16_t a)
{
    return num_f64_from_f32(num_f32_from_bf16(a), 0);
}

uint16_t num_f16_from_f64(double a, enum num_round round, unsigned flags)
{
    uint64_t bits = num_bits_f64(a);
    if (a != a && !flags)
        return (uint16_t)((bits >> 48 & 0x8000u) | 0x7E00u | (bits >> 42 & 0x01FFu));
    return (uint16_t)num_exact_convert(bits, &num_format_f64, &num_format_f16, round, flags);
}

uint16_t num_bf16_from_f64(double a, enum num_round round, unsigned flags)
{
    uint64_t bits = num_bits_f64(a);
    if (a != a && !flags)
        return (uint16_t)((bits >> 48 & 0x8000u) | 0x7FC0u | (bits >> 45 & 0x003Fu));
    return (uint16_t)num_exact_convert(bits, &num_format_f64, &num_format_bf16, round, flags);
}

uint16_t num_f16_from_bf16(uint16_t a, enum num_round round, unsigned flags)
{
    return (uint16_t)num_exact_convert(a, &num_format_bf16, &num_format_f16, round, flags);
}

uint16_t num_bf16_from_f16(uint16_t a, enum num_round round, unsigned flags)
{
    return (uint16_t)num_exact_convert(a, &num_format_f16, &num_format_bf16, round, flags);
}

static struct num_exact from_int(uint64_t value, bool is_signed)
{
    bool negative = is_signed && (int64_t)value < 0;
    return num_exact_from_int(negative ? -value : value, negative);
}

uint16_t num_f16_from_int(uint64_t value, bool is_signed, enum num_round round, unsigned flags)
{
    return (uint16_t)num_exact_round(from_int(value, is_signed), &num_format_f16, round, flags);
}

uint16_t num_bf16_from_int(uint64_t value, bool is_signed, enum num_round round, unsigned flags)
{
    return (uint16_t)num_exact_round(from_int(value, is_signed), &num_format_bf16, round, flags);
}

// --- tf32 ----------------------------------------------------------------------------------------

uint32_t num_tf32_from_f32(float a, enum num_round round, unsigned flags)
{
    if (a != a)
        return (round == NUM_RNA ? num_bits_f32(a) : NUM_NAN_BITS_F32) & 0xFFFFE000u;
    return (uint32_t)num_exact_convert(num_bits_f32(a), &num_format_f32, &num_format_tf32, round,
                                       flags)
           << 13;
}

// --- Eight bits and fewer ------------------------------------------------------------------------

static const struct num_format *small_format(enum num_small format)
{
    switch (format) {
    case NUM_E4M3: return &num_format_e4m3;
    case NUM_E5M2: return &num_format_e5m2;
    case NUM_E3M2: return &num_format_e3m2;
    case NUM_E2M3: return &num_format_e2m3;
    case NUM_E2M1: break;
    }
    return &num_format_e2m1;
}

uint8_t num_small_from_f32(enum num_small format, float a, unsigned flags)
{
    return (uint8_t)num_exact_convert(num_bits_f32(a), &num_format_f32, small_format(format),
                                      NUM_RN, (flags & NUM_RELU) | NUM_FINITE);
}

uint8_t num_small_from_f16(enum num_small format, uint16_t a, unsigned flags)
{
    return (uint8_t)num_exact_convert(a, &num_format_f16, small_format(format), NUM_RN,
                                      (flags & NUM_RELU) | NUM_FINITE);
}

uint16_t num_f16_from_small(enum num_small format, uint8_t a, unsigned flags)
{
    return (uint16_t)num_exact_convert(a, small_format(format), &num_format_f16, NUM_RN,
                                       flags & NUM_RELU);
}

static unsigned small_shift(enum num_small format)
{
    return format == NUM_E2M1 ? 4 : 8;
}

uint16_t num_small_x2_from_f32(enum num_small format, float a, float b, unsigned flags)
{
    return (uint16_t)(num_small_from_f32(format, a, flags) << small_shift(format) |
                      num_small_from_f32(format, b, flags));
}

uint16_t num_small_x2_from_f16x2(enum num_small format, uint32_t a, unsigned flags)
{
    return (uint16_t)(num_small_from_f16(format, (uint16_t)(a >> 16), flags)
                          << small_shift(format) |
                      num_small_from_f16(format, (uint16_t)a, flags));
}

uint32_t num_f16x2_from_small_x2(enum num_small format, uint16_t a, unsigned flags)
{
    unsigned shift = small_shift(format);
    uint8_t low = (uint8_t)(a & ((1u << shift) - 1));
    return (uint32_t)num_f16_from_small(format, (uint8_t)(a >> shift), flags) << 16 |
           num_f16_from_small(format, low, flags);
}

uint8_t num_ue8m0_from_f32(float a, enum num_round round, unsigned flags)
{
    uint32_t magnitude = num_bits_f32(a) & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return 0xFF;
    uint32_t exponent = magnitude >> 23;
    if (round == NUM_RP) // a subnormal above 2^-127 rounds up to 2^-126
        exponent += exponent ? (magnitude & 0x7FFFFFu) != 0 : magnitude > 0x400000u;
    if (exponent > 0xFE)
        return flags & NUM_FINITE ? 0xFE : 0xFF;
    return (uint8_t)exponent;
}

uint16_t num_bf16_from_ue8m0(uint8_t a)
{
    if (a == 0xFF)
        return NUM_NAN_BITS_H16;
    return a ? (uint16_t)(a << 7) : 0x0040; // 2^-127 is subnormal
}
