// SPDX-License-Identifier: Apache-2.0
// Level 3 of cuBLAS but for gemm: symmetric, Hermitian and triangular matrices.
#include "blas.h"

static bool is_leading(int64_t ld, int64_t rows)
{
    return ld >= 1 && ld >= rows;
}

static bool is_fill(int fill)
{
    return fill == CUBLAS_LOWER || fill == CUBLAS_UPPER;
}

// --- symm and hemm -------------------------------------------------------------------------------

static int symm(struct cublas_handle *handle, enum cublas_type type, enum cublas_shape shape,
                int side, int fill, int64_t m, int64_t n, const void *alpha, const void *a,
                int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc)
{
    const int64_t order = side == CUBLAS_LEFT ? m : n;
    CUBLAS_CHECK(handle, (side == CUBLAS_LEFT || side == CUBLAS_RIGHT) && is_fill(fill) && m >= 0 &&
                             n >= 0 && is_leading(lda, order) && is_leading(ldb, m) &&
                             is_leading(ldc, m));
    if (m == 0 || n == 0)
        return CUBLAS_OK;
    CUBLAS_REJECT(!alpha || !beta, CUBLAS_INVALID_VALUE);
    struct cublas_matrix symmetric = cublas_dense(a, lda);
    symmetric.shape = (int32_t)shape;
    symmetric.fill_lower = fill == CUBLAS_LOWER;
    const struct cublas_product product = {
        .a = side == CUBLAS_LEFT ? symmetric : cublas_dense(b, ldb),
        .b = side == CUBLAS_LEFT ? cublas_dense(b, ldb) : symmetric,
        .c = cublas_dense(c, ldc),
        .alpha = cublas_scalar(handle, type, alpha),
        .beta = cublas_scalar(handle, type, beta),
        .m = m,
        .n = n,
        .k = order,
    };
    return cublas_launch_product(handle, type, &product, 1);
}

#define SYMM(name, type, shape, N, suffix)                                                       \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int side, int fill, N m,   \
                                        N n, const void *alpha, const void *a, N lda,            \
                                        const void *b, N ldb, const void *beta, void *c, N ldc)  \
    {                                                                                            \
        return symm(handle, type, shape, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc); \
    }
#define SYMM_ALL(L, type, N, suffix) SYMM(L##symm_v2, type, CUBLAS_SYMMETRIC, N, suffix)
#define HEMM_ALL(L, type, N, suffix) SYMM(L##hemm_v2, type, CUBLAS_HERMITIAN, N, suffix)
CUBLAS_FOR_ALL(SYMM_ALL)
CUBLAS_FOR_COMPLEX(HEMM_ALL)

// --- syrk and its relatives ----------------------------------------------------------------------

// C = alpha * op(A) * op(B)' + beta * C, a triangle of C; of rank 2: and alpha' * op(B) * op(A)'.
// The mark is a transposed matrix, for Hermitian products also a conjugate one. alpha and beta may
// be real where the matrices are complex.
struct cublas_rank_k {
    struct cublas_handle *handle;
    enum cublas_type type, alpha_type, beta_type;
    bool hermitian;
    int terms;
    int fill, operation;
    int64_t n, k;
    const void *alpha, *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    const void *beta;
    void *c;
    int64_t ldc;
};

static int rank_k(const struct cublas_rank_k *call)
{
    const int other = call->hermitian ? CUBLAS_C : CUBLAS_T;
    const int64_t rows = call->operation == CUBLAS_N ? call->n : call->k;
    CUBLAS_CHECK(call->handle, is_fill(call->fill) && call->n >= 0 && call->k >= 0 &&
                                   is_leading(call->lda, rows) && is_leading(call->ldb, rows) &&
                                   is_leading(call->ldc, call->n));
    // A transposed operand is conjugate in Hermitian products, and not in others. Of real matrices
    // both are the same.
    CUBLAS_REJECT(call->operation < CUBLAS_N || call->operation > CUBLAS_C ||
                      (cublas_is_complex(call->type) && call->operation != CUBLAS_N &&
                       call->operation != other),
                  CUBLAS_INVALID_VALUE);
    if (call->n == 0)
        return CUBLAS_OK;
    CUBLAS_REJECT(!call->alpha || !call->beta, CUBLAS_INVALID_VALUE);
    const int left = call->operation == CUBLAS_N ? CUBLAS_N : other;
    const int right = call->operation == CUBLAS_N ? other : CUBLAS_N;
    struct cublas_product product = {
        .a = cublas_operand(call->a, call->lda, left),
        .b = cublas_operand(call->b, call->ldb, right),
        .c = cublas_dense(call->c, call->ldc),
        .alpha = cublas_scalar(call->handle, call->alpha_type, call->alpha),
        .beta = cublas_scalar(call->handle, call->beta_type, call->beta),
        .m = call->n,
        .n = call->n,
        .k = call->k,
        .triangle = call->fill == CUBLAS_LOWER ? 1 : 2,
        // One term alone may have a diagonal that is not real.
        .real_diagonal = call->hermitian && call->terms == 1,
    };
    const int status = cublas_launch_product(call->handle, call->type, &product, 1);
    if (status || call->terms == 1)
        return status;
    product.a = cublas_operand(call->b, call->ldb, left);
    product.b = cublas_operand(call->a, call->lda, right);
    product.alpha.conjugate = call->hermitian;
    product.beta = cublas_number(1);
    product.real_diagonal = call->hermitian;
    return cublas_launch_product(call->handle, call->type, &product, 1);
}

#define RANK_K(name, type, alpha_type, beta_type, hermitian, N, suffix)                           \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, int operation,    \
                                        N n, N k, const void *alpha, const void *a, N lda,        \
                                        const void *beta, void *c, N ldc)                         \
    {                                                                                             \
        return rank_k(&(struct cublas_rank_k){handle, type, alpha_type, beta_type, hermitian, 1,  \
                                              fill, operation, n, k, alpha, a, lda, a, lda, beta, \
                                              c, ldc});                                           \
    }
#define RANK_2K(name, type, beta_type, hermitian, terms, N, suffix)                               \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, int operation,    \
                                        N n, N k, const void *alpha, const void *a, N lda,        \
                                        const void *b, N ldb, const void *beta, void *c, N ldc)   \
    {                                                                                             \
        return rank_k(&(struct cublas_rank_k){handle, type, type, beta_type, hermitian, terms,    \
                                              fill, operation, n, k, alpha, a, lda, b, ldb, beta, \
                                              c, ldc});                                           \
    }
#define SYRK_ALL(L, type, N, suffix)                       \
    RANK_K(L##syrk_v2, type, type, type, false, N, suffix) \
    RANK_2K(L##syr2k_v2, type, type, false, 2, N, suffix)  \
    RANK_2K(L##syrkx, type, type, false, 1, N, suffix)
CUBLAS_FOR_ALL(SYRK_ALL)
#define HERK_ALL(L, type, real, N, suffix)                \
    RANK_K(L##herk_v2, type, real, real, true, N, suffix) \
    RANK_2K(L##her2k_v2, type, real, true, 2, N, suffix)  \
    RANK_2K(L##herkx, type, real, true, 1, N, suffix)
HERK_ALL(C, CUBLAS_C_32F, CUBLAS_R_32F, int, )
HERK_ALL(C, CUBLAS_C_32F, CUBLAS_R_32F, int64_t, _64)
HERK_ALL(Z, CUBLAS_C_64F, CUBLAS_R_64F, int, )
HERK_ALL(Z, CUBLAS_C_64F, CUBLAS_R_64F, int64_t, _64)

// --- Triangular matrices -------------------------------------------------------------------------

struct cublas_triangle_call {
    struct cublas_handle *handle;
    enum cublas_type type;
    int side, fill, operation, diagonal;
    int64_t m, n;
    const void *alpha, *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    void *c;
    int64_t ldc;
};

static bool is_valid(const struct cublas_triangle_call *call)
{
    return (call->side == CUBLAS_LEFT || call->side == CUBLAS_RIGHT) && is_fill(call->fill) &&
           call->operation >= CUBLAS_N && call->operation <= CUBLAS_C &&
           (call->diagonal == 0 || call->diagonal == 1) && call->m >= 0 && call->n >= 0 &&
           is_leading(call->lda, call->side == CUBLAS_LEFT ? call->m : call->n) &&
           is_leading(call->ldb, call->m) && is_leading(call->ldc, call->m);
}

static struct cublas_matrix triangle_of(const struct cublas_triangle_call *call)
{
    struct cublas_matrix a = cublas_dense(call->a, call->lda);
    a.shape = CUBLAS_TRIANGULAR;
    a.fill_lower = call->fill == CUBLAS_LOWER;
    a.unit = call->diagonal;
    cublas_apply(&a, call->operation);
    return a;
}

// C may be B, which is then copied first.
static int trmm(struct cublas_triangle_call call)
{
    CUBLAS_CHECK(call.handle, is_valid(&call));
    if (call.m == 0 || call.n == 0)
        return CUBLAS_OK;
    CUBLAS_REJECT(!call.alpha, CUBLAS_INVALID_VALUE);
    struct cublas_matrix b = cublas_dense(call.b, call.ldb);
    if (call.b == call.c) {
        CUBLAS_REJECT(call.ldb != call.ldc, CUBLAS_INVALID_VALUE);
        int status =
            cublas_need_temporary(call.handle, (size_t)(call.m * call.n) * cublas_bytes(call.type));
        struct cublas_elements copy = {
            .a = b,
            .b = b,
            .c = {.address = call.handle->temporary, .row = 1, .column = call.m},
            .alpha = cublas_number(1),
            .m = call.m,
            .n = call.n};
        if (!status)
            status = cublas_launch_one(call.handle, call.type, "geam", &copy,
                                       common_blocks((uint64_t)(call.m * call.n), CUBLAS_THREADS));
        if (status)
            return status;
        b = copy.c;
    }
    const struct cublas_matrix a = triangle_of(&call);
    const struct cublas_product product = {
        .a = call.side == CUBLAS_LEFT ? a : b,
        .b = call.side == CUBLAS_LEFT ? b : a,
        .c = cublas_dense(call.c, call.ldc),
        .alpha = cublas_scalar(call.handle, call.type, call.alpha),
        .m = call.m,
        .n = call.n,
        .k = call.side == CUBLAS_LEFT ? call.m : call.n,
    };
    return cublas_launch_product(call.handle, call.type, &product, 1);
}

// X * A = B is the same as A' * X' = B', without conjugation.
static int trsm(struct cublas_triangle_call call, bool pointers, int64_t members)
{
    CUBLAS_CHECK(call.handle, is_valid(&call) && members >= 0);
    if (call.m == 0 || call.n == 0 || members == 0)
        return CUBLAS_OK;
    CUBLAS_REJECT(!call.alpha, CUBLAS_INVALID_VALUE);
    struct cublas_solve solve = {
        .a = triangle_of(&call),
        .x = cublas_dense(call.c, call.ldc),
        .alpha = cublas_scalar(call.handle, call.type, call.alpha),
        .m = call.m,
        .n = call.n,
    };
    if (call.side == CUBLAS_RIGHT) {
        cublas_apply(&solve.a, CUBLAS_T);
        cublas_apply(&solve.x, CUBLAS_T);
        solve.m = call.n;
        solve.n = call.m;
    }
    solve.a.pointers = solve.x.pointers = pointers;
    return cublas_launch_solve(call.handle, call.type, &solve, members);
}

#define TRIANGLES(L, type, N, suffix)                                                            \
    COMMON_API int cublas##L##trmm_v2##suffix(                                                   \
        struct cublas_handle *handle, int side, int fill, int operation, int diagonal, N m, N n, \
        const void *alpha, const void *a, N lda, const void *b, N ldb, void *c, N ldc)           \
    {                                                                                            \
        return trmm((struct cublas_triangle_call){handle, type, side, fill, operation, diagonal, \
                                                  m, n, alpha, a, lda, b, ldb, c, ldc});         \
    }                                                                                            \
    COMMON_API int cublas##L##trsm_v2##suffix(                                                   \
        struct cublas_handle *handle, int side, int fill, int operation, int diagonal, N m, N n, \
        const void *alpha, const void *a, N lda, void *b, N ldb)                                 \
    {                                                                                            \
        return trsm((struct cublas_triangle_call){handle, type, side, fill, operation, diagonal, \
                                                  m, n, alpha, a, lda, b, ldb, b, ldb},          \
                    false, 1);                                                                   \
    }                                                                                            \
    COMMON_API int cublas##L##trsmBatched##suffix(                                               \
        struct cublas_handle *handle, int side, int fill, int operation, int diagonal, N m, N n, \
        const void *alpha, const void *a, N lda, void *b, N ldb, N members)                      \
    {                                                                                            \
        return trsm((struct cublas_triangle_call){handle, type, side, fill, operation, diagonal, \
                                                  m, n, alpha, a, lda, b, ldb, b, ldb},          \
                    true, members);                                                              \
    }
CUBLAS_FOR_ALL(TRIANGLES)
