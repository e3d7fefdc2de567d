// SPDX-License-Identifier: Apache-2.0
// Implements arithmetic and conversions of the PTX formats below f32: f16, bf16, their packed
// pairs, tf32, and the 8-, 6- and 4-bit formats. Values are passed as bits; a pair holds its first
// element in the low half. Internal to src/gpusim; see numbers.h for the flags and the required
// compiler flags.
//
// Every result is rounded once. Sums, products and fused products are computed in a wider format,
// rounded to odd there, and then rounded to the target format.
#ifndef GLINT_GPUSIM_NUMBERS_HALF_H
#define GLINT_GPUSIM_NUMBERS_HALF_H

#include "cvt.h"
#include "numbers.h"

// --- Conversions with f32 ------------------------------------------------------------------------

// NaN becomes the canonical NaN of f32.
static inline float num_f32_from_f16(uint16_t a)
{
    uint32_t sign = (uint32_t)(a & 0x8000u) << 16;
    uint32_t magnitude = a & 0x7FFFu;
    // A subnormal is read as the fraction of a number with exponent -14; subtracting 2^-14 removes
    // the implicit leading one.
    uint32_t normal = (magnitude << 13) + (112u << 23);
    float subnormal = num_from_bits_f32((magnitude << 13) + (113u << 23)) - 0x1p-14f;
    uint32_t bits = magnitude >= 0x0400u ? normal : num_bits_f32(subnormal);
    bits = magnitude == 0x7C00u ? 0x7F800000u : bits;
    return num_from_bits_f32(magnitude > 0x7C00u ? NUM_NAN_BITS_F32 : bits | sign);
}

// Exact for NaN payloads as well.
static inline float num_f32_from_bf16(uint16_t a)
{
    return num_from_bits_f32((uint32_t)a << 16);
}

// Rounds to nearest even.
static inline uint16_t num_f16_nearest(float a)
{
    uint32_t bits = num_bits_f32(a);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    uint32_t normal = (magnitude + 0xC8000FFFu + (magnitude >> 13 & 1)) >> 13;
    // Adding 0.5 aligns the last bit of the f32 with the last bit of an f16 subnormal.
    uint32_t subnormal = num_bits_f32(num_from_bits_f32(magnitude) + 0.5f) - 0x3F000000u;
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
    half = magnitude >= 0x477FF000u ? 0x7C00u : half;
    return (uint16_t)(magnitude > 0x7F800000u ? NUM_NAN_BITS_H16 : half | sign);
}

static inline uint16_t num_bf16_nearest(float a)
{
    uint32_t bits = num_bits_f32(a);
    uint32_t half = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7FFFFFFFu) > 0x7F800000u ? NUM_NAN_BITS_H16 : half);
}

// The slow path of the two functions below. It ignores NUM_FTZ, because the callers have flushed
// already.
uint16_t num_f16_from_f32_soft(float a, enum num_round round, unsigned flags);
uint16_t num_bf16_from_f32_soft(float a, enum num_round round, unsigned flags);

// Every rounding mode is valid, and so are NUM_RELU, NUM_FINITE, NUM_SAT and NUM_FTZ. NUM_FTZ
// flushes the f32 input.
static inline uint16_t num_f16_from_f32(float a, enum num_round round, unsigned flags)
{
    a = num_in_f32(a, flags);
    bool simple = round == NUM_RN && !(flags & ~(unsigned)NUM_FTZ);
    return simple ? num_f16_nearest(a) : num_f16_from_f32_soft(a, round, flags);
}

static inline uint16_t num_bf16_from_f32(float a, enum num_round round, unsigned flags)
{
    a = num_in_f32(a, flags);
    bool simple = round == NUM_RN && !(flags & ~(unsigned)NUM_FTZ);
    return simple ? num_bf16_nearest(a) : num_bf16_from_f32_soft(a, round, flags);
}

// cvt.rn.f16x2.f32 d, a, b: a becomes the high half.
static inline uint32_t num_f16x2_from_f32(float a, float b, enum num_round round, unsigned flags)
{
    return (uint32_t)num_f16_from_f32(a, round, flags) << 16 | num_f16_from_f32(b, round, flags);
}

static inline uint32_t num_bf16x2_from_f32(float a, float b, enum num_round round, unsigned flags)
{
    return (uint32_t)num_bf16_from_f32(a, round, flags) << 16 | num_bf16_from_f32(b, round, flags);
}

// Conversions with f64, and between f16 and bf16. With f64, NaNs keep sign and payload as they do
// between f32 and f64. Every rounding mode, NUM_SAT and NUM_RELU are valid.
double num_f64_from_f16(uint16_t a);
double num_f64_from_bf16(uint16_t a);
uint16_t num_f16_from_f64(double a, enum num_round round, unsigned flags);
uint16_t num_bf16_from_f64(double a, enum num_round round, unsigned flags);
uint16_t num_f16_from_bf16(uint16_t a, enum num_round round, unsigned flags);
uint16_t num_bf16_from_f16(uint16_t a, enum num_round round, unsigned flags);

// Conversions with integers. The caller extends `value` to 64 bits according to its type.
uint16_t num_f16_from_int(uint64_t value, bool is_signed, enum num_round round, unsigned flags);
uint16_t num_bf16_from_int(uint64_t value, bool is_signed, enum num_round round, unsigned flags);

static inline uint64_t num_int_from_f16(uint16_t a, unsigned bits, bool is_signed,
                                        enum num_round round)
{
    return num_int_from_f32(num_f32_from_f16(a), bits, is_signed, round, 0);
}

static inline uint64_t num_int_from_bf16(uint16_t a, unsigned bits, bool is_signed,
                                         enum num_round round)
{
    return num_int_from_f32(num_f32_from_bf16(a), bits, is_signed, round, 0);
}

// cvt.rni.f16.f16 and the like. The second rounding is exact: every integral value of an f16 or
// bf16 is representable in its format.
static inline uint16_t num_rint_f16(uint16_t a, enum num_round round)
{
    return num_f16_nearest(num_integral_f32(num_f32_from_f16(a), round));
}

static inline uint16_t num_rint_bf16(uint16_t a, enum num_round round)
{
    return num_bf16_nearest(num_integral_f32(num_f32_from_bf16(a), round));
}

// cvt to tf32, stored as an f32 whose low 13 bits are zero. `round` is NUM_RN, NUM_RZ or NUM_RNA.
// NUM_RNA truncates the payload of a NaN; the others return the canonical NaN.
uint32_t num_tf32_from_f32(float a, enum num_round round, unsigned flags);

// --- Input and output of an instruction ----------------------------------------------------------

static inline uint16_t num_flush_f16(uint16_t a)
{
    return a & 0x7C00u ? a : a & 0x8000u;
}

static inline float num_in_f16(uint16_t a, unsigned flags)
{
    return num_f32_from_f16(flags & NUM_FTZ ? num_flush_f16(a) : a);
}

// Rounds `exact` to odd in f32, so that a later rounding to f16 or bf16 gives the result of a
// single rounding.
static inline float num_odd_f32(double exact)
{
    float near = (float)exact;
    double wide = near;
    bool outward = exact < 0 ? wide < exact : wide > exact;
    uint32_t bits = num_bits_f32(near) - (outward ? 1 : 0);
    return num_from_bits_f32(bits | (wide < exact || wide > exact ? 1 : 0));
}

static inline uint16_t num_out_f16(float exact, unsigned flags)
{
    uint16_t half = num_f16_nearest(exact);
    if (flags & NUM_FTZ) // the hardware's criterion; see num_tiny_f32
        half = __builtin_fabsf(exact) < 0x1.ffep-15f ? half & 0x8000u : half;
    if (flags & NUM_SAT)
        half = exact > 0 ? (half < 0x3C00u ? half : 0x3C00u) : 0;
    if (flags & NUM_RELU)
        half = exact != exact ? NUM_NAN_BITS_H16 : half >> 15 ? 0 : half;
    return half;
}

static inline uint16_t num_out_bf16(float exact, unsigned flags)
{
    uint16_t half = num_bf16_nearest(exact);
    if (flags & NUM_SAT)
        half = exact > 0 ? (half < 0x3F80u ? half : 0x3F80u) : 0;
    if (flags & NUM_RELU)
        half = exact != exact ? NUM_NAN_BITS_H16 : half >> 15 ? 0 : half;
    return half;
}

// --- f16 and bf16 --------------------------------------------------------------------------------

// Rounding a sum of two halves to 24 bits first does not change the result, because 24 >= 2 * 11 +
// 2. A product of two f16 is exact in f32. A product of two bf16 may underflow in f32, but not in
// f64.
static inline uint16_t num_add_f16(uint16_t a, uint16_t b, unsigned flags)
{
    return num_out_f16(num_in_f16(a, flags) + num_in_f16(b, flags), flags);
}

static inline uint16_t num_sub_f16(uint16_t a, uint16_t b, unsigned flags)
{
    return num_out_f16(num_in_f16(a, flags) - num_in_f16(b, flags), flags);
}

static inline uint16_t num_mul_f16(uint16_t a, uint16_t b, unsigned flags)
{
    return num_out_f16(num_in_f16(a, flags) * num_in_f16(b, flags), flags);
}

static inline uint16_t num_fma_f16(uint16_t a, uint16_t b, uint16_t c, unsigned flags)
{
    double product = (double)num_in_f16(a, flags) * (double)num_in_f16(b, flags);
    return num_out_f16(num_odd_f32(num_sum_odd_f64(product, num_in_f16(c, flags))), flags);
}

static inline uint16_t num_add_bf16(uint16_t a, uint16_t b, unsigned flags)
{
    return num_out_bf16(num_f32_from_bf16(a) + num_f32_from_bf16(b), flags);
}

static inline uint16_t num_sub_bf16(uint16_t a, uint16_t b, unsigned flags)
{
    return num_out_bf16(num_f32_from_bf16(a) - num_f32_from_bf16(b), flags);
}

static inline uint16_t num_mul_bf16(uint16_t a, uint16_t b, unsigned flags)
{
    double product = (double)num_f32_from_bf16(a) * (double)num_f32_from_bf16(b);
    return num_out_bf16(num_odd_f32(product), flags);
}

static inline uint16_t num_fma_bf16(uint16_t a, uint16_t b, uint16_t c, unsigned flags)
{
    double product = (double)num_f32_from_bf16(a) * (double)num_f32_from_bf16(b);
    return num_out_bf16(num_odd_f32(num_sum_odd_f64(product, num_f32_from_bf16(c))), flags);
}

// abs and neg return the canonical NaN for any NaN, like the hardware.
static inline uint16_t num_abs_f16(uint16_t a, unsigned flags)
{
    a = flags & NUM_FTZ ? num_flush_f16(a) : a;
    return (a & 0x7FFFu) > 0x7C00u ? NUM_NAN_BITS_H16 : a & 0x7FFFu;
}

static inline uint16_t num_neg_f16(uint16_t a, unsigned flags)
{
    a = flags & NUM_FTZ ? num_flush_f16(a) : a;
    return (a & 0x7FFFu) > 0x7C00u ? NUM_NAN_BITS_H16 : a ^ 0x8000u;
}

static inline uint16_t num_abs_bf16(uint16_t a)
{
    return (a & 0x7FFFu) > 0x7F80u ? NUM_NAN_BITS_H16 : a & 0x7FFFu;
}

static inline uint16_t num_neg_bf16(uint16_t a)
{
    return (a & 0x7FFFu) > 0x7F80u ? NUM_NAN_BITS_H16 : a ^ 0x8000u;
}

// NUM_FTZ (f16 only), NUM_NAN and NUM_XORSIGN work as for f32. NUM_XORSIGN also uses the sign of a
// NaN.
static inline uint16_t num_minmax_f16(uint16_t a, uint16_t b, bool larger, unsigned flags)
{
    uint16_t mask = flags & NUM_XORSIGN ? 0x7FFFu : 0xFFFFu;
    uint16_t chosen = num_f16_nearest(num_minmax_f32(
        num_in_f16(a & mask, flags), num_in_f16(b & mask, flags), larger, flags & NUM_NAN));
    bool number = (chosen & 0x7FFFu) <= 0x7C00u;
    return flags & NUM_XORSIGN && number ? chosen | ((a ^ b) & 0x8000u) : chosen;
}

static inline uint16_t num_min_f16(uint16_t a, uint16_t b, unsigned flags)
{
    return num_minmax_f16(a, b, false, flags);
}

static inline uint16_t num_max_f16(uint16_t a, uint16_t b, unsigned flags)
{
    return num_minmax_f16(a, b, true, flags);
}

static inline uint16_t num_min_bf16(uint16_t a, uint16_t b, unsigned flags)
{
    unsigned wide = flags & (NUM_NAN | NUM_XORSIGN);
    return num_bf16_nearest(
        num_minmax_f32(num_f32_from_bf16(a), num_f32_from_bf16(b), false, wide));
}

static inline uint16_t num_max_bf16(uint16_t a, uint16_t b, unsigned flags)
{
    unsigned wide = flags & (NUM_NAN | NUM_XORSIGN);
    return num_bf16_nearest(num_minmax_f32(num_f32_from_bf16(a), num_f32_from_bf16(b), true, wide));
}

static inline bool num_compare_f16(enum num_cmp cmp, uint16_t a, uint16_t b, unsigned flags)
{
    return num_compare_f32(cmp, num_in_f16(a, flags), num_in_f16(b, flags), 0);
}

static inline bool num_compare_bf16(enum num_cmp cmp, uint16_t a, uint16_t b)
{
    return num_compare_f32(cmp, num_f32_from_bf16(a), num_f32_from_bf16(b), 0);
}

// --- Pairs ---------------------------------------------------------------------------------------

// Applies a function of halves to both halves of its operands.
#define NUM_X2_UNARY(function, a, ...)                                \
    ((uint32_t)function((uint16_t)((a) >> 16), ##__VA_ARGS__) << 16 | \
     function((uint16_t)(a), ##__VA_ARGS__))
#define NUM_X2_BINARY(function, a, b, ...)                                                   \
    ((uint32_t)function((uint16_t)((a) >> 16), (uint16_t)((b) >> 16), ##__VA_ARGS__) << 16 | \
     function((uint16_t)(a), (uint16_t)(b), ##__VA_ARGS__))
#define NUM_X2_TERNARY(function, a, b, c, ...)                                               \
    ((uint32_t)function((uint16_t)((a) >> 16), (uint16_t)((b) >> 16), (uint16_t)((c) >> 16), \
                        ##__VA_ARGS__)                                                       \
         << 16 |                                                                             \
     function((uint16_t)(a), (uint16_t)(b), (uint16_t)(c), ##__VA_ARGS__))

#define NUM_X2_DEFINE(name)                                                 \
    static inline uint32_t name##x2(uint32_t a, uint32_t b, unsigned flags) \
    {                                                                       \
        return NUM_X2_BINARY(name, a, b, flags);                            \
    }

NUM_X2_DEFINE(num_add_f16)
NUM_X2_DEFINE(num_sub_f16)
NUM_X2_DEFINE(num_mul_f16)
NUM_X2_DEFINE(num_min_f16)
NUM_X2_DEFINE(num_max_f16)
NUM_X2_DEFINE(num_add_bf16)
NUM_X2_DEFINE(num_sub_bf16)
NUM_X2_DEFINE(num_mul_bf16)
NUM_X2_DEFINE(num_min_bf16)
NUM_X2_DEFINE(num_max_bf16)
#undef NUM_X2_DEFINE

static inline uint32_t num_fma_f16x2(uint32_t a, uint32_t b, uint32_t c, unsigned flags)
{
    return NUM_X2_TERNARY(num_fma_f16, a, b, c, flags);
}

static inline uint32_t num_fma_bf16x2(uint32_t a, uint32_t b, uint32_t c, unsigned flags)
{
    return NUM_X2_TERNARY(num_fma_bf16, a, b, c, flags);
}

static inline uint32_t num_abs_f16x2(uint32_t a, unsigned flags)
{
    return NUM_X2_UNARY(num_abs_f16, a, flags);
}

static inline uint32_t num_neg_f16x2(uint32_t a, unsigned flags)
{
    return NUM_X2_UNARY(num_neg_f16, a, flags);
}

static inline uint32_t num_abs_bf16x2(uint32_t a)
{
    return NUM_X2_UNARY(num_abs_bf16, a);
}

static inline uint32_t num_neg_bf16x2(uint32_t a)
{
    return NUM_X2_UNARY(num_neg_bf16, a);
}

// --- Eight bits and fewer ------------------------------------------------------------------------

// e4m3 and e5m2 have 8 bits, e3m2 and e2m3 have 6 bits stored in 8, e2m1 has 4.
enum num_small { NUM_E4M3, NUM_E5M2, NUM_E3M2, NUM_E2M3, NUM_E2M1 };

// cvt.rn.satfinite{.relu}: rounds to nearest. Infinities and values out of range become the largest
// finite value.
uint8_t num_small_from_f32(enum num_small format, float a, unsigned flags);
uint8_t num_small_from_f16(enum num_small format, uint16_t a, unsigned flags);
// The conversion is exact, and NaN becomes the canonical NaN of f16. NUM_RELU applies.
uint16_t num_f16_from_small(enum num_small format, uint8_t a, unsigned flags);

// Conversions of pairs. `a` becomes the high part of the result; for e2m1, that is the high nibble
// of a byte.
uint16_t num_small_x2_from_f32(enum num_small format, float a, float b, unsigned flags);
uint16_t num_small_x2_from_f16x2(enum num_small format, uint32_t a, unsigned flags);
uint32_t num_f16x2_from_small_x2(enum num_small format, uint16_t a, unsigned flags);

// ue8m0 encodes 2^(a - 127), and 255 is NaN. `round` is NUM_RZ or NUM_RP; the sign of an f32 input
// is ignored.
uint8_t num_ue8m0_from_f32(float a, enum num_round round, unsigned flags);
uint16_t num_bf16_from_ue8m0(uint8_t a);

#endif
