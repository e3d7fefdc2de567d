// SPDX-License-Identifier: Apache-2.0
// The kernels of cuBLAS for matrices.
#include "factors.cuh"
#include "products.cuh"

#define GEMM(name, number, read, written)                                       \
    extern "C" __global__ void __launch_bounds__(CUBLAS_THREADS)                \
        cublas_##name(const __grid_constant__ struct cublas_product about)      \
    {                                                                           \
        gemm<number, read, written>(about);                                     \
    }

GEMM(sgemm, float, float, float)
GEMM(dgemm, double, double, double)
GEMM(cgemm, complex32, complex32, complex32)
GEMM(zgemm, complex64, complex64, complex64)
GEMM(hgemm, float, half, half)
GEMM(hsgemm, float, half, float)
GEMM(bgemm, float, bfloat, bfloat)
GEMM(bsgemm, float, bfloat, float)
GEMM(igemm, int, signed char, int)
GEMM(isgemm, float, signed char, float)

#define KERNEL(letter, name, type, parameters, threads)                               \
    extern "C" __global__ void __launch_bounds__(threads)                             \
        cublas_##letter##name(const __grid_constant__ struct parameters about)        \
    {                                                                                 \
        name<type>(about);                                                            \
    }
#define KERNELS(letter, type)                                                         \
    KERNEL(letter, product, type, cublas_product, CUBLAS_THREADS)                     \
    KERNEL(letter, solve, type, cublas_solve, CUBLAS_PIVOT_THREADS)                   \
    KERNEL(letter, getrf, type, cublas_factor, CUBLAS_PIVOT_THREADS)                  \
    KERNEL(letter, getrs, type, cublas_factor, CUBLAS_PIVOT_THREADS)                  \
    KERNEL(letter, getri, type, cublas_factor, CUBLAS_PIVOT_THREADS)                  \
    KERNEL(letter, dense, type, cublas_factor, CUBLAS_PIVOT_THREADS)

KERNELS(s, float)
KERNELS(d, double)
KERNELS(c, complex32)
KERNELS(z, complex64)
