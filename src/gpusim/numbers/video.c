// SPDX-License-Identifier: Apache-2.0
// Implements video.h. Intermediate results are wider than any input, so nothing overflows before
// saturation or the final truncation to 32 bits.
#include "video.h"

static int64_t extend(uint32_t value, unsigned bits, bool is_signed)
{
    uint32_t field = value << (32 - bits);
    return is_signed ? (int32_t)field >> (32 - bits) : (int64_t)(field >> (32 - bits));
}

static unsigned part_bits(enum num_part part)
{
    return part == NUM_PART_ALL ? 32 : part < NUM_PART_H0 ? 8 : 16;
}

static unsigned part_shift(enum num_part part)
{
    return part == NUM_PART_ALL ? 0
           : part < NUM_PART_H0 ? (part - NUM_PART_B0) * 8u
                                : (part - NUM_PART_H0) * 16u;
}

static int64_t select_part(uint32_t value, enum num_part part, bool is_signed)
{
    return extend(value >> part_shift(part), part_bits(part), is_signed);
}

static int64_t clamp(int64_t value, unsigned bits, bool is_signed)
{
    int64_t largest = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
    int64_t smallest = is_signed ? -largest - 1 : 0;
    return value > largest ? largest : value < smallest ? smallest : value;
}

static int64_t operate(const struct num_video *form, int64_t a, int64_t b)
{
    switch ((enum num_video_op)form->op) {
    case NUM_VADD: return a + b;
    case NUM_VSUB: return a - b;
    case NUM_VABSDIFF: return a < b ? b - a : a - b;
    case NUM_VMIN: return a < b ? a : b;
    case NUM_VMAX: return a > b ? a : b;
    case NUM_VAVRG: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case NUM_VSET: return num_compare_s64((enum num_cmp)form->cmp, a, b);
    case NUM_VSHL:
    case NUM_VSHR: break;
    }
    uint32_t wide = (uint32_t)b;
    uint32_t count = form->wrap ? wide & 31 : wide > 32 ? 32 : wide;
    return form->op == NUM_VSHL ? (int64_t)((uint64_t)a << count) : a >> count;
}

uint32_t num_video_scalar(const struct num_video *form, uint32_t a, uint32_t b, uint32_t c)
{
    bool shift = form->op == NUM_VSHL || form->op == NUM_VSHR;
    enum num_part part = (enum num_part)form->d;
    int64_t value = operate(form, select_part(a, (enum num_part)form->a, form->a_signed),
                            select_part(b, (enum num_part)form->b, form->b_signed && !shift));
    bool is_unsigned = !form->d_signed && !form->a_signed && !form->b_signed;
    // An H200 does not saturate the sum of unsigned words.
    if (form->saturate && !(form->op == NUM_VADD && is_unsigned && part == NUM_PART_ALL))
        value = clamp(value, part_bits(part), form->d_signed);
    // The PTX manual writes the low half of the result to .h1. An H200 writes the high half, at
    // least without saturation.
    if (part == NUM_PART_H1 && !form->saturate)
        return ((uint32_t)value & 0xFFFF0000u) | (c & 0xFFFFu);
    if (part != NUM_PART_ALL) {
        uint32_t mask = (part_bits(part) == 8 ? 0xFFu : 0xFFFFu) << part_shift(part);
        return ((uint32_t)value << part_shift(part) & mask) | (c & ~mask);
    }
    // Like an H200, a secondary operation treats a signed result as 32 bits. An unsigned sum or
    // difference is truncated to 32 bits, and counts as larger than any c if its highest bit is
    // set.
    bool is_signed = form->op == NUM_VSET ? form->a_signed && form->b_signed : form->d_signed;
    int64_t third = extend(c, 32, is_signed);
    if (form->d_signed && form->op != NUM_VABSDIFF)
        value = extend((uint32_t)value, 32, is_signed);
    if (is_unsigned && (form->op == NUM_VADD || form->op == NUM_VSUB))
        value = (int64_t)((uint64_t)(uint32_t)value | (value >> 31 & 1) << 32);
    switch ((enum num_video_second)form->second) {
    case NUM_SECOND_NONE: break;
    case NUM_SECOND_ADD: return (uint32_t)value + c;
    case NUM_SECOND_MIN: return (uint32_t)(value < third ? value : third);
    case NUM_SECOND_MAX: return (uint32_t)(value > third ? value : third);
    }
    return (uint32_t)value;
}

uint32_t num_video_lanes(const struct num_video *form, uint32_t a, uint32_t b, uint32_t c)
{
    unsigned bits = 32 / form->lanes;
    uint32_t ones = (UINT32_C(1) << bits) - 1;
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t sum = c;
    uint32_t merged = c;
    for (unsigned i = 0; i < form->lanes; i++) {
        if (!(form->mask >> i & 1))
            continue;
        uint32_t from_a = (uint32_t)(both >> (form->a_lanes >> 4 * i & 7) * bits);
        uint32_t from_b = (uint32_t)(both >> (form->b_lanes >> 4 * i & 7) * bits);
        int64_t value = operate(form, extend(from_a, bits, form->a_signed),
                                extend(from_b, bits, form->b_signed));
        if (form->saturate)
            value = clamp(value, bits, form->d_signed);
        sum += (uint32_t)value;
        merged = (merged & ~(ones << i * bits)) | ((uint32_t)value & ones) << i * bits;
    }
    return form->second == NUM_SECOND_ADD ? sum : merged;
}

uint32_t num_vmad(const struct num_vmad *form, uint32_t a, uint32_t b, uint32_t c)
{
    bool is_signed = form->a_signed || form->b_signed || form->negate_product || form->negate_c;
    // With scaling, the hardware treats all operands as signed.
    bool scaled = form->scale != 0;
    __int128 product = (__int128)select_part(a, (enum num_part)form->a, form->a_signed || scaled) *
                       select_part(b, (enum num_part)form->b, form->b_signed || scaled);
    __int128 third = extend(c, 32, is_signed || scaled);
    if (form->negate_product && !form->plus_one)
        product = -product;
    else if (form->negate_c && !form->plus_one)
        third = -third;
    __int128 sum = product + third + (form->plus_one ? 1 : 0);
    int64_t value = (int64_t)(sum >> form->scale);
    return (uint32_t)(form->saturate ? clamp(value, 32, is_signed) : value);
}
