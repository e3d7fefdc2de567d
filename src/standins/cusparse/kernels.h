// SPDX-License-Identifier: Apache-2.0
// The parameters of the kernels of cuSPARSE. This header is also compiled as CUDA C. Strides count
// elements.
//
// A matrix in CSR or CSC has a list of entries for each row or column, its major index; the other
// one is the minor index. In COO each entry has both.
#ifndef GLINT_STANDINS_CUSPARSE_KERNELS_H
#define GLINT_STANDINS_CUSPARSE_KERNELS_H

#include <stdint.h>

enum { CUSPARSE_THREADS = 256 };

// Values of cudaDataType.
enum cusparse_type {
    CUSPARSE_R_32F = 0,
    CUSPARSE_R_64F = 1,
    CUSPARSE_C_32F = 4,
    CUSPARSE_C_64F = 5
};

// An array of indices of 32 or 64 bits, from 0 or 1 on.
struct cusparse_indices {
    uint64_t address;
    int32_t wide, base;
};

struct cusparse_entries {
    struct cusparse_indices
        starts; // of the lists, and the end of the last; in COO: major indices of the entries
    struct cusparse_indices minors;
    uint64_t values; // address
    int64_t lists;   // 0: COO
    int64_t count;   // of entries; not known if there are lists
};

struct cusparse_dense {
    uint64_t address;
    int64_t row, column; // strides
    int32_t conjugate;
};

// A number given by its value or, if device is not 0, by its address in device memory.
struct cusparse_scalar {
    uint64_t device;
    double real, imaginary;
};

// C = alpha * A * B + beta * C. `turned`: the row of A is the minor index.
struct cusparse_product {
    struct cusparse_entries a;
    struct cusparse_dense b, c;
    struct cusparse_scalar alpha, beta;
    int64_t rows, columns; // of C
    int32_t turned, conjugate;
};

// Between a dense matrix and a sparse one. `dense.row` is the stride of the major index.
struct cusparse_conversion {
    struct cusparse_entries sparse;
    struct cusparse_dense dense;
    uint64_t offsets; // address of int64_t: where the entries of each major index begin, and their
                      // number
    int64_t majors, minors;
};

struct cusparse_offsets {
    struct cusparse_indices from, to;
    int64_t majors, count;
    uint64_t offsets; // address of int64_t, majors + 1
};

// From CSR to CSC.
struct cusparse_transposition {
    struct cusparse_entries from, to;
    uint64_t offsets; // address of int64_t, minors + 1
    int64_t minors;
    int32_t with_values;
};

// C = alpha * A * B, all in CSR. Rows of the product are first put together in a buffer.
struct cusparse_multiplication {
    struct cusparse_entries a, b, c;
    uint64_t offsets; // address of int64_t, rows + 1: where each row has room in the buffer
    uint64_t counts; // address of int64_t, rows + 1: entries of each row, then where it begins in C
    uint64_t minors; // the buffer: addresses of int64_t and of values
    uint64_t values;
    int64_t rows;
    struct cusparse_scalar alpha;
};

// The C for which op(A) * C = alpha * B, where A is a triangle. A block computes one column.
struct cusparse_solution {
    struct cusparse_entries a;
    struct cusparse_dense b, c;
    struct cusparse_scalar alpha;
    uint64_t diagonal; // address of values that replace those of A; 0: none
    int64_t size, columns;
    int32_t upper, unit;
    int32_t turned, conjugate; // op
};

// Counts numbers other than 0 of a dense matrix.
struct cusparse_nonzeros {
    struct cusparse_dense dense; // `row` is the stride of the major index
    uint64_t counts, total;      // addresses of int32_t
    int64_t majors, minors;
};

struct cusparse_vectors {
    struct cusparse_indices indices;
    uint64_t x, y; // sparse values, dense values
    int64_t count, size;
    struct cusparse_scalar alpha, beta;
    uint64_t result;
    int32_t conjugate;
};

#endif
