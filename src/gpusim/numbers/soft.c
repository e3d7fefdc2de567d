// SPDX-License-Identifier: Apache-2.0
// Implements soft.h, and the directed roundings of f64, which need it.
#include "soft.h"

#include <math.h>

const struct num_format num_format_f64 = {
    11, 52, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, NUM_NAN_BITS_F64, true};
const struct num_format num_format_f32 = {8, 23, 0x7F7FFFFF, 0x7F800000, NUM_NAN_BITS_F32, true};
const struct num_format num_format_bf16 = {8, 7, 0x7F7F, 0x7F80, NUM_NAN_BITS_H16, true};
const struct num_format num_format_f16 = {5, 10, 0x7BFF, 0x7C00, NUM_NAN_BITS_H16, true};
const struct num_format num_format_tf32 = {8, 10, 0x3FBFF, 0x3FC00, 0x3FFFF, true};
const struct num_format num_format_e5m2 = {5, 2, 0x7B, 0x7C, 0x7F, true};
const struct num_format num_format_e4m3 = {4, 3, 0x7E, 0x7F, 0x7F, false};
const struct num_format num_format_e3m2 = {3, 2, 0x1F, 0x1F, 0x1F, false};
const struct num_format num_format_e2m3 = {2, 3, 0x1F, 0x1F, 0x1F, false};
const struct num_format num_format_e2m1 = {2, 1, 0x7, 0x7, 0x7, false};

// --- Taking apart --------------------------------------------------------------------------------

static int top_bit(unsigned __int128 value)
{
    uint64_t high = (uint64_t)(value >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)value);
}

struct num_exact num_exact_from(uint64_t bits, const struct num_format *format)
{
    unsigned fraction_bits = format->fraction_bits;
    uint64_t magnitude = bits & ((UINT64_C(1) << (format->exponent_bits + fraction_bits)) - 1);
    uint64_t fraction = magnitude & ((UINT64_C(1) << fraction_bits) - 1);
    int32_t exponent = (int32_t)(magnitude >> fraction_bits);
    struct num_exact value = {.negative = bits >> (format->exponent_bits + fraction_bits) & 1};
    if (magnitude > format->largest) {
        bool infinite = format->has_infinity && magnitude == format->overflow;
        value.kind = infinite ? NUM_KIND_INFINITE : NUM_KIND_NAN;
        return value;
    }
    if (magnitude == 0)
        return value;
    int32_t bias = (1 << (format->exponent_bits - 1)) - 1;
    value.kind = NUM_KIND_FINITE;
    value.magnitude = exponent ? fraction | UINT64_C(1) << fraction_bits : fraction;
    value.exponent = (exponent ? exponent : 1) - bias - (int32_t)fraction_bits;
    return value;
}

struct num_exact num_exact_from_int(uint64_t magnitude, bool negative)
{
    return (struct num_exact){.magnitude = magnitude,
                              .kind = magnitude ? NUM_KIND_FINITE : NUM_KIND_ZERO,
                              .negative = magnitude && negative};
}

// --- Arithmetic ----------------------------------------------------------------------------------

static struct num_exact special(enum num_kind kind, bool negative)
{
    return (struct num_exact){.kind = (uint8_t)kind, .negative = negative};
}

// Returns value >> count. The lowest bit is also set if any bit was lost.
static unsigned __int128 shift_sticky(unsigned __int128 value, int32_t count)
{
    if (count <= 0)
        return value;
    if (count > 127)
        return value != 0;
    unsigned __int128 kept = value >> count;
    return kept | (kept << count != value);
}

// Moves the top bit of the magnitude to bit 125, which leaves room for a carry and keeps the most
// low bits.
static struct num_exact raised(struct num_exact value)
{
    int shift = 125 - top_bit(value.magnitude);
    value.magnitude = shift >= 0 ? value.magnitude << shift : shift_sticky(value.magnitude, -shift);
    value.exponent -= shift;
    return value;
}

struct num_exact num_exact_add(struct num_exact a, struct num_exact b, bool minus_zero)
{
    if (a.kind == NUM_KIND_NAN || b.kind == NUM_KIND_NAN)
        return special(NUM_KIND_NAN, false);
    if (a.kind == NUM_KIND_INFINITE || b.kind == NUM_KIND_INFINITE) {
        if (a.kind == b.kind && a.negative != b.negative)
            return special(NUM_KIND_NAN, false);
        return a.kind == NUM_KIND_INFINITE ? a : b;
    }
    if (a.kind == NUM_KIND_ZERO && b.kind == NUM_KIND_ZERO)
        return special(NUM_KIND_ZERO, a.negative == b.negative ? a.negative : minus_zero);
    if (a.kind == NUM_KIND_ZERO)
        return b;
    if (b.kind == NUM_KIND_ZERO)
        return a;
    a = raised(a);
    b = raised(b);
    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.magnitude < b.magnitude)) {
        struct num_exact swap = a;
        a = b;
        b = swap;
    }
    // The sticky bit also holds for a difference: b is rounded to odd, and subtracting an odd b
    // leaves an odd difference.
    unsigned __int128 small = shift_sticky(b.magnitude, a.exponent - b.exponent);
    a.magnitude = a.negative == b.negative ? a.magnitude + small : a.magnitude - small;
    return a.magnitude ? a : special(NUM_KIND_ZERO, minus_zero);
}

struct num_exact num_exact_mul(struct num_exact a, struct num_exact b)
{
    bool negative = a.negative != b.negative;
    if (a.kind == NUM_KIND_NAN || b.kind == NUM_KIND_NAN)
        return special(NUM_KIND_NAN, false);
    if (a.kind == NUM_KIND_INFINITE || b.kind == NUM_KIND_INFINITE) {
        bool none = a.kind == NUM_KIND_ZERO || b.kind == NUM_KIND_ZERO;
        return special(none ? NUM_KIND_NAN : NUM_KIND_INFINITE, negative);
    }
    if (a.kind == NUM_KIND_ZERO || b.kind == NUM_KIND_ZERO)
        return special(NUM_KIND_ZERO, negative);
    a.negative = negative;
    a.magnitude *= b.magnitude;
    a.exponent += b.exponent;
    return a;
}

struct num_exact num_exact_div(struct num_exact a, struct num_exact b)
{
    bool negative = a.negative != b.negative;
    if (a.kind == NUM_KIND_NAN || b.kind == NUM_KIND_NAN ||
        (a.kind == b.kind && (a.kind == NUM_KIND_ZERO || a.kind == NUM_KIND_INFINITE)))
        return special(NUM_KIND_NAN, false);
    if (a.kind == NUM_KIND_INFINITE || b.kind == NUM_KIND_ZERO)
        return special(NUM_KIND_INFINITE, negative);
    if (a.kind == NUM_KIND_ZERO || b.kind == NUM_KIND_INFINITE)
        return special(NUM_KIND_ZERO, negative);
    a = raised(a);
    unsigned __int128 quotient = a.magnitude / b.magnitude;
    quotient |= quotient * b.magnitude != a.magnitude;
    return (struct num_exact){quotient, a.exponent - b.exponent, NUM_KIND_FINITE, negative};
}

struct num_exact num_exact_sqrt(struct num_exact a)
{
    if (a.kind == NUM_KIND_NAN || a.kind == NUM_KIND_ZERO)
        return a;
    if (a.negative)
        return special(NUM_KIND_NAN, false);
    if (a.kind == NUM_KIND_INFINITE)
        return a;
    a = raised(a);
    if (a.exponent & 1) {
        a.magnitude <<= 1;
        a.exponent--;
    }
    uint64_t root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t trial = root | UINT64_C(1) << bit;
        if ((unsigned __int128)trial * trial <= a.magnitude)
            root = trial;
    }
    bool exact = (unsigned __int128)root * root == a.magnitude;
    return (struct num_exact){root | !exact, a.exponent / 2, NUM_KIND_FINITE, false};
}

// --- Rounding ------------------------------------------------------------------------------------

static bool rounds_up(unsigned __int128 kept, unsigned __int128 lost, unsigned __int128 half,
                      enum num_round round, bool negative)
{
    switch (round) {
    case NUM_RN: return lost > half || (lost == half && (kept & 1));
    case NUM_RNA: return lost >= half;
    case NUM_RM: return lost && negative;
    case NUM_RP: return lost && !negative;
    case NUM_RZ: break;
    }
    return false;
}

static uint64_t round_finite(struct num_exact value, const struct num_format *format,
                             enum num_round round, unsigned flags)
{
    int32_t fraction_bits = format->fraction_bits;
    int32_t bias = (1 << (format->exponent_bits - 1)) - 1;
    int32_t exponent = value.exponent + top_bit(value.magnitude);
    bool subnormal = exponent < 1 - bias;
    int32_t unit = (subnormal ? 1 - bias : exponent) - fraction_bits; // of the last kept bit
    // With at most 101 bits, a shift by more than 126 loses less than half a unit.
    int32_t excess = top_bit(value.magnitude) > 100 ? top_bit(value.magnitude) - 100 : 0;
    value.magnitude = shift_sticky(value.magnitude, excess);
    int32_t shift = unit - (value.exponent + excess);
    unsigned __int128 kept = 0;
    if (shift <= 0) {
        kept = value.magnitude << -shift;
    } else if (shift > 126) {
        kept = rounds_up(0, 1, 2, round, value.negative);
    } else {
        kept = value.magnitude >> shift;
        unsigned __int128 lost = value.magnitude - (kept << shift);
        unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
        kept += rounds_up(kept, lost, half, round, value.negative);
    }
    uint64_t bits = (uint64_t)kept;
    if (!subnormal) {
        int32_t biased = exponent + bias;
        if (biased >= 1 << format->exponent_bits)
            bits = format->largest + 1;
        else // a carry out of the fraction increments the exponent
            bits = ((uint64_t)biased << fraction_bits) + (bits - (UINT64_C(1) << fraction_bits));
    }
    if (bits <= format->largest)
        return bits;
    bool outward = round == NUM_RN || round == NUM_RNA || (round == NUM_RM && value.negative) ||
                   (round == NUM_RP && !value.negative);
    return outward && !(flags & NUM_FINITE) ? format->overflow : format->largest;
}

static uint64_t one_of(const struct num_format *format)
{
    return ((UINT64_C(1) << (format->exponent_bits - 1)) - 1) << format->fraction_bits;
}

uint64_t num_exact_round(struct num_exact value, const struct num_format *format,
                         enum num_round round, unsigned flags)
{
    uint64_t magnitude = 0;
    switch ((enum num_kind)value.kind) {
    case NUM_KIND_NAN: return flags & NUM_SAT ? 0 : format->nan;
    case NUM_KIND_ZERO: break;
    case NUM_KIND_INFINITE:
        magnitude = flags & NUM_FINITE ? format->largest : format->overflow;
        break;
    case NUM_KIND_FINITE: magnitude = round_finite(value, format, round, flags); break;
    }
    if (value.negative && (flags & (NUM_RELU | NUM_SAT)))
        return 0;
    if ((flags & NUM_SAT) && magnitude > one_of(format))
        return one_of(format);
    uint64_t sign = UINT64_C(1) << (format->exponent_bits + format->fraction_bits);
    return value.negative ? magnitude | sign : magnitude;
}

uint64_t num_exact_convert(uint64_t bits, const struct num_format *from,
                           const struct num_format *to, enum num_round round, unsigned flags)
{
    return num_exact_round(num_exact_from(bits, from), to, round, flags);
}

// --- The directed roundings of f64 ---------------------------------------------------------------

static struct num_exact from_f64(double value)
{
    return num_exact_from(num_bits_f64(value), &num_format_f64);
}

static double to_f64(struct num_exact value, enum num_round round)
{
    return num_from_bits_f64(num_exact_round(value, &num_format_f64, round, 0));
}

// Fast path: far from the ends of the exponent range, host arithmetic yields the rounding error of
// the nearest value. The result is then that value or its neighbor.
static bool in_the_middle(double value)
{
    uint64_t exponent = num_bits_f64(value) >> 52 & 0x7FF;
    return exponent > 200 && exponent < 1900;
}

static double beside(double nearest, double error, enum num_round round)
{
    if (error == 0)
        return nearest;
    bool outward = (error > 0) == (nearest > 0); // the exact value is farther from zero
    bool wanted = round == NUM_RZ ? !outward : round == NUM_RM ? error < 0 : error > 0;
    if (!wanted)
        return nearest;
    uint64_t bits = num_bits_f64(nearest);
    return num_from_bits_f64(outward ? bits + 1 : bits - 1);
}

double num_add_directed_f64(double a, double b, enum num_round round)
{
    double sum = a + b, of_b = sum - a;
    if (in_the_middle(sum))
        return beside(sum, (a - (sum - of_b)) + (b - of_b), round);
    return to_f64(num_exact_add(from_f64(a), from_f64(b), round == NUM_RM), round);
}

double num_mul_directed_f64(double a, double b, enum num_round round)
{
    double product = a * b;
    if (in_the_middle(product))
        return beside(product, fma(a, b, -product), round);
    return to_f64(num_exact_mul(from_f64(a), from_f64(b)), round);
}

double num_fma_directed_f64(double a, double b, double c, enum num_round round)
{
    struct num_exact product = num_exact_mul(from_f64(a), from_f64(b));
    return to_f64(num_exact_add(product, from_f64(c), round == NUM_RM), round);
}

double num_div_directed_f64(double a, double b, enum num_round round)
{
    double quotient = a / b;
    if (in_the_middle(a) && in_the_middle(b) && in_the_middle(quotient)) {
        double rest = fma(-quotient, b, a);
        return beside(quotient, b > 0 ? rest : -rest, round);
    }
    return to_f64(num_exact_div(from_f64(a), from_f64(b)), round);
}

double num_sqrt_directed_f64(double a, enum num_round round)
{
    double root = sqrt(a);
    if (a > 0 && in_the_middle(a))
        return beside(root, fma(-root, root, a), round);
    return to_f64(num_exact_sqrt(from_f64(a)), round);
}
