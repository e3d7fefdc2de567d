// SPDX-License-Identifier: Apache-2.0
// Level 1 of BLAS, and what cuBLAS does with each element of a matrix.
#ifndef GLINT_STANDINS_CUBLAS_ELEMENTS_CUH
#define GLINT_STANDINS_CUBLAS_ELEMENTS_CUH

#include "numbers.cuh"

__device__ inline int64_t thread_index() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }

// --- Vectors -------------------------------------------------------------------------------------

template <typename T> __device__ void axpy(const struct cublas_vectors &about)
{
    const int64_t i = thread_index();
    const T a = scalar_of<T>(about.a);
    if (i >= about.n || is_zero(a))
        return;
    T *const y = (T *)about.y + i * about.y_step;
    *y = a * ((const T *)about.x)[i * about.x_step] + *y;
}

template <typename T> __device__ void scal(const struct cublas_vectors &about)
{
    const int64_t i = thread_index();
    if (i < about.n)
        ((T *)about.x)[i * about.x_step] = scalar_of<T>(about.a) * ((T *)about.x)[i * about.x_step];
}

template <typename T> __device__ void copy(const struct cublas_vectors &about)
{
    const int64_t i = thread_index();
    if (i < about.n)
        ((T *)about.y)[i * about.y_step] = ((const T *)about.x)[i * about.x_step];
}

template <typename T> __device__ void swap(const struct cublas_vectors &about)
{
    const int64_t i = thread_index();
    if (i >= about.n)
        return;
    T *const x = (T *)about.x + i * about.x_step, *const y = (T *)about.y + i * about.y_step;
    const T old = *x;
    *x = *y;
    *y = old;
}

// a: the cosine; b: the sine.
template <typename T> __device__ void rot(const struct cublas_vectors &about)
{
    const int64_t i = thread_index();
    if (i >= about.n)
        return;
    T *const at_x = (T *)about.x + i * about.x_step, *const at_y = (T *)about.y + i * about.y_step;
    const T c = scalar_of<T>(about.a), s = scalar_of<T>(about.b), x = *at_x, y = *at_y;
    *at_x = c * x + s * y;
    *at_y = c * y - conjugate(s) * x;
}

template <typename T> __device__ void rotm(const struct cublas_vectors &about)
{
    const int64_t i = thread_index();
    if (i >= about.n)
        return;
    T h[5];
    for (int k = 0; k < 5; k++)
        h[k] = about.parameters ? ((const T *)about.parameters)[k] : (T)about.given[k];
    if (h[0] == -2)
        return;
    if (h[0] == 0)
        h[1] = h[4] = 1;
    if (h[0] == 1) {
        h[2] = -1;
        h[3] = 1;
    }
    T *const at_x = (T *)about.x + i * about.x_step, *const at_y = (T *)about.y + i * about.y_step;
    const T x = *at_x, y = *at_y;
    *at_x = h[1] * x + h[3] * y;
    *at_y = h[2] * x + h[4] * y;
}

// --- Reductions: one block -----------------------------------------------------------------------

// Sums what the threads have, in an order that depends on nothing else.
template <typename T> __device__ T sum_of_block(T value)
{
    __shared__ T values[CUBLAS_THREADS];
    values[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half_way = CUBLAS_THREADS / 2; half_way; half_way /= 2) {
        if (threadIdx.x < half_way)
            values[threadIdx.x] = values[threadIdx.x] + values[threadIdx.x + half_way];
        __syncthreads();
    }
    return values[0];
}

template <typename T> __device__ void dot(const struct cublas_vectors &about)
{
    T sum = zero_of<T>();
    for (int64_t i = threadIdx.x; i < about.n; i += CUBLAS_THREADS) {
        const T x = ((const T *)about.x)[i * about.x_step], y = ((const T *)about.y)[i * about.y_step];
        sum = sum + (about.flag & CUBLAS_CONJUGATE ? conjugate(x) : x) * y;
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        *(T *)about.result = sum;
}

template <typename T> __device__ void asum(const struct cublas_vectors &about)
{
    typedef typename numbers<T>::real real;
    real sum = 0;
    for (int64_t i = threadIdx.x; i < about.n; i += CUBLAS_THREADS)
        sum += size_of(((const T *)about.x)[i * about.x_step]);
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        *(real *)about.result = sum;
}

__device__ inline double square_of(double a, double scale) { return a * scale * (a * scale); }
template <typename R> __device__ double square_of(complex<R> a, double scale)
{
    return square_of((double)a.x, scale) + square_of((double)a.y, scale);
}
__device__ inline double widest(double a) { return a < 0 ? -a : a; }
template <typename R> __device__ double widest(complex<R> a) { return max(widest((double)a.x), widest((double)a.y)); }

// Squares neither overflow nor vanish: elements are scaled by a power of 2 first.
template <typename T> __device__ void nrm2(const struct cublas_vectors &about)
{
    __shared__ double highest[CUBLAS_THREADS];
    double most = 0;
    for (int64_t i = threadIdx.x; i < about.n; i += CUBLAS_THREADS) {
        const double size = widest(((const T *)about.x)[i * about.x_step]);
        if (size > most)
            most = size;
    }
    highest[threadIdx.x] = most;
    __syncthreads();
    for (int i = 0; i < CUBLAS_THREADS; i++)
        most = max(most, highest[i]);
    // 2^-511, 1 or 2^511
    const double scale = most > 0x1p400 ? 0x1p-511 : most < 0x1p-400 ? 0x1p511 : 1;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < about.n; i += CUBLAS_THREADS)
        sum += square_of(((const T *)about.x)[i * about.x_step], scale);
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        *(typename numbers<T>::real *)about.result = (typename numbers<T>::real)(sqrt(sum) / scale);
}

// The index from 1 of the first element with the largest or smallest size.
template <typename T> __device__ void amax(const struct cublas_vectors &about)
{
    __shared__ double sizes[CUBLAS_THREADS];
    __shared__ int64_t places[CUBLAS_THREADS];
    double best = 0;
    int64_t place = about.n;
    for (int64_t i = threadIdx.x; i < about.n; i += CUBLAS_THREADS) {
        const double size = size_of(((const T *)about.x)[i * about.x_step]);
        if (place == about.n || (about.flag & CUBLAS_SMALLEST ? size < best : size > best)) {
            best = size;
            place = i;
        }
    }
    sizes[threadIdx.x] = best;
    places[threadIdx.x] = place;
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int i = 1; i < CUBLAS_THREADS; i++) {
        if (places[i] == about.n)
            continue;
        const bool better = about.flag & CUBLAS_SMALLEST ? sizes[i] < best : sizes[i] > best;
        if (better || (sizes[i] == best && places[i] < place)) {
            best = sizes[i];
            place = places[i];
        }
    }
    place = place == about.n ? 0 : place + 1;
    if (about.flag & CUBLAS_NARROW)
        *(int32_t *)about.result = (int32_t)place;
    else
        *(int64_t *)about.result = place;
}

// --- Elements of matrices ------------------------------------------------------------------------

template <typename T> __device__ void geam(const struct cublas_elements &about)
{
    const int64_t row = thread_index() % about.m, column = thread_index() / about.m;
    if (column >= about.n)
        return;
    const T alpha = scalar_of<T>(about.alpha), beta = scalar_of<T>(about.beta);
    T value = zero_of<T>();
    if (!is_zero(alpha))
        value = value + alpha * element_of(about.a, (const T *)about.a.address, row, column);
    if (!is_zero(beta))
        value = value + beta * element_of(about.b, (const T *)about.b.address, row, column);
    ((T *)about.c.address)[index_of(about.c, row, column)] = value;
}

// B has a stride of 0 for rows or for columns.
template <typename T> __device__ void dgmm(const struct cublas_elements &about)
{
    const int64_t row = thread_index() % about.m, column = thread_index() / about.m;
    if (column < about.n)
        ((T *)about.c.address)[index_of(about.c, row, column)] =
            element_of(about.a, (const T *)about.a.address, row, column) *
            element_of(about.b, (const T *)about.b.address, row, column);
}

// Copies a triangle: from a packed matrix to a dense one, or back.
template <typename T> __device__ void triangle(const struct cublas_elements &about)
{
    const int64_t row = thread_index() % about.m, column = thread_index() / about.m;
    if (column < about.n && (about.a.fill_lower ? row >= column : row <= column))
        ((T *)about.c.address)[index_of(about.c, row, column)] =
            ((const T *)about.a.address)[index_of(about.a, row, column)];
}

#endif
