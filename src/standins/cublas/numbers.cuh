// SPDX-License-Identifier: Apache-2.0
// How kernels of cuBLAS read and write numbers: half ones, scalars, and elements of matrices.
#ifndef GLINT_STANDINS_CUBLAS_NUMBERS_CUH
#define GLINT_STANDINS_CUBLAS_NUMBERS_CUH

#include "standins/common/numbers.cuh"
#include "kernels.h"

struct half {
    unsigned short bits;
};
struct bfloat {
    unsigned short bits;
};

// Reads an element of memory as a number of type A.
template <typename A, typename T> struct element {
    static __device__ A load(T value) { return (A)value; }
    static __device__ T store(A value) { return (T)value; }
};
template <typename R> struct element<complex<R>, complex<R>> {
    static __device__ complex<R> load(complex<R> value) { return value; }
    static __device__ complex<R> store(complex<R> value) { return value; }
};
template <> struct element<float, half> {
    static __device__ float load(half value)
    {
        float result;
        asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
        return result;
    }
    static __device__ half store(float value)
    {
        half result;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
        return result;
    }
};
template <> struct element<float, bfloat> {
    static __device__ float load(bfloat value) { return __uint_as_float((unsigned)value.bits << 16); }
    static __device__ bfloat store(float value)
    {
        const unsigned bits = __float_as_uint(value);
        if ((bits & 0x7fffffff) > 0x7f800000)
            return {0x7fff};
        return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
    }
};

// Reads a scalar as a number of type A.
template <typename A> __device__ A scalar_of(const struct cublas_scalar &scalar)
{
    double x = scalar.real, y = scalar.imaginary;
    if (scalar.device) {
        y = 0;
        switch (scalar.type) {
        case CUBLAS_R_32F: x = *(const float *)scalar.device; break;
        case CUBLAS_R_64F: x = *(const double *)scalar.device; break;
        case CUBLAS_R_32I: x = *(const int *)scalar.device; break;
        case CUBLAS_R_16F: x = element<float, half>::load(*(const half *)scalar.device); break;
        case CUBLAS_R_16BF: x = element<float, bfloat>::load(*(const bfloat *)scalar.device); break;
        case CUBLAS_C_32F:
            x = ((const float *)scalar.device)[0];
            y = ((const float *)scalar.device)[1];
            break;
        default:
            x = ((const double *)scalar.device)[0];
            y = ((const double *)scalar.device)[1];
        }
    }
    return numbers<A>::make(x, scalar.conjugate ? -y : y);
}

// --- Matrices ------------------------------------------------------------------------------------

template <typename T> __device__ T *start_of(const struct cublas_matrix &matrix, int64_t member)
{
    return matrix.pointers ? ((T *const *)matrix.address)[member]
                           : (T *)matrix.address + member * matrix.batch;
}

// The index of stored element (i, j).
__device__ inline int64_t index_of(const struct cublas_matrix &matrix, int64_t i, int64_t j)
{
    switch (matrix.storage) {
    case CUBLAS_DENSE: return i * matrix.row + j * matrix.column;
    case CUBLAS_BAND: return matrix.upper + i - j + j * matrix.column;
    default:
        return matrix.fill_lower ? i + (2 * matrix.order - j - 1) * j / 2 : i + j * (j + 1) / 2;
    }
}

// Reads element (i, j) of the matrix that is stored at `start`.
template <typename T>
__device__ T element_of(const struct cublas_matrix &matrix, const T *start, int64_t i, int64_t j)
{
    if (matrix.transpose) {
        const int64_t other = i;
        i = j;
        j = other;
    }
    bool flip = matrix.conjugate;
    const bool outside = matrix.fill_lower ? i < j : i > j;
    if (matrix.shape == CUBLAS_TRIANGULAR) {
        if (outside)
            return zero_of<T>();
        if (matrix.unit && i == j)
            return one_of<T>();
    } else if (matrix.shape != CUBLAS_FULL && outside) {
        const int64_t other = i;
        i = j;
        j = other;
        if (matrix.shape == CUBLAS_HERMITIAN)
            flip = !flip;
    }
    if (matrix.storage == CUBLAS_BAND && (i - j > matrix.lower || j - i > matrix.upper))
        return zero_of<T>();
    T value = start[index_of(matrix, i, j)];
    if (matrix.shape == CUBLAS_HERMITIAN && i == j)
        drop_imaginary(value);
    return flip ? conjugate(value) : value;
}

#endif
