// SPDX-License-Identifier: Apache-2.0
// Implements the functions of approx.h that call libm or are rarely used.
#include "approx.h"

#include <math.h>

// --- f32 -----------------------------------------------------------------------------------------

// Returns the sine of a, or with `quadrant` 1 and `odd` false the cosine, as the hardware computes
// them. The angle in turns is a product in f32, truncated to 25 bits. In odd quadrants the 23 bits
// below the quadrant are inverted.
static float sine(float a, unsigned quadrant, bool odd, unsigned flags)
{
    float turns = num_mul_f32(num_in_f32(a, flags), 0.15915494f, NUM_RZ, 0);
    if (turns - turns != 0)
        return num_from_bits_f32(NUM_NAN_BITS_F32);
    uint32_t angle = (uint32_t)fmod(trunc((double)fabsf(turns) * 0x1p25), 0x1p25);
    uint32_t phase = angle & 0x7FFFFF;
    quadrant += angle >> 23;
    if (quadrant & 1)
        phase ^= 0x7FFFFF;
    bool negative = (quadrant & 2) != 0;
    if (odd && num_bits_f32(turns) >> 31)
        negative = !negative;
    float result = (float)sin(phase * (6.283185307179586 * 0x1p-25));
    return num_out_f32(negative ? -result : result, flags);
}

float num_sin_approx_f32(float a, unsigned flags)
{
    return sine(a, 0, true, flags);
}

float num_cos_approx_f32(float a, unsigned flags)
{
    return sine(a, 1, false, flags);
}

float num_tanh_approx_f32(float a)
{
    return num_canonical_f32((float)tanh((double)a));
}

// --- f64 -----------------------------------------------------------------------------------------

// Flushes subnormals to zeros of the same sign and clears the lower 32 bits.
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
    return num_f16_nearest((float)exp2((double)num_f32_from_f16(a)));
}

static uint16_t flush_bf16(uint16_t a)
{
    return a & 0x7F80u ? a : a & 0x8000u;
}

uint16_t num_ex2_approx_ftz_bf16(uint16_t a)
{
    float power = (float)exp2((double)num_f32_from_bf16(flush_bf16(a)));
    return flush_bf16(num_bf16_nearest(power));
}

uint16_t num_tanh_approx_f16(uint16_t a)
{
    return num_f16_nearest((float)tanh((double)num_f32_from_f16(a)));
}

uint16_t num_tanh_approx_bf16(uint16_t a)
{
    return num_bf16_nearest((float)tanh((double)num_f32_from_bf16(a)));
}
