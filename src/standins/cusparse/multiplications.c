// SPDX-License-Identifier: Apache-2.0
// Products of two sparse matrices (SpGEMM), in the three steps that programs call: how many
// products there are, the rows of the result in a buffer, and copies of them into the result.
#include <stdlib.h>

#include "sparse.h"

enum { ALGORITHM_2 = 4, ALGORITHM_3 = 5, BUFFER_BYTES = 256 };

// What programs know as cusparseSpGEMMDescr_t.
struct cusparse_multiplying {
    CUdeviceptr offsets; // the first buffer; 0: not yet filled
    CUdeviceptr rows;    // the second one
    int64_t products, count;
};

COMMON_API int cusparseSpGEMM_createDescr(struct cusparse_multiplying **descriptor)
{
    if (!descriptor)
        return CUSPARSE_INVALID_VALUE;
    *descriptor = calloc(1, sizeof(**descriptor));
    return *descriptor ? CUSPARSE_OK : CUSPARSE_ALLOC_FAILED;
}

COMMON_API int cusparseSpGEMM_destroyDescr(struct cusparse_multiplying *descriptor)
{
    free(descriptor);
    return CUSPARSE_OK;
}

COMMON_API int cusparseSpGEMM_getNumProducts(const struct cusparse_multiplying *descriptor,
                                             int64_t *count)
{
    if (!descriptor || !count)
        return CUSPARSE_INVALID_VALUE;
    *count = descriptor->products;
    return CUSPARSE_OK;
}

// The arguments that all steps have.
struct operands {
    int a_operation, b_operation;
    const void *alpha, *beta;
    const struct cusparse_sparse_matrix *a, *b;
    const struct cusparse_sparse_matrix *c;
    int computed;
};

// Whether a number in host or device memory is 0. May wait.
static int find_zero(const struct cusparse_handle *handle, int type, const void *value, bool *zero)
{
    unsigned char bytes[16] = {0};
    const void *from = value;
    if (handle->device_scalars) {
        const int status =
            cusparse_read(handle, bytes, (CUdeviceptr)(uintptr_t)value, cusparse_bytes(type));
        if (status)
            return status;
        from = bytes;
    }
    const struct cusparse_handle host = {0};
    const struct cusparse_scalar scalar = cusparse_scalar(&host, type, from);
    *zero = scalar.real == 0 && scalar.imaginary == 0;
    return CUSPARSE_OK;
}

static int check(const struct cusparse_handle *handle, const struct operands *of)
{
    CUSPARSE_CHECK(handle, of->alpha && of->beta && of->a && of->b && of->c);
    CUSPARSE_CHECK(handle, of->a->columns == of->b->rows && of->c->rows == of->a->rows &&
                               of->c->columns == of->b->columns);
    if (of->a_operation != CUSPARSE_N || of->b_operation != CUSPARSE_N)
        return COMMON_REFUSE("cusparseSpGEMM with an operation", CUSPARSE_NOT_SUPPORTED);
    if (of->a->format != CUSPARSE_CSR || of->b->format != CUSPARSE_CSR ||
        of->c->format != CUSPARSE_CSR)
        return COMMON_REFUSE("cusparseSpGEMM with other formats than CSR", CUSPARSE_NOT_SUPPORTED);
    if (!cusparse_is_type(of->computed) || of->a->type != of->computed ||
        of->b->type != of->computed || of->c->type != of->computed)
        return COMMON_REFUSE("cusparseSpGEMM with these types", CUSPARSE_NOT_SUPPORTED);
    return CUSPARSE_OK;
}

static size_t offsets_bytes(const struct operands *of)
{
    return ((size_t)of->a->rows + 1) * sizeof(int64_t);
}

// The second buffer has counts, indices and values.
static size_t rows_bytes(const struct operands *of, const struct cusparse_multiplying *descriptor)
{
    return offsets_bytes(of) +
           (size_t)descriptor->products * (sizeof(int64_t) + cusparse_bytes(of->computed));
}

static struct cusparse_multiplication multiplication_of(const struct cusparse_handle *handle,
                                                        const struct operands *of,
                                                        const struct cusparse_multiplying *by)
{
    const uint64_t minors = by->rows + offsets_bytes(of);
    return (struct cusparse_multiplication){
        .a = cusparse_entries(of->a),
        .b = cusparse_entries(of->b),
        .c = cusparse_entries(of->c),
        .offsets = by->offsets,
        .counts = by->rows,
        .minors = minors,
        .values = minors + (uint64_t)by->products * sizeof(int64_t),
        .rows = of->a->rows,
        .alpha = cusparse_scalar(handle, of->computed, of->alpha),
    };
}

// Makes counts of rows to offsets, and reads their sum.
static int add_up(const struct cusparse_handle *handle, CUdeviceptr counts, int64_t rows,
                  int64_t *sum)
{
    struct cusparse_offsets about = {.majors = rows, .offsets = counts};
    const int status = cusparse_launch(handle, -1, "sum", 1, &about);
    return status ? status
                  : cusparse_read(handle, sum, counts + (uint64_t)rows * sizeof(int64_t),
                                  sizeof(*sum));
}

COMMON_API int cusparseSpGEMM_workEstimation(
    struct cusparse_handle *handle, int a_operation, int b_operation, const void *alpha,
    const struct cusparse_sparse_matrix *a, const struct cusparse_sparse_matrix *b,
    const void *beta, struct cusparse_sparse_matrix *c, int computed, int algorithm,
    struct cusparse_multiplying *descriptor, size_t *size_bytes, void *buffer)
{
    (void)algorithm;
    const struct operands of = {a_operation, b_operation, alpha, beta, a, b, c, computed};
    CUSPARSE_CHECK(handle, descriptor && size_bytes);
    int status = check(handle, &of);
    if (status)
        return status;
    if (!buffer) {
        *size_bytes = offsets_bytes(&of);
        return CUSPARSE_OK;
    }
    if (*size_bytes < offsets_bytes(&of))
        return CUSPARSE_INSUFFICIENT_RESOURCES;
    descriptor->offsets = (CUdeviceptr)(uintptr_t)buffer;
    descriptor->rows = 0;
    struct cusparse_multiplication about = multiplication_of(handle, &of, descriptor);
    status = cusparse_launch(handle, -1, "room", about.rows, &about);
    return status ? status : add_up(handle, descriptor->offsets, about.rows, &descriptor->products);
}

COMMON_API int
cusparseSpGEMM_estimateMemory(struct cusparse_handle *handle, int a_operation, int b_operation,
                              const void *alpha, const struct cusparse_sparse_matrix *a,
                              const struct cusparse_sparse_matrix *b, const void *beta,
                              struct cusparse_sparse_matrix *c, int computed, int algorithm,
                              struct cusparse_multiplying *descriptor, float fraction,
                              size_t *size_bytes, void *buffer, size_t *rows_size_bytes)
{
    const struct operands of = {a_operation, b_operation, alpha, beta, a, b, c, computed};
    CUSPARSE_CHECK(handle, descriptor && size_bytes && descriptor->offsets &&
                               (!buffer || rows_size_bytes) &&
                               (algorithm != ALGORITHM_3 || (fraction > 0 && fraction <= 1)));
    const int status = check(handle, &of);
    if (status)
        return status;
    if (algorithm != ALGORITHM_2 && algorithm != ALGORITHM_3)
        return CUSPARSE_NOT_SUPPORTED;
    if (!buffer)
        *size_bytes = BUFFER_BYTES;
    else
        *rows_size_bytes = rows_bytes(&of, descriptor);
    return CUSPARSE_OK;
}

COMMON_API int cusparseSpGEMM_compute(struct cusparse_handle *handle, int a_operation,
                                      int b_operation, const void *alpha,
                                      const struct cusparse_sparse_matrix *a,
                                      const struct cusparse_sparse_matrix *b, const void *beta,
                                      struct cusparse_sparse_matrix *c, int computed, int algorithm,
                                      struct cusparse_multiplying *descriptor, size_t *size_bytes,
                                      void *buffer)
{
    (void)algorithm;
    const struct operands of = {a_operation, b_operation, alpha, beta, a, b, c, computed};
    bool zero = false;
    CUSPARSE_CHECK(handle, descriptor && size_bytes && descriptor->offsets);
    int status = check(handle, &of);
    if (!status)
        status = find_zero(handle, computed, beta, &zero);
    if (status)
        return status;
    if (!zero)
        return COMMON_REFUSE("cusparseSpGEMM with a beta", CUSPARSE_NOT_SUPPORTED);
    if (!buffer) {
        *size_bytes = rows_bytes(&of, descriptor);
        return CUSPARSE_OK;
    }
    if (*size_bytes < rows_bytes(&of, descriptor))
        return CUSPARSE_INSUFFICIENT_RESOURCES;
    descriptor->rows = (CUdeviceptr)(uintptr_t)buffer;
    struct cusparse_multiplication about = multiplication_of(handle, &of, descriptor);
    status = cusparse_launch(handle, computed, "multiply", about.rows, &about);
    if (!status)
        status = add_up(handle, descriptor->rows, about.rows, &descriptor->count);
    if (!status)
        c->count = descriptor->count;
    return status;
}

COMMON_API int cusparseSpGEMM_copy(struct cusparse_handle *handle, int a_operation, int b_operation,
                                   const void *alpha, const struct cusparse_sparse_matrix *a,
                                   const struct cusparse_sparse_matrix *b, const void *beta,
                                   struct cusparse_sparse_matrix *c, int computed, int algorithm,
                                   struct cusparse_multiplying *descriptor)
{
    (void)algorithm;
    const struct operands of = {a_operation, b_operation, alpha, beta, a, b, c, computed};
    CUSPARSE_CHECK(handle, descriptor && descriptor->rows);
    const int status = check(handle, &of);
    if (status)
        return status;
    CUSPARSE_CHECK(handle, c->starts && (!descriptor->count || (c->minors && c->values)));
    struct cusparse_multiplication about = multiplication_of(handle, &of, descriptor);
    return cusparse_launch(handle, computed, "finish", about.rows + 1, &about);
}
