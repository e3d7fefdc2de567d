// SPDX-License-Identifier: Apache-2.0
// LU factorization of small matrices of a batch, and solutions and inverses by it. A block computes one matrix.
#ifndef GLINT_STANDINS_CUBLAS_FACTORS_CUH
#define GLINT_STANDINS_CUBLAS_FACTORS_CUH

#include "numbers.cuh"

// Exchanges rows so that the diagonal has the largest elements, if pivots are wanted. The status is 0, or the number from
// 1 of the first diagonal element that is 0.
template <typename T> __device__ void getrf(const struct cublas_factor &about)
{
    const int64_t member = blockIdx.x, n = about.n, step = about.a.column;
    T *const a = start_of<T>(about.a, member);
    int32_t *const pivots = about.pivots ? (int32_t *)about.pivots + member * n : 0;
    int32_t status = 0;
    __shared__ int64_t chosen;
    for (int64_t k = 0; k < n; k++) {
        if (threadIdx.x == 0) {
            chosen = k;
            for (int64_t i = k + 1; pivots && i < n; i++) {
                if (size_of(a[i + k * step]) > size_of(a[chosen + k * step]))
                    chosen = i;
            }
            if (pivots)
                pivots[k] = (int32_t)(chosen + 1);
        }
        __syncthreads();
        const int64_t other = chosen;
        for (int64_t j = threadIdx.x; other != k && j < n; j += CUBLAS_PIVOT_THREADS) {
            const T old = a[k + j * step];
            a[k + j * step] = a[other + j * step];
            a[other + j * step] = old;
        }
        __syncthreads();
        const T pivot = a[k + k * step];
        if (is_zero(pivot)) {
            if (!status)
                status = (int32_t)(k + 1);
            continue;
        }
        for (int64_t i = k + 1 + threadIdx.x; i < n; i += CUBLAS_PIVOT_THREADS) {
            const T factor = a[i + k * step] / pivot;
            a[i + k * step] = factor;
            for (int64_t j = k + 1; j < n; j++)
                a[i + j * step] = a[i + j * step] - factor * a[k + j * step];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && about.status)
        ((int32_t *)about.status)[member] = status;
}

// Solves with the factors of getrf, for a column in each thread.
template <typename T>
__device__ void solve_column(const struct cublas_factor &about, const T *a, const int32_t *pivots, T *x)
{
    const int64_t n = about.n, step = about.a.column;
    for (int64_t k = 0; pivots && !about.transpose && k < n; k++) {
        const T old = x[k];
        x[k] = x[pivots[k] - 1];
        x[pivots[k] - 1] = old;
    }
    for (int pass = 0; pass < 2; pass++) {
        // First L, then U; transposed, first U, which is then a lower triangle, then L.
        const bool is_unit = about.transpose ? pass == 1 : pass == 0;
        for (int64_t turn = 0; turn < n; turn++) {
            const int64_t i = pass == 0 ? turn : n - 1 - turn;
            T value = x[i];
            for (int64_t j = pass == 0 ? 0 : i + 1; j < (pass == 0 ? i : n); j++) {
                const T factor = about.transpose ? a[j + i * step] : a[i + j * step];
                value = value - (about.conjugate ? conjugate(factor) : factor) * x[j];
            }
            const T pivot = a[i + i * step];
            x[i] = is_unit ? value : value / (about.conjugate ? conjugate(pivot) : pivot);
        }
    }
    for (int64_t k = n - 1; pivots && about.transpose && k >= 0; k--) {
        const T old = x[k];
        x[k] = x[pivots[k] - 1];
        x[pivots[k] - 1] = old;
    }
}

template <typename T> __device__ void getrs(const struct cublas_factor &about)
{
    const int64_t member = blockIdx.x;
    const int32_t *const pivots = about.pivots ? (const int32_t *)about.pivots + member * about.n : 0;
    T *const x = start_of<T>(about.x, member);
    for (int64_t j = threadIdx.x; j < about.columns; j += CUBLAS_PIVOT_THREADS)
        solve_column(about, start_of<T>(about.a, member), pivots, x + j * about.x.column);
}

// The inverse by the factors of getrf, into X.
template <typename T> __device__ void getri(const struct cublas_factor &about)
{
    const int64_t member = blockIdx.x;
    const int32_t *const pivots = about.pivots ? (const int32_t *)about.pivots + member * about.n : 0;
    const T *const a = start_of<T>(about.a, member);
    T *const x = start_of<T>(about.x, member);
    int32_t status = 0;
    for (int64_t k = about.n; k > 0; k--) {
        if (is_zero(a[k - 1 + (k - 1) * about.a.column]))
            status = (int32_t)k;
    }
    for (int64_t j = threadIdx.x; !status && j < about.n; j += CUBLAS_PIVOT_THREADS) {
        for (int64_t i = 0; i < about.n; i++)
            x[i + j * about.x.column] = i == j ? one_of<T>() : zero_of<T>();
        solve_column(about, a, pivots, x + j * about.x.column);
    }
    if (threadIdx.x == 0 && about.status)
        ((int32_t *)about.status)[member] = status;
}

// Copies matrices, each to one behind another.
template <typename T> __device__ void dense(const struct cublas_factor &about)
{
    const T *const a = start_of<T>(about.a, blockIdx.x);
    T *const x = start_of<T>(about.x, blockIdx.x);
    for (int64_t i = threadIdx.x; i < about.n * about.n; i += CUBLAS_PIVOT_THREADS)
        x[i % about.n + i / about.n * about.x.column] = a[i % about.n + i / about.n * about.a.column];
}

#endif
