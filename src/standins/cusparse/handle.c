// SPDX-License-Identifier: Apache-2.0
// Handles of cuSPARSE, status texts, scalars and launches.
#include <stdio.h>
#include <stdlib.h>

#include "sparse.h"

static const char sparse_ptx[] = ""
#include "cusparse_sparse.ptx.inc"
    ;

COMMON_API int cusparseCreate(struct cusparse_handle **handle)
{
    if (!handle)
        return CUSPARSE_INVALID_VALUE;
    if (common_context() != CUDA_SUCCESS)
        return CUSPARSE_NOT_INITIALIZED;
    *handle = calloc(1, sizeof(**handle));
    return *handle ? CUSPARSE_OK : CUSPARSE_ALLOC_FAILED;
}

COMMON_API int cusparseDestroy(struct cusparse_handle *handle)
{
    CUSPARSE_CHECK(handle, true);
    if (handle->result)
        cuMemFree_v2(handle->result);
    free(handle);
    return CUSPARSE_OK;
}

COMMON_API int cusparseSetStream(struct cusparse_handle *handle, CUstream stream)
{
    CUSPARSE_CHECK(handle, true);
    handle->stream = stream;
    return CUSPARSE_OK;
}

COMMON_API int cusparseGetStream(struct cusparse_handle *handle, CUstream *stream)
{
    CUSPARSE_CHECK(handle, stream);
    *stream = handle->stream;
    return CUSPARSE_OK;
}

COMMON_API int cusparseSetPointerMode(struct cusparse_handle *handle, int mode)
{
    CUSPARSE_CHECK(handle, mode == 0 || mode == 1);
    handle->device_scalars = mode == 1;
    return CUSPARSE_OK;
}

COMMON_API int cusparseGetPointerMode(struct cusparse_handle *handle, int *mode)
{
    CUSPARSE_CHECK(handle, mode);
    *mode = handle->device_scalars;
    return CUSPARSE_OK;
}

COMMON_API int cusparseGetVersion(struct cusparse_handle *handle, int *version)
{
    CUSPARSE_CHECK(handle, version);
    *version = STANDIN_VERSION * 1000;
    return CUSPARSE_OK;
}

COMMON_API int cusparseGetProperty(int property, int *value)
{
    if (!value || property < 0 || property > 2)
        return CUSPARSE_INVALID_VALUE;
    *value = property == 0 ? STANDIN_VERSION : 0;
    return CUSPARSE_OK;
}

static const char *const texts[][2] = {
    {"CUSPARSE_STATUS_SUCCESS", "success"},
    {"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
    {"CUSPARSE_STATUS_MAPPING_ERROR", "texture mapping error"},
    {"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"},
    {"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    {"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
    {"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};

COMMON_API const char *cusparseGetErrorName(int status)
{
    return status >= 0 && (size_t)status < sizeof(texts) / sizeof(texts[0])
               ? texts[status][0]
               : "unrecognized error code";
}

COMMON_API const char *cusparseGetErrorString(int status)
{
    return status >= 0 && (size_t)status < sizeof(texts) / sizeof(texts[0])
               ? texts[status][1]
               : "unrecognized error code";
}

// --- What calls have in common -------------------------------------------------------------------

int cusparse_status_of(CUresult result)
{
    return result == CUDA_SUCCESS               ? CUSPARSE_OK
           : result == CUDA_ERROR_OUT_OF_MEMORY ? CUSPARSE_ALLOC_FAILED
                                                : CUSPARSE_EXECUTION_FAILED;
}

bool cusparse_is_type(int type)
{
    return type == CUSPARSE_R_32F || type == CUSPARSE_R_64F || type == CUSPARSE_C_32F ||
           type == CUSPARSE_C_64F;
}

size_t cusparse_bytes(int type)
{
    return type == CUSPARSE_R_32F ? 4 : type == CUSPARSE_C_64F ? 16 : 8;
}

struct cusparse_scalar cusparse_scalar(const struct cusparse_handle *handle, int type,
                                       const void *value)
{
    struct cusparse_scalar scalar = {0};
    const bool is_complex = type == CUSPARSE_C_32F || type == CUSPARSE_C_64F;
    if (handle->device_scalars) {
        scalar.device = (uint64_t)(uintptr_t)value;
    } else if (type == CUSPARSE_R_32F || type == CUSPARSE_C_32F) {
        scalar.real = ((const float *)value)[0];
        scalar.imaginary = is_complex ? ((const float *)value)[1] : 0;
    } else {
        scalar.real = ((const double *)value)[0];
        scalar.imaginary = is_complex ? ((const double *)value)[1] : 0;
    }
    return scalar;
}

struct cusparse_indices cusparse_indices(const void *address, int index_type, int base)
{
    enum { INDEX_64I = 3 };
    return (struct cusparse_indices){(uint64_t)(uintptr_t)address, index_type == INDEX_64I, base};
}

struct cusparse_entries cusparse_entries(const struct cusparse_sparse_matrix *matrix)
{
    return (struct cusparse_entries){
        .starts = cusparse_indices(matrix->starts, matrix->start_type, matrix->base),
        .minors = cusparse_indices(matrix->minors, matrix->minor_type, matrix->base),
        .values = (uint64_t)(uintptr_t)matrix->values,
        .lists = matrix->format == CUSPARSE_COO   ? 0
                 : matrix->format == CUSPARSE_CSR ? matrix->rows
                                                  : matrix->columns,
        .count = matrix->count,
    };
}

struct cusparse_dense cusparse_dense(const struct cusparse_dense_matrix *matrix, int operation)
{
    const bool by_rows = (matrix->order == CUSPARSE_BY_ROWS) != (operation != CUSPARSE_N);
    return (struct cusparse_dense){(uint64_t)(uintptr_t)matrix->values, by_rows ? matrix->ld : 1,
                                   by_rows ? 1 : matrix->ld, operation == CUSPARSE_H};
}

int cusparse_read(const struct cusparse_handle *handle, void *to, CUdeviceptr from, size_t bytes)
{
    const CUresult failed = cuMemcpyDtoHAsync_v2(to, from, bytes, handle->stream);
    return cusparse_status_of(failed == CUDA_SUCCESS ? cuStreamSynchronize(handle->stream)
                                                     : failed);
}

int cusparse_need_result(struct cusparse_handle *handle)
{
    enum { RESULT_BYTES = 16 };
    return cusparse_status_of(handle->result ? CUDA_SUCCESS
                                             : cuMemAlloc_v2(&handle->result, RESULT_BYTES));
}

int cusparse_launch_blocks(const struct cusparse_handle *handle, int type, const char *name,
                           uint64_t blocks, unsigned threads, void *parameter)
{
    char kernel[64];
    const char *const letter = type < 0                 ? ""
                               : type == CUSPARSE_R_32F ? "s"
                               : type == CUSPARSE_R_64F ? "d"
                               : type == CUSPARSE_C_32F ? "c"
                                                        : "z";
    snprintf(kernel, sizeof(kernel), "cusparse_%s%s", letter, name);
    const struct common_launch launch = {.ptx = sparse_ptx,
                                         .kernel = kernel,
                                         .blocks = blocks,
                                         .threads = threads,
                                         .stream = handle->stream,
                                         .parameter = parameter};
    return cusparse_status_of(common_launch(&launch));
}

int cusparse_launch(const struct cusparse_handle *handle, int type, const char *name,
                    int64_t threads, void *parameter)
{
    return cusparse_launch_blocks(handle, type, name,
                                  common_blocks((uint64_t)threads, CUSPARSE_THREADS),
                                  CUSPARSE_THREADS, parameter);
}
