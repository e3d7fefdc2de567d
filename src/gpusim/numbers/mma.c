// SPDX-License-Identifier: Apache-2.0
// Implements mma.h. The model of the tensor cores was fitted to products of random matrices with
// varied exponents on an H200, and agrees with them in every bit.
#include "mma.h"

#include "half.h"
#include "int.h"

// The number of bits below the leading one that the term with the largest exponent keeps, and for
// 8-bit factors of warpgroups.
enum { FRACTION_BITS = 25, FRACTION_BITS_E8 = 13 };

enum { LEAST_F32 = -126, LEAST_F16 = -14 };

// `least` is the smallest exponent of the format's normal numbers, which its subnormal numbers
// share.
static int32_t exponent_of(float value, int32_t least)
{
    int32_t exponent = (int32_t)(num_bits_f32(value) >> 23 & 255) - 127;
    return exponent > least ? exponent : least;
}

static double power_of_two(int32_t exponent)
{
    return num_from_bits_f64((uint64_t)(exponent + 1023) << 52);
}

// Returns the sum before its final rounding. It is exact in f64, because it has fewer than 40 bits.
// NaN and infinities are returned unchanged. `least` is the smallest exponent of the factors'
// format, `least_c` that of c's format.
static double sum_of_products(const float *a, const float *b, float c, int k, int32_t least,
                              int32_t least_c, int32_t fraction_bits)
{
    double plain = c;
    int32_t largest = c != 0 ? exponent_of(c, least_c) : INT32_MIN;
    for (int i = 0; i < k; i++) {
        double product = (double)a[i] * (double)b[i];
        int32_t exponent = exponent_of(a[i], least) + exponent_of(b[i], least);
        plain += product;
        if (product != 0 && exponent > largest)
            largest = exponent;
    }
    if (plain != plain || plain - plain != 0 || largest == INT32_MIN)
        return plain;
    // Exponents lie between -252 and 254, so neither power of two leaves the range of f64.
    double scale = power_of_two(fraction_bits - largest);
    int64_t sum = (int64_t)((double)c * scale);
    for (int i = 0; i < k; i++)
        sum += (int64_t)((double)a[i] * (double)b[i] * scale);
    return (double)sum * power_of_two(largest - fraction_bits);
}

// Truncates to f32. A sum that is too large becomes infinite, although nothing else is rounded away
// from zero. A zero is +0.
static float cut(double sum)
{
    bool inside = __builtin_fabs(sum) < 0x1p128;
    float result = num_canonical_f32(inside ? num_narrow_f32(sum, NUM_RZ) : (float)sum);
    return result == 0 ? 0.0f : result;
}

static uint16_t nearest(double sum)
{
    uint16_t result = num_f16_nearest(num_odd_f32(sum));
    return result == 0x8000 ? 0 : result;
}

// The exponent of zeros, which is below that of any product even if another one is added to it.
enum { NO_EXPONENT = -0x10000 };

static int32_t exponent_or_none(float value, int32_t least)
{
    const int32_t exponent = exponent_of(value, least);
    return value != 0 ? exponent : NO_EXPONENT;
}

// sum_of_products() for the columns of a panel. Sums of multiples of 2^(largest - 25) are exact in
// f64, in any order.
static void sums_of_products(const float *a, const struct num_mma_panel *b,
                             const float c[NUM_MMA_COLUMNS], int32_t least_c,
                             double out[NUM_MMA_COLUMNS])
{
    const int32_t least = b->is_f16 ? LEAST_F16 : LEAST_F32;
    double product[NUM_MMA_DEPTH][NUM_MMA_COLUMNS], plain[NUM_MMA_COLUMNS];
    double scale[NUM_MMA_COLUMNS], sum[NUM_MMA_COLUMNS];
    int32_t largest[NUM_MMA_COLUMNS];
    for (int j = 0; j < NUM_MMA_COLUMNS; j++) {
        plain[j] = c[j];
        largest[j] = exponent_or_none(c[j], least_c);
    }
    for (int i = 0; i < b->k; i++) {
        const int32_t exponent = exponent_or_none(a[i], least);
        const double factor = a[i];
        for (int j = 0; j < NUM_MMA_COLUMNS; j++) {
            const int32_t both = exponent + b->exponent[i][j];
            largest[j] = both > largest[j] ? both : largest[j];
            product[i][j] = factor * b->factor[i][j];
            plain[j] += product[i][j];
        }
    }
    for (int j = 0; j < NUM_MMA_COLUMNS; j++) {
        largest[j] = largest[j] > -300 ? largest[j] : -300; // if all terms are 0
        scale[j] = power_of_two(FRACTION_BITS - largest[j]);
        sum[j] = __builtin_trunc((double)c[j] * scale[j]);
    }
    for (int i = 0; i < b->k; i++)
        for (int j = 0; j < NUM_MMA_COLUMNS; j++)
            sum[j] += __builtin_trunc(product[i][j] * scale[j]);
    for (int j = 0; j < NUM_MMA_COLUMNS; j++) {
        const double exact = sum[j] * power_of_two(largest[j] - FRACTION_BITS);
        out[j] = plain[j] - plain[j] != 0 ? plain[j] : exact;
    }
}

void num_mma_panel_init(struct num_mma_panel *panel, const float *const columns[NUM_MMA_COLUMNS],
                        int k, bool is_f16)
{
    panel->k = k;
    panel->is_f16 = is_f16;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < NUM_MMA_COLUMNS; j++) {
            panel->factor[i][j] = columns[j][i];
            panel->exponent[i][j] = exponent_or_none(columns[j][i], is_f16 ? LEAST_F16 : LEAST_F32);
        }
    }
}

void num_mma_row_f32(const float *a, const struct num_mma_panel *b, float sums[NUM_MMA_COLUMNS])
{
    double exact[NUM_MMA_COLUMNS];
    sums_of_products(a, b, sums, LEAST_F32, exact);
    for (int j = 0; j < NUM_MMA_COLUMNS; j++)
        sums[j] = cut(exact[j]);
}

void num_mma_row_f16(const float *a, const struct num_mma_panel *b, uint16_t sums[NUM_MMA_COLUMNS])
{
    double exact[NUM_MMA_COLUMNS];
    float c[NUM_MMA_COLUMNS];
    for (int j = 0; j < NUM_MMA_COLUMNS; j++)
        c[j] = num_f32_from_f16(sums[j]);
    sums_of_products(a, b, c, LEAST_F16, exact);
    for (int j = 0; j < NUM_MMA_COLUMNS; j++)
        sums[j] = nearest(exact[j]);
}

float num_mma_f32(const float *a, const float *b, float c, int k)
{
    return cut(sum_of_products(a, b, c, k, LEAST_F32, LEAST_F32, FRACTION_BITS));
}

float num_mma_f16_f32(const float *a, const float *b, float c, int k)
{
    return cut(sum_of_products(a, b, c, k, LEAST_F16, LEAST_F32, FRACTION_BITS));
}

uint16_t num_mma_f16(const float *a, const float *b, uint16_t c, int k)
{
    return nearest(
        sum_of_products(a, b, num_f32_from_f16(c), k, LEAST_F16, LEAST_F16, FRACTION_BITS));
}

// The cut of the sum to 14 significant bits clears the low bits of an f32.
float num_mma_group_e8_f32(const float *a, const float *b, float c, int k)
{
    const double sum = sum_of_products(a, b, c, k, LEAST_F16, LEAST_F32, FRACTION_BITS_E8);
    const float result = cut(sum);
    if (result != result || result - result != 0)
        return result;
    return num_from_bits_f32(num_bits_f32(result) & ~0u << (23 - FRACTION_BITS_E8));
}

uint16_t num_mma_group_e8_f16(const float *a, const float *b, uint16_t c, int k)
{
    return nearest(
        sum_of_products(a, b, num_f32_from_f16(c), k, LEAST_F16, LEAST_F16, FRACTION_BITS_E8));
}

static float chain(const float *a, const float *b, float sum, int k)
{
    for (int i = 0; i < k; i++)
        sum = num_fma_f32(a[i], b[i], sum, NUM_RN, 0);
    return sum;
}

float num_mma_k4_f32(const float *a, const float *b, float c)
{
    return num_add_f32(c, chain(a, b, 0, 4), NUM_RN, 0);
}

// The chains begin with -0, which leaves a first product of -0 as it is.
uint16_t num_mma_k4_f16(const float *a, const float *b, uint16_t c)
{
    float sum = num_add_f32(num_f32_from_f16(c), chain(a, b, -0.0f, 2), NUM_RN, 0);
    return num_f16_nearest(num_add_f32(sum, chain(a + 2, b + 2, -0.0f, 2), NUM_RN, 0));
}

float num_mma_e8_f32(const float *a, const float *b, float c, int k)
{
    int half = k / 2;
    float sum = num_mma_f16_f32(a, b, 0, half);
    return num_add_f32(c, num_mma_f16_f32(a + half, b + half, sum, half), NUM_RN, 0);
}

uint16_t num_mma_e8_f16(const float *a, const float *b, uint16_t c, int k)
{
    int half = k / 2;
    uint16_t sum = num_mma_f16(a, b, 0, half);
    return num_add_f16(num_mma_f16(a + half, b + half, sum, half), c, 0);
}

double num_mma_f64(const double *a, const double *b, double c, int k, enum num_round round)
{
    for (int i = 0; i < k; i++)
        c = num_fma_f64(a[i], b[i], c, round);
    return c;
}

int32_t num_mma_s32(const int32_t *a, const int32_t *b, int32_t c, int k, bool saturate)
{
    int64_t sum = c;
    for (int i = 0; i < k; i++)
        sum += (int64_t)a[i] * b[i];
    return saturate ? num_clamp_s32(sum) : (int32_t)(uint32_t)(uint64_t)sum;
}

int32_t num_mma_b1(const uint32_t *a, const uint32_t *b, int32_t c, int words, bool use_and)
{
    uint32_t sum = (uint32_t)c;
    for (int i = 0; i < words; i++)
        sum += num_popc_b32(use_and ? a[i] & b[i] : a[i] ^ b[i]);
    return (int32_t)sum;
}
