// SPDX-License-Identifier: Apache-2.0
// Descriptors of cuSPARSE: what a program says of its matrices and vectors. Descriptors for
// constant memory are the same.
#include <stdlib.h>

#include "sparse.h"

// --- Sparse matrices -----------------------------------------------------------------------------

static int make_sparse(struct cusparse_sparse_matrix **made,
                       const struct cusparse_sparse_matrix *from)
{
    if (!made || from->rows < 0 || from->columns < 0 || from->count < 0 ||
        (from->base != 0 && from->base != 1))
        return CUSPARSE_INVALID_VALUE;
    if (from->start_type < 2 || from->start_type > 3 || from->minor_type < 2 ||
        from->minor_type > 3)
        return COMMON_REFUSE("cuSPARSE: a matrix with indices of 16 bits", CUSPARSE_NOT_SUPPORTED);
    *made = malloc(sizeof(**made));
    if (!*made)
        return CUSPARSE_ALLOC_FAILED;
    **made = *from;
    (*made)->members = 1;
    return CUSPARSE_OK;
}

#define CREATE_LISTS(Name, format)                                                               \
    COMMON_API int Name(struct cusparse_sparse_matrix **matrix, int64_t rows, int64_t columns,   \
                        int64_t count, void *starts, void *minors, void *values, int start_type, \
                        int minor_type, int base, int type)                                      \
    {                                                                                            \
        return make_sparse(matrix, &(struct cusparse_sparse_matrix){                             \
                                       format, rows, columns, count, starts, minors, values,     \
                                       start_type, minor_type, base, type, 0, 0, 1});            \
    }
CREATE_LISTS(cusparseCreateCsr, CUSPARSE_CSR)
CREATE_LISTS(cusparseCreateConstCsr, CUSPARSE_CSR)
CREATE_LISTS(cusparseCreateCsc, CUSPARSE_CSC)
CREATE_LISTS(cusparseCreateConstCsc, CUSPARSE_CSC)

#define CREATE_COO(Name)                                                                        \
    COMMON_API int Name(struct cusparse_sparse_matrix **matrix, int64_t rows, int64_t columns,  \
                        int64_t count, void *row_indices, void *column_indices, void *values,   \
                        int index_type, int base, int type)                                     \
    {                                                                                           \
        return make_sparse(matrix,                                                              \
                           &(struct cusparse_sparse_matrix){                                    \
                               CUSPARSE_COO, rows, columns, count, row_indices, column_indices, \
                               values, index_type, index_type, base, type, 0, 0, 1});           \
    }
CREATE_COO(cusparseCreateCoo)
CREATE_COO(cusparseCreateConstCoo)

COMMON_API int cusparseDestroySpMat(struct cusparse_sparse_matrix *matrix)
{
    free(matrix);
    return CUSPARSE_OK;
}

// Stores a value for the caller, if there is a place for it.
#define ANSWER(place, value)    \
    do {                        \
        if (place)              \
            *(place) = (value); \
    } while (0)

#define GET_LISTS(Name)                                                                         \
    COMMON_API int Name(struct cusparse_sparse_matrix *matrix, int64_t *rows, int64_t *columns, \
                        int64_t *count, void **starts, void **minors, void **values,            \
                        int *start_type, int *minor_type, int *base, int *type)                 \
    {                                                                                           \
        if (!matrix)                                                                            \
            return CUSPARSE_INVALID_VALUE;                                                      \
        ANSWER(rows, matrix->rows);                                                             \
        ANSWER(columns, matrix->columns);                                                       \
        ANSWER(count, matrix->count);                                                           \
        ANSWER(starts, matrix->starts);                                                         \
        ANSWER(minors, matrix->minors);                                                         \
        ANSWER(values, matrix->values);                                                         \
        ANSWER(start_type, matrix->start_type);                                                 \
        ANSWER(minor_type, matrix->minor_type);                                                 \
        ANSWER(base, matrix->base);                                                             \
        ANSWER(type, matrix->type);                                                             \
        return CUSPARSE_OK;                                                                     \
    }
GET_LISTS(cusparseCsrGet)
GET_LISTS(cusparseConstCsrGet)
GET_LISTS(cusparseCscGet)
GET_LISTS(cusparseConstCscGet)

#define GET_COO(Name)                                                                             \
    COMMON_API int Name(struct cusparse_sparse_matrix *matrix, int64_t *rows, int64_t *columns,   \
                        int64_t *count, void **row_indices, void **column_indices, void **values, \
                        int *index_type, int *base, int *type)                                    \
    {                                                                                             \
        return cusparseCsrGet(matrix, rows, columns, count, row_indices, column_indices, values,  \
                              index_type, NULL, base, type);                                      \
    }
GET_COO(cusparseCooGet)
GET_COO(cusparseConstCooGet)

#define SET_POINTERS(Name)                                                                 \
    COMMON_API int Name(struct cusparse_sparse_matrix *matrix, void *starts, void *minors, \
                        void *values)                                                      \
    {                                                                                      \
        if (!matrix)                                                                       \
            return CUSPARSE_INVALID_VALUE;                                                 \
        matrix->starts = starts;                                                           \
        matrix->minors = minors;                                                           \
        matrix->values = values;                                                           \
        return CUSPARSE_OK;                                                                \
    }
SET_POINTERS(cusparseCsrSetPointers)
SET_POINTERS(cusparseCscSetPointers)
SET_POINTERS(cusparseCooSetPointers)

#define GET_FIELD(Name, descriptor, field, result)                 \
    COMMON_API int Name(const struct descriptor *from, result *to) \
    {                                                              \
        if (!from || !to)                                          \
            return CUSPARSE_INVALID_VALUE;                         \
        *to = (result)from->field;                                 \
        return CUSPARSE_OK;                                        \
    }
#define SET_FIELD(Name, descriptor, field, argument)           \
    COMMON_API int Name(struct descriptor *to, argument value) \
    {                                                          \
        if (!to)                                               \
            return CUSPARSE_INVALID_VALUE;                     \
        to->field = value;                                     \
        return CUSPARSE_OK;                                    \
    }
GET_FIELD(cusparseSpMatGetFormat, cusparse_sparse_matrix, format, int)
GET_FIELD(cusparseSpMatGetIndexBase, cusparse_sparse_matrix, base, int)
GET_FIELD(cusparseSpMatGetValues, cusparse_sparse_matrix, values, void *)
GET_FIELD(cusparseConstSpMatGetValues, cusparse_sparse_matrix, values, void *)
GET_FIELD(cusparseSpMatGetStridedBatch, cusparse_sparse_matrix, members, int)
SET_FIELD(cusparseSpMatSetValues, cusparse_sparse_matrix, values, void *)

COMMON_API int cusparseSpMatGetSize(const struct cusparse_sparse_matrix *matrix, int64_t *rows,
                                    int64_t *columns, int64_t *count)
{
    if (!matrix || !rows || !columns || !count)
        return CUSPARSE_INVALID_VALUE;
    *rows = matrix->rows;
    *columns = matrix->columns;
    *count = matrix->count;
    return CUSPARSE_OK;
}

COMMON_API int cusparseSpMatSetAttribute(struct cusparse_sparse_matrix *matrix, int attribute,
                                         const int *data, size_t size_bytes)
{
    if (!matrix || !data || size_bytes != sizeof(*data) || attribute < 0 || attribute > 1)
        return CUSPARSE_INVALID_VALUE;
    *(attribute == 0 ? &matrix->fill : &matrix->diagonal) = *data;
    return CUSPARSE_OK;
}

COMMON_API int cusparseSpMatGetAttribute(const struct cusparse_sparse_matrix *matrix, int attribute,
                                         int *data, size_t size_bytes)
{
    if (!matrix || !data || size_bytes != sizeof(*data) || attribute < 0 || attribute > 1)
        return CUSPARSE_INVALID_VALUE;
    *data = attribute == 0 ? matrix->fill : matrix->diagonal;
    return CUSPARSE_OK;
}

// --- Dense matrices and vectors ------------------------------------------------------------------

#define CREATE_DENSE(Name)                                                                       \
    COMMON_API int Name(struct cusparse_dense_matrix **matrix, int64_t rows, int64_t columns,    \
                        int64_t ld, void *values, int type, int order)                           \
    {                                                                                            \
        if (!matrix || rows < 0 || columns < 0 ||                                                \
            (order != CUSPARSE_BY_COLUMNS && order != CUSPARSE_BY_ROWS) ||                       \
            ld < (order == CUSPARSE_BY_COLUMNS ? rows : columns))                                \
            return CUSPARSE_INVALID_VALUE;                                                       \
        *matrix = malloc(sizeof(**matrix));                                                      \
        if (!*matrix)                                                                            \
            return CUSPARSE_ALLOC_FAILED;                                                        \
        **matrix = (struct cusparse_dense_matrix){rows, columns, ld, values, type, order, 1, 0}; \
        return CUSPARSE_OK;                                                                      \
    }
CREATE_DENSE(cusparseCreateDnMat)
CREATE_DENSE(cusparseCreateConstDnMat)

COMMON_API int cusparseDestroyDnMat(struct cusparse_dense_matrix *matrix)
{
    free(matrix);
    return CUSPARSE_OK;
}

#define GET_DENSE(Name)                                                                      \
    COMMON_API int Name(const struct cusparse_dense_matrix *matrix, int64_t *rows,           \
                        int64_t *columns, int64_t *ld, void **values, int *type, int *order) \
    {                                                                                        \
        if (!matrix)                                                                         \
            return CUSPARSE_INVALID_VALUE;                                                   \
        ANSWER(rows, matrix->rows);                                                          \
        ANSWER(columns, matrix->columns);                                                    \
        ANSWER(ld, matrix->ld);                                                              \
        ANSWER(values, matrix->values);                                                      \
        ANSWER(type, matrix->type);                                                          \
        ANSWER(order, matrix->order);                                                        \
        return CUSPARSE_OK;                                                                  \
    }
GET_DENSE(cusparseDnMatGet)
GET_DENSE(cusparseConstDnMatGet)
GET_FIELD(cusparseDnMatGetValues, cusparse_dense_matrix, values, void *)
GET_FIELD(cusparseConstDnMatGetValues, cusparse_dense_matrix, values, void *)
SET_FIELD(cusparseDnMatSetValues, cusparse_dense_matrix, values, void *)

COMMON_API int cusparseDnMatSetStridedBatch(struct cusparse_dense_matrix *matrix, int members,
                                            int64_t stride)
{
    if (!matrix || members < 1)
        return CUSPARSE_INVALID_VALUE;
    matrix->members = members;
    matrix->stride = stride;
    return CUSPARSE_OK;
}

COMMON_API int cusparseDnMatGetStridedBatch(const struct cusparse_dense_matrix *matrix,
                                            int *members, int64_t *stride)
{
    if (!matrix || !members || !stride)
        return CUSPARSE_INVALID_VALUE;
    *members = matrix->members;
    *stride = matrix->stride;
    return CUSPARSE_OK;
}

#define CREATE_VECTOR(Name)                                                                \
    COMMON_API int Name(struct cusparse_dense_vector **vector, int64_t size, void *values, \
                        int type)                                                          \
    {                                                                                      \
        if (!vector || size < 0)                                                           \
            return CUSPARSE_INVALID_VALUE;                                                 \
        *vector = malloc(sizeof(**vector));                                                \
        if (!*vector)                                                                      \
            return CUSPARSE_ALLOC_FAILED;                                                  \
        **vector = (struct cusparse_dense_vector){size, values, type};                     \
        return CUSPARSE_OK;                                                                \
    }
CREATE_VECTOR(cusparseCreateDnVec)
CREATE_VECTOR(cusparseCreateConstDnVec)

COMMON_API int cusparseDestroyDnVec(struct cusparse_dense_vector *vector)
{
    free(vector);
    return CUSPARSE_OK;
}

#define GET_VECTOR(Name)                                                                          \
    COMMON_API int Name(const struct cusparse_dense_vector *vector, int64_t *size, void **values, \
                        int *type)                                                                \
    {                                                                                             \
        if (!vector)                                                                              \
            return CUSPARSE_INVALID_VALUE;                                                        \
        ANSWER(size, vector->size);                                                               \
        ANSWER(values, vector->values);                                                           \
        ANSWER(type, vector->type);                                                               \
        return CUSPARSE_OK;                                                                       \
    }
GET_VECTOR(cusparseDnVecGet)
GET_VECTOR(cusparseConstDnVecGet)
GET_FIELD(cusparseDnVecGetValues, cusparse_dense_vector, values, void *)
GET_FIELD(cusparseConstDnVecGetValues, cusparse_dense_vector, values, void *)
SET_FIELD(cusparseDnVecSetValues, cusparse_dense_vector, values, void *)

// --- Sparse vectors ------------------------------------------------------------------------------

#define CREATE_SPARSE_VECTOR(Name)                                                                 \
    COMMON_API int Name(struct cusparse_sparse_vector **vector, int64_t size, int64_t count,       \
                        void *indices, void *values, int index_type, int base, int type)           \
    {                                                                                              \
        if (!vector || size < 0 || count < 0 || count > size || index_type < 2 || index_type > 3)  \
            return CUSPARSE_INVALID_VALUE;                                                         \
        *vector = malloc(sizeof(**vector));                                                        \
        if (!*vector)                                                                              \
            return CUSPARSE_ALLOC_FAILED;                                                          \
        **vector =                                                                                 \
            (struct cusparse_sparse_vector){size, count, indices, values, index_type, base, type}; \
        return CUSPARSE_OK;                                                                        \
    }
CREATE_SPARSE_VECTOR(cusparseCreateSpVec)
CREATE_SPARSE_VECTOR(cusparseCreateConstSpVec)

COMMON_API int cusparseDestroySpVec(struct cusparse_sparse_vector *vector)
{
    free(vector);
    return CUSPARSE_OK;
}

#define GET_SPARSE_VECTOR(Name)                                                                    \
    COMMON_API int Name(const struct cusparse_sparse_vector *vector, int64_t *size,                \
                        int64_t *count, void **indices, void **values, int *index_type, int *base, \
                        int *type)                                                                 \
    {                                                                                              \
        if (!vector)                                                                               \
            return CUSPARSE_INVALID_VALUE;                                                         \
        ANSWER(size, vector->size);                                                                \
        ANSWER(count, vector->count);                                                              \
        ANSWER(indices, vector->indices);                                                          \
        ANSWER(values, vector->values);                                                            \
        ANSWER(index_type, vector->index_type);                                                    \
        ANSWER(base, vector->base);                                                                \
        ANSWER(type, vector->type);                                                                \
        return CUSPARSE_OK;                                                                        \
    }
GET_SPARSE_VECTOR(cusparseSpVecGet)
GET_SPARSE_VECTOR(cusparseConstSpVecGet)
GET_FIELD(cusparseSpVecGetIndexBase, cusparse_sparse_vector, base, int)
GET_FIELD(cusparseSpVecGetValues, cusparse_sparse_vector, values, void *)
GET_FIELD(cusparseConstSpVecGetValues, cusparse_sparse_vector, values, void *)
SET_FIELD(cusparseSpVecSetValues, cusparse_sparse_vector, values, void *)

// --- The descriptor of the older interface -------------------------------------------------------

COMMON_API int cusparseCreateMatDescr(struct cusparse_older_matrix **matrix)
{
    if (!matrix)
        return CUSPARSE_INVALID_VALUE;
    *matrix = calloc(1, sizeof(**matrix));
    return *matrix ? CUSPARSE_OK : CUSPARSE_ALLOC_FAILED;
}

COMMON_API int cusparseDestroyMatDescr(struct cusparse_older_matrix *matrix)
{
    free(matrix);
    return CUSPARSE_OK;
}

#define OLDER(Name, field)                                                          \
    SET_FIELD(cusparseSetMat##Name, cusparse_older_matrix, field, int)              \
    COMMON_API int cusparseGetMat##Name(const struct cusparse_older_matrix *matrix) \
    {                                                                               \
        return matrix ? matrix->field : 0;                                          \
    }
OLDER(Type, type)
OLDER(FillMode, fill)
OLDER(DiagType, diagonal)
OLDER(IndexBase, base)
