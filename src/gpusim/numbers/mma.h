// SPDX-License-Identifier: Apache-2.0
// Computes one element of a matrix product (mma, wmma): c plus the products of a row of A and a
// column of B. Rounding follows measurements of the tensor cores of an H200. Callers handle
// fragments and lanes. Internal to src/gpusim.
//
// k is the depth of one hardware step: 16 for f16 and bf16, 8 for tf32, or less for the smaller
// shapes. Callers split a deeper product into steps and pass each result as c of the next step.
#ifndef GLINT_GPUSIM_NUMBERS_MMA_H
#define GLINT_GPUSIM_NUMBERS_MMA_H

#include "numbers.h"

enum { NUM_MMA_STEP_HALF = 16, NUM_MMA_STEP_TF32 = 8 };

// bf16 or tf32 (widened to f32) with an f32 accumulator. Products are exact. Let e be the largest
// exponent among c and the products, where the exponent of a product is the sum of its factors'
// exponents. All terms are truncated towards zero to multiples of 2^(e - 25). Their exact sum is
// truncated to f32; there is no other rounding. NaN and infinities behave as in a sum of f32. NaN
// is canonical, and a zero is +0.
float num_mma_f32(const float *a, const float *b, float c, int k);

// The same for f16 (widened to f32), whose subnormal numbers count with exponent -14.
float num_mma_f16_f32(const float *a, const float *b, float c, int k);

// f16 with an f16 accumulator, whose subnormal numbers also count with exponent -14. The same sum
// is rounded to the nearest f16 instead of truncated. A result that rounds to zero is +0.
uint16_t num_mma_f16(const float *a, const float *b, uint16_t c, int k);

// The same for a row of A and several columns of B at once, in a form that compilers can vectorize.
// sums[] is c, and then the result. num_mma_panel_init() reads k factors of each column; `is_f16`
// says that they are f16, which num_mma_row_f16() requires.
enum { NUM_MMA_COLUMNS = 8, NUM_MMA_DEPTH = 16 };
struct num_mma_panel {
    double factor[NUM_MMA_DEPTH][NUM_MMA_COLUMNS];
    int32_t exponent[NUM_MMA_DEPTH][NUM_MMA_COLUMNS];
    int k;
    bool is_f16;
};
void num_mma_panel_init(struct num_mma_panel *panel, const float *const columns[NUM_MMA_COLUMNS],
                        int k, bool is_f16);
void num_mma_row_f32(const float *a, const struct num_mma_panel *b, float sums[NUM_MMA_COLUMNS]);
void num_mma_row_f16(const float *a, const struct num_mma_panel *b, uint16_t sums[NUM_MMA_COLUMNS]);

// f16 of m8n8k4, which the tensor cores of an H200 do not support; its assembler emits f32
// arithmetic that rounds to nearest. With an f32 accumulator, fused multiply-adds in ascending k
// start from +0, and c is added last. With an f16 accumulator, the two halves of k are separate
// chains that do not start from +0. The first chain is added to c, then the second, and the sum is
// rounded to f16.
float num_mma_k4_f32(const float *a, const float *b, float c);
uint16_t num_mma_k4_f16(const float *a, const float *b, uint16_t c);

// e4m3 and e5m2 (widened). The assembler for an H200 emits two f16 products of k / 2 terms each.
// The first starts from +0, the second from the first's result. The value c is added last and
// rounded to nearest.
float num_mma_e8_f32(const float *a, const float *b, float c, int k);
uint16_t num_mma_e8_f16(const float *a, const float *b, uint16_t c, int k);

// e4m3 and e5m2 (widened) of a warpgroup, which the tensor cores multiply themselves. The sum keeps
// only 13 bits below the leading one of its largest term, as publications about this GPU report:
// terms are truncated to multiples of 2^(e - 13), and with an f32 accumulator the sum is truncated
// to 14 significant bits. This was not measured for this project.
float num_mma_group_e8_f32(const float *a, const float *b, float c, int k);
uint16_t num_mma_group_e8_f16(const float *a, const float *b, uint16_t c, int k);

// f64: fused multiply-adds in ascending k.
double num_mma_f64(const double *a, const double *b, double c, int k, enum num_round round);

// s8, u8, s4 and u4 (widened). The sum is exact, and then wraps, or with .satfinite is clamped to
// s32.
int32_t num_mma_s32(const int32_t *a, const int32_t *b, int32_t c, int k, bool saturate);

// b1: adds to c the number of bits set in a xor b, or in a and b, over words of 32 bits.
int32_t num_mma_b1(const uint32_t *a, const uint32_t *b, int32_t c, int words, bool use_and);

// A tensor core that expects tf32 ignores the low 13 bits of an f32.
static inline float num_tf32_cut(uint32_t bits)
{
    return num_from_bits_f32(bits & 0xFFFFE000u);
}

#endif
