// SPDX-License-Identifier: Apache-2.0
// The parameters of the kernels of cuBLAS. This header is also compiled as CUDA C. Addresses are
// uint64_t, so that the layout is the same on host and device. Strides and increments count
// elements.
#ifndef GLINT_STANDINS_CUBLAS_KERNELS_H
#define GLINT_STANDINS_CUBLAS_KERNELS_H

#include <stdint.h>

// Values of cudaDataType.
enum cublas_type {
    CUBLAS_R_32F = 0,
    CUBLAS_R_64F = 1,
    CUBLAS_R_16F = 2,
    CUBLAS_R_8I = 3,
    CUBLAS_C_32F = 4,
    CUBLAS_C_64F = 5,
    CUBLAS_R_32I = 10,
    CUBLAS_R_16BF = 14,
};

enum {
    CUBLAS_THREADS = 256,       // of a block, in all kernels
    CUBLAS_TILE = 64,           // rows and columns of a block of gemm
    CUBLAS_TILE_SIDE = 16,      // its threads in x and in y
    CUBLAS_PIVOT_THREADS = 128, // of a block that factors or solves one matrix
};

// A number given by its value or, if device is not 0, by its address in device memory.
struct cublas_scalar {
    uint64_t device;
    double real, imaginary;
    int32_t type; // enum cublas_type, of what is in device memory
    int32_t conjugate;
};

enum cublas_storage {
    CUBLAS_DENSE,  // element (i, j) at i * row + j * column
    CUBLAS_BAND,   // column j has elements j - upper .. j + lower; (i, j) at upper + i - j + j *
                   // column
    CUBLAS_PACKED, // the columns of a triangle, one behind another
};

enum cublas_shape {
    CUBLAS_FULL,
    CUBLAS_SYMMETRIC,
    CUBLAS_HERMITIAN,
    CUBLAS_TRIANGULAR,
};

// A matrix, or one matrix for each member of a batch.
struct cublas_matrix {
    uint64_t address; // of the matrix; of an array of their addresses if `pointers` is set
    int64_t row, column;
    int64_t batch;        // from one matrix to the next
    int64_t order;        // rows of a packed matrix
    int64_t lower, upper; // widths of a band
    int32_t pointers;
    int32_t storage, shape;
    int32_t fill_lower; // which triangle is stored, if not all is
    int32_t unit;       // the diagonal is 1, and not read
    int32_t transpose;  // of what the other fields describe
    int32_t conjugate;
};

// C = alpha * A * B + beta * C, A with m rows, C with n columns. Block z computes member z of a
// batch.
struct cublas_product {
    struct cublas_matrix a, b, c;
    struct cublas_scalar alpha, beta;
    int64_t m, n, k;
    int32_t triangle;      // 0: all of C is computed; 1: its lower triangle; 2: its upper one
    int32_t real_diagonal; // the diagonal of C has no imaginary part
};

// Solves A * X = alpha * X for each column of X, which has m rows and n columns. A is triangular.
struct cublas_solve {
    struct cublas_matrix a, x;
    struct cublas_scalar alpha;
    int64_t m, n;
};

// C = alpha * A + beta * B, elements; or C = A * B with the vector B for each row or column.
struct cublas_elements {
    struct cublas_matrix a, b, c;
    struct cublas_scalar alpha, beta;
    int64_t m, n;
};

enum cublas_flag {
    CUBLAS_CONJUGATE = 1, // dot: x
    CUBLAS_SMALLEST = 2,  // amax: finds the smallest
    CUBLAS_NARROW = 4,    // amax: the result has 32 bits
};

struct cublas_vectors {
    uint64_t x, y;
    int64_t n, x_step, y_step;
    struct cublas_scalar a, b;
    uint64_t result;     // of a reduction
    uint64_t parameters; // of rotm, in device memory; 0: `given`
    double given[5];
    int32_t flag; // enum cublas_flag
};

// LU factorization, and what follows from it, of the matrices of a batch; n rows and columns.
struct cublas_factor {
    struct cublas_matrix a, x;
    uint64_t pivots; // int32_t, n for each matrix; 0: none
    uint64_t status; // int32_t, one for each matrix; 0: none
    int64_t n, columns;
    int32_t transpose, conjugate;
};

enum cublas_function { CUBLAS_IDENTITY, CUBLAS_RELU, CUBLAS_GELU };

// D = function(D + bias), where each row has one number of the bias.
struct cublas_epilogue {
    struct cublas_matrix d;
    uint64_t bias; // address; 0: none
    int64_t bias_batch;
    int64_t m, n;
    int32_t function;
};

#endif
