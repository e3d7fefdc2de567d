// SPDX-License-Identifier: Apache-2.0
// The kernels of cuFFT. A thread computes one group of a pass, or one number.
#include "kernels.h"

template <typename R> struct complex {
    R x, y;
};

template <typename R> __device__ complex<R> operator+(complex<R> a, complex<R> b)
{
    return {a.x + b.x, a.y + b.y};
}
template <typename R> __device__ complex<R> operator-(complex<R> a, complex<R> b)
{
    return {a.x - b.x, a.y - b.y};
}
template <typename R> __device__ complex<R> operator*(complex<R> a, complex<R> b)
{
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
template <typename R> __device__ complex<R> conjugate_if(complex<R> a, int condition)
{
    return {a.x, condition ? -a.y : a.y};
}

__device__ inline int64_t thread_index() { return (int64_t)blockIdx.x * CUFFT_THREADS + threadIdx.x; }

// --- Copies --------------------------------------------------------------------------------------

// The indices of a dense number.
__device__ inline void indices_of(const struct cufft_copy &about, int64_t at, int64_t index[CUFFT_RANK], int64_t *member)
{
    for (int i = CUFFT_RANK - 1; i >= 0; i--) {
        index[i] = at % about.n[i];
        at /= about.n[i];
    }
    *member = at;
}

__device__ inline int64_t place_of(const struct cufft_copy &about, const int64_t index[CUFFT_RANK], int64_t member)
{
    int64_t place = member * about.batch_step;
    for (int i = 0; i < CUFFT_RANK; i++)
        place += index[i] * about.step[i];
    return place;
}

template <typename R> __device__ void gather(const struct cufft_copy &about)
{
    const int64_t at = thread_index();
    int64_t index[CUFFT_RANK], member;
    if (at >= about.count)
        return;
    indices_of(about, at, index, &member);
    complex<R> value;
    if (about.form == CUFFT_REAL) {
        value = {((const R *)about.user)[place_of(about, index, member)], 0};
    } else {
        const bool mirrored = about.form == CUFFT_HALF && index[CUFFT_RANK - 1] > about.n[CUFFT_RANK - 1] / 2;
        for (int i = 0; mirrored && i < CUFFT_RANK; i++)
            index[i] = index[i] ? about.n[i] - index[i] : 0;
        value = conjugate_if(((const complex<R> *)about.user)[place_of(about, index, member)], mirrored);
    }
    ((complex<R> *)about.dense)[at] = value;
}

template <typename R> __device__ void scatter(const struct cufft_copy &about)
{
    const int64_t at = thread_index();
    int64_t index[CUFFT_RANK], member;
    if (at >= about.count)
        return;
    indices_of(about, at, index, &member);
    if (about.form == CUFFT_HALF && index[CUFFT_RANK - 1] > about.n[CUFFT_RANK - 1] / 2)
        return;
    const complex<R> value = ((const complex<R> *)about.dense)[at];
    if (about.form == CUFFT_REAL)
        ((R *)about.user)[place_of(about, index, member)] = value.x;
    else
        ((complex<R> *)about.user)[place_of(about, index, member)] = value;
}

// --- Passes --------------------------------------------------------------------------------------

// Where a group is: its first number and the distance to the next, in what is read and in what is written.
struct group {
    int64_t from, from_step, to, to_step;
    int64_t twiddle; // of number k: the root of index k * twiddle
};

// `index` is that of the group, or of the number, divided by the radix.
__device__ inline struct group group_of(const struct cufft_pass &about, int64_t index, int64_t radix)
{
    const int64_t groups = about.length / radix; // of a row
    const int64_t inner = index % about.inner, row = index / about.inner / groups;
    const int64_t within = index / about.inner % groups, low = within % about.before, high = within / about.before;
    const int64_t base = row * about.length;
    return {(base + low + about.before * high) * about.inner + inner, groups * about.inner,
            (base + low + about.before * radix * high) * about.inner + inner, about.before * about.inner,
            high * about.before};
}

template <typename R> __device__ void radix2(const struct cufft_pass &about)
{
    const int64_t index = thread_index();
    if (index >= about.count / 2)
        return;
    const struct group group = group_of(about, index, 2);
    const complex<R> *const from = (const complex<R> *)about.from + group.from;
    const complex<R> *const roots = (const complex<R> *)about.roots;
    complex<R> *const to = (complex<R> *)about.to + group.to;
    const complex<R> a = from[0], b = from[group.from_step];
    to[0] = a + b;
    to[group.to_step] = (a - b) * conjugate_if(roots[group.twiddle], about.inverse);
}

template <typename R> __device__ void radix4(const struct cufft_pass &about)
{
    const int64_t index = thread_index();
    if (index >= about.count / 4)
        return;
    const struct group group = group_of(about, index, 4);
    const complex<R> *const from = (const complex<R> *)about.from + group.from;
    const complex<R> *const roots = (const complex<R> *)about.roots;
    complex<R> *const to = (complex<R> *)about.to + group.to;
    const complex<R> a = from[0], b = from[group.from_step], c = from[2 * group.from_step], d = from[3 * group.from_step];
    const complex<R> even = a + c, odd = b + d, even_difference = a - c, odd_difference = b - d;
    // (b - d) * -i, or * i in the inverse
    const complex<R> turned = about.inverse ? complex<R>{-odd_difference.y, odd_difference.x}
                                            : complex<R>{odd_difference.y, -odd_difference.x};
    to[0] = even + odd;
    to[group.to_step] = (even_difference + turned) * conjugate_if(roots[group.twiddle], about.inverse);
    to[2 * group.to_step] = (even - odd) * conjugate_if(roots[2 * group.twiddle], about.inverse);
    to[3 * group.to_step] = (even_difference - turned) * conjugate_if(roots[3 * group.twiddle], about.inverse);
}

// Any radix: a thread computes one number of the group.
template <typename R> __device__ void radix(const struct cufft_pass &about)
{
    const int64_t index = thread_index();
    if (index >= about.count)
        return;
    // Neighboring threads compute the same number of neighboring groups.
    const int64_t groups = about.count / about.radix, k = index / groups;
    const struct group group = group_of(about, index % groups, about.radix);
    const complex<R> *const from = (const complex<R> *)about.from + group.from;
    const complex<R> *const roots = (const complex<R> *)about.roots;
    const int64_t step = k * (about.length / about.radix);
    int64_t root = k * group.twiddle % about.length;
    complex<R> sum = {0, 0};
    for (int j = 0; j < about.radix; j++) {
        sum = sum + from[j * group.from_step] * conjugate_if(roots[root], about.inverse);
        root += step;
        if (root >= about.length)
            root -= about.length;
    }
    ((complex<R> *)about.to)[group.to + k * group.to_step] = sum;
}

// --- Chirps --------------------------------------------------------------------------------------

template <typename R> __device__ void chirp_in(const struct cufft_chirp &about)
{
    const int64_t index = thread_index(); // of a padded number
    if (index >= about.count)
        return;
    const int64_t inner = index % about.inner, k = index / about.inner % about.padded;
    const int64_t row = index / about.inner / about.padded;
    complex<R> value = {0, 0};
    if (k < about.length)
        value = ((const complex<R> *)about.from)[(row * about.length + k) * about.inner + inner] *
                conjugate_if(((const complex<R> *)about.factors)[k], about.inverse);
    ((complex<R> *)about.to)[index] = value;
}

template <typename R> __device__ void chirp_multiply(const struct cufft_chirp &about)
{
    const int64_t index = thread_index();
    if (index >= about.count)
        return;
    const int64_t k = index / about.inner % about.padded;
    complex<R> *const at = (complex<R> *)about.to + index;
    *at = *at * conjugate_if(((const complex<R> *)about.factors)[k], about.inverse);
}

template <typename R> __device__ void chirp_out(const struct cufft_chirp &about)
{
    const int64_t index = thread_index(); // of a number of the result
    if (index >= about.count)
        return;
    const int64_t inner = index % about.inner, k = index / about.inner % about.length;
    const int64_t row = index / about.inner / about.length;
    const complex<R> value = ((const complex<R> *)about.from)[(row * about.padded + k) * about.inner + inner] *
                             conjugate_if(((const complex<R> *)about.factors)[k], about.inverse);
    ((complex<R> *)about.to)[index] = {value.x * (R)about.scale, value.y * (R)about.scale};
}

// --- Kernels -------------------------------------------------------------------------------------

#define KERNEL(letter, name, type, parameters)                                    \
    extern "C" __global__ void __launch_bounds__(CUFFT_THREADS)                   \
        cufft_##letter##name(const __grid_constant__ struct parameters about)     \
    {                                                                             \
        name<type>(about);                                                        \
    }
#define KERNELS(letter, type)                         \
    KERNEL(letter, gather, type, cufft_copy)          \
    KERNEL(letter, scatter, type, cufft_copy)         \
    KERNEL(letter, radix2, type, cufft_pass)          \
    KERNEL(letter, radix4, type, cufft_pass)          \
    KERNEL(letter, radix, type, cufft_pass)           \
    KERNEL(letter, chirp_in, type, cufft_chirp)       \
    KERNEL(letter, chirp_multiply, type, cufft_chirp) \
    KERNEL(letter, chirp_out, type, cufft_chirp)

KERNELS(c, float)
KERNELS(z, double)
