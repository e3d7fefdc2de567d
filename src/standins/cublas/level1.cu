// SPDX-License-Identifier: Apache-2.0
// The kernels of cuBLAS for vectors and for single elements of matrices.
#include "elements.cuh"

#define KERNEL(letter, name, type, parameters)                                     \
    extern "C" __global__ void __launch_bounds__(CUBLAS_THREADS)                   \
        cublas_##letter##name(const __grid_constant__ struct parameters about)     \
    {                                                                              \
        name<type>(about);                                                         \
    }
#define KERNELS(letter, type)                         \
    KERNEL(letter, axpy, type, cublas_vectors)        \
    KERNEL(letter, scal, type, cublas_vectors)        \
    KERNEL(letter, copy, type, cublas_vectors)        \
    KERNEL(letter, swap, type, cublas_vectors)        \
    KERNEL(letter, rot, type, cublas_vectors)         \
    KERNEL(letter, dot, type, cublas_vectors)         \
    KERNEL(letter, asum, type, cublas_vectors)        \
    KERNEL(letter, nrm2, type, cublas_vectors)        \
    KERNEL(letter, amax, type, cublas_vectors)        \
    KERNEL(letter, geam, type, cublas_elements)       \
    KERNEL(letter, dgmm, type, cublas_elements)       \
    KERNEL(letter, triangle, type, cublas_elements)

KERNELS(s, float)
KERNELS(d, double)
KERNELS(c, complex32)
KERNELS(z, complex64)
KERNEL(s, rotm, float, cublas_vectors)
KERNEL(d, rotm, double, cublas_vectors)
