// SPDX-License-Identifier: Apache-2.0
// Implements the conversions of cvt.h that are too rare or too long to be inline.
#include "cvt.h"

#include "soft.h"

static struct num_exact from_int(uint64_t value, bool is_signed)
{
    bool negative = is_signed && (int64_t)value < 0;
    return num_exact_from_int(negative ? -value : value, negative);
}

float num_f32_from_int_directed(uint64_t value, bool is_signed, enum num_round round)
{
    uint64_t bits = num_exact_round(from_int(value, is_signed), &num_format_f32, round, 0);
    return num_from_bits_f32((uint32_t)bits);
}

double num_f64_from_int_directed(uint64_t value, bool is_signed, enum num_round round)
{
    uint64_t bits = num_exact_round(from_int(value, is_signed), &num_format_f64, round, 0);
    return num_from_bits_f64(bits);
}

uint32_t num_pack(int32_t a, int32_t b, uint32_t c, unsigned to_bits, bool to_signed)
{
    uint32_t mask = (UINT32_C(1) << to_bits) - 1;
    uint64_t high = num_int_from_int((uint64_t)(int64_t)a, 64, true, to_bits, to_signed, true);
    uint64_t low = num_int_from_int((uint64_t)(int64_t)b, 64, true, to_bits, to_signed, true);
    uint32_t packed = ((uint32_t)high & mask) << to_bits | ((uint32_t)low & mask);
    return to_bits < 16 ? packed | c << 2 * to_bits : packed;
}
