// SPDX-License-Identifier: Apache-2.0
// The kernels of cuSPARSE.
#include "standins/common/numbers.cuh"
#include "kernels.h"

__device__ inline int64_t thread_index() { return (int64_t)blockIdx.x * CUSPARSE_THREADS + threadIdx.x; }

__device__ inline int64_t index_at(const struct cusparse_indices &indices, int64_t i)
{
    return (indices.wide ? ((const int64_t *)indices.address)[i] : ((const int32_t *)indices.address)[i]) -
           indices.base;
}

__device__ inline void put_index(const struct cusparse_indices &indices, int64_t i, int64_t value)
{
    if (indices.wide)
        ((int64_t *)indices.address)[i] = value + indices.base;
    else
        ((int32_t *)indices.address)[i] = (int32_t)(value + indices.base);
}


template <typename T> __device__ T scalar_of(const struct cusparse_scalar &scalar)
{
    return scalar.device ? *(const T *)scalar.device : numbers<T>::make(scalar.real, scalar.imaginary);
}

__device__ inline void add(float *at, float value) { atomicAdd(at, value); }
__device__ inline void add(double *at, double value) { atomicAdd(at, value); }
template <typename R> __device__ void add(complex<R> *at, complex<R> value)
{
    atomicAdd(&at->x, value.x);
    atomicAdd(&at->y, value.y);
}

template <typename T> __device__ T *place_of(const struct cusparse_dense &dense, int64_t row, int64_t column)
{
    return (T *)dense.address + row * dense.row + column * dense.column;
}

template <typename T> __device__ T value_of(const struct cusparse_dense &dense, int64_t row, int64_t column)
{
    const T value = *place_of<T>(dense, row, column);
    return dense.conjugate ? conjugate(value) : value;
}

// --- Products ------------------------------------------------------------------------------------

// C = beta * C, before entries are added.
template <typename T> __device__ void scale(const struct cusparse_product &about)
{
    const int64_t row = thread_index() % about.rows, column = thread_index() / about.rows;
    if (column >= about.columns)
        return;
    const T beta = scalar_of<T>(about.beta);
    T *const at = place_of<T>(about.c, row, column);
    *at = is_zero(beta) ? zero_of<T>() : beta * *at;
}

// Lists of rows: a thread computes one element of C.
template <typename T> __device__ void rows(const struct cusparse_product &about)
{
    const int64_t row = thread_index() % about.rows, column = thread_index() / about.rows;
    if (column >= about.columns)
        return;
    const T alpha = scalar_of<T>(about.alpha), beta = scalar_of<T>(about.beta);
    const int64_t end = index_at(about.a.starts, row + 1);
    T sum = zero_of<T>();
    for (int64_t i = index_at(about.a.starts, row); i < end; i++) {
        const T value = ((const T *)about.a.values)[i];
        sum = sum + (about.conjugate ? conjugate(value) : value) * value_of<T>(about.b, index_at(about.a.minors, i), column);
    }
    T *const at = place_of<T>(about.c, row, column);
    *at = is_zero(beta) ? alpha * sum : alpha * sum + beta * *at;
}

// Entries in any order: a thread adds one list, or one entry in COO, to one column of C.
template <typename T> __device__ void entries(const struct cusparse_product &about)
{
    const int64_t count = about.a.lists ? about.a.lists : about.a.count;
    const int64_t index = thread_index() % count, column = thread_index() / count;
    if (column >= about.columns)
        return;
    const T alpha = scalar_of<T>(about.alpha);
    const int64_t end = about.a.lists ? index_at(about.a.starts, index + 1) : index + 1;
    for (int64_t i = about.a.lists ? index_at(about.a.starts, index) : index; i < end; i++) {
        const int64_t major = about.a.lists ? index : index_at(about.a.starts, i), minor = index_at(about.a.minors, i);
        const T value = ((const T *)about.a.values)[i];
        const T factor = value_of<T>(about.b, about.turned ? major : minor, column);
        add(place_of<T>(about.c, about.turned ? minor : major, column),
            alpha * ((about.conjugate ? conjugate(value) : value) * factor));
    }
}

// --- Dense matrices ------------------------------------------------------------------------------

template <typename T> __device__ void clear(const struct cusparse_conversion &about)
{
    const int64_t minor = thread_index() % about.minors, major = thread_index() / about.minors;
    if (major < about.majors)
        *place_of<T>(about.dense, major, minor) = zero_of<T>();
}

// After clear. A thread writes one list, or one entry in COO.
template <typename T> __device__ void expand(const struct cusparse_conversion &about)
{
    const struct cusparse_entries &sparse = about.sparse;
    const int64_t index = thread_index();
    if (index >= (sparse.lists ? sparse.lists : sparse.count))
        return;
    const int64_t end = sparse.lists ? index_at(sparse.starts, index + 1) : index + 1;
    for (int64_t i = sparse.lists ? index_at(sparse.starts, index) : index; i < end; i++)
        *place_of<T>(about.dense, sparse.lists ? index : index_at(sparse.starts, i), index_at(sparse.minors, i)) =
            ((const T *)sparse.values)[i];
}

// How many entries each major index has, which sum() then adds up.
template <typename T> __device__ void count(const struct cusparse_conversion &about)
{
    const int64_t major = thread_index();
    if (major > about.majors)
        return;
    int64_t found = 0;
    for (int64_t minor = 0; major < about.majors && minor < about.minors; minor++)
        found += !is_zero(*place_of<T>(about.dense, major, minor));
    ((int64_t *)about.offsets)[major] = found;
}

template <typename T> __device__ void compress(const struct cusparse_conversion &about)
{
    const int64_t major = thread_index();
    if (major >= about.majors)
        return;
    int64_t at = ((const int64_t *)about.offsets)[major];
    for (int64_t minor = 0; minor < about.minors; minor++) {
        const T value = *place_of<T>(about.dense, major, minor);
        if (is_zero(value))
            continue;
        if (!about.sparse.lists)
            put_index(about.sparse.starts, at, major);
        put_index(about.sparse.minors, at, minor);
        ((T *)about.sparse.values)[at++] = value;
    }
}

// --- Transposition -------------------------------------------------------------------------------

// Puts entries behind each other, in the order in which threads come. order() sorts them.
template <typename T> __device__ void transpose(const struct cusparse_transposition &about)
{
    const int64_t row = thread_index();
    if (row >= about.from.lists)
        return;
    const int64_t end = index_at(about.from.starts, row + 1);
    for (int64_t i = index_at(about.from.starts, row); i < end; i++) {
        const int64_t minor = index_at(about.from.minors, i);
        const int64_t at = (int64_t)atomicAdd((unsigned long long *)about.offsets + minor, 1ull);
        put_index(about.to.minors, at, row);
        if (about.with_values)
            ((T *)about.to.values)[at] = ((const T *)about.from.values)[i];
    }
}

// A thread sorts the list of one column by rows. Entries of the same place keep an order that is not defined.
template <typename T> __device__ void order(const struct cusparse_transposition &about)
{
    const int64_t column = thread_index();
    if (column >= about.minors)
        return;
    const int64_t begin = index_at(about.to.starts, column), end = index_at(about.to.starts, column + 1);
    for (int64_t i = begin + 1; i < end; i++) {
        const int64_t row = index_at(about.to.minors, i);
        const T value = about.with_values ? ((const T *)about.to.values)[i] : zero_of<T>();
        int64_t k = i;
        for (; k > begin && index_at(about.to.minors, k - 1) > row; k--) {
            put_index(about.to.minors, k, index_at(about.to.minors, k - 1));
            if (about.with_values)
                ((T *)about.to.values)[k] = ((const T *)about.to.values)[k - 1];
        }
        put_index(about.to.minors, k, row);
        if (about.with_values)
            ((T *)about.to.values)[k] = value;
    }
}

// --- Vectors -------------------------------------------------------------------------------------

template <typename T> __device__ void scale_vector(const struct cusparse_vectors &about)
{
    const int64_t i = thread_index();
    const T beta = scalar_of<T>(about.beta);
    if (i < about.size)
        ((T *)about.y)[i] = is_zero(beta) ? zero_of<T>() : beta * ((const T *)about.y)[i];
}

template <typename T> __device__ void add_vector(const struct cusparse_vectors &about)
{
    const int64_t i = thread_index();
    if (i < about.count)
        add((T *)about.y + index_at(about.indices, i), scalar_of<T>(about.alpha) * ((const T *)about.x)[i]);
}

template <typename T> __device__ void gather(const struct cusparse_vectors &about)
{
    const int64_t i = thread_index();
    if (i < about.count)
        ((T *)about.x)[i] = ((const T *)about.y)[index_at(about.indices, i)];
}

template <typename T> __device__ void scatter(const struct cusparse_vectors &about)
{
    const int64_t i = thread_index();
    if (i < about.count)
        ((T *)about.y)[index_at(about.indices, i)] = ((const T *)about.x)[i];
}

// One block.
template <typename T> __device__ void dot(const struct cusparse_vectors &about)
{
    __shared__ T sums[CUSPARSE_THREADS];
    T sum = zero_of<T>();
    for (int64_t i = threadIdx.x; i < about.count; i += CUSPARSE_THREADS) {
        const T x = ((const T *)about.x)[i];
        sum = sum + (about.conjugate ? conjugate(x) : x) * ((const T *)about.y)[index_at(about.indices, i)];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = CUSPARSE_THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *(T *)about.result = sums[0];
}

// --- Offsets: no values --------------------------------------------------------------------------

#define KERNEL(letter, name, type, parameters)                                      \
    extern "C" __global__ void __launch_bounds__(CUSPARSE_THREADS)                  \
        cusparse_##letter##name(const __grid_constant__ struct parameters about)    \
    {                                                                               \
        name<type>(about);                                                          \
    }
#define OFFSETS(name)                                                               \
    extern "C" __global__ void __launch_bounds__(CUSPARSE_THREADS)                  \
        cusparse_##name(const __grid_constant__ struct cusparse_offsets about)

// One block: makes counts to offsets, and stores those as indices too, if there is an array for them.
OFFSETS(sum)
{
    __shared__ int64_t sums[CUSPARSE_THREADS];
    __shared__ int64_t before;
    if (threadIdx.x == 0)
        before = 0;
    for (int64_t start = 0; start <= about.majors; start += CUSPARSE_THREADS) {
        const int64_t i = start + threadIdx.x;
        const int64_t own = i < about.majors ? ((const int64_t *)about.offsets)[i] : 0;
        __syncthreads();
        sums[threadIdx.x] = own;
        __syncthreads();
        for (unsigned away = 1; away < CUSPARSE_THREADS; away *= 2) {
            const int64_t other = threadIdx.x >= away ? sums[threadIdx.x - away] : 0;
            __syncthreads();
            sums[threadIdx.x] += other;
            __syncthreads();
        }
        const int64_t offset = before + sums[threadIdx.x] - own;
        if (i <= about.majors) {
            ((int64_t *)about.offsets)[i] = offset;
            if (about.to.address)
                put_index(about.to, i, offset);
        }
        __syncthreads();
        if (threadIdx.x == CUSPARSE_THREADS - 1)
            before = offset + own;
    }
}

OFFSETS(zero)
{
    if (thread_index() <= about.majors)
        ((int64_t *)about.offsets)[thread_index()] = 0;
}

// Counts how often each index occurs.
OFFSETS(histogram)
{
    if (thread_index() < about.count)
        atomicAdd((unsigned long long *)about.offsets + index_at(about.from, thread_index()), 1ull);
}

// From the starts of lists to a major index for each entry.
OFFSETS(majors)
{
    const int64_t major = thread_index();
    if (major >= about.majors)
        return;
    const int64_t end = index_at(about.from, major + 1);
    for (int64_t i = index_at(about.from, major); i < end; i++)
        put_index(about.to, i, major);
}

// The reverse: the first entry whose major index is not below the thread's.
OFFSETS(starts)
{
    const int64_t major = thread_index();
    if (major > about.majors)
        return;
    int64_t low = 0, high = about.count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (index_at(about.from, middle) < major)
            low = middle + 1;
        else
            high = middle;
    }
    put_index(about.to, major, low);
}

OFFSETS(identity)
{
    if (thread_index() < about.count)
        put_index(about.to, thread_index(), thread_index());
}

#define KERNELS(letter, type)                                 \
    KERNEL(letter, scale, type, cusparse_product)             \
    KERNEL(letter, rows, type, cusparse_product)              \
    KERNEL(letter, entries, type, cusparse_product)           \
    KERNEL(letter, clear, type, cusparse_conversion)          \
    KERNEL(letter, expand, type, cusparse_conversion)         \
    KERNEL(letter, count, type, cusparse_conversion)          \
    KERNEL(letter, compress, type, cusparse_conversion)       \
    KERNEL(letter, transpose, type, cusparse_transposition)   \
    KERNEL(letter, order, type, cusparse_transposition)       \
    KERNEL(letter, scale_vector, type, cusparse_vectors)      \
    KERNEL(letter, add_vector, type, cusparse_vectors)        \
    KERNEL(letter, gather, type, cusparse_vectors)            \
    KERNEL(letter, scatter, type, cusparse_vectors)           \
    KERNEL(letter, dot, type, cusparse_vectors)

KERNELS(s, float)
KERNELS(d, double)
KERNELS(c, complex32)
KERNELS(z, complex64)
