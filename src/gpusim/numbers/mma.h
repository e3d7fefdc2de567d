// SPDX-License-Identifier: Apache-2.0
// What one element of a matrix product (mma, wmma) becomes: c plus the products of a row of A and a
// column of B, with the rounding of the tensor cores of an H200, which was measured. Fragments and
// lanes are the caller's. Internal to src/gpusim.
//
// k is the depth of one hardware step: 16 for f16 and bf16, 8 for tf32, or less for the smaller
// shapes. A deeper product is a chain of steps, each with the result before it as c.
#ifndef GLINT_GPUSIM_NUMBERS_MMA_H
#define GLINT_GPUSIM_NUMBERS_MMA_H

#include "numbers.h"

enum { NUM_MMA_STEP_HALF = 16, NUM_MMA_STEP_TF32 = 8 };

// bf16 or tf32 (widened to f32) with an f32 accumulator. Products are exact. They and c are cut,
// towards zero, to multiples of 2^(e - 25), where e is the largest exponent among them (of a
// product the sum of its factors' exponents); their sum is exact and is cut to f32. There is no
// other rounding. NaN and infinities as in a sum of f32; NaN is the canonical one, zero is +0.
float num_mma_f32(const float *a, const float *b, float c, int k);

// The same for f16 (widened to f32), whose subnormal numbers have the exponent -14.
float num_mma_f16_f32(const float *a, const float *b, float c, int k);

// f16 with an f16 accumulator, whose subnormal numbers have the exponent -14 too: the same sum,
// rounded to nearest f16 instead of cut. What rounds to zero is +0.
uint16_t num_mma_f16(const float *a, const float *b, uint16_t c, int k);

// f16 of m8n8k4, which has no place in the tensor cores of an H200: its assembler makes a chain of
// fused multiply-adds of f32 from +0, in ascending k, and adds that to c. With an f16 accumulator
// each half of k has such a chain, without the +0; c and the first are added, then the second, and
// the sum is rounded to f16. All to nearest.
float num_mma_k4_f32(const float *a, const float *b, float c);
uint16_t num_mma_k4_f16(const float *a, const float *b, uint16_t c);

// e4m3 and e5m2 (widened), of which an H200's assembler makes two products of f16: k / 2 terms with
// +0, the others with what that gave. c is added last, to nearest.
float num_mma_e8_f32(const float *a, const float *b, float c, int k);
uint16_t num_mma_e8_f16(const float *a, const float *b, uint16_t c, int k);

// f64: a chain of fused multiply-adds in ascending k.
double num_mma_f64(const double *a, const double *b, double c, int k, enum num_round round);

// s8, u8, s4, u4 (widened): exact, then wrapped or (.satfinite) clamped to s32.
int32_t num_mma_s32(const int32_t *a, const int32_t *b, int32_t c, int k, bool saturate);

// b1: c plus the bits set in a xor b, or a and b, over words of 32.
int32_t num_mma_b1(const uint32_t *a, const uint32_t *b, int32_t c, int words, bool use_and);

// An f32 as a tensor core reads it where tf32 is asked for: without its low 13 bits.
static inline float num_tf32_cut(uint32_t bits)
{
    return num_from_bits_f32(bits & 0xFFFFE000u);
}

#endif
