// SPDX-License-Identifier: Apache-2.0
// The tables of a plan: roots of unity, and chirps with their transforms. They are computed in
// double precision.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

struct cufft_number {
    double x, y;
};

static int64_t largest_factor(int64_t n)
{
    int64_t largest = 1;
    for (int64_t factor = 2; factor * factor <= n; factor++) {
        while (n % factor == 0) {
            largest = factor;
            n /= factor;
        }
    }
    return n > largest ? n : largest;
}

// The length of a convolution for n numbers: a power of 2.
static int64_t padded_length(int64_t n)
{
    int64_t padded = 1;
    while (padded < 2 * n - 1)
        padded *= 2;
    return padded;
}

// exp(-i * pi * numerator / denominator), where numerator is from 0 to 2 * denominator. The angle
// is brought to an eighth of a turn, so that results are exact to the last bit or so.
static struct cufft_number root(int64_t numerator, int64_t denominator)
{
    const double angle = 3.14159265358979323846;
    const bool lower = numerator > denominator;
    if (lower)
        numerator = 2 * denominator - numerator;
    const bool left = 2 * numerator > denominator;
    if (left)
        numerator = denominator - numerator;
    double x, y;
    if (4 * numerator > denominator) {
        const double rest =
            angle * (double)(denominator - 2 * numerator) / (double)(2 * denominator);
        x = sin(rest);
        y = cos(rest);
    } else {
        x = cos(angle * (double)numerator / (double)denominator);
        y = sin(angle * (double)numerator / (double)denominator);
    }
    return (struct cufft_number){left ? -x : x, lower ? y : -y};
}

// A transform of a power of 2 on the host, in place: T. Cooley's and J. Tukey's.
static void transform(struct cufft_number *data, int64_t length)
{
    for (int64_t i = 1, j = 0; i < length; i++) {
        int64_t bit = length >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j |= bit;
        if (i < j) {
            const struct cufft_number old = data[i];
            data[i] = data[j];
            data[j] = old;
        }
    }
    for (int64_t half = 1; half < length; half *= 2) {
        for (int64_t k = 0; k < half; k++) {
            const struct cufft_number w = root(k, half);
            for (int64_t i = k; i < length; i += 2 * half) {
                const struct cufft_number a = data[i], b = data[i + half];
                const struct cufft_number c = {b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x};
                data[i] = (struct cufft_number){a.x + c.x, a.y + c.y};
                data[i + half] = (struct cufft_number){a.x - c.x, a.y - c.y};
            }
        }
    }
}

// Fills the tables of an axis, one behind another: roots, chirp and its transform.
static void fill(const struct cufft_axis *axis, struct cufft_number *to)
{
    const int64_t n = axis->length, roots = axis->padded ? axis->padded : n;
    for (int64_t k = 0; k < roots; k++)
        to[k] = root(2 * k, roots);
    if (!axis->padded)
        return;
    struct cufft_number *const chirp = to + roots, *const transformed = chirp + n;
    memset(transformed, 0, (size_t)axis->padded * sizeof(*transformed));
    for (int64_t k = 0; k < n; k++) {
        // k * k fits: a padded length with twice as many numbers fits into memory.
        chirp[k] = root((int64_t)((uint64_t)k * (uint64_t)k % (uint64_t)(2 * n)), n);
        const struct cufft_number other = {chirp[k].x, -chirp[k].y};
        transformed[k] = other;
        transformed[k ? axis->padded - k : 0] = other;
    }
    transform(transformed, axis->padded);
}

static int64_t numbers_of(const struct cufft_axis *axis)
{
    return axis->padded ? 2 * axis->padded + axis->length : axis->length;
}

// Sets the axes but for the addresses of tables, which are relative to the first.
static int64_t plan_axes(const struct cufft_plan *plan, struct cufft_axis axes[CUFFT_RANK])
{
    int64_t numbers = 0;
    for (int i = 0; i < CUFFT_RANK; i++) {
        const int64_t n = plan->n[i];
        const int64_t padded = largest_factor(n) > CUFFT_LARGEST_RADIX ? padded_length(n) : 0;
        const uint64_t roots = (uint64_t)numbers, chirp = roots + (uint64_t)(padded ? padded : n);
        axes[i] = (struct cufft_axis){n, padded, roots, chirp, chirp + (uint64_t)n};
        numbers += numbers_of(&axes[i]);
    }
    return numbers;
}

static size_t number_bytes(const struct cufft_plan *plan)
{
    return cufft_is_double(plan->type) ? sizeof(struct cufft_number) : 2 * sizeof(float);
}

size_t cufft_work_bytes(const struct cufft_plan *plan)
{
    struct cufft_axis axes[CUFFT_RANK];
    const size_t total = (size_t)(plan->n[0] * plan->n[1] * plan->n[2] * plan->batch);
    size_t most = total; // in each of two halves
    plan_axes(plan, axes);
    for (int i = 0; i < CUFFT_RANK; i++) {
        const size_t rows = total / (size_t)axes[i].length;
        if (axes[i].padded && rows * (size_t)axes[i].padded > most)
            most = rows * (size_t)axes[i].padded;
    }
    return 2 * most * number_bytes(plan);
}

int cufft_make_tables(struct cufft_plan *plan)
{
    const int64_t numbers = plan_axes(plan, plan->axes);
    const size_t size_bytes = (size_t)numbers * number_bytes(plan);
    struct cufft_number *const tables = malloc((size_t)numbers * sizeof(*tables));
    CUresult result = tables ? cuMemAlloc_v2(&plan->tables, size_bytes) : CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < CUFFT_RANK && result == CUDA_SUCCESS; i++) {
        struct cufft_axis *const axis = &plan->axes[i];
        fill(axis, tables + axis->roots);
        axis->roots = plan->tables + axis->roots * number_bytes(plan);
        axis->chirp = plan->tables + axis->chirp * number_bytes(plan);
        axis->chirp_transform = plan->tables + axis->chirp_transform * number_bytes(plan);
    }
    if (result == CUDA_SUCCESS && !cufft_is_double(plan->type)) {
        float *const narrow =
            (float *)tables; // in place: each is at or before what it is made from
        for (int64_t i = 0; i < numbers; i++) {
            const struct cufft_number number = tables[i];
            const float pair[2] = {(float)number.x, (float)number.y};
            memcpy(narrow + 2 * i, pair, sizeof(pair));
        }
    }
    if (result == CUDA_SUCCESS)
        result = cuMemcpyHtoD_v2(plan->tables, tables, size_bytes);
    free(tables);
    return result == CUDA_SUCCESS               ? CUFFT_OK
           : result == CUDA_ERROR_OUT_OF_MEMORY ? CUFFT_ALLOC_FAILED
                                                : CUFFT_SETUP_FAILED;
}
