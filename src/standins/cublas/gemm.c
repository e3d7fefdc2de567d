// SPDX-License-Identifier: Apache-2.0
// The forms of gemm and gemv: of one type and of several, for one matrix, for arrays of addresses,
// and with strides.
#include <limits.h>

#include "blas.h"

// A call. Batches are arrays of addresses in device memory, or begin at a stride from each other.
struct cublas_gemm {
    struct cublas_handle *handle;
    struct cublas_types types;
    enum cublas_type scalar;
    int a_operation, b_operation;
    int64_t m, n, k;
    const void *alpha, *a;
    int64_t lda, a_batch;
    const void *b;
    int64_t ldb, b_batch;
    const void *beta;
    void *c;
    int64_t ldc, c_batch;
    bool pointers;
    int64_t members;
};

static bool is_operation(int operation)
{
    return operation >= CUBLAS_N && operation <= CUBLAS_C;
}

static bool is_leading(int64_t ld, int64_t rows)
{
    return ld >= 1 && ld >= rows;
}

static struct cublas_matrix operand(const void *address, int64_t ld, int64_t batch, bool pointers,
                                    int operation)
{
    struct cublas_matrix matrix = cublas_operand(address, ld, operation);
    matrix.batch = batch;
    matrix.pointers = pointers;
    return matrix;
}

static int gemm(const struct cublas_gemm *call)
{
    CUBLAS_CHECK(call->handle,
                 is_operation(call->a_operation) && is_operation(call->b_operation) &&
                     call->m >= 0 && call->n >= 0 && call->k >= 0 && call->members >= 0 &&
                     is_leading(call->lda, call->a_operation == CUBLAS_N ? call->m : call->k) &&
                     is_leading(call->ldb, call->b_operation == CUBLAS_N ? call->k : call->n) &&
                     is_leading(call->ldc, call->m));
    if (call->m == 0 || call->n == 0 || call->members == 0)
        return CUBLAS_OK;
    CUBLAS_REJECT(!call->alpha || !call->beta || !call->c, CUBLAS_INVALID_VALUE);
    const struct cublas_product product = {
        .a = operand(call->a, call->lda, call->a_batch, call->pointers, call->a_operation),
        .b = operand(call->b, call->ldb, call->b_batch, call->pointers, call->b_operation),
        .c = operand(call->c, call->ldc, call->c_batch, call->pointers, CUBLAS_N),
        .alpha = cublas_scalar(call->handle, call->scalar, call->alpha),
        .beta = cublas_scalar(call->handle, call->scalar, call->beta),
        .m = call->m,
        .n = call->n,
        .k = call->k,
    };
    return cublas_launch_gemm(call->handle, &call->types, &product, call->members);
}

// --- One type ------------------------------------------------------------------------------------

enum { COMPUTE_32F = 68, COMPUTE_64F = 70 }; // values of cublasComputeType_t

static struct cublas_types types_of(enum cublas_type type)
{
    const bool wide = type == CUBLAS_R_64F || type == CUBLAS_C_64F;
    return (struct cublas_types){(int)type, (int)type, (int)type, wide ? COMPUTE_64F : COMPUTE_32F};
}

#define GEMM(name, type, N, suffix)                                                        \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int a_operation,     \
                                        int b_operation, N m, N n, N k, const void *alpha, \
                                        const void *a, N lda, const void *b, N ldb,        \
                                        const void *beta, void *c, N ldc)                  \
    {                                                                                      \
        return gemm(&(struct cublas_gemm){                                                 \
            handle, types_of(type), type, a_operation, b_operation, m,     n,              \
            k,      alpha,          a,    lda,         0,           b,     ldb,            \
            0,      beta,           c,    ldc,         0,           false, 1});            \
    }
#define GEMM_BATCHED(name, type, N, suffix)                                                \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int a_operation,     \
                                        int b_operation, N m, N n, N k, const void *alpha, \
                                        const void *a, N lda, const void *b, N ldb,        \
                                        const void *beta, void *c, N ldc, N members)       \
    {                                                                                      \
        return gemm(&(struct cublas_gemm){                                                 \
            handle, types_of(type), type, a_operation, b_operation, m,    n,               \
            k,      alpha,          a,    lda,         0,           b,    ldb,             \
            0,      beta,           c,    ldc,         0,           true, members});       \
    }
#define GEMM_STRIDED(name, type, N, suffix)                                             \
    COMMON_API int cublas##name##suffix(                                                \
        struct cublas_handle *handle, int a_operation, int b_operation, N m, N n, N k,  \
        const void *alpha, const void *a, N lda, int64_t a_batch, const void *b, N ldb, \
        int64_t b_batch, const void *beta, void *c, N ldc, int64_t c_batch, N members)  \
    {                                                                                   \
        return gemm(&(struct cublas_gemm){                                              \
            handle,  types_of(type), type, a_operation, b_operation, m,     n,          \
            k,       alpha,          a,    lda,         a_batch,     b,     ldb,        \
            b_batch, beta,           c,    ldc,         c_batch,     false, members});  \
    }
#define GEMMS(L, type, N, suffix)                 \
    GEMM(L##gemm_v2, type, N, suffix)             \
    GEMM_BATCHED(L##gemmBatched, type, N, suffix) \
    GEMM_STRIDED(L##gemmStridedBatched, type, N, suffix)
CUBLAS_FOR_ALL(GEMMS)
GEMM(Hgemm, CUBLAS_R_16F, int, )
GEMM(Hgemm, CUBLAS_R_16F, int64_t, _64)
GEMM_BATCHED(HgemmBatched, CUBLAS_R_16F, int, )
GEMM_BATCHED(HgemmBatched, CUBLAS_R_16F, int64_t, _64)
GEMM_STRIDED(HgemmStridedBatched, CUBLAS_R_16F, int, )
GEMM_STRIDED(HgemmStridedBatched, CUBLAS_R_16F, int64_t, _64)
// The same products with fewer multiplications on a GPU.
GEMM(Cgemm3m, CUBLAS_C_32F, int, )
GEMM(Cgemm3m, CUBLAS_C_32F, int64_t, _64)
GEMM(Zgemm3m, CUBLAS_C_64F, int, )
GEMM(Zgemm3m, CUBLAS_C_64F, int64_t, _64)
GEMM_BATCHED(Cgemm3mBatched, CUBLAS_C_32F, int, )
GEMM_BATCHED(Cgemm3mBatched, CUBLAS_C_32F, int64_t, _64)
GEMM_STRIDED(Cgemm3mStridedBatched, CUBLAS_C_32F, int, )
GEMM_STRIDED(Cgemm3mStridedBatched, CUBLAS_C_32F, int64_t, _64)

// --- Several types -------------------------------------------------------------------------------

// The type of alpha and beta.
static enum cublas_type scalar_of(int compute, int a_type)
{
    enum {
        COMPUTE_16F = 64,
        COMPUTE_16F_PEDANTIC = 65,
        COMPUTE_64F_PEDANTIC = 71,
        COMPUTE_32I = 72,
        COMPUTE_32I_PEDANTIC = 73
    };
    switch (compute) {
    case COMPUTE_16F:
    case COMPUTE_16F_PEDANTIC: return CUBLAS_R_16F;
    case COMPUTE_64F:
    case COMPUTE_64F_PEDANTIC: return a_type == CUBLAS_C_64F ? CUBLAS_C_64F : CUBLAS_R_64F;
    case COMPUTE_32I:
    case COMPUTE_32I_PEDANTIC: return CUBLAS_R_32I;
    default: return a_type == CUBLAS_C_32F ? CUBLAS_C_32F : CUBLAS_R_32F;
    }
}

#define GEMM_EX(N, suffix)                                                                     \
    COMMON_API int cublasGemmEx##suffix(                                                       \
        struct cublas_handle *handle, int a_operation, int b_operation, N m, N n, N k,         \
        const void *alpha, const void *a, int a_type, N lda, const void *b, int b_type, N ldb, \
        const void *beta, void *c, int c_type, N ldc, int compute, int algorithm)              \
    {                                                                                          \
        (void)algorithm;                                                                       \
        return gemm(&(struct cublas_gemm){handle,                                              \
                                          {a_type, b_type, c_type, compute},                   \
                                          scalar_of(compute, a_type),                          \
                                          a_operation,                                         \
                                          b_operation,                                         \
                                          m,                                                   \
                                          n,                                                   \
                                          k,                                                   \
                                          alpha,                                               \
                                          a,                                                   \
                                          lda,                                                 \
                                          0,                                                   \
                                          b,                                                   \
                                          ldb,                                                 \
                                          0,                                                   \
                                          beta,                                                \
                                          c,                                                   \
                                          ldc,                                                 \
                                          0,                                                   \
                                          false,                                               \
                                          1});                                                 \
    }                                                                                          \
    COMMON_API int cublasGemmBatchedEx##suffix(                                                \
        struct cublas_handle *handle, int a_operation, int b_operation, N m, N n, N k,         \
        const void *alpha, const void *a, int a_type, N lda, const void *b, int b_type, N ldb, \
        const void *beta, void *c, int c_type, N ldc, N members, int compute, int algorithm)   \
    {                                                                                          \
        (void)algorithm;                                                                       \
        return gemm(&(struct cublas_gemm){handle,                                              \
                                          {a_type, b_type, c_type, compute},                   \
                                          scalar_of(compute, a_type),                          \
                                          a_operation,                                         \
                                          b_operation,                                         \
                                          m,                                                   \
                                          n,                                                   \
                                          k,                                                   \
                                          alpha,                                               \
                                          a,                                                   \
                                          lda,                                                 \
                                          0,                                                   \
                                          b,                                                   \
                                          ldb,                                                 \
                                          0,                                                   \
                                          beta,                                                \
                                          c,                                                   \
                                          ldc,                                                 \
                                          0,                                                   \
                                          true,                                                \
                                          members});                                           \
    }                                                                                          \
    COMMON_API int cublasGemmStridedBatchedEx##suffix(                                         \
        struct cublas_handle *handle, int a_operation, int b_operation, N m, N n, N k,         \
        const void *alpha, const void *a, int a_type, N lda, int64_t a_batch, const void *b,   \
        int b_type, N ldb, int64_t b_batch, const void *beta, void *c, int c_type, N ldc,      \
        int64_t c_batch, N members, int compute, int algorithm)                                \
    {                                                                                          \
        (void)algorithm;                                                                       \
        return gemm(&(struct cublas_gemm){handle,                                              \
                                          {a_type, b_type, c_type, compute},                   \
                                          scalar_of(compute, a_type),                          \
                                          a_operation,                                         \
                                          b_operation,                                         \
                                          m,                                                   \
                                          n,                                                   \
                                          k,                                                   \
                                          alpha,                                               \
                                          a,                                                   \
                                          lda,                                                 \
                                          a_batch,                                             \
                                          b,                                                   \
                                          ldb,                                                 \
                                          b_batch,                                             \
                                          beta,                                                \
                                          c,                                                   \
                                          ldc,                                                 \
                                          c_batch,                                             \
                                          false,                                               \
                                          members});                                           \
    }                                                                                          \
    COMMON_API int cublasSgemmEx##suffix(                                                      \
        struct cublas_handle *handle, int a_operation, int b_operation, N m, N n, N k,         \
        const void *alpha, const void *a, int a_type, N lda, const void *b, int b_type, N ldb, \
        const void *beta, void *c, int c_type, N ldc)                                          \
    {                                                                                          \
        return gemm(&(struct cublas_gemm){handle,                                              \
                                          {a_type, b_type, c_type, COMPUTE_32F},               \
                                          CUBLAS_R_32F,                                        \
                                          a_operation,                                         \
                                          b_operation,                                         \
                                          m,                                                   \
                                          n,                                                   \
                                          k,                                                   \
                                          alpha,                                               \
                                          a,                                                   \
                                          lda,                                                 \
                                          0,                                                   \
                                          b,                                                   \
                                          ldb,                                                 \
                                          0,                                                   \
                                          beta,                                                \
                                          c,                                                   \
                                          ldc,                                                 \
                                          0,                                                   \
                                          false,                                               \
                                          1});                                                 \
    }                                                                                          \
    COMMON_API int cublasCgemmEx##suffix(                                                      \
        struct cublas_handle *handle, int a_operation, int b_operation, N m, N n, N k,         \
        const void *alpha, const void *a, int a_type, N lda, const void *b, int b_type, N ldb, \
        const void *beta, void *c, int c_type, N ldc)                                          \
    {                                                                                          \
        return gemm(&(struct cublas_gemm){handle,                                              \
                                          {a_type, b_type, c_type, COMPUTE_32F},               \
                                          CUBLAS_C_32F,                                        \
                                          a_operation,                                         \
                                          b_operation,                                         \
                                          m,                                                   \
                                          n,                                                   \
                                          k,                                                   \
                                          alpha,                                               \
                                          a,                                                   \
                                          lda,                                                 \
                                          0,                                                   \
                                          b,                                                   \
                                          ldb,                                                 \
                                          0,                                                   \
                                          beta,                                                \
                                          c,                                                   \
                                          ldc,                                                 \
                                          0,                                                   \
                                          false,                                               \
                                          1});                                                 \
    }
GEMM_EX(int, )
GEMM_EX(int64_t, _64)

// --- gemv in batches -----------------------------------------------------------------------------

// y = alpha * op(A) * x + beta * y, as a product whose B and C have one column.
static int gemv(struct cublas_handle *handle, struct cublas_types types, enum cublas_type scalar,
                int operation, int64_t m, int64_t n, const void *alpha, struct cublas_matrix a,
                const void *x, int64_t incx, int64_t x_batch, const void *beta, void *y,
                int64_t incy, int64_t y_batch, int64_t members)
{
    CUBLAS_CHECK(handle, is_operation(operation) && m >= 0 && n >= 0 && incx && incy &&
                             members >= 0 && is_leading(a.column, m));
    const int64_t rows = operation == CUBLAS_N ? m : n, columns = operation == CUBLAS_N ? n : m;
    if (rows == 0 || members == 0)
        return CUBLAS_OK;
    // The kernel cannot begin at the other end of vectors whose addresses are in device memory.
    if (a.pointers && (incx < 0 || incy < 0))
        return COMMON_REFUSE("cublas<t>gemvBatched with a negative increment",
                             CUBLAS_NOT_SUPPORTED);
    CUBLAS_REJECT(!alpha || !beta || !y, CUBLAS_INVALID_VALUE);
    cublas_apply(&a, operation);
    struct cublas_product product = {
        .a = a,
        .b = cublas_column((enum cublas_type)types.a, x, columns, incx),
        .c = cublas_column((enum cublas_type)types.c, y, rows, incy),
        .alpha = cublas_scalar(handle, scalar, alpha),
        .beta = cublas_scalar(handle, scalar, beta),
        .m = rows,
        .n = 1,
        .k = columns,
    };
    product.b.batch = x_batch;
    product.c.batch = y_batch;
    product.b.pointers = product.c.pointers = a.pointers;
    return cublas_launch_gemm(handle, &types, &product, members);
}

static struct cublas_matrix batch_of(const void *a, int64_t lda, int64_t batch, bool pointers)
{
    return operand(a, lda, batch, pointers, CUBLAS_N);
}

#define GEMV(name, in, out, scalar, N, suffix)                                                     \
    COMMON_API int cublas##name##gemvBatched##suffix(                                              \
        struct cublas_handle *handle, int operation, N m, N n, const void *alpha, const void *a,   \
        N lda, const void *x, N incx, const void *beta, void *y, N incy, N members)                \
    {                                                                                              \
        struct cublas_types types = types_of(in);                                                  \
        types.c = out;                                                                             \
        return gemv(handle, types, scalar, operation, m, n, alpha, batch_of(a, lda, 0, true), x,   \
                    incx, 0, beta, y, incy, 0, members);                                           \
    }                                                                                              \
    COMMON_API int cublas##name##gemvStridedBatched##suffix(                                       \
        struct cublas_handle *handle, int operation, N m, N n, const void *alpha, const void *a,   \
        N lda, int64_t a_batch, const void *x, N incx, int64_t x_batch, const void *beta, void *y, \
        N incy, int64_t y_batch, N members)                                                        \
    {                                                                                              \
        struct cublas_types types = types_of(in);                                                  \
        types.c = out;                                                                             \
        return gemv(handle, types, scalar, operation, m, n, alpha,                                 \
                    batch_of(a, lda, a_batch, false), x, incx, x_batch, beta, y, incy, y_batch,    \
                    members);                                                                      \
    }
#define GEMVS(N, suffix)                                             \
    GEMV(S, CUBLAS_R_32F, CUBLAS_R_32F, CUBLAS_R_32F, N, suffix)     \
    GEMV(D, CUBLAS_R_64F, CUBLAS_R_64F, CUBLAS_R_64F, N, suffix)     \
    GEMV(C, CUBLAS_C_32F, CUBLAS_C_32F, CUBLAS_C_32F, N, suffix)     \
    GEMV(Z, CUBLAS_C_64F, CUBLAS_C_64F, CUBLAS_C_64F, N, suffix)     \
    GEMV(HSH, CUBLAS_R_16F, CUBLAS_R_16F, CUBLAS_R_32F, N, suffix)   \
    GEMV(HSS, CUBLAS_R_16F, CUBLAS_R_32F, CUBLAS_R_32F, N, suffix)   \
    GEMV(TST, CUBLAS_R_16BF, CUBLAS_R_16BF, CUBLAS_R_32F, N, suffix) \
    GEMV(TSS, CUBLAS_R_16BF, CUBLAS_R_32F, CUBLAS_R_32F, N, suffix)
GEMVS(int, )
GEMVS(int64_t, _64)
