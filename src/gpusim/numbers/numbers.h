// SPDX-License-Identifier: Apache-2.0
// Implements the scalar floating-point arithmetic of PTX for f32 and f64: rounding, flush-to-zero,
// saturation, NaNs, minima and comparisons. All functions are pure and take values; they know
// nothing of registers, lanes or instructions. Related headers: int.h (integers and bits), cvt.h
// (conversions), half.h (f16, bf16 and smaller), approx.h (.approx), video.h and mma.h. Internal to
// src/gpusim.
//
// Callers pass rounding mode and flags as constants, so that each function folds to a few
// operations that a compiler can vectorize. The host must round to nearest. Every file that
// includes this header must be compiled with -ffp-contract=off, because a contracted a*b+c rounds
// once instead of twice. With -fno-math-errno and -fno-trapping-math, compilers can vectorize sqrt
// and the selections.
#ifndef GLINT_GPUSIM_NUMBERS_NUMBERS_H
#define GLINT_GPUSIM_NUMBERS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// NUM_RNA rounds to nearest, ties away from zero (tf32 only).
enum num_round { NUM_RN, NUM_RZ, NUM_RM, NUM_RP, NUM_RNA };

enum num_flag {
    NUM_FTZ = 1 << 0,     // subnormal inputs and results become zeros of their sign
    NUM_SAT = 1 << 1,     // results are clamped to [0, 1]; NaN and -0 become +0
    NUM_NAN = 1 << 2,     // min and max: a NaN input makes the result NaN
    NUM_XORSIGN = 1 << 3, // min and max of magnitudes; the signs of the inputs are multiplied
    NUM_RELU = 1 << 4,    // negative results become +0; NaN becomes the canonical NaN
    NUM_FINITE = 1 << 5,  // .satfinite: results out of range become the largest finite value
};

// The NaNs that the hardware returns. f32, f16 and bf16 have a single one; f64 keeps payloads, see
// num_nan_f64.
#define NUM_NAN_BITS_F32      0x7FFFFFFFu
#define NUM_NAN_BITS_F64      0xFFF8000000000000u
#define NUM_NAN_BITS_F64_SEED 0x7FFFFFFF00000000u
#define NUM_NAN_BITS_H16      0x7FFFu

static inline uint32_t num_bits_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float num_from_bits_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t num_bits_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double num_from_bits_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// --- Flush, saturation, NaN ----------------------------------------------------------------------

// A subnormal becomes a zero of the same sign.
static inline float num_flush_f32(float value)
{
    uint32_t bits = num_bits_f32(value);
    return num_from_bits_f32((bits & 0x7F800000u) ? bits : bits & 0x80000000u);
}

static inline float num_saturate_f32(float value)
{
    return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;
}

static inline double num_saturate_f64(double value)
{
    return value > 0.0 ? (value < 1.0 ? value : 1.0) : 0.0;
}

static inline float num_canonical_f32(float value)
{
    return value != value ? num_from_bits_f32(NUM_NAN_BITS_F32) : value;
}

static inline float num_in_f32(float value, unsigned flags)
{
    return flags & NUM_FTZ ? num_flush_f32(value) : value;
}

// Every f32 instruction applies this to its rounded result.
static inline float num_out_f32(float value, unsigned flags)
{
    value = num_canonical_f32(value);
    if (flags & NUM_FTZ)
        value = num_flush_f32(value);
    if (flags & NUM_SAT)
        value = num_saturate_f32(value);
    return value;
}

// Replaces a subnormal result by a zero of the same sign if NUM_FTZ is set. Like the hardware, it
// rounds `exact` to 24 bits with an unbounded exponent, and flushes if that is below the normal
// range. So it also flushes values that would round up to the smallest normal f32.
static inline float num_tiny_f32(float value, double exact, enum num_round round, unsigned flags)
{
    double magnitude = exact < 0 ? -exact : exact;
    bool outward = round == NUM_RM ? exact < 0 : round == NUM_RP && exact > 0;
    bool tiny = round == NUM_RN ? magnitude < 0x1.ffffffp-127
                : outward       ? magnitude <= 0x1.fffffep-127
                                : magnitude < 0x1p-126;
    return (flags & NUM_FTZ) && tiny ? num_from_bits_f32(num_bits_f32(value) & 0x80000000u) : value;
}

// Returns the NaN result of an f64 instruction: the input NaN that the hardware prefers, made
// quiet, or the default NaN if no input is NaN.
static inline double num_nan_f64(double a, double b, double c)
{
    double first = b != b ? b : c != c ? c : a;
    uint64_t bits = first != first ? num_bits_f64(first) | 0x0008000000000000u : NUM_NAN_BITS_F64;
    return num_from_bits_f64(bits);
}

// --- Directed roundings --------------------------------------------------------------------------

// The neighbors of a value that is not NaN: towards zero, minus infinity and plus infinity.
static inline float num_nearer_f32(float value)
{
    return num_from_bits_f32(num_bits_f32(value) - 1);
}

static inline float num_below_f32(float value)
{
    uint32_t bits = num_bits_f32(value);
    return num_from_bits_f32(bits >> 31 ? bits + 1 : bits - 1);
}

static inline float num_above_f32(float value)
{
    uint32_t bits = num_bits_f32(value);
    return num_from_bits_f32(bits >> 31 ? bits - 1 : bits + 1);
}

// Rounds `exact` to f32. `exact` must be the exact result, or that result rounded to odd (see
// num_odd_f64); then rounding twice gives the same as rounding once.
static inline float num_narrow_f32(double exact, enum num_round round)
{
    float near = (float)exact;
    double wide = near;
    switch (round) {
    case NUM_RZ:
        return (wide > exact ? wide > 0 : wide < exact && wide < 0) ? num_nearer_f32(near) : near;
    case NUM_RM: return wide > exact ? num_below_f32(near) : near;
    case NUM_RP: return wide < exact ? num_above_f32(near) : near;
    default: return near;
    }
}

// Turns a sum that was rounded to nearest into one rounded to odd. `rest` is the rounding error; if
// it is not 0, the last bit of the result is set. A NaN as `rest` leaves the sum unchanged.
static inline double num_odd_f64(double sum, double rest)
{
    uint64_t bits = num_bits_f64(sum);
    bool lost = rest > 0 || rest < 0;
    bool outward = (rest > 0) == (sum > 0);
    uint64_t odd = outward ? bits + 1 : bits - 1;
    return num_from_bits_f64(lost && !(bits & 1) ? odd : bits);
}

// Returns a + b rounded to odd. Valid only for values in the range of f32 and for products of two
// such values.
static inline double num_sum_odd_f64(double a, double b)
{
    double sum = a + b;
    double second = sum - a;
    double rest = (a - (sum - second)) + (b - second);
    return num_odd_f64(sum, rest);
}

// When rounding down, a sum that is exactly zero is -0, unless all terms were +0.
static inline float num_zero_sum_f32(float sum, double a, double b, enum num_round round)
{
    bool minus = round == NUM_RM && sum == 0 && ((num_bits_f64(a) | num_bits_f64(b)) >> 63);
    return minus ? -0.0f : sum;
}

// --- f32 -----------------------------------------------------------------------------------------

static inline float num_add_f32(float a, float b, enum num_round round, unsigned flags)
{
    a = num_in_f32(a, flags);
    b = num_in_f32(b, flags);
    float sum;
    if (round == NUM_RN) {
        sum = a + b;
    } else {
        double exact = num_sum_odd_f64(a, b);
        // An inexact result is not zero before rounding, so its sign is right.
        sum = num_narrow_f32(exact, round);
        if (exact == 0)
            sum = num_zero_sum_f32(sum, a, b, round);
    }
    return num_out_f32(sum, flags);
}

// The negation also flips the sign of a NaN, which does not matter: the result is the canonical
// NaN.
static inline float num_sub_f32(float a, float b, enum num_round round, unsigned flags)
{
    return num_add_f32(a, -b, round, flags);
}

static inline float num_mul_f32(float a, float b, enum num_round round, unsigned flags)
{
    a = num_in_f32(a, flags);
    b = num_in_f32(b, flags);
    if (round == NUM_RN && !(flags & NUM_FTZ))
        return num_out_f32(a * b, flags);
    double exact = (double)a * (double)b;
    return num_out_f32(num_tiny_f32(num_narrow_f32(exact, round), exact, round, flags), flags);
}

// Rounds once. Without a fused multiply-add on the host, the function adds to the exact product in
// f64. A file whose functions get a target with fused multiply-add from an attribute defines
// NUM_FAST_FMAF first.
static inline float num_fma_f32(float a, float b, float c, enum num_round round, unsigned flags)
{
    a = num_in_f32(a, flags);
    b = num_in_f32(b, flags);
    c = num_in_f32(c, flags);
#if defined(__FP_FAST_FMAF) || defined(NUM_FAST_FMAF)
    if (round == NUM_RN && !(flags & NUM_FTZ))
        return num_out_f32(__builtin_fmaf(a, b, c), flags);
#endif
    double product = (double)a * (double)b;
    double exact = num_sum_odd_f64(product, c);
    float sum = num_narrow_f32(exact, round);
    if (exact == 0)
        sum = num_zero_sum_f32(sum, product, c, round);
    return num_out_f32(num_tiny_f32(sum, exact, round, flags), flags);
}

// div.rn, div.rz, div.rm and div.rp; approx.h has div.approx and div.full.
static inline float num_div_f32(float a, float b, enum num_round round, unsigned flags)
{
    a = num_in_f32(a, flags);
    b = num_in_f32(b, flags);
    if (round == NUM_RN && !(flags & NUM_FTZ))
        return num_out_f32(a / b, flags);
    double quotient = (double)a / (double)b;
    if (round == NUM_RN)
        return num_out_f32(num_tiny_f32(a / b, quotient, round, flags), flags);
    double rest = __builtin_fma(-quotient, b, a); // exact; NaN if an operand is infinite or zero
    double odd = num_odd_f64(quotient, b < 0 ? -rest : rest);
    return num_out_f32(num_tiny_f32(num_narrow_f32(odd, round), odd, round, flags), flags);
}

static inline float num_rcp_f32(float a, enum num_round round, unsigned flags)
{
    return num_div_f32(1.0f, a, round, flags);
}

static inline float num_sqrt_f32(float a, enum num_round round, unsigned flags)
{
    a = num_in_f32(a, flags);
    if (round == NUM_RN)
        return num_out_f32(__builtin_sqrtf(a), flags);
    double root = __builtin_sqrt(a);
    double rest = __builtin_fma(-root, root, a);
    return num_out_f32(num_narrow_f32(num_odd_f64(root, rest), round), flags);
}

// abs and neg return the canonical NaN for any NaN, like the hardware.
static inline float num_abs_f32(float a, unsigned flags)
{
    return num_out_f32(num_from_bits_f32(num_bits_f32(num_in_f32(a, flags)) & 0x7FFFFFFFu), flags);
}

static inline float num_neg_f32(float a, unsigned flags)
{
    return num_out_f32(-num_in_f32(a, flags), flags);
}

// Returns the magnitude of b with the sign of a; this is the operand order of PTX.
static inline float num_copysign_f32(float a, float b)
{
    return num_from_bits_f32((num_bits_f32(a) & 0x80000000u) | (num_bits_f32(b) & 0x7FFFFFFFu));
}

// min and max. -0 is less than +0. If one operand is NaN, the result is the other operand, unless
// NUM_NAN is set.
static inline float num_minmax_f32(float a, float b, bool larger, unsigned flags)
{
    a = num_in_f32(a, flags);
    b = num_in_f32(b, flags);
    uint32_t sign = (num_bits_f32(a) ^ num_bits_f32(b)) & 0x80000000u;
    if (flags & NUM_XORSIGN) {
        a = num_from_bits_f32(num_bits_f32(a) & 0x7FFFFFFFu);
        b = num_from_bits_f32(num_bits_f32(b) & 0x7FFFFFFFu);
    }
    uint32_t same = larger ? num_bits_f32(a) & num_bits_f32(b) : num_bits_f32(a) | num_bits_f32(b);
    float chosen = (larger ? a > b : a < b) ? a : b;
    chosen = a == b ? num_from_bits_f32(same) : chosen;
    chosen = b != b ? a : chosen; // if a is the NaN, the comparison has already chosen b
    if (flags & NUM_NAN)
        chosen = a != a ? a : b != b ? b : chosen;
    if (flags & NUM_XORSIGN)
        chosen = num_from_bits_f32(num_bits_f32(chosen) | sign);
    return num_canonical_f32(chosen);
}

static inline float num_min_f32(float a, float b, unsigned flags)
{
    return num_minmax_f32(a, b, false, flags);
}

static inline float num_max_f32(float a, float b, unsigned flags)
{
    return num_minmax_f32(a, b, true, flags);
}

static inline float num_min3_f32(float a, float b, float c, unsigned flags)
{
    return num_minmax_f32(num_minmax_f32(a, b, false, flags), c, false, flags);
}

static inline float num_max3_f32(float a, float b, float c, unsigned flags)
{
    return num_minmax_f32(num_minmax_f32(a, b, true, flags), c, true, flags);
}

// --- f64 -----------------------------------------------------------------------------------------

// The directed rounding modes; soft.c computes them in integers.
double num_add_directed_f64(double a, double b, enum num_round round);
double num_mul_directed_f64(double a, double b, enum num_round round);
double num_fma_directed_f64(double a, double b, double c, enum num_round round);
double num_div_directed_f64(double a, double b, enum num_round round);
double num_sqrt_directed_f64(double a, enum num_round round);

static inline double num_out_f64(double value, double a, double b, double c)
{
    return value != value ? num_nan_f64(a, b, c) : value;
}

static inline double num_add_f64(double a, double b, enum num_round round)
{
    double sum = round == NUM_RN ? a + b : num_add_directed_f64(a, b, round);
    return num_out_f64(sum, a, b, 0.0);
}

static inline double num_sub_f64(double a, double b, enum num_round round)
{
    double difference = round == NUM_RN ? a - b : num_add_directed_f64(a, -b, round);
    return num_out_f64(difference, a, b, 0.0); // a NaN keeps its sign
}

static inline double num_mul_f64(double a, double b, enum num_round round)
{
    double product = round == NUM_RN ? a * b : num_mul_directed_f64(a, b, round);
    return num_out_f64(product, a, b, 0.0);
}

static inline double num_fma_f64(double a, double b, double c, enum num_round round)
{
    double sum = round == NUM_RN ? __builtin_fma(a, b, c) : num_fma_directed_f64(a, b, c, round);
    return num_out_f64(sum, a, b, c);
}

static inline double num_div_f64(double a, double b, enum num_round round)
{
    double quotient = round == NUM_RN ? a / b : num_div_directed_f64(a, b, round);
    return num_out_f64(quotient, b, a, 0.0); // division prefers the NaN in a
}

static inline double num_rcp_f64(double a, enum num_round round)
{
    double quotient = round == NUM_RN ? 1.0 / a : num_div_directed_f64(1.0, a, round);
    return num_out_f64(quotient, a, 0.0, 0.0);
}

static inline double num_sqrt_f64(double a, enum num_round round)
{
    double root = round == NUM_RN ? __builtin_sqrt(a) : num_sqrt_directed_f64(a, round);
    return num_out_f64(root, a, 0.0, 0.0);
}

// abs and neg keep the sign and payload of a NaN.
static inline double num_abs_f64(double a)
{
    double magnitude = num_from_bits_f64(num_bits_f64(a) & 0x7FFFFFFFFFFFFFFFu);
    return num_out_f64(magnitude, a, 0.0, 0.0);
}

static inline double num_neg_f64(double a)
{
    return num_out_f64(num_from_bits_f64(num_bits_f64(a) ^ 0x8000000000000000u), a, 0.0, 0.0);
}

// The magnitude of b with the sign of a.
static inline double num_copysign_f64(double a, double b)
{
    return num_from_bits_f64((num_bits_f64(a) & 0x8000000000000000u) |
                             (num_bits_f64(b) & 0x7FFFFFFFFFFFFFFFu));
}

static inline double num_minmax_f64(double a, double b, bool larger)
{
    uint64_t same = larger ? num_bits_f64(a) & num_bits_f64(b) : num_bits_f64(a) | num_bits_f64(b);
    double chosen = (larger ? a > b : a < b) ? a : b;
    chosen = a == b ? num_from_bits_f64(same) : chosen;
    chosen = b != b ? a : chosen;
    return num_out_f64(chosen, a, b, 0.0);
}

static inline double num_min_f64(double a, double b)
{
    return num_minmax_f64(a, b, false);
}

static inline double num_max_f64(double a, double b)
{
    return num_minmax_f64(a, b, true);
}

// --- Comparisons and classes ---------------------------------------------------------------------

// If an input is NaN, the first six are false (NE, too), and their counterparts with U are true.
// Integers have only the first six; LO, LS, HI and HS are LT, LE, GT and GE of unsigned values.
enum num_cmp {
    NUM_CMP_EQ,
    NUM_CMP_NE,
    NUM_CMP_LT,
    NUM_CMP_LE,
    NUM_CMP_GT,
    NUM_CMP_GE,
    NUM_CMP_EQU,
    NUM_CMP_NEU,
    NUM_CMP_LTU,
    NUM_CMP_LEU,
    NUM_CMP_GTU,
    NUM_CMP_GEU,
    NUM_CMP_NUM, // neither is NaN
    NUM_CMP_NAN,
};

static inline bool num_compare_f64(enum num_cmp cmp, double a, double b)
{
    switch (cmp) {
    case NUM_CMP_EQ: return a == b;
    case NUM_CMP_NE: return a < b || a > b;
    case NUM_CMP_LT: return a < b;
    case NUM_CMP_LE: return a <= b;
    case NUM_CMP_GT: return a > b;
    case NUM_CMP_GE: return a >= b;
    case NUM_CMP_EQU: return !(a < b || a > b);
    case NUM_CMP_NEU: return a != b;
    case NUM_CMP_LTU: return !(a >= b);
    case NUM_CMP_LEU: return !(a > b);
    case NUM_CMP_GTU: return !(a <= b);
    case NUM_CMP_GEU: return !(a < b);
    case NUM_CMP_NUM: return a == a && b == b;
    case NUM_CMP_NAN: return a != a || b != b;
    }
    return false;
}

static inline bool num_compare_f32(enum num_cmp cmp, float a, float b, unsigned flags)
{
    a = num_in_f32(a, flags);
    b = num_in_f32(b, flags);
    switch (cmp) {
    case NUM_CMP_EQ: return a == b;
    case NUM_CMP_NE: return a < b || a > b;
    case NUM_CMP_LT: return a < b;
    case NUM_CMP_LE: return a <= b;
    case NUM_CMP_GT: return a > b;
    case NUM_CMP_GE: return a >= b;
    case NUM_CMP_EQU: return !(a < b || a > b);
    case NUM_CMP_NEU: return a != b;
    case NUM_CMP_LTU: return !(a >= b);
    case NUM_CMP_LEU: return !(a > b);
    case NUM_CMP_GTU: return !(a <= b);
    case NUM_CMP_GEU: return !(a < b);
    case NUM_CMP_NUM: return a == a && b == b;
    case NUM_CMP_NAN: return a != a || b != b;
    }
    return false;
}

static inline bool num_compare_s64(enum num_cmp cmp, int64_t a, int64_t b)
{
    switch (cmp) {
    case NUM_CMP_EQ: return a == b;
    case NUM_CMP_NE: return a != b;
    case NUM_CMP_LT: return a < b;
    case NUM_CMP_LE: return a <= b;
    case NUM_CMP_GT: return a > b;
    case NUM_CMP_GE: return a >= b;
    default: return false;
    }
}

static inline bool num_compare_u64(enum num_cmp cmp, uint64_t a, uint64_t b)
{
    switch (cmp) {
    case NUM_CMP_EQ: return a == b;
    case NUM_CMP_NE: return a != b;
    case NUM_CMP_LT: return a < b;
    case NUM_CMP_LE: return a <= b;
    case NUM_CMP_GT: return a > b;
    case NUM_CMP_GE: return a >= b;
    default: return false;
    }
}

enum num_class {
    NUM_CLASS_FINITE,
    NUM_CLASS_INFINITE,
    NUM_CLASS_NUMBER, // not NaN
    NUM_CLASS_NOTANUMBER,
    NUM_CLASS_NORMAL, // zeros count as normal
    NUM_CLASS_SUBNORMAL,
};

// testp. `bits` is the magnitude; `infinity` and `normal` are the bits of infinity and of the
// smallest normal number.
static inline bool num_test_magnitude(enum num_class kind, uint64_t bits, uint64_t infinity,
                                      uint64_t normal)
{
    switch (kind) {
    case NUM_CLASS_FINITE: return bits < infinity;
    case NUM_CLASS_INFINITE: return bits == infinity;
    case NUM_CLASS_NUMBER: return bits <= infinity;
    case NUM_CLASS_NOTANUMBER: return bits > infinity;
    case NUM_CLASS_NORMAL: return bits == 0 || (bits >= normal && bits < infinity);
    case NUM_CLASS_SUBNORMAL: return bits > 0 && bits < normal;
    }
    return false;
}

static inline bool num_testp_f32(enum num_class kind, float a)
{
    return num_test_magnitude(kind, num_bits_f32(a) & 0x7FFFFFFFu, 0x7F800000u, 0x00800000u);
}

static inline bool num_testp_f64(enum num_class kind, double a)
{
    return num_test_magnitude(kind, num_bits_f64(a) & 0x7FFFFFFFFFFFFFFFu, 0x7FF0000000000000u,
                              0x0010000000000000u);
}

#endif
