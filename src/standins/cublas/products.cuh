// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and solutions of triangular systems.
#ifndef GLINT_STANDINS_CUBLAS_PRODUCTS_CUH
#define GLINT_STANDINS_CUBLAS_PRODUCTS_CUH

#include "numbers.cuh"

// Writes one element of C. A product with beta 0 does not read C, which may hold NaN.
template <typename A, typename C>
__device__ void update(C *at, A alpha, A sum, A beta, bool real_diagonal)
{
    A value = alpha * sum;
    if (!is_zero(beta)) {
        A old = element<A, C>::load(*at);
        if (real_diagonal)
            drop_imaginary(old);
        value = value + beta * old;
    }
    if (real_diagonal)
        drop_imaginary(value);
    *at = element<A, C>::store(value);
}

// A product of dense matrices. A thread computes 4 by 4 elements, CUBLAS_TILE_SIDE rows and columns apart, so that
// neighbors read neighboring elements. Threads beyond the edge of C read the last row or column instead.
template <typename A, typename T, typename C> __device__ void gemm(const struct cublas_product &about)
{
    enum { EACH = CUBLAS_TILE / CUBLAS_TILE_SIDE };
    const int64_t tiles = (about.m + CUBLAS_TILE - 1) / CUBLAS_TILE;
    const int64_t first_row = blockIdx.x % tiles * CUBLAS_TILE + threadIdx.x % CUBLAS_TILE_SIDE;
    const int64_t first_column = blockIdx.x / tiles * CUBLAS_TILE + threadIdx.x / CUBLAS_TILE_SIDE;
    if (first_row >= about.m || first_column >= about.n)
        return;
    const T *a[EACH], *b[EACH];
    A sums[EACH][EACH];
    const T *const a_start = start_of<T>(about.a, blockIdx.z), *const b_start = start_of<T>(about.b, blockIdx.z);
    for (int i = 0; i < EACH; i++) {
        const int64_t row = min(first_row + i * CUBLAS_TILE_SIDE, about.m - 1);
        const int64_t column = min(first_column + i * CUBLAS_TILE_SIDE, about.n - 1);
        a[i] = a_start + row * about.a.row;
        b[i] = b_start + column * about.b.column;
        for (int j = 0; j < EACH; j++)
            sums[i][j] = zero_of<A>();
    }
    const A alpha = scalar_of<A>(about.alpha), beta = scalar_of<A>(about.beta);
    const int64_t a_step = about.a.column, b_step = about.b.row;
    const bool a_flip = about.a.conjugate, b_flip = about.b.conjugate;
    for (int64_t k = is_zero(alpha) ? about.k : 0; k < about.k; k++) {
        A left[EACH], right[EACH];
        for (int i = 0; i < EACH; i++) {
            left[i] = element<A, T>::load(*a[i]);
            right[i] = element<A, T>::load(*b[i]);
            if (a_flip)
                left[i] = conjugate(left[i]);
            if (b_flip)
                right[i] = conjugate(right[i]);
            a[i] += a_step;
            b[i] += b_step;
        }
        for (int i = 0; i < EACH; i++) {
            for (int j = 0; j < EACH; j++)
                sums[i][j] = sums[i][j] + left[i] * right[j];
        }
    }
    C *const c = start_of<C>(about.c, blockIdx.z);
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++) {
            const int64_t row = first_row + i * CUBLAS_TILE_SIDE;
            const int64_t column = first_column + j * CUBLAS_TILE_SIDE;
            const bool outside = row >= about.m || column >= about.n;
            const bool other = about.triangle == 1 ? row < column : about.triangle == 2 && row > column;
            if (!outside && !other)
                update<A, C>(&c[row * about.c.row + column * about.c.column], alpha, sums[i][j], beta,
                             about.real_diagonal && row == column);
        }
    }
}

// The k for which element (i, k) of the matrix may be other than 0: from *from up to *to.
__device__ inline void span_of(const struct cublas_matrix &matrix, int64_t i, int64_t *from, int64_t *to)
{
    const bool is_lower = matrix.transpose ? !matrix.fill_lower : matrix.fill_lower;
    if (matrix.shape == CUBLAS_TRIANGULAR) {
        if (is_lower)
            *to = min(*to, i + 1);
        else
            *from = max(*from, i);
    }
    if (matrix.storage != CUBLAS_BAND)
        return;
    const int64_t width = max(matrix.lower, matrix.upper);
    const bool both = matrix.shape == CUBLAS_SYMMETRIC || matrix.shape == CUBLAS_HERMITIAN;
    *from = max(*from, i - (both ? width : matrix.transpose ? matrix.upper : matrix.lower));
    *to = min(*to, i + (both ? width : matrix.transpose ? matrix.lower : matrix.upper) + 1);
}

// A product of matrices of any shape and storage. A thread computes one element.
template <typename T> __device__ void product(const struct cublas_product &about)
{
    const int64_t at = (int64_t)blockIdx.x * CUBLAS_THREADS + threadIdx.x;
    const int64_t row = at % about.m, column = at / about.m;
    if (column >= about.n)
        return;
    if (about.triangle == 1 ? row < column : about.triangle == 2 && row > column)
        return;
    const T *const a = start_of<T>(about.a, blockIdx.z), *const b = start_of<T>(about.b, blockIdx.z);
    const T alpha = scalar_of<T>(about.alpha), beta = scalar_of<T>(about.beta);
    int64_t from = 0, to = about.k;
    span_of(about.a, row, &from, &to);
    T sum = zero_of<T>();
    if (!is_zero(alpha)) {
        for (int64_t k = from; k < to; k++)
            sum = sum + element_of(about.a, a, row, k) * element_of(about.b, b, k, column);
    }
    T *const c = start_of<T>(about.c, blockIdx.z);
    update<T, T>(&c[index_of(about.c, row, column)], alpha, sum, beta, about.real_diagonal && row == column);
}

// Solves a triangular system. A block computes one column of X: an element, and what it takes from all others.
template <typename T> __device__ void solve(const struct cublas_solve &about)
{
    const int64_t column = blockIdx.x;
    const T *const a = start_of<T>(about.a, blockIdx.z);
    T *const x = start_of<T>(about.x, blockIdx.z) + column * about.x.column;
    const int64_t step = about.x.row;
    const T alpha = scalar_of<T>(about.alpha);
    const bool forward = about.a.transpose ? !about.a.fill_lower : about.a.fill_lower;
    for (int64_t i = threadIdx.x; i < about.m; i += CUBLAS_PIVOT_THREADS)
        x[i * step] = is_zero(alpha) ? zero_of<T>() : alpha * x[i * step];
    __syncthreads();
    if (is_zero(alpha))
        return;
    for (int64_t turn = 0; turn < about.m; turn++) {
        const int64_t k = forward ? turn : about.m - 1 - turn;
        if (threadIdx.x == 0 && !about.a.unit)
            x[k * step] = x[k * step] / element_of(about.a, a, k, k);
        __syncthreads();
        const T value = x[k * step];
        const int64_t from = forward ? k + 1 : 0, to = forward ? about.m : k;
        for (int64_t i = from + threadIdx.x; i < to; i += CUBLAS_PIVOT_THREADS)
            x[i * step] = x[i * step] - element_of(about.a, a, i, k) * value;
        __syncthreads();
    }
}

#endif
