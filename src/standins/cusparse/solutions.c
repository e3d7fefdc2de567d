// SPDX-License-Identifier: Apache-2.0
// Solves systems of equations whose matrix is a sparse triangle, for a vector (SpSV) or a matrix of
// them (SpSM).
#include <stdlib.h>

#include "sparse.h"

// What programs know as cusparseSpSVDescr_t and cusparseSpSMDescr_t.
struct cusparse_solving {
    bool analyzed;
    CUdeviceptr starts; // in the buffer, where each row of a matrix in COO begins
    // Values that the program has set since the analysis; 0: those of the matrix.
    CUdeviceptr values, diagonal;
    int type;
    int64_t rows, count;
};

static int create(struct cusparse_solving **descriptor)
{
    if (!descriptor)
        return CUSPARSE_INVALID_VALUE;
    *descriptor = calloc(1, sizeof(**descriptor));
    return *descriptor ? CUSPARSE_OK : CUSPARSE_ALLOC_FAILED;
}

static void forget_values(CUdeviceptr *values)
{
    if (*values)
        cuMemFree_v2(*values);
    *values = 0;
}

static int destroy(struct cusparse_solving *descriptor)
{
    if (descriptor) {
        forget_values(&descriptor->values);
        forget_values(&descriptor->diagonal);
    }
    free(descriptor);
    return CUSPARSE_OK;
}

// The equations op(A) * C = alpha * B.
struct equations {
    int operation;
    const void *alpha;
    const struct cusparse_sparse_matrix *a;
    struct cusparse_dense b, c;
    int64_t b_rows, c_rows, b_columns, c_columns;
    int b_type, c_type, computed;
    struct cusparse_solving *descriptor;
};

static int check(const struct cusparse_handle *handle, const struct equations *of)
{
    const struct cusparse_sparse_matrix *const a = of->a;
    CUSPARSE_CHECK(handle, of->alpha && of->descriptor && of->operation >= CUSPARSE_N &&
                               of->operation <= CUSPARSE_H);
    CUSPARSE_CHECK(handle, a->rows == a->columns && of->b_rows == a->rows &&
                               of->c_rows == a->rows && of->b_columns == of->c_columns);
    if (a->format != CUSPARSE_CSR && a->format != CUSPARSE_COO)
        return COMMON_REFUSE("a solution of cuSPARSE for this format", CUSPARSE_NOT_SUPPORTED);
    if (!cusparse_is_type(of->computed) || a->type != of->computed || of->b_type != of->computed ||
        of->c_type != of->computed)
        return COMMON_REFUSE("a solution of cuSPARSE for these types", CUSPARSE_NOT_SUPPORTED);
    return CUSPARSE_OK;
}

static int size_of(const struct cusparse_handle *handle, const struct equations *of,
                   size_t *size_bytes)
{
    CUSPARSE_CHECK(handle, size_bytes);
    const int status = check(handle, of);
    if (!status)
        *size_bytes = ((size_t)of->a->rows + 1) * sizeof(int64_t);
    return status;
}

// The starts of the rows, as a matrix in CSR has them.
static struct cusparse_indices starts_in(CUdeviceptr buffer)
{
    return (struct cusparse_indices){buffer, 1, 0};
}

static int analyze(const struct cusparse_handle *handle, const struct equations *of, void *buffer)
{
    const int status = check(handle, of);
    if (status)
        return status;
    struct cusparse_solving *const descriptor = of->descriptor;
    CUSPARSE_CHECK(handle, buffer || of->a->format == CUSPARSE_CSR);
    forget_values(&descriptor->values);
    forget_values(&descriptor->diagonal);
    descriptor->analyzed = true;
    descriptor->starts = (CUdeviceptr)(uintptr_t)buffer;
    descriptor->type = of->computed;
    descriptor->rows = of->a->rows;
    descriptor->count = of->a->count;
    if (of->a->format == CUSPARSE_CSR)
        return CUSPARSE_OK;
    struct cusparse_offsets about = {.from = cusparse_entries(of->a).starts,
                                     .to = starts_in(descriptor->starts),
                                     .majors = of->a->rows,
                                     .count = of->a->count};
    return cusparse_launch(handle, -1, "starts", of->a->rows + 1, &about);
}

static int solve(const struct cusparse_handle *handle, const struct equations *of)
{
    const int status = check(handle, of);
    if (status)
        return status;
    const struct cusparse_solving *const descriptor = of->descriptor;
    CUSPARSE_CHECK(handle, descriptor->analyzed && descriptor->rows == of->a->rows &&
                               descriptor->count == of->a->count);
    struct cusparse_solution about = {
        .a = cusparse_entries(of->a),
        .b = of->b,
        .c = of->c,
        .alpha = cusparse_scalar(handle, of->computed, of->alpha),
        .diagonal = descriptor->diagonal,
        .size = of->a->rows,
        .columns = of->c_columns,
        .upper = of->a->fill == 1,
        .unit = of->a->diagonal == 1,
        .turned = of->operation != CUSPARSE_N,
        .conjugate = of->operation == CUSPARSE_H,
    };
    if (of->a->format == CUSPARSE_COO)
        about.a.starts = starts_in(descriptor->starts);
    if (descriptor->values)
        about.a.values = descriptor->values;
    return cusparse_launch_blocks(handle, of->computed, "solve", (uint64_t)of->c_columns, 32,
                                  &about);
}

// Keeps a copy of new values, of all entries or of the diagonal, for later solutions.
static int update(const struct cusparse_handle *handle, struct cusparse_solving *descriptor,
                  const void *values, int part)
{
    enum { ALL, DIAGONAL };
    CUSPARSE_CHECK(handle, descriptor && descriptor->analyzed && values &&
                               (part == ALL || part == DIAGONAL));
    CUdeviceptr *const to = part == ALL ? &descriptor->values : &descriptor->diagonal;
    const size_t bytes = (size_t)(part == ALL ? descriptor->count : descriptor->rows) *
                         cusparse_bytes(descriptor->type);
    if (part == ALL)
        forget_values(&descriptor->diagonal);
    CUresult failed = *to || !bytes ? CUDA_SUCCESS : cuMemAlloc_v2(to, bytes);
    if (failed == CUDA_SUCCESS && bytes)
        failed = cuMemcpyDtoDAsync_v2(*to, (CUdeviceptr)(uintptr_t)values, bytes, handle->stream);
    return cusparse_status_of(failed);
}

// --- For a vector --------------------------------------------------------------------------------

static struct equations with_vectors(int operation, const void *alpha,
                                     const struct cusparse_sparse_matrix *a,
                                     const struct cusparse_dense_vector *x,
                                     const struct cusparse_dense_vector *y, int computed,
                                     struct cusparse_solving *descriptor)
{
    return (struct equations){.operation = operation,
                              .alpha = alpha,
                              .a = a,
                              .b = {(uint64_t)(uintptr_t)x->values, 1, 0, 0},
                              .c = {(uint64_t)(uintptr_t)y->values, 1, 0, 0},
                              .b_rows = x->size,
                              .c_rows = y->size,
                              .b_columns = 1,
                              .c_columns = 1,
                              .b_type = x->type,
                              .c_type = y->type,
                              .computed = computed,
                              .descriptor = descriptor};
}

COMMON_API int cusparseSpSV_createDescr(struct cusparse_solving **descriptor)
{
    return create(descriptor);
}

COMMON_API int cusparseSpSV_destroyDescr(struct cusparse_solving *descriptor)
{
    return destroy(descriptor);
}

COMMON_API int cusparseSpSV_bufferSize(struct cusparse_handle *handle, int operation,
                                       const void *alpha, const struct cusparse_sparse_matrix *a,
                                       const struct cusparse_dense_vector *x,
                                       struct cusparse_dense_vector *y, int computed, int algorithm,
                                       struct cusparse_solving *descriptor, size_t *size_bytes)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, a && x && y);
    const struct equations of = with_vectors(operation, alpha, a, x, y, computed, descriptor);
    return size_of(handle, &of, size_bytes);
}

COMMON_API int cusparseSpSV_analysis(struct cusparse_handle *handle, int operation,
                                     const void *alpha, const struct cusparse_sparse_matrix *a,
                                     const struct cusparse_dense_vector *x,
                                     struct cusparse_dense_vector *y, int computed, int algorithm,
                                     struct cusparse_solving *descriptor, void *buffer)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, a && x && y);
    const struct equations of = with_vectors(operation, alpha, a, x, y, computed, descriptor);
    return analyze(handle, &of, buffer);
}

COMMON_API int cusparseSpSV_solve(struct cusparse_handle *handle, int operation, const void *alpha,
                                  const struct cusparse_sparse_matrix *a,
                                  const struct cusparse_dense_vector *x,
                                  struct cusparse_dense_vector *y, int computed, int algorithm,
                                  struct cusparse_solving *descriptor)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, a && x && y);
    const struct equations of = with_vectors(operation, alpha, a, x, y, computed, descriptor);
    return solve(handle, &of);
}

COMMON_API int cusparseSpSV_updateMatrix(struct cusparse_handle *handle,
                                         struct cusparse_solving *descriptor, void *values,
                                         int part)
{
    return update(handle, descriptor, values, part);
}

// --- For a matrix --------------------------------------------------------------------------------

static struct equations with_matrices(int a_operation, int b_operation, const void *alpha,
                                      const struct cusparse_sparse_matrix *a,
                                      const struct cusparse_dense_matrix *b,
                                      const struct cusparse_dense_matrix *c, int computed,
                                      struct cusparse_solving *descriptor)
{
    const bool plain = b_operation == CUSPARSE_N;
    return (struct equations){.operation = a_operation,
                              .alpha = alpha,
                              .a = a,
                              .b = cusparse_dense(b, b_operation),
                              .c = cusparse_dense(c, CUSPARSE_N),
                              .b_rows = plain ? b->rows : b->columns,
                              .c_rows = c->rows,
                              .b_columns = plain ? b->columns : b->rows,
                              .c_columns = c->columns,
                              .b_type = b->type,
                              .c_type = c->type,
                              .computed = computed,
                              .descriptor = descriptor};
}

static bool is_operation(int operation)
{
    return operation >= CUSPARSE_N && operation <= CUSPARSE_H;
}

COMMON_API int cusparseSpSM_createDescr(struct cusparse_solving **descriptor)
{
    return create(descriptor);
}

COMMON_API int cusparseSpSM_destroyDescr(struct cusparse_solving *descriptor)
{
    return destroy(descriptor);
}

COMMON_API int cusparseSpSM_bufferSize(struct cusparse_handle *handle, int a_operation,
                                       int b_operation, const void *alpha,
                                       const struct cusparse_sparse_matrix *a,
                                       const struct cusparse_dense_matrix *b,
                                       struct cusparse_dense_matrix *c, int computed, int algorithm,
                                       struct cusparse_solving *descriptor, size_t *size_bytes)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, a && b && c && is_operation(b_operation));
    const struct equations of =
        with_matrices(a_operation, b_operation, alpha, a, b, c, computed, descriptor);
    return size_of(handle, &of, size_bytes);
}

COMMON_API int cusparseSpSM_analysis(struct cusparse_handle *handle, int a_operation,
                                     int b_operation, const void *alpha,
                                     const struct cusparse_sparse_matrix *a,
                                     const struct cusparse_dense_matrix *b,
                                     struct cusparse_dense_matrix *c, int computed, int algorithm,
                                     struct cusparse_solving *descriptor, void *buffer)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, a && b && c && is_operation(b_operation));
    const struct equations of =
        with_matrices(a_operation, b_operation, alpha, a, b, c, computed, descriptor);
    return analyze(handle, &of, buffer);
}

COMMON_API int cusparseSpSM_solve(struct cusparse_handle *handle, int a_operation, int b_operation,
                                  const void *alpha, const struct cusparse_sparse_matrix *a,
                                  const struct cusparse_dense_matrix *b,
                                  struct cusparse_dense_matrix *c, int computed, int algorithm,
                                  struct cusparse_solving *descriptor)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, a && b && c && is_operation(b_operation));
    if (b->members > 1 || c->members > 1)
        return COMMON_REFUSE("cusparseSpSM with batches", CUSPARSE_NOT_SUPPORTED);
    const struct equations of =
        with_matrices(a_operation, b_operation, alpha, a, b, c, computed, descriptor);
    return solve(handle, &of);
}

COMMON_API int cusparseSpSM_updateMatrix(struct cusparse_handle *handle,
                                         struct cusparse_solving *descriptor, void *values,
                                         int part)
{
    return update(handle, descriptor, values, part);
}
