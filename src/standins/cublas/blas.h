// SPDX-License-Identifier: Apache-2.0
// What the files of cuBLAS share: the handle, and how calls become launches. Matrices are stored by
// columns. A function returns a cublasStatus_t.
#ifndef GLINT_STANDINS_CUBLAS_BLAS_H
#define GLINT_STANDINS_CUBLAS_BLAS_H

#include <stdint.h>

#include "kernels.h"
#include "standins/common/common.h"

// Values of cublasStatus_t.
enum cublas_status {
    CUBLAS_OK = 0,
    CUBLAS_NOT_INITIALIZED = 1,
    CUBLAS_ALLOC_FAILED = 3,
    CUBLAS_INVALID_VALUE = 7,
    CUBLAS_EXECUTION_FAILED = 13,
    CUBLAS_NOT_SUPPORTED = 15,
};

enum cublas_operation { CUBLAS_N, CUBLAS_T, CUBLAS_C }; // values of cublasOperation_t
enum cublas_side { CUBLAS_LEFT, CUBLAS_RIGHT };
enum cublas_fill { CUBLAS_LOWER, CUBLAS_UPPER };

// What programs know as cublasHandle_t. One thread at a time uses a handle.
struct cublas_handle {
    CUstream stream;
    bool device_scalars; // CUBLAS_POINTER_MODE_DEVICE
    int atomics, math, sm_count_target;
    CUdeviceptr result;    // 64 bytes, from the first reduction whose result goes to the host on
    CUdeviceptr temporary; // a copy of an operand that a call overwrites
    size_t temporary_bytes;
};

// The code of the kernels, as PTX.
extern const char cublas_level1_ptx[], cublas_level3_ptx[];

// Four types have all kernels.
bool cublas_is_complex(enum cublas_type type);
size_t cublas_bytes(enum cublas_type type);

int cublas_status_of(CUresult result);
const char *cublas_status_name(int status);
const char *cublas_status_text(int status);

// Reads a scalar of that type, or remembers where it is in device memory.
struct cublas_scalar cublas_scalar(const struct cublas_handle *handle, enum cublas_type type,
                                   const void *value);
struct cublas_scalar cublas_number(double value);

// A matrix by columns with leading dimension `ld`, as it is stored, and as an operand op(A).
struct cublas_matrix cublas_dense(const void *address, int64_t ld);
struct cublas_matrix cublas_operand(const void *address, int64_t ld, int operation);
// One column, or one row, of n elements `step` apart. A negative step begins at the other end.
struct cublas_matrix cublas_column(enum cublas_type type, const void *address, int64_t n,
                                   int64_t step);
struct cublas_matrix cublas_row(enum cublas_type type, const void *address, int64_t n,
                                int64_t step);
// Applies an operation to an operand of any shape.
void cublas_apply(struct cublas_matrix *matrix, int operation);

// The address of the first element in the order of a vector with that step.
uint64_t cublas_first(enum cublas_type type, const void *address, int64_t n, int64_t step);

// Launches the product, by the kernel for dense operands if that is faster. `members` is the size
// of the batch.
int cublas_launch_product(struct cublas_handle *handle, enum cublas_type type,
                          const struct cublas_product *product, int64_t members);
// The same for matrices of numbers that are converted: dense operands, and only types for which
// there is a kernel.
struct cublas_types {
    int a, b, c; // of matrices, enum cublas_type
    int compute; // cublasComputeType_t
};
int cublas_launch_gemm(struct cublas_handle *handle, const struct cublas_types *types,
                       const struct cublas_product *product, int64_t members);
int cublas_launch_solve(struct cublas_handle *handle, enum cublas_type type,
                        const struct cublas_solve *solve, int64_t members);
// Launches the kernel "cublas_" LETTER NAME of level 1 for `blocks` blocks.
int cublas_launch_one(struct cublas_handle *handle, enum cublas_type type, const char *name,
                      void *parameter, uint64_t blocks);

// Launches "cublas_" LETTER NAME for a block for each matrix of the batch.
int cublas_launch_factor(struct cublas_handle *handle, enum cublas_type type, const char *name,
                         struct cublas_factor *factor, int64_t members);

// Makes sure that the handle's temporary memory has so many bytes.
int cublas_need_temporary(struct cublas_handle *handle, size_t size_bytes);

// Returns from the calling function if a condition holds.
#define CUBLAS_REJECT(condition, status) \
    do {                                 \
        if (condition)                   \
            return status;               \
    } while (0)
#define CUBLAS_CHECK(handle, condition)                    \
    do {                                                   \
        CUBLAS_REJECT(!(handle), CUBLAS_NOT_INITIALIZED);  \
        CUBLAS_REJECT(!(condition), CUBLAS_INVALID_VALUE); \
    } while (0)

// FOR_ALL(M) defines functions for each type and width of integers: M(letter, type, integer,
// suffix).
#define CUBLAS_FOR_TYPE(M, letter, type) M(letter, type, int, ) M(letter, type, int64_t, _64)
#define CUBLAS_FOR_REAL(M)              \
    CUBLAS_FOR_TYPE(M, S, CUBLAS_R_32F) \
    CUBLAS_FOR_TYPE(M, D, CUBLAS_R_64F)
#define CUBLAS_FOR_COMPLEX(M)           \
    CUBLAS_FOR_TYPE(M, C, CUBLAS_C_32F) \
    CUBLAS_FOR_TYPE(M, Z, CUBLAS_C_64F)
#define CUBLAS_FOR_ALL(M) CUBLAS_FOR_REAL(M) CUBLAS_FOR_COMPLEX(M)

#endif
