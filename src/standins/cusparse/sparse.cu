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

// Each thread counts one row or column.
template <typename T> __device__ void nonzeros(const struct cusparse_nonzeros &about)
{
    const int64_t major = thread_index();
    if (major >= about.majors)
        return;
    int found = 0;
    for (int64_t minor = 0; minor < about.minors; minor++)
        found += !is_zero(*place_of<T>(about.dense, major, minor));
    ((int *)about.counts)[major] = found;
    atomicAdd((int *)about.total, found);
}

// --- Products of sparse matrices -----------------------------------------------------------------

// A thread puts one row together, in the order of columns.
template <typename T> __device__ void multiply(const struct cusparse_multiplication &about)
{
    const int64_t row = thread_index();
    if (row >= about.rows)
        return;
    int64_t *const minors = (int64_t *)about.minors + ((const int64_t *)about.offsets)[row];
    T *const values = (T *)about.values + ((const int64_t *)about.offsets)[row];
    const int64_t end = index_at(about.a.starts, row + 1);
    int64_t count = 0;
    for (int64_t i = index_at(about.a.starts, row); i < end; i++) {
        const int64_t between = index_at(about.a.minors, i), b_end = index_at(about.b.starts, between + 1);
        const T factor = ((const T *)about.a.values)[i];
        for (int64_t k = index_at(about.b.starts, between); k < b_end; k++) {
            const int64_t column = index_at(about.b.minors, k);
            const T product = factor * ((const T *)about.b.values)[k];
            int64_t low = 0, high = count;
            while (low < high) {
                const int64_t middle = (low + high) / 2;
                if (minors[middle] < column)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low < count && minors[low] == column) {
                values[low] = values[low] + product;
                continue;
            }
            for (int64_t place = count++; place > low; place--) {
                minors[place] = minors[place - 1];
                values[place] = values[place - 1];
            }
            minors[low] = column;
            values[low] = product;
        }
    }
    ((int64_t *)about.counts)[row] = count;
}

// After the counts have become offsets.
template <typename T> __device__ void finish(const struct cusparse_multiplication &about)
{
    const int64_t row = thread_index();
    if (row > about.rows)
        return;
    const int64_t *const starts = (const int64_t *)about.counts;
    put_index(about.c.starts, row, starts[row]);
    const T alpha = scalar_of<T>(about.alpha);
    const int64_t count = row < about.rows ? starts[row + 1] - starts[row] : 0;
    const int64_t from = row < about.rows ? ((const int64_t *)about.offsets)[row] : 0;
    for (int64_t i = 0; i < count; i++) {
        put_index(about.c.minors, starts[row] + i, ((const int64_t *)about.minors)[from + i]);
        ((T *)about.c.values)[starts[row] + i] = alpha * ((const T *)about.values)[from + i];
    }
}

// --- Triangles -----------------------------------------------------------------------------------

// A block of one warp. It takes the rows of A in an order in which what a row needs is known; if A is turned, it
// subtracts what is known from the rows that need it.
template <typename T> __device__ void solve(const struct cusparse_solution &about)
{
    __shared__ T sums[32];
    __shared__ T diagonal;
    const int64_t column = blockIdx.x;
    const unsigned lane = threadIdx.x;
    const T alpha = scalar_of<T>(about.alpha);
    for (int64_t i = lane; i < about.size; i += 32)
        *place_of<T>(about.c, i, column) = alpha * value_of<T>(about.b, i, column);
    for (int64_t step = 0; step < about.size; step++) {
        const int64_t row = about.upper == about.turned ? step : about.size - 1 - step;
        const int64_t begin = index_at(about.a.starts, row), end = index_at(about.a.starts, row + 1);
        T sum = zero_of<T>();
        if (lane == 0)
            diagonal = about.unit       ? numbers<T>::make(1, 0)
                       : about.diagonal ? ((const T *)about.diagonal)[row]
                                        : zero_of<T>();
        __syncthreads();
        for (int64_t i = begin + lane; i < end; i += 32) {
            const int64_t minor = index_at(about.a.minors, i);
            const T value = ((const T *)about.a.values)[i];
            if (minor == row && !about.unit && !about.diagonal)
                diagonal = value;
            else if (minor != row && !about.turned && about.upper == (minor > row))
                sum = sum + value * *place_of<T>(about.c, minor, column);
        }
        sums[lane] = sum;
        __syncthreads();
        for (unsigned half = 16; half && !about.turned; half /= 2) {
            if (lane < half)
                sums[lane] = sums[lane] + sums[lane + half];
            __syncthreads();
        }
        T *const place = place_of<T>(about.c, row, column);
        if (lane == 0)
            *place = (*place - sums[0]) / (about.conjugate ? conjugate(diagonal) : diagonal);
        __syncthreads();
        for (int64_t i = begin + lane; i < end && about.turned; i += 32) {
            const int64_t minor = index_at(about.a.minors, i);
            const T value = ((const T *)about.a.values)[i];
            if (minor != row && about.upper == (minor > row))
                add(place_of<T>(about.c, minor, column),
                    zero_of<T>() - (about.conjugate ? conjugate(value) : value) * *place);
        }
        __syncthreads();
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

// How many products each row of a product of matrices has.
extern "C" __global__ void __launch_bounds__(CUSPARSE_THREADS)
    cusparse_room(const __grid_constant__ struct cusparse_multiplication about)
{
    const int64_t row = thread_index();
    if (row >= about.rows)
        return;
    const int64_t end = index_at(about.a.starts, row + 1);
    int64_t products = 0;
    for (int64_t i = index_at(about.a.starts, row); i < end; i++) {
        const int64_t between = index_at(about.a.minors, i);
        products += index_at(about.b.starts, between + 1) - index_at(about.b.starts, between);
    }
    ((int64_t *)about.offsets)[row] = products;
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
    KERNEL(letter, nonzeros, type, cusparse_nonzeros)         \
    KERNEL(letter, multiply, type, cusparse_multiplication)   \
    KERNEL(letter, finish, type, cusparse_multiplication)     \
    KERNEL(letter, solve, type, cusparse_solution)            \
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
