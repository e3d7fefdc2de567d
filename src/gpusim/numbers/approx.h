// SPDX-License-Identifier: Apache-2.0
// The approximations of PTX: rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh and div as .approx (and
// div.full), for f32, the f64 seeds, f16 and bf16. Each is within the error that the ISA states,
// mostly as good as rounding allows, with the ISA's results for special values; the bits of a GPU
// are not reproduced. Flags: NUM_FTZ. Internal to src/gpusim; see numbers.h.
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

static inline float num_rsqrt_approx_f32(float a, unsigned flags)
{
    a = num_in_f32(a, flags);
    return num_out_f32((float)(1.0 / __builtin_sqrt(a)), flags);
}

// a * rcp(b), after both were scaled where b is subnormal. A reciprocal below the normal range is
// 0: for |b| above 2^126 so is the result, or NaN where a is infinite.
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

// 2^a in f64 with about 40 good bits, for f32's range; beyond it 0 or infinity after rounding.
static inline double num_exp2_f64(double a)
{
    a = a < 300.0 ? a : 300.0;
    a = a > -300.0 ? a : -300.0;
    double shifted = a + 0x1.8p52;       // the integer nearest to a is in the low bits
    double f = a - (shifted - 0x1.8p52); // -1/2 to 1/2: then the series of 2^f
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

// log2 of a positive number in the range of f32.
static inline double num_log2_f64(double a)
{
    // The exponent is counted from sqrt(1/2), so that the rest lies around 1.
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

// Like the hardware, of a / (2 pi) in f32, cut to a multiple of 2^-25: an error that grows with a.
float num_sin_approx_f32(float a, unsigned flags);
float num_cos_approx_f32(float a, unsigned flags);

float num_tanh_approx_f32(float a);

// The seeds: from the upper 32 bits of a, to the upper 32 bits of the result; subnormals are zeros.
double num_rcp_approx_ftz_f64(double a);
double num_rsqrt_approx_ftz_f64(double a);
// Without .ftz a full-precision sequence on the hardware.
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
