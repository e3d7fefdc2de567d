// SPDX-License-Identifier: Apache-2.0
// What cuBLAS has beyond BLAS: elements of matrices, packed triangles, and LU factorization in
// batches.
#include "blas.h"

static bool is_leading(int64_t ld, int64_t rows)
{
    return ld >= 1 && ld >= rows;
}

static uint64_t blocks_for(const struct cublas_elements *about)
{
    return common_blocks((uint64_t)(about->m * about->n), CUBLAS_THREADS);
}

// --- geam, dgmm and packed triangles -------------------------------------------------------------

static int geam(struct cublas_handle *handle, enum cublas_type type, int a_operation,
                int b_operation, int64_t m, int64_t n, const void *alpha, const void *a,
                int64_t lda, const void *beta, const void *b, int64_t ldb, void *c, int64_t ldc)
{
    CUBLAS_CHECK(handle, a_operation >= CUBLAS_N && a_operation <= CUBLAS_C &&
                             b_operation >= CUBLAS_N && b_operation <= CUBLAS_C && m >= 0 &&
                             n >= 0 && is_leading(lda, a_operation == CUBLAS_N ? m : n) &&
                             is_leading(ldb, b_operation == CUBLAS_N ? m : n) &&
                             is_leading(ldc, m));
    if (m == 0 || n == 0)
        return CUBLAS_OK;
    CUBLAS_REJECT(!alpha || !beta || !c, CUBLAS_INVALID_VALUE);
    struct cublas_elements about = {
        .a = cublas_operand(a, lda, a_operation),
        .b = cublas_operand(b, ldb, b_operation),
        .c = cublas_dense(c, ldc),
        .alpha = cublas_scalar(handle, type, alpha),
        .beta = cublas_scalar(handle, type, beta),
        .m = m,
        .n = n,
    };
    return cublas_launch_one(handle, type, "geam", &about, blocks_for(&about));
}

static int dgmm(struct cublas_handle *handle, enum cublas_type type, int side, int64_t m, int64_t n,
                const void *a, int64_t lda, const void *x, int64_t incx, void *c, int64_t ldc)
{
    CUBLAS_CHECK(handle, (side == CUBLAS_LEFT || side == CUBLAS_RIGHT) && m >= 0 && n >= 0 &&
                             is_leading(lda, m) && is_leading(ldc, m));
    if (m == 0 || n == 0)
        return CUBLAS_OK;
    struct cublas_elements about = {
        .a = cublas_dense(a, lda),
        .b = side == CUBLAS_LEFT ? cublas_column(type, x, m, incx) : cublas_row(type, x, n, incx),
        .c = cublas_dense(c, ldc),
        .m = m,
        .n = n,
    };
    return cublas_launch_one(handle, type, "dgmm", &about, blocks_for(&about));
}

static int copy_triangle(struct cublas_handle *handle, enum cublas_type type, int fill, int64_t n,
                         const void *a, int64_t lda, void *c, int64_t ldc, bool is_packed)
{
    CUBLAS_CHECK(handle, (fill == CUBLAS_LOWER || fill == CUBLAS_UPPER) && n >= 0 &&
                             is_leading(is_packed ? ldc : lda, n));
    if (n == 0)
        return CUBLAS_OK;
    struct cublas_elements about = {
        .a = cublas_dense(a, lda), .c = cublas_dense(c, ldc), .m = n, .n = n};
    about.a.fill_lower = about.c.fill_lower = fill == CUBLAS_LOWER;
    about.a.order = about.c.order = n;
    *(is_packed ? &about.a.storage : &about.c.storage) = CUBLAS_PACKED;
    return cublas_launch_one(handle, type, "triangle", &about, blocks_for(&about));
}

#define ELEMENTS(L, type, N, suffix)                                                              \
    COMMON_API int cublas##L##geam##suffix(struct cublas_handle *handle, int a_operation,         \
                                           int b_operation, N m, N n, const void *alpha,          \
                                           const void *a, N lda, const void *beta, const void *b, \
                                           N ldb, void *c, N ldc)                                 \
    {                                                                                             \
        return geam(handle, type, a_operation, b_operation, m, n, alpha, a, lda, beta, b, ldb, c, \
                    ldc);                                                                         \
    }                                                                                             \
    COMMON_API int cublas##L##dgmm##suffix(struct cublas_handle *handle, int side, N m, N n,      \
                                           const void *a, N lda, const void *x, N incx, void *c,  \
                                           N ldc)                                                 \
    {                                                                                             \
        return dgmm(handle, type, side, m, n, a, lda, x, incx, c, ldc);                           \
    }
CUBLAS_FOR_ALL(ELEMENTS)

// --- Batches of small matrices -------------------------------------------------------------------

static struct cublas_matrix array_of(const void *addresses, int64_t ld)
{
    struct cublas_matrix matrix = cublas_dense(addresses, ld);
    matrix.pointers = 1;
    return matrix;
}

static uint64_t address_of(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static int matinv(struct cublas_handle *handle, enum cublas_type type, int n, const void *a,
                  int lda, void *inverse, int inverse_ld, int *info, int members)
{
    enum { MOST_ROWS = 32 }; // as cuBLAS has it
    CUBLAS_CHECK(handle, n >= 0 && members >= 0 && is_leading(lda, n) && is_leading(inverse_ld, n));
    CUBLAS_REJECT(n > MOST_ROWS, CUBLAS_INVALID_VALUE);
    if (n == 0 || members == 0)
        return CUBLAS_OK;
    // Factors a copy of the matrices, which may not change.
    const size_t matrix_bytes = (size_t)n * (size_t)n * cublas_bytes(type);
    const size_t pivots_bytes = (size_t)n * (size_t)members * sizeof(int32_t);
    int status = cublas_need_temporary(handle, matrix_bytes * (size_t)members + pivots_bytes);
    if (status)
        return status;
    const struct cublas_matrix copy = {
        .address = handle->temporary, .row = 1, .column = n, .batch = (int64_t)n * n};
    struct cublas_factor about = {.a = array_of(a, lda), .x = copy, .n = n};
    status = cublas_launch_factor(handle, type, "dense", &about, members);
    about.a = copy;
    about.pivots = handle->temporary + matrix_bytes * (size_t)members;
    about.status = address_of(info);
    if (!status)
        status = cublas_launch_factor(handle, type, "getrf", &about, members);
    about.x = array_of(inverse, inverse_ld);
    return status ? status : cublas_launch_factor(handle, type, "getri", &about, members);
}

#define BATCHES(L, type)                                                                           \
    COMMON_API int cublas##L##tpttr(struct cublas_handle *handle, int fill, int n,                 \
                                    const void *packed, void *a, int lda)                          \
    {                                                                                              \
        return copy_triangle(handle, type, fill, n, packed, 0, a, lda, true);                      \
    }                                                                                              \
    COMMON_API int cublas##L##trttp(struct cublas_handle *handle, int fill, int n, const void *a,  \
                                    int lda, void *packed)                                         \
    {                                                                                              \
        return copy_triangle(handle, type, fill, n, a, lda, packed, 0, false);                     \
    }                                                                                              \
    COMMON_API int cublas##L##getrfBatched(struct cublas_handle *handle, int n, const void *a,     \
                                           int lda, int *pivots, int *info, int members)           \
    {                                                                                              \
        CUBLAS_CHECK(handle, n >= 0 && members >= 0 && is_leading(lda, n));                        \
        struct cublas_factor about = {.a = array_of(a, lda),                                       \
                                      .pivots = address_of(pivots),                                \
                                      .status = address_of(info),                                  \
                                      .n = n};                                                     \
        return cublas_launch_factor(handle, type, "getrf", &about, members);                       \
    }                                                                                              \
    COMMON_API int cublas##L##getriBatched(struct cublas_handle *handle, int n, const void *a,     \
                                           int lda, const int *pivots, void *c, int ldc,           \
                                           int *info, int members)                                 \
    {                                                                                              \
        CUBLAS_CHECK(handle, n >= 0 && members >= 0 && is_leading(lda, n) && is_leading(ldc, n));  \
        struct cublas_factor about = {.a = array_of(a, lda),                                       \
                                      .x = array_of(c, ldc),                                       \
                                      .pivots = address_of(pivots),                                \
                                      .status = address_of(info),                                  \
                                      .n = n};                                                     \
        return cublas_launch_factor(handle, type, "getri", &about, members);                       \
    }                                                                                              \
    COMMON_API int cublas##L##getrsBatched(struct cublas_handle *handle, int operation, int n,     \
                                           int columns, const void *a, int lda, const int *pivots, \
                                           void *b, int ldb, int *info, int members)               \
    {                                                                                              \
        if (info)                                                                                  \
            *info = n < 0                 ? -2                                                     \
                    : columns < 0         ? -3                                                     \
                    : !is_leading(lda, n) ? -5                                                     \
                    : !is_leading(ldb, n) ? -8                                                     \
                                          : 0;                                                     \
        CUBLAS_CHECK(handle, operation >= CUBLAS_N && operation <= CUBLAS_C && n >= 0 &&           \
                                 columns >= 0 && members >= 0 && is_leading(lda, n) &&             \
                                 is_leading(ldb, n));                                              \
        struct cublas_factor about = {.a = array_of(a, lda),                                       \
                                      .x = array_of(b, ldb),                                       \
                                      .pivots = address_of(pivots),                                \
                                      .n = n,                                                      \
                                      .columns = columns,                                          \
                                      .transpose = operation != CUBLAS_N,                          \
                                      .conjugate = operation == CUBLAS_C};                         \
        return cublas_launch_factor(handle, type, "getrs", &about, members);                       \
    }                                                                                              \
    COMMON_API int cublas##L##matinvBatched(struct cublas_handle *handle, int n, const void *a,    \
                                            int lda, void *inverse, int inverse_ld, int *info,     \
                                            int members)                                           \
    {                                                                                              \
        return matinv(handle, type, n, a, lda, inverse, inverse_ld, info, members);                \
    }
BATCHES(S, CUBLAS_R_32F)
BATCHES(D, CUBLAS_R_64F)
BATCHES(C, CUBLAS_C_32F)
BATCHES(Z, CUBLAS_C_64F)
