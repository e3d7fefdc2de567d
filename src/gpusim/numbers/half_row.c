// SPDX-License-Identifier: Apache-2.0
// A sum or product of two f16 is rounded to f32 first, which does not change the result; see
// half.h. A product of two f16 is exact in f32, and so is the error of its sum with the third one,
// by Knuth's algorithm. With that error the sum is rounded to odd, and then to f16.
#include "half_row.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "numbers.h"

#define WITH_F16C __attribute__((target("avx2,f16c")))

static inline WITH_F16C __m128i narrow(__m256 a)
{
    const __m128i half = _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    const __m128i nans =
        _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
    return _mm_blendv_epi8(half, _mm_set1_epi16(NUM_NAN_BITS_H16), nans);
}

static inline WITH_F16C __m256 fused(__m256 a, __m256 b, __m256 c)
{
    const __m256 product = _mm256_mul_ps(a, b), sum = _mm256_add_ps(product, c);
    const __m256 second = _mm256_sub_ps(sum, product), first = _mm256_sub_ps(sum, second);
    const __m256 error = _mm256_add_ps(_mm256_sub_ps(product, first), _mm256_sub_ps(c, second));
    // Unless the sum is exact or its last bit is set, the odd neighbor is on the side of the error.
    // The error of an infinite sum is NaN.
    const __m256i bits = _mm256_castps_si256(sum);
    const __m256i inexact =
        _mm256_castps_si256(_mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_NEQ_OQ));
    const __m256i even =
        _mm256_cmpeq_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(1)), _mm256_setzero_si256());
    const __m256i inward =
        _mm256_srai_epi32(_mm256_xor_si256(bits, _mm256_castps_si256(error)), 31);
    const __m256i step = _mm256_or_si256(inward, _mm256_set1_epi32(1)); // -1 or 1
    return _mm256_castsi256_ps(
        _mm256_add_epi32(bits, _mm256_and_si256(step, _mm256_and_si256(inexact, even))));
}

static inline WITH_F16C __m128i compute(enum num_half_op op, __m128i a, __m128i b, __m128i c)
{
    const __m256 left = _mm256_cvtph_ps(a), right = _mm256_cvtph_ps(b);
    switch (op) {
    case NUM_HALF_ADD: return narrow(_mm256_add_ps(left, right));
    case NUM_HALF_SUB: return narrow(_mm256_sub_ps(left, right));
    case NUM_HALF_MUL: return narrow(_mm256_mul_ps(left, right));
    case NUM_HALF_FMA: break;
    }
    return narrow(fused(left, right, _mm256_cvtph_ps(c)));
}

WITH_F16C void num_half_row(enum num_half_op op, uint32_t *out, const uint32_t *a,
                            const uint32_t *b, const uint32_t *c, uint32_t flip_a, uint32_t flip_c)
{
    const __m128i signs_a = _mm_set1_epi32((int)flip_a), signs_c = _mm_set1_epi32((int)flip_c);
    for (int i = 0; i < NUM_HALF_ROW; i += 4) {
        const __m128i left = _mm_xor_si128(_mm_loadu_si128((const void *)(a + i)), signs_a);
        const __m128i right = _mm_loadu_si128((const void *)(b + i));
        __m128i third = _mm_setzero_si128();
        if (op == NUM_HALF_FMA)
            third = _mm_xor_si128(_mm_loadu_si128((const void *)(c + i)), signs_c);
        _mm_storeu_si128((void *)(out + i), compute(op, left, right, third));
    }
}

#endif
