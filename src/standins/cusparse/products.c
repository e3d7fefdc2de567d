// SPDX-License-Identifier: Apache-2.0
// Products of cuSPARSE: of a sparse matrix with a dense vector or matrix, and of vectors.
#include "sparse.h"

// The size of a buffer that no kernel uses. Programs may not expect 0.
enum { BUFFER_BYTES = 256 };

static int product(const struct cusparse_handle *handle, int operation, const void *alpha,
                   const struct cusparse_sparse_matrix *a, const struct cusparse_dense *b,
                   int64_t b_rows, const void *beta, const struct cusparse_dense *c, int64_t rows,
                   int64_t columns)
{
    const int64_t a_rows = operation == CUSPARSE_N ? a->rows : a->columns;
    const int64_t a_columns = operation == CUSPARSE_N ? a->columns : a->rows;
    CUSPARSE_CHECK(handle, alpha && beta && operation >= CUSPARSE_N && operation <= CUSPARSE_H &&
                               a_rows == rows && a_columns == b_rows);
    if (rows == 0 || columns == 0)
        return CUSPARSE_OK;
    struct cusparse_product about = {
        .a = cusparse_entries(a),
        .b = *b,
        .c = *c,
        .alpha = cusparse_scalar(handle, a->type, alpha),
        .beta = cusparse_scalar(handle, a->type, beta),
        .rows = rows,
        .columns = columns,
        .turned = (operation != CUSPARSE_N) != (a->format == CUSPARSE_CSC),
        .conjugate = operation == CUSPARSE_H,
    };
    if (a->format != CUSPARSE_COO && !about.turned)
        return cusparse_launch(handle, a->type, "rows", rows * columns, &about);
    const int status = cusparse_launch(handle, a->type, "scale", rows * columns, &about);
    const int64_t threads = (about.a.lists ? about.a.lists : about.a.count) * columns;
    return status ? status : cusparse_launch(handle, a->type, "entries", threads, &about);
}

// Whether all types are the same, and one for which there are kernels.
static bool is_one_type(int a, int b, int c, int computed)
{
    return a == b && b == c && c == computed && cusparse_is_type(a);
}

// --- SpMV ----------------------------------------------------------------------------------------

COMMON_API int cusparseSpMV(struct cusparse_handle *handle, int operation, const void *alpha,
                            const struct cusparse_sparse_matrix *a,
                            const struct cusparse_dense_vector *x, const void *beta,
                            struct cusparse_dense_vector *y, int computed, int algorithm,
                            void *buffer)
{
    (void)algorithm, (void)buffer;
    CUSPARSE_CHECK(handle, a && x && y);
    if (!is_one_type(a->type, x->type, y->type, computed))
        return COMMON_REFUSE("cusparseSpMV with these types", CUSPARSE_NOT_SUPPORTED);
    const struct cusparse_dense from = {(uint64_t)(uintptr_t)x->values, 1, 0, 0},
                                to = {(uint64_t)(uintptr_t)y->values, 1, 0, 0};
    return product(handle, operation, alpha, a, &from, x->size, beta, &to, y->size, 1);
}

COMMON_API int cusparseSpMV_bufferSize(struct cusparse_handle *handle, int operation,
                                       const void *alpha, const struct cusparse_sparse_matrix *a,
                                       const struct cusparse_dense_vector *x, const void *beta,
                                       struct cusparse_dense_vector *y, int computed, int algorithm,
                                       size_t *size_bytes)
{
    (void)operation, (void)alpha, (void)beta, (void)computed, (void)algorithm;
    CUSPARSE_CHECK(handle, a && x && y && size_bytes);
    *size_bytes = BUFFER_BYTES;
    return CUSPARSE_OK;
}

COMMON_API int cusparseSpMV_preprocess(struct cusparse_handle *handle, int operation,
                                       const void *alpha, const struct cusparse_sparse_matrix *a,
                                       const struct cusparse_dense_vector *x, const void *beta,
                                       struct cusparse_dense_vector *y, int computed, int algorithm,
                                       void *buffer)
{
    (void)operation, (void)alpha, (void)beta, (void)computed, (void)algorithm, (void)buffer;
    CUSPARSE_CHECK(handle, a && x && y);
    return CUSPARSE_OK;
}

// --- SpMM ----------------------------------------------------------------------------------------

COMMON_API int cusparseSpMM(struct cusparse_handle *handle, int a_operation, int b_operation,
                            const void *alpha, const struct cusparse_sparse_matrix *a,
                            const struct cusparse_dense_matrix *b, const void *beta,
                            struct cusparse_dense_matrix *c, int computed, int algorithm,
                            void *buffer)
{
    (void)algorithm, (void)buffer;
    CUSPARSE_CHECK(handle, a && b && c && b_operation >= CUSPARSE_N && b_operation <= CUSPARSE_H);
    if (!is_one_type(a->type, b->type, c->type, computed))
        return COMMON_REFUSE("cusparseSpMM with these types", CUSPARSE_NOT_SUPPORTED);
    if (b->members > 1 || c->members > 1)
        return COMMON_REFUSE("cusparseSpMM with batches", CUSPARSE_NOT_SUPPORTED);
    CUSPARSE_CHECK(handle, (b_operation == CUSPARSE_N ? b->columns : b->rows) == c->columns);
    const struct cusparse_dense from = cusparse_dense(b, b_operation),
                                to = cusparse_dense(c, CUSPARSE_N);
    return product(handle, a_operation, alpha, a, &from,
                   b_operation == CUSPARSE_N ? b->rows : b->columns, beta, &to, c->rows,
                   c->columns);
}

COMMON_API int cusparseSpMM_bufferSize(struct cusparse_handle *handle, int a_operation,
                                       int b_operation, const void *alpha,
                                       const struct cusparse_sparse_matrix *a,
                                       const struct cusparse_dense_matrix *b, const void *beta,
                                       struct cusparse_dense_matrix *c, int computed, int algorithm,
                                       size_t *size_bytes)
{
    (void)a_operation, (void)b_operation, (void)alpha, (void)beta, (void)computed, (void)algorithm;
    CUSPARSE_CHECK(handle, a && b && c && size_bytes);
    *size_bytes = BUFFER_BYTES;
    return CUSPARSE_OK;
}

COMMON_API int cusparseSpMM_preprocess(struct cusparse_handle *handle, int a_operation,
                                       int b_operation, const void *alpha,
                                       const struct cusparse_sparse_matrix *a,
                                       const struct cusparse_dense_matrix *b, const void *beta,
                                       struct cusparse_dense_matrix *c, int computed, int algorithm,
                                       void *buffer)
{
    (void)a_operation, (void)b_operation, (void)alpha, (void)beta, (void)computed, (void)algorithm,
        (void)buffer;
    CUSPARSE_CHECK(handle, a && b && c);
    return CUSPARSE_OK;
}

// --- Vectors -------------------------------------------------------------------------------------

static struct cusparse_vectors vectors_of(const struct cusparse_sparse_vector *x,
                                          const struct cusparse_dense_vector *y)
{
    return (struct cusparse_vectors){.indices =
                                         cusparse_indices(x->indices, x->index_type, x->base),
                                     .x = (uint64_t)(uintptr_t)x->values,
                                     .y = (uint64_t)(uintptr_t)y->values,
                                     .count = x->count,
                                     .size = y->size};
}

COMMON_API int cusparseAxpby(struct cusparse_handle *handle, const void *alpha,
                             const struct cusparse_sparse_vector *x, const void *beta,
                             struct cusparse_dense_vector *y)
{
    CUSPARSE_CHECK(handle, alpha && x && beta && y && x->size == y->size);
    if (!is_one_type(x->type, y->type, y->type, y->type))
        return COMMON_REFUSE("cusparseAxpby with these types", CUSPARSE_NOT_SUPPORTED);
    struct cusparse_vectors about = vectors_of(x, y);
    about.alpha = cusparse_scalar(handle, y->type, alpha);
    about.beta = cusparse_scalar(handle, y->type, beta);
    const int status = cusparse_launch(handle, y->type, "scale_vector", y->size, &about);
    return status ? status : cusparse_launch(handle, y->type, "add_vector", x->count, &about);
}

COMMON_API int cusparseGather(struct cusparse_handle *handle, const struct cusparse_dense_vector *y,
                              struct cusparse_sparse_vector *x)
{
    CUSPARSE_CHECK(handle, x && y && x->size == y->size);
    if (!is_one_type(x->type, y->type, y->type, y->type))
        return COMMON_REFUSE("cusparseGather with these types", CUSPARSE_NOT_SUPPORTED);
    struct cusparse_vectors about = vectors_of(x, y);
    return cusparse_launch(handle, y->type, "gather", x->count, &about);
}

COMMON_API int cusparseScatter(struct cusparse_handle *handle,
                               const struct cusparse_sparse_vector *x,
                               struct cusparse_dense_vector *y)
{
    CUSPARSE_CHECK(handle, x && y && x->size == y->size);
    if (!is_one_type(x->type, y->type, y->type, y->type))
        return COMMON_REFUSE("cusparseScatter with these types", CUSPARSE_NOT_SUPPORTED);
    struct cusparse_vectors about = vectors_of(x, y);
    return cusparse_launch(handle, y->type, "scatter", x->count, &about);
}

COMMON_API int cusparseSpVV_bufferSize(struct cusparse_handle *handle, int operation,
                                       const struct cusparse_sparse_vector *x,
                                       const struct cusparse_dense_vector *y, const void *result,
                                       int computed, size_t *size_bytes)
{
    (void)operation, (void)result, (void)computed;
    CUSPARSE_CHECK(handle, x && y && size_bytes);
    *size_bytes = BUFFER_BYTES;
    return CUSPARSE_OK;
}

COMMON_API int cusparseSpVV(struct cusparse_handle *handle, int operation,
                            const struct cusparse_sparse_vector *x,
                            const struct cusparse_dense_vector *y, void *result, int computed,
                            void *buffer)
{
    (void)buffer;
    CUSPARSE_CHECK(handle, x && y && result && x->size == y->size);
    if (!is_one_type(x->type, y->type, computed, computed))
        return COMMON_REFUSE("cusparseSpVV with these types", CUSPARSE_NOT_SUPPORTED);
    struct cusparse_vectors about = vectors_of(x, y);
    about.conjugate = operation == CUSPARSE_H;
    about.result = (uint64_t)(uintptr_t)result;
    if (handle->device_scalars)
        return cusparse_launch(handle, y->type, "dot", 1, &about);
    int status = cusparse_need_result(handle);
    if (status)
        return status;
    about.result = handle->result;
    status = cusparse_launch(handle, y->type, "dot", 1, &about);
    return status ? status : cusparse_read(handle, result, handle->result, cusparse_bytes(y->type));
}
