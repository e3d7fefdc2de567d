// SPDX-License-Identifier: Apache-2.0
// Implements the approximate instructions of PTX: rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh and
// div with .approx, and div.full. The types are f32, the f64 seeds, f16 and bf16. Every result is
// within the error bound of the ISA, and special values give the ISA's results. The functions do
// not reproduce the exact bits of a GPU. The only flag is NUM_FTZ. Internal to src/gpusim; see
// numbers.h.
#ifndef GLINT_GPUSIM_NUMBERS_APPROX_H
#define GLINT_GPUSIM_NUMBERS_APPROX_H

#include "half.h"
#include "numbers.h"

static inline float num_rcp_approx_f32(float a, unsigned flags)
{
    return num_out_f32(1.0f / num_in_f32(a, flags), flags);
}

static inline float num_sqrt_approx_f32(float a, unsigned flags)
{
    return num_out_f32(__builtin_sqrtf(num_in_f32(a, flags)), flags);
}

static inline bool num_is_positive_normal_f32(float a)
{
    return num_bits_f32(a) - 0x00800000u < 0x7F000000u;
}

// rsqrt for positive normal numbers, in a quarter of the time of a root and a division: two steps
// of Newton's method in f32, and one of third order in f64. The result is the same for all of them.
static inline float num_rsqrt_normal_f32(float a)
{
    const float half = 0.5f * a;
    float near = num_from_bits_f32(0x5F375A86u - (num_bits_f32(a) >> 1));
    near = near * (1.5f - half * near * near);
    near = near * (1.5f - half * near * near);
    const double root = near, rest = 1.0 - (double)a * root * root;
    return (float)(root + root * rest * (0.5 + 0.375 * rest));
}

static inline float num_rsqrt_approx_f32(float a, unsigned flags)
{
    a = num_in_f32(a, flags);
    return num_out_f32((float)(1.0 / __builtin_sqrt(a)), flags);
}

// Computes a * rcp(b); both operands are scaled first if b is subnormal. A subnormal reciprocal
// counts as 0. So for |b| above 2^126 the result is 0, or NaN if a is infinite.
static inline float num_div_approx_f32(float a, float b, unsigned flags)
{
    a = num_in_f32(a, flags);
    b = num_in_f32(b, flags);
    bool small = __builtin_fabsf(b) < 0x1p-126f && !(flags & NUM_FTZ);
    a = small ? a * 0x1p24f : a;
    b = small ? b * 0x1p24f : b;
    return num_mul_f32(a, num_flush_f32(1.0f / b), NUM_RN, flags);
}

static inline float num_div_full_f32(float a, float b, unsigned flags)
{
    return num_div_f32(a, b, NUM_RN, flags);
}

// Returns 2^a, accurate to about 40 bits. Arguments are clamped to +-300, which still rounds to 0
// or infinity in f32.
static inline double num_exp2_f64(double a)
{
    a = a < 300.0 ? a : 300.0;
    a = a > -300.0 ? a : -300.0;
    double shifted = a + 0x1.8p52;       // the low bits hold the integer nearest to a
    double f = a - (shifted - 0x1.8p52); // between -1/2 and 1/2; the series below computes 2^f
    double p = 7.0549116208011233e-9 + f * 4.4455382718708112e-10;
    p = 1.0178086009239699e-7 + f * p;
    p = 1.3215486790144309e-6 + f * p;
    p = 1.5252733804059841e-5 + f * p;
    p = 1.5403530393381606e-4 + f * p;
    p = 1.3333558146428443e-3 + f * p;
    p = 9.6181291076284769e-3 + f * p;
    p = 5.5504108664821580e-2 + f * p;
    p = 2.4022650695910072e-1 + f * p;
    p = 6.9314718055994531e-1 + f * p;
    p = 1.0 + f * p;
    uint64_t power = (num_bits_f64(shifted) + 1023) << 52;
    return p * num_from_bits_f64(power);
}

static inline float num_ex2_approx_f32(float a, unsigned flags)
{
    a = num_in_f32(a, flags);
    float power = (float)num_exp2_f64(a);
    return num_out_f32(a != a ? a : power, flags);
}

// Returns log2 of a positive number in the range of f32.
static inline double num_log2_f64(double a)
{
    // Exponents count from sqrt(1/2), so that `rest` lies close to 1.
    uint64_t bits = num_bits_f64(a) - 0x3FE6A09E667F3BCDu;
    double exponent = (double)((int64_t)bits >> 52);
    double rest = num_from_bits_f64((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);
    double s = (rest - 1.0) / (rest + 1.0);
    double q = s * s;
    double p = 1.0 / 13 + q * (1.0 / 15);
    p = 1.0 / 11 + q * p;
    p = 1.0 / 9 + q * p;
    p = 1.0 / 7 + q * p;
    p = 1.0 / 5 + q * p;
    p = 1.0 / 3 + q * p;
    return exponent + 2.8853900817779268 * (s + s * q * p);
}

static inline float num_lg2_approx_f32(float a, unsigned flags)
{
    a = num_in_f32(a, flags);
    float logarithm = (float)num_log2_f64(a);
    logarithm = a > 0 ? logarithm : num_from_bits_f32(NUM_NAN_BITS_F32);
    logarithm = a == 0 ? -__builtin_inff() : logarithm;
    logarithm = a == __builtin_inff() ? a : logarithm;
    return num_out_f32(logarithm, flags);
}

// Like the hardware, these compute a / (2 pi) in f32 and truncate it to a multiple of 2^-25. The
// error therefore grows with a.
float num_sin_approx_f32(float a, unsigned flags);
float num_cos_approx_f32(float a, unsigned flags);

float num_tanh_approx_f32(float a);

// The seeds of f64 division and square root. They read the upper 32 bits of a and set only the
// upper 32 bits of the result. Subnormals count as zeros.
double num_rcp_approx_ftz_f64(double a);
double num_rsqrt_approx_ftz_f64(double a);
// The hardware computes the form without .ftz in full precision.
double num_rsqrt_approx_f64(double a);

uint16_t num_ex2_approx_f16(uint16_t a);
uint16_t num_ex2_approx_ftz_bf16(uint16_t a);
uint16_t num_tanh_approx_f16(uint16_t a);
uint16_t num_tanh_approx_bf16(uint16_t a);

static inline uint32_t num_ex2_approx_f16x2(uint32_t a)
{
    return NUM_X2_UNARY(num_ex2_approx_f16, a);
}

static inline uint32_t num_ex2_approx_ftz_bf16x2(uint32_t a)
{
    return NUM_X2_UNARY(num_ex2_approx_ftz_bf16, a);
}

static inline uint32_t num_tanh_approx_f16x2(uint32_t a)
{
    return NUM_X2_UNARY(num_tanh_approx_f16, a);
}

static inline uint32_t num_tanh_approx_bf16x2(uint32_t a)
{
    return NUM_X2_UNARY(num_tanh_approx_bf16, a);
}

#endif
