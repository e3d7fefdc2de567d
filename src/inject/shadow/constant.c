// SPDX-License-Identifier: Apache-2.0
// Describes an object that holds one value: see constant.h. docs/reference/values.md defines the
// numbers.
#include "constant.h"

#include <string.h>

enum { MOST_BITS = 10 }; // that the first rounding keeps of a mantissa

// Of float types: bits of the mantissa and of the exponent; 0 for others.
static const struct type {
    uint8_t bytes, mantissa, exponent;
    bool is_signed;
} types[] = {
    [DEVICE_RAW] = {4, 0, 0, false},  [DEVICE_U8] = {1, 0, 0, false},
    [DEVICE_S8] = {1, 0, 0, true},    [DEVICE_U16] = {2, 0, 0, false},
    [DEVICE_S16] = {2, 0, 0, true},   [DEVICE_U32] = {4, 0, 0, false},
    [DEVICE_S32] = {4, 0, 0, true},   [DEVICE_U64] = {8, 0, 0, false},
    [DEVICE_S64] = {8, 0, 0, true},   [DEVICE_F16] = {2, 10, 5, true},
    [DEVICE_BF16] = {2, 7, 8, true},  [DEVICE_F32] = {4, 23, 8, true},
    [DEVICE_F64] = {8, 52, 11, true},
};

static uint64_t ones(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

// --- Values --------------------------------------------------------------------------------------

static double number_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static bool is_special(const struct type *type, uint64_t bits) // an infinity or a NaN
{
    return type->mantissa &&
           (bits >> type->mantissa & ones(type->exponent)) == ones(type->exponent);
}

static bool is_nan(const struct type *type, uint64_t bits)
{
    return is_special(type, bits) && bits & ones(type->mantissa);
}

static uint64_t sign_of(const struct type *type)
{
    return UINT64_C(1) << ((8 * type->bytes - 1) & 63);
}

static bool is_minus(const struct type *type, uint64_t bits)
{
    return type->is_signed && bits & sign_of(type);
}

// Returns the bits of the double that has the value; a NaN keeps its mantissa, as the upper bits.
static uint64_t widen(const struct type *type, uint64_t bits)
{
    const uint64_t bias = ones(type->exponent - 1u);
    const uint64_t exponent = bits >> type->mantissa & ones(type->exponent);
    const uint64_t mantissa = bits & ones(type->mantissa);
    const uint64_t sign = (uint64_t)is_minus(type, bits) << 63;
    const uint64_t placed = mantissa << (52 - type->mantissa);
    if (type->bytes == 8)
        return bits;
    if (is_special(type, bits))
        return sign | UINT64_C(2047) << 52 | placed;
    if (exponent)
        return sign | (exponent + 1023 - bias) << 52 | placed;
    const double unit = number_of((1024 - bias - type->mantissa) << 52);
    const double small = (double)mantissa * unit;
    uint64_t wide;
    memcpy(&wide, &small, sizeof(wide));
    return sign | wide;
}

static uint64_t value_of(const struct type *type, uint64_t bits)
{
    if (type->mantissa)
        return widen(type, bits);
    return is_minus(type, bits) ? bits | ~ones(8u * type->bytes) : bits;
}

// --- Types that hold the value -------------------------------------------------------------------

static bool is_whole(double number) // of at most 2^53 in magnitude
{
    const double magnitude = number < 0 ? -number : number;
    return magnitude <= 0x1p53 && (double)(int64_t)number == number;
}

static bool is_integral(const struct type *type, uint64_t bits)
{
    return type->mantissa && !is_special(type, bits) && bits != sign_of(type) &&
           is_whole(number_of(widen(type, bits)));
}

// Returns whether the next narrower float type holds the value bit for bit.
static bool is_narrow(uint32_t type, uint64_t bits)
{
    if (type != DEVICE_F64 && type != DEVICE_F32)
        return false;
    const unsigned dropped = type == DEVICE_F64 ? 52 - 23 : 23 - 10;
    if (bits & ones(dropped))
        return false;
    if (is_special(&types[type], bits))
        return true;
    const double number = number_of(widen(&types[type], bits));
    const double magnitude = number < 0 ? -number : number;
    // The narrower type has its greatest number, and a least unit of which all are multiples.
    return type == DEVICE_F64
               ? magnitude <= 0x1.fffffep127 && (double)(float)number == number
               : magnitude <= 65504 && (magnitude >= 0x1p-14 || is_whole(magnitude * 0x1p24));
}

// Rounds a float to a mantissa of so many bits, to the nearest, ties to even.
static uint64_t rounded(const struct type *type, uint64_t bits, int kept)
{
    const int drop = (int)type->mantissa - kept;
    if (drop <= 0 || is_special(type, bits))
        return bits;
    const uint64_t unit = UINT64_C(1) << drop, rest = bits & (unit - 1);
    const bool up = rest > unit / 2 || (rest == unit / 2 && bits & unit);
    return bits - rest + (up ? unit : 0);
}

// --- Fields --------------------------------------------------------------------------------------

uint32_t shadow_constant_word(const struct shadow_constant *constant)
{
    return constant->bytes == 1   ? (constant->value & 0xff) * 0x01010101u
           : constant->bytes == 2 ? (constant->value & 0xffff) * 0x00010001u
                                  : constant->value;
}

// Returns after how many bytes the pattern repeats: 1, 2 or 4.
static uint32_t period_of(const struct shadow_constant *constant)
{
    const uint32_t word = shadow_constant_word(constant);
    return word == (word & 0xff) * 0x01010101u ? 1 : word >> 16 == (word & 0xffff) ? 2 : 4;
}

bool shadow_constant_is_single(const struct shadow_constant *constant,
                               const struct device_values_job *job)
{
    return constant->bytes && job->stride % period_of(constant) == 0;
}

static uint64_t bits_at(const struct shadow_constant *constant, uint32_t offset, unsigned bytes)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < bytes; i++) {
        const uint64_t byte = constant->value >> 8 * ((offset + i) % constant->bytes) & 0xff;
        bits |= byte << 8 * i;
    }
    return bits;
}

static void describe(uint32_t number, uint64_t bits, uint64_t elements,
                     struct device_field_result *to)
{
    const struct type *type = &types[number];
    const uint64_t value = value_of(type, bits);
    const bool nan = is_nan(type, bits);
    const bool zero = !bits || (type->mantissa && bits == sign_of(type));
    memset(to, 0, sizeof(*to));
    if (!elements)
        return;
    to->elements = elements;
    to->zeros = zero ? elements : 0;
    to->nans = nan ? elements : 0;
    to->least = to->greatest = nan ? 0 : value;
    to->any_bits = to->all_bits = bits;
    to->integral = is_integral(type, bits) ? elements : 0;
    to->narrow = is_narrow(number, bits) ? elements : 0;
    to->brief = number == DEVICE_F32 && !(bits & 0xffff) ? elements : 0;
    to->distinct = 1;
    to->candidates[0].value = value;
    to->candidates[0].count = elements;
    for (int k = 0; type->mantissa && k < DEVICE_ROUNDINGS; k++) {
        to->roundings[k].value = widen(type, rounded(type, bits, MOST_BITS - k));
        to->roundings[k].count = elements;
    }
}

void shadow_constant_describe(const struct shadow_constant *constant,
                              const struct device_values_job *job,
                              struct device_field_result *fields)
{
    const uint64_t bytes = job->end - job->first;
    for (uint32_t i = 0; i < job->field_count; i++) {
        const uint32_t offset = job->fields[i].offset, type = job->fields[i].type;
        const uint64_t end = (uint64_t)offset + types[type].bytes; // of the first element
        describe(type, bits_at(constant, offset, types[type].bytes),
                 bytes < end ? 0 : (bytes - end) / job->stride + 1, &fields[i]);
    }
}
