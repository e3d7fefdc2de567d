// SPDX-License-Identifier: Apache-2.0
// Implements cvt between integers of every width, f32 and f64, and rounding to integral values.
// half.h has the smaller floating-point formats. Internal to src/gpusim; see numbers.h for the
// required compiler flags.
//
// Integers are passed as uint64_t. A value of fewer bits is sign- or zero-extended according to its
// type, as in a register that is wider than the type.
#ifndef GLINT_GPUSIM_NUMBERS_CVT_H
#define GLINT_GPUSIM_NUMBERS_CVT_H

#include "numbers.h"

// --- Integer to integer --------------------------------------------------------------------------

// Returns the low `bits` bits of value, sign- or zero-extended. bits: 1 to 64.
static inline uint64_t num_extend(uint64_t value, unsigned bits, bool is_signed)
{
    unsigned unused = 64 - bits;
    return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
}

// The smallest and the largest value of an integer type.
static inline int64_t num_smallest(unsigned bits, bool is_signed)
{
    return is_signed ? -(INT64_C(1) << (bits - 2)) * 2 : 0;
}

static inline uint64_t num_largest(unsigned bits, bool is_signed)
{
    return UINT64_MAX >> (64 - bits + (is_signed ? 1 : 0));
}

// cvt{.sat} between integer types. Without `saturate` the result is the low bits; with it, the
// nearest value of the target type.
static inline uint64_t num_int_from_int(uint64_t value, unsigned from_bits, bool from_signed,
                                        unsigned to_bits, bool to_signed, bool saturate)
{
    value = num_extend(value, from_bits, from_signed);
    if (saturate) {
        bool negative = from_signed && (int64_t)value < 0;
        if (negative && (int64_t)value < num_smallest(to_bits, to_signed))
            return (uint64_t)num_smallest(to_bits, to_signed);
        if (!negative && value > num_largest(to_bits, to_signed))
            return num_largest(to_bits, to_signed);
    }
    return num_extend(value, to_bits, to_signed);
}

// --- To integral values --------------------------------------------------------------------------

// `round` stands for .rni, .rzi, .rmi or .rpi.
static inline double num_integral_f64(double a, enum num_round round)
{
    switch (round) {
    case NUM_RZ: return __builtin_trunc(a);
    case NUM_RM: return __builtin_floor(a);
    case NUM_RP: return __builtin_ceil(a);
    default: return __builtin_rint(a);
    }
}

static inline float num_integral_f32(float a, enum num_round round)
{
    switch (round) {
    case NUM_RZ: return __builtin_truncf(a);
    case NUM_RM: return __builtin_floorf(a);
    case NUM_RP: return __builtin_ceilf(a);
    default: return __builtin_rintf(a);
    }
}

// cvt.rni.f32.f32 and the like; NUM_FTZ and NUM_SAT apply.
static inline float num_rint_f32(float a, enum num_round round, unsigned flags)
{
    return num_out_f32(num_integral_f32(num_in_f32(a, flags), round), flags);
}

static inline double num_rint_f64(double a, enum num_round round, unsigned flags)
{
    double integral = num_out_f64(num_integral_f64(a, round), a, 0.0, 0.0);
    return flags & NUM_SAT ? num_saturate_f64(integral) : integral;
}

// cvt.f32.f32 and cvt.f64.f64 without rounding: flush and saturation only.
static inline float num_f32_from_f32(float a, unsigned flags)
{
    return flags ? num_out_f32(num_in_f32(a, flags), flags) : a;
}

static inline double num_f64_from_f64(double a, unsigned flags)
{
    return flags & NUM_SAT ? num_saturate_f64(a) : a;
}

// --- Floating point to integer -------------------------------------------------------------------

// Converts an integral value to an integer type. PTX clamps to the type's range with or without
// .sat. `nan` is the result for NaN.
static inline uint64_t num_int_from_integral(double a, unsigned bits, bool is_signed, uint64_t nan)
{
    double above = (double)(UINT64_C(1) << (bits - 1)) * (is_signed ? 1 : 2);
    double least = is_signed ? -above : 0.0;
    if (a != a)
        return nan;
    if (a >= above)
        return num_largest(bits, is_signed);
    if (a <= least)
        return (uint64_t)num_smallest(bits, is_signed);
    return is_signed ? (uint64_t)(int64_t)a : (uint64_t)a;
}

// The result for NaN. It is 0; but a conversion from f64 or to a 64-bit integer sets only the
// highest bit.
static inline uint64_t num_int_from_nan(unsigned bits, bool is_signed, bool wide)
{
    return wide ? num_extend(UINT64_C(1) << (bits - 1), bits, is_signed) : 0;
}

// All cvt from f32 to an integer type, such as cvt.rzi.s32.f32. NUM_FTZ applies; saturation is
// implied.
static inline uint64_t num_int_from_f32(float a, unsigned bits, bool is_signed,
                                        enum num_round round, unsigned flags)
{
    float integral = num_integral_f32(num_in_f32(a, flags), round);
    return num_int_from_integral(integral, bits, is_signed,
                                 num_int_from_nan(bits, is_signed, bits == 64));
}

static inline uint64_t num_int_from_f64(double a, unsigned bits, bool is_signed,
                                        enum num_round round)
{
    return num_int_from_integral(num_integral_f64(a, round), bits, is_signed,
                                 num_int_from_nan(bits, is_signed, true));
}

// The two most frequent conversions, in a form that compilers can vectorize.
static inline int32_t num_s32_from_f32(float a, enum num_round round, unsigned flags)
{
    float integral = num_integral_f32(num_in_f32(a, flags), round);
    float inside = integral >= -2147483648.0f ? (integral < 2147483648.0f ? integral : 0.0f) : 0.0f;
    int32_t value = (int32_t)inside;
    value = integral >= 2147483648.0f ? INT32_MAX : value;
    return integral < -2147483648.0f ? INT32_MIN : value;
}

static inline uint32_t num_u32_from_f32(float a, enum num_round round, unsigned flags)
{
    float integral = num_integral_f32(num_in_f32(a, flags), round);
    float inside = integral > 0.0f ? (integral < 4294967296.0f ? integral : 0.0f) : 0.0f;
    uint32_t value = (uint32_t)inside;
    return integral >= 4294967296.0f ? UINT32_MAX : value;
}

// --- Integer to floating point -------------------------------------------------------------------

float num_f32_from_int_directed(uint64_t value, bool is_signed, enum num_round round);
double num_f64_from_int_directed(uint64_t value, bool is_signed, enum num_round round);

// The caller extends `value` to 64 bits according to its type.
static inline float num_f32_from_int(uint64_t value, bool is_signed, enum num_round round,
                                     unsigned flags)
{
    float result;
    if (round != NUM_RN)
        result = num_f32_from_int_directed(value, is_signed, round);
    else
        result = is_signed ? (float)(int64_t)value : (float)value;
    return flags & NUM_SAT ? num_saturate_f32(result) : result;
}

static inline double num_f64_from_int(uint64_t value, bool is_signed, enum num_round round,
                                      unsigned flags)
{
    double result;
    if (round != NUM_RN)
        result = num_f64_from_int_directed(value, is_signed, round);
    else
        result = is_signed ? (double)(int64_t)value : (double)value;
    return flags & NUM_SAT ? num_saturate_f64(result) : result;
}

// --- f32 and f64 ---------------------------------------------------------------------------------

// NaNs become quiet, and keep their sign and as much of their payload as fits.
static inline float num_f32_from_f64(double a, enum num_round round, unsigned flags)
{
    uint64_t bits = num_bits_f64(a);
    uint32_t nan = (uint32_t)(bits >> 32 & 0x80000000u) | 0x7FC00000u | (bits >> 29 & 0x3FFFFFu);
    float narrow = num_out_f32(num_tiny_f32(num_narrow_f32(a, round), a, round, flags), flags);
    return a != a && !(flags & NUM_SAT) ? num_from_bits_f32(nan) : narrow;
}

static inline double num_f64_from_f32(float a, unsigned flags)
{
    a = flags & NUM_FTZ ? num_canonical_f32(a) : a;
    uint64_t bits = num_bits_f32(a);
    uint64_t nan = (bits & 0x80000000u) << 32 | 0x7FF8000000000000u | (bits & 0x3FFFFFu) << 29;
    double wide = num_in_f32(a, flags);
    wide = a != a ? num_from_bits_f64(nan) : wide;
    return flags & NUM_SAT ? num_saturate_f64(wide) : wide;
}

// --- cvt.pack ------------------------------------------------------------------------------------

// cvt.pack.sat.TO.s32 {.b32}: clamps a and b to integers of `to_bits` bits (2, 4, 8 or 16) and
// packs them, a above b. Unless `to_bits` is 16, c lies above the pair, shifted left by 2 *
// to_bits.
uint32_t num_pack(int32_t a, int32_t b, uint32_t c, unsigned to_bits, bool to_signed);

#endif
