// SPDX-License-Identifier: Apache-2.0
// Conversions of cuSPARSE: between CSR, CSC, COO and dense matrices.
#include "sparse.h"

enum { INDEX_32I = 2, BUFFER_BYTES = 256 };

// --- Indices -------------------------------------------------------------------------------------

COMMON_API int cusparseXcsr2coo(struct cusparse_handle *handle, const int *starts, int count,
                                int rows, int *indices, int base)
{
    CUSPARSE_CHECK(handle, count >= 0 && rows >= 0);
    struct cusparse_offsets about = {.from = cusparse_indices(starts, INDEX_32I, base),
                                     .to = cusparse_indices(indices, INDEX_32I, base),
                                     .majors = rows,
                                     .count = count};
    return cusparse_launch(handle, -1, "majors", rows, &about);
}

COMMON_API int cusparseXcoo2csr(struct cusparse_handle *handle, const int *indices, int count,
                                int rows, int *starts, int base)
{
    CUSPARSE_CHECK(handle, count >= 0 && rows >= 0);
    struct cusparse_offsets about = {.from = cusparse_indices(indices, INDEX_32I, base),
                                     .to = cusparse_indices(starts, INDEX_32I, base),
                                     .majors = rows,
                                     .count = count};
    return cusparse_launch(handle, -1, "starts", (int64_t)rows + 1, &about);
}

COMMON_API int cusparseCreateIdentityPermutation(struct cusparse_handle *handle, int count, int *to)
{
    CUSPARSE_CHECK(handle, count >= 0);
    struct cusparse_offsets about = {.to = cusparse_indices(to, INDEX_32I, 0), .count = count};
    return cusparse_launch(handle, -1, "identity", count, &about);
}

COMMON_API int cusparseCsr2cscEx2_bufferSize(struct cusparse_handle *handle, int rows, int columns,
                                             int count, const void *values, const int *starts,
                                             const int *minors, void *to_values, int *to_starts,
                                             int *to_minors, int type, int action, int base,
                                             int algorithm, size_t *size_bytes)
{
    (void)values, (void)starts, (void)minors, (void)to_values, (void)to_starts, (void)to_minors;
    (void)type, (void)action, (void)base, (void)algorithm;
    CUSPARSE_CHECK(handle, rows >= 0 && columns >= 0 && count >= 0 && size_bytes);
    *size_bytes = ((size_t)columns + 1) * sizeof(int64_t);
    return CUSPARSE_OK;
}

COMMON_API int cusparseCsr2cscEx2(struct cusparse_handle *handle, int rows, int columns, int count,
                                  const void *values, const int *starts, const int *minors,
                                  void *to_values, int *to_starts, int *to_minors, int type,
                                  int action, int base, int algorithm, void *buffer)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, rows >= 0 && columns >= 0 && count >= 0 && buffer);
    if (!cusparse_is_type(type))
        return COMMON_REFUSE("cusparseCsr2cscEx2 with this type", CUSPARSE_NOT_SUPPORTED);
    struct cusparse_offsets offsets = {.from = cusparse_indices(minors, INDEX_32I, base),
                                       .to = cusparse_indices(to_starts, INDEX_32I, base),
                                       .majors = columns,
                                       .count = count,
                                       .offsets = (uint64_t)(uintptr_t)buffer};
    struct cusparse_transposition about = {
        .from = {cusparse_indices(starts, INDEX_32I, base), offsets.from,
                 (uint64_t)(uintptr_t)values, rows, count},
        .to = {offsets.to, cusparse_indices(to_minors, INDEX_32I, base),
               (uint64_t)(uintptr_t)to_values, columns, count},
        .offsets = offsets.offsets,
        .minors = columns,
        .with_values = action == 1,
    };
    int status = cusparse_launch(handle, -1, "zero", (int64_t)columns + 1, &offsets);
    if (!status)
        status = cusparse_launch(handle, -1, "histogram", count, &offsets);
    if (!status)
        status = cusparse_launch(handle, -1, "sum", 1, &offsets);
    if (!status)
        status = cusparse_launch(handle, type, "transpose", rows, &about);
    return status ? status : cusparse_launch(handle, type, "order", columns, &about);
}

// --- Dense matrices ------------------------------------------------------------------------------

// A conversion in which the major index of the dense matrix is that of the sparse one: the row, but
// in CSC.
static struct cusparse_conversion conversion_of(const struct cusparse_sparse_matrix *sparse,
                                                const struct cusparse_dense_matrix *dense)
{
    const bool by_columns = sparse->format == CUSPARSE_CSC;
    const int64_t row = dense->order == CUSPARSE_BY_ROWS ? dense->ld : 1;
    const int64_t column = dense->order == CUSPARSE_BY_ROWS ? 1 : dense->ld;
    return (struct cusparse_conversion){
        .sparse = cusparse_entries(sparse),
        .dense = {(uint64_t)(uintptr_t)dense->values, by_columns ? column : row,
                  by_columns ? row : column, 0},
        .majors = by_columns ? sparse->columns : sparse->rows,
        .minors = by_columns ? sparse->rows : sparse->columns,
    };
}

static bool is_alike(const struct cusparse_sparse_matrix *sparse,
                     const struct cusparse_dense_matrix *dense)
{
    return sparse && dense && sparse->rows == dense->rows && sparse->columns == dense->columns &&
           sparse->type == dense->type;
}

COMMON_API int cusparseSparseToDense_bufferSize(struct cusparse_handle *handle,
                                                const struct cusparse_sparse_matrix *sparse,
                                                struct cusparse_dense_matrix *dense, int algorithm,
                                                size_t *size_bytes)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, sparse && dense && size_bytes);
    *size_bytes = BUFFER_BYTES;
    return CUSPARSE_OK;
}

COMMON_API int cusparseSparseToDense(struct cusparse_handle *handle,
                                     const struct cusparse_sparse_matrix *sparse,
                                     struct cusparse_dense_matrix *dense, int algorithm,
                                     void *buffer)
{
    (void)algorithm, (void)buffer;
    CUSPARSE_CHECK(handle, is_alike(sparse, dense));
    if (!cusparse_is_type(sparse->type))
        return COMMON_REFUSE("cusparseSparseToDense with this type", CUSPARSE_NOT_SUPPORTED);
    struct cusparse_conversion about = conversion_of(sparse, dense);
    const int status =
        cusparse_launch(handle, sparse->type, "clear", about.majors * about.minors, &about);
    return status
               ? status
               : cusparse_launch(handle, sparse->type, "expand",
                                 about.sparse.lists ? about.sparse.lists : sparse->count, &about);
}

COMMON_API int cusparseDenseToSparse_bufferSize(struct cusparse_handle *handle,
                                                const struct cusparse_dense_matrix *dense,
                                                struct cusparse_sparse_matrix *sparse,
                                                int algorithm, size_t *size_bytes)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, sparse && dense && size_bytes);
    *size_bytes = ((size_t)(dense->rows > dense->columns ? dense->rows : dense->columns) + 1) *
                  sizeof(int64_t);
    return CUSPARSE_OK;
}

// Counts the entries: the sparse matrix gets its offsets, and its descriptor the number of entries,
// for which this waits.
COMMON_API int cusparseDenseToSparse_analysis(struct cusparse_handle *handle,
                                              const struct cusparse_dense_matrix *dense,
                                              struct cusparse_sparse_matrix *sparse, int algorithm,
                                              void *buffer)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, is_alike(sparse, dense) && buffer);
    if (!cusparse_is_type(sparse->type))
        return COMMON_REFUSE("cusparseDenseToSparse with this type", CUSPARSE_NOT_SUPPORTED);
    struct cusparse_conversion about = conversion_of(sparse, dense);
    about.offsets = (uint64_t)(uintptr_t)buffer;
    struct cusparse_offsets offsets = {.majors = about.majors, .offsets = about.offsets};
    if (sparse->format != CUSPARSE_COO)
        offsets.to = about.sparse.starts;
    int status = cusparse_launch(handle, sparse->type, "count", about.majors + 1, &about);
    if (!status)
        status = cusparse_launch(handle, -1, "sum", 1, &offsets);
    return status ? status
                  : cusparse_read(handle, &sparse->count,
                                  about.offsets + (uint64_t)about.majors * sizeof(int64_t),
                                  sizeof(sparse->count));
}

COMMON_API int cusparseDenseToSparse_convert(struct cusparse_handle *handle,
                                             const struct cusparse_dense_matrix *dense,
                                             struct cusparse_sparse_matrix *sparse, int algorithm,
                                             void *buffer)
{
    (void)algorithm;
    CUSPARSE_CHECK(handle, is_alike(sparse, dense) && buffer);
    struct cusparse_conversion about = conversion_of(sparse, dense);
    about.offsets = (uint64_t)(uintptr_t)buffer;
    return cusparse_launch(handle, sparse->type, "compress", about.majors, &about);
}

// --- Counts --------------------------------------------------------------------------------------

// Counts numbers other than 0 in each row or column of a dense matrix, and in all of it.
static int count_nonzeros(struct cusparse_handle *handle, int type, int direction, int rows,
                          int columns, const struct cusparse_older_matrix *descriptor,
                          const void *matrix, int ld, int *counts, int *total)
{
    enum { BY_ROW, BY_COLUMN }; // cusparseDirection_t
    CUSPARSE_CHECK(handle, (direction == BY_ROW || direction == BY_COLUMN) && rows >= 0 &&
                               columns >= 0 && ld >= (rows > 1 ? rows : 1) && descriptor && total);
    if (descriptor->type != 0)
        return CUSPARSE_MATRIX_TYPE_NOT_SUPPORTED;
    CUSPARSE_CHECK(handle, rows == 0 || columns == 0 || (matrix && counts));
    int status = handle->device_scalars ? CUSPARSE_OK : cusparse_need_result(handle);
    if (status)
        return status;
    const bool by_rows = direction == BY_ROW;
    const CUdeviceptr sum = handle->device_scalars ? (CUdeviceptr)(uintptr_t)total : handle->result;
    struct cusparse_nonzeros about = {
        .dense = {(uint64_t)(uintptr_t)matrix, by_rows ? 1 : ld, by_rows ? ld : 1, 0},
        .counts = (uint64_t)(uintptr_t)counts,
        .total = sum,
        .majors = by_rows ? rows : columns,
        .minors = by_rows ? columns : rows,
    };
    status = cusparse_status_of(cuMemsetD32Async(sum, 0, 1, handle->stream));
    if (!status)
        status = cusparse_launch(handle, type, "nonzeros", about.majors, &about);
    return status || handle->device_scalars ? status
                                            : cusparse_read(handle, total, sum, sizeof(*total));
}

#define COUNT_NONZEROS(letter, type)                                                              \
    COMMON_API int cusparse##letter##nnz(struct cusparse_handle *handle, int direction, int rows, \
                                         int columns,                                             \
                                         const struct cusparse_older_matrix *descriptor,          \
                                         const void *matrix, int ld, int *counts, int *total)     \
    {                                                                                             \
        return count_nonzeros(handle, type, direction, rows, columns, descriptor, matrix, ld,     \
                              counts, total);                                                     \
    }
COUNT_NONZEROS(S, CUSPARSE_R_32F)
COUNT_NONZEROS(D, CUSPARSE_R_64F)
COUNT_NONZEROS(C, CUSPARSE_C_32F)
COUNT_NONZEROS(Z, CUSPARSE_C_64F)
