// SPDX-License-Identifier: Apache-2.0
// The approximations of numbers_approx.h that call libm or are rare.
#include "numbers_approx.h"

#include <math.h>

// --- f32 -----------------------------------------------------------------------------------------

// a as a fraction of a turn, as the hardware reduces it.
static double turn(float a, unsigned flags)
{
    return num_mul_f32(num_in_f32(a, flags), 0.15915494f, NUM_RZ, 0);
}

float num_sin_approx_f32(float a, unsigned flags)
{
    double whole = turn(a, flags);
    double part = whole - rint(whole);
    // A turn too small to change is left out of the reduction, and keeps the sign of zero.
    double angle = (part == 0 ? whole - trunc(whole) : part) * 6.283185307179586;
    if (num_in_f32(a, flags) == 0)
        return num_in_f32(a, flags);
    return num_out_f32((float)sin(angle), flags);
}

float num_cos_approx_f32(float a, unsigned flags)
{
    double whole = turn(a, flags);
    return num_out_f32((float)cos((whole - rint(whole)) * 6.283185307179586), flags);
}

float num_tanh_approx_f32(float a)
{
    return num_canonical_f32((float)tanh(a));
}

// --- f64 -----------------------------------------------------------------------------------------

// Subnormals as zeros of their sign, and nothing below the upper 32 bits.
static double upper_half(double a)
{
    uint64_t bits = num_bits_f64(a);
    if (!(bits & 0x7FF0000000000000u))
        bits &= 0x8000000000000000u;
    return num_from_bits_f64(bits & 0xFFFFFFFF00000000u);
}

static double seed(double exact)
{
    if (exact != exact)
        return num_from_bits_f64(NUM_NAN_BITS_F64_SEED);
    uint64_t bits = num_bits_f64(exact);
    if ((bits & 0x7FF0000000000000u) != 0x7FF0000000000000u)
        bits += 0x80000000u; // to nearest
    return upper_half(num_from_bits_f64(bits));
}

double num_rcp_approx_ftz_f64(double a)
{
    return seed(1.0 / upper_half(a));
}

double num_rsqrt_approx_ftz_f64(double a)
{
    return seed(1.0 / sqrt(upper_half(a)));
}

double num_rsqrt_approx_f64(double a)
{
    return num_out_f64(1.0 / sqrt(a), a, 0.0, 0.0);
}

// --- f16 and bf16 --------------------------------------------------------------------------------

uint16_t num_ex2_approx_f16(uint16_t a)
{
    return num_f16_nearest((float)exp2(num_f32_from_f16(a)));
}

static uint16_t flush_bf16(uint16_t a)
{
    return a & 0x7F80u ? a : a & 0x8000u;
}

uint16_t num_ex2_approx_ftz_bf16(uint16_t a)
{
    float power = (float)exp2(num_f32_from_bf16(flush_bf16(a)));
    return flush_bf16(num_bf16_nearest(power));
}

uint16_t num_tanh_approx_f16(uint16_t a)
{
    return num_f16_nearest((float)tanh(num_f32_from_f16(a)));
}

uint16_t num_tanh_approx_bf16(uint16_t a)
{
    return num_bf16_nearest((float)tanh(num_f32_from_bf16(a)));
}
