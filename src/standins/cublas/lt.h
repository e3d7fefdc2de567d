// SPDX-License-Identifier: Apache-2.0
// Descriptors of cublasLt. A program may have memory for them itself, 64 bytes for a layout or a
// preference, and 184 bytes or more for an operation, so they contain no addresses of other memory
// of the library.
#ifndef GLINT_STANDINS_CUBLAS_LT_H
#define GLINT_STANDINS_CUBLAS_LT_H

#include "blas.h"

enum cublas_order { CUBLAS_BY_COLUMNS, CUBLAS_BY_ROWS }; // values of cublasLtOrder_t

// Values of cublasLtEpilogue_t, which are sums of these.
enum cublas_epilogue_part {
    CUBLAS_EPILOGUE_DEFAULT = 1,
    CUBLAS_EPILOGUE_RELU = 2,
    CUBLAS_EPILOGUE_BIAS = 4,
    CUBLAS_EPILOGUE_GELU = 32,
};

// cublasLtMatrixLayout_t
struct cublas_layout {
    int32_t type, order;
    uint64_t rows, columns;
    int64_t ld;
    int32_t members;
    int64_t stride; // from one matrix of the batch to the next
};

// cublasLtMatmulDesc_t
struct cublas_matmul {
    int32_t compute, scalar, pointer_mode;
    int32_t a_operation, b_operation, c_operation, fill;
    uint32_t epilogue;
    uint64_t bias; // address
    int64_t bias_batch;
    int32_t bias_type; // -1: that of D
    int32_t sm_count_target;
    int8_t fast_sums;
};

#endif
