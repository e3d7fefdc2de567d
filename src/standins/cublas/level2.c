// SPDX-License-Identifier: Apache-2.0
// Level 2 of cuBLAS: a matrix and vectors. A vector is a matrix with one column or one row, so that
// a call is a product of matrices.
#include "blas.h"

// The arguments of a call: A is m by n, x and y are vectors.
struct cublas_call {
    struct cublas_handle *handle;
    enum cublas_type type;
    int64_t m, n;
    const void *alpha, *a, *x, *beta, *y;
    int64_t lda, incx, incy;
};

static int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

// y = alpha * A * x + beta * y, where A is an operand with m rows and n columns.
static int times_vector(const struct cublas_call *call, const struct cublas_matrix *a)
{
    CUBLAS_CHECK(call->handle, call->m >= 0 && call->n >= 0 && call->incx && call->incy);
    if (call->m == 0)
        return CUBLAS_OK;
    CUBLAS_REJECT(!call->alpha || !call->beta || !call->y, CUBLAS_INVALID_VALUE);
    const struct cublas_product product = {
        .a = *a,
        .b = cublas_column(call->type, call->x, call->n, call->incx),
        .c = cublas_column(call->type, call->y, call->m, call->incy),
        .alpha = cublas_scalar(call->handle, call->type, call->alpha),
        .beta = cublas_scalar(call->handle, call->type, call->beta),
        .m = call->m,
        .n = 1,
        .k = call->n,
    };
    return cublas_launch_product(call->handle, call->type, &product, 1);
}

// --- General matrices ----------------------------------------------------------------------------

static int gemv(struct cublas_call call, int operation)
{
    CUBLAS_CHECK(call.handle,
                 operation >= 0 && operation <= CUBLAS_C && call.lda >= at_least_one(call.m));
    const struct cublas_matrix a = cublas_operand(call.a, call.lda, operation);
    if (operation != CUBLAS_N) {
        const int64_t m = call.m;
        call.m = call.n;
        call.n = m;
    }
    return times_vector(&call, &a);
}

static int gbmv(struct cublas_call call, int operation, int64_t lower, int64_t upper)
{
    CUBLAS_CHECK(call.handle, operation >= 0 && operation <= CUBLAS_C && lower >= 0 && upper >= 0 &&
                                  call.lda > lower + upper);
    struct cublas_matrix a = cublas_dense(call.a, call.lda);
    a.storage = CUBLAS_BAND;
    a.lower = lower;
    a.upper = upper;
    cublas_apply(&a, operation);
    if (operation != CUBLAS_N) {
        const int64_t m = call.m;
        call.m = call.n;
        call.n = m;
    }
    return times_vector(&call, &a);
}

#define GENERAL(L, type, N, suffix)                                                              \
    COMMON_API int cublas##L##gemv_v2##suffix(                                                   \
        struct cublas_handle *handle, int operation, N m, N n, const void *alpha, const void *a, \
        N lda, const void *x, N incx, const void *beta, void *y, N incy)                         \
    {                                                                                            \
        return gemv(                                                                             \
            (struct cublas_call){handle, type, m, n, alpha, a, x, beta, y, lda, incx, incy},     \
            operation);                                                                          \
    }                                                                                            \
    COMMON_API int cublas##L##gbmv_v2##suffix(struct cublas_handle *handle, int operation, N m,  \
                                              N n, N lower, N upper, const void *alpha,          \
                                              const void *a, N lda, const void *x, N incx,       \
                                              const void *beta, void *y, N incy)                 \
    {                                                                                            \
        return gbmv(                                                                             \
            (struct cublas_call){handle, type, m, n, alpha, a, x, beta, y, lda, incx, incy},     \
            operation, lower, upper);                                                            \
    }
CUBLAS_FOR_ALL(GENERAL)

// --- Symmetric, Hermitian and triangular matrices ------------------------------------------------

// A matrix of which one triangle is stored: all of it in a dense matrix; a band of `width` beside
// the diagonal; packed.
static struct cublas_matrix triangle_of(const void *a, int64_t lda, enum cublas_storage storage,
                                        enum cublas_shape shape, int fill, int64_t n, int64_t width)
{
    struct cublas_matrix matrix = cublas_dense(a, lda);
    matrix.storage = storage;
    matrix.shape = shape;
    matrix.fill_lower = fill == CUBLAS_LOWER;
    matrix.order = n;
    if (storage == CUBLAS_BAND) {
        matrix.lower = fill == CUBLAS_LOWER ? width : 0;
        matrix.upper = fill == CUBLAS_LOWER ? 0 : width;
    }
    return matrix;
}

static bool is_valid(enum cublas_storage storage, int64_t lda, int fill, int64_t n, int64_t width)
{
    return n >= 0 && (fill == CUBLAS_LOWER || fill == CUBLAS_UPPER) && width >= 0 &&
           (storage == CUBLAS_DENSE ? lda >= at_least_one(n)
                                    : storage == CUBLAS_PACKED || lda > width);
}

static int symmetric(const struct cublas_call *call, enum cublas_storage storage,
                     enum cublas_shape shape, int fill, int64_t width)
{
    CUBLAS_CHECK(call->handle, is_valid(storage, call->lda, fill, call->n, width));
    const struct cublas_matrix a =
        triangle_of(call->a, call->lda, storage, shape, fill, call->n, width);
    return times_vector(call, &a);
}

#define DENSE_TIMES(name, type, shape, N, suffix)                                               \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, N n,            \
                                        const void *alpha, const void *a, N lda, const void *x, \
                                        N incx, const void *beta, void *y, N incy)              \
    {                                                                                           \
        return symmetric(                                                                       \
            &(struct cublas_call){handle, type, n, n, alpha, a, x, beta, y, lda, incx, incy},   \
            CUBLAS_DENSE, shape, fill, 0);                                                      \
    }
#define BAND_TIMES(name, type, shape, N, suffix)                                                \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, N n, N k,       \
                                        const void *alpha, const void *a, N lda, const void *x, \
                                        N incx, const void *beta, void *y, N incy)              \
    {                                                                                           \
        return symmetric(                                                                       \
            &(struct cublas_call){handle, type, n, n, alpha, a, x, beta, y, lda, incx, incy},   \
            CUBLAS_BAND, shape, fill, k);                                                       \
    }
#define PACKED_TIMES(name, type, shape, N, suffix)                                               \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, N n,             \
                                        const void *alpha, const void *a, const void *x, N incx, \
                                        const void *beta, void *y, N incy)                       \
    {                                                                                            \
        return symmetric(                                                                        \
            &(struct cublas_call){handle, type, n, n, alpha, a, x, beta, y, 0, incx, incy},      \
            CUBLAS_PACKED, shape, fill, 0);                                                      \
    }
#define TIMES(N, suffix)                                              \
    DENSE_TIMES(Ssymv_v2, CUBLAS_R_32F, CUBLAS_SYMMETRIC, N, suffix)  \
    DENSE_TIMES(Dsymv_v2, CUBLAS_R_64F, CUBLAS_SYMMETRIC, N, suffix)  \
    DENSE_TIMES(Csymv_v2, CUBLAS_C_32F, CUBLAS_SYMMETRIC, N, suffix)  \
    DENSE_TIMES(Zsymv_v2, CUBLAS_C_64F, CUBLAS_SYMMETRIC, N, suffix)  \
    DENSE_TIMES(Chemv_v2, CUBLAS_C_32F, CUBLAS_HERMITIAN, N, suffix)  \
    DENSE_TIMES(Zhemv_v2, CUBLAS_C_64F, CUBLAS_HERMITIAN, N, suffix)  \
    BAND_TIMES(Ssbmv_v2, CUBLAS_R_32F, CUBLAS_SYMMETRIC, N, suffix)   \
    BAND_TIMES(Dsbmv_v2, CUBLAS_R_64F, CUBLAS_SYMMETRIC, N, suffix)   \
    BAND_TIMES(Chbmv_v2, CUBLAS_C_32F, CUBLAS_HERMITIAN, N, suffix)   \
    BAND_TIMES(Zhbmv_v2, CUBLAS_C_64F, CUBLAS_HERMITIAN, N, suffix)   \
    PACKED_TIMES(Sspmv_v2, CUBLAS_R_32F, CUBLAS_SYMMETRIC, N, suffix) \
    PACKED_TIMES(Dspmv_v2, CUBLAS_R_64F, CUBLAS_SYMMETRIC, N, suffix) \
    PACKED_TIMES(Chpmv_v2, CUBLAS_C_32F, CUBLAS_HERMITIAN, N, suffix) \
    PACKED_TIMES(Zhpmv_v2, CUBLAS_C_64F, CUBLAS_HERMITIAN, N, suffix)
TIMES(int, )
TIMES(int64_t, _64)

// The arguments of a call with a triangular matrix, which changes x.
struct cublas_triangular {
    struct cublas_handle *handle;
    enum cublas_type type;
    int fill, operation, diagonal;
    int64_t n, width;
    const void *a;
    int64_t lda;
    void *x;
    int64_t incx;
};

static bool is_valid_triangular(const struct cublas_triangular *call, enum cublas_storage storage)
{
    return is_valid(storage, call->lda, call->fill, call->n, call->width) && call->operation >= 0 &&
           call->operation <= CUBLAS_C && (call->diagonal == 0 || call->diagonal == 1) &&
           call->incx && (call->n == 0 || (call->a && call->x));
}

static struct cublas_matrix operand_of(const struct cublas_triangular *call,
                                       enum cublas_storage storage)
{
    struct cublas_matrix a = triangle_of(call->a, call->lda, storage, CUBLAS_TRIANGULAR, call->fill,
                                         call->n, call->width);
    a.unit = call->diagonal;
    cublas_apply(&a, call->operation);
    return a;
}

// x = A * x, from a copy of x.
static int multiply(struct cublas_triangular call, enum cublas_storage storage)
{
    CUBLAS_CHECK(call.handle, is_valid_triangular(&call, storage));
    if (call.n == 0)
        return CUBLAS_OK;
    int status = cublas_need_temporary(call.handle, (size_t)call.n * cublas_bytes(call.type));
    if (status)
        return status;
    struct cublas_vectors copy = {.x = cublas_first(call.type, call.x, call.n, call.incx),
                                  .y = call.handle->temporary,
                                  .n = call.n,
                                  .x_step = call.incx,
                                  .y_step = 1};
    status = cublas_launch_one(call.handle, call.type, "copy", &copy,
                               common_blocks((uint64_t)call.n, CUBLAS_THREADS));
    if (status)
        return status;
    const struct cublas_product product = {
        .a = operand_of(&call, storage),
        .b = {.address = call.handle->temporary, .row = 1},
        .c = cublas_column(call.type, call.x, call.n, call.incx),
        .alpha = cublas_number(1),
        .m = call.n,
        .n = 1,
        .k = call.n,
    };
    return cublas_launch_product(call.handle, call.type, &product, 1);
}

static int solve(struct cublas_triangular call, enum cublas_storage storage)
{
    CUBLAS_CHECK(call.handle, is_valid_triangular(&call, storage));
    const struct cublas_solve about = {
        .a = operand_of(&call, storage),
        .x = cublas_column(call.type, call.x, call.n, call.incx),
        .alpha = cublas_number(1),
        .m = call.n,
        .n = 1,
    };
    return cublas_launch_solve(call.handle, call.type, &about, 1);
}

#define DENSE_TRIANGLE(name, type, run, N, suffix)                                                \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, int operation,    \
                                        int diagonal, N n, const void *a, N lda, void *x, N incx) \
    {                                                                                             \
        return run((struct cublas_triangular){handle, type, fill, operation, diagonal, n, 0, a,   \
                                              lda, x, incx},                                      \
                   CUBLAS_DENSE);                                                                 \
    }
#define BAND_TRIANGLE(name, type, run, N, suffix)                                               \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, int operation,  \
                                        int diagonal, N n, N k, const void *a, N lda, void *x,  \
                                        N incx)                                                 \
    {                                                                                           \
        return run((struct cublas_triangular){handle, type, fill, operation, diagonal, n, k, a, \
                                              lda, x, incx},                                    \
                   CUBLAS_BAND);                                                                \
    }
#define PACKED_TRIANGLE(name, type, run, N, suffix)                                                \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, int operation,     \
                                        int diagonal, N n, const void *a, void *x, N incx)         \
    {                                                                                              \
        return run((struct cublas_triangular){handle, type, fill, operation, diagonal, n, 0, a, 0, \
                                              x, incx},                                            \
                   CUBLAS_PACKED);                                                                 \
    }
#define TRIANGLES(L, type, N, suffix)                      \
    DENSE_TRIANGLE(L##trmv_v2, type, multiply, N, suffix)  \
    DENSE_TRIANGLE(L##trsv_v2, type, solve, N, suffix)     \
    BAND_TRIANGLE(L##tbmv_v2, type, multiply, N, suffix)   \
    BAND_TRIANGLE(L##tbsv_v2, type, solve, N, suffix)      \
    PACKED_TRIANGLE(L##tpmv_v2, type, multiply, N, suffix) \
    PACKED_TRIANGLE(L##tpsv_v2, type, solve, N, suffix)
CUBLAS_FOR_ALL(TRIANGLES)

// --- Rank 1 and 2 --------------------------------------------------------------------------------

// A = alpha * x * op(y) + A, all of A or a triangle. The scalar may have another type than A.
struct cublas_rank {
    struct cublas_handle *handle;
    enum cublas_type type, scalar_type;
    int64_t m, n;
    int triangle; // as in struct cublas_product
    bool conjugate, packed;
    const void *alpha, *x, *y;
    int64_t incx, incy;
    void *a;
    int64_t lda;
};

static int add_rank(const struct cublas_rank *call, const struct cublas_scalar *alpha,
                    const void *x, int64_t incx, const void *y, int64_t incy)
{
    struct cublas_product product = {
        .a = cublas_column(call->type, x, call->m, incx),
        .b = cublas_row(call->type, y, call->n, incy),
        .c = cublas_dense(call->a, call->lda),
        .alpha = *alpha,
        .beta = cublas_number(1),
        .m = call->m,
        .n = call->n,
        .k = 1,
        .triangle = call->triangle,
        .real_diagonal = call->triangle && call->conjugate,
    };
    product.b.conjugate = call->conjugate;
    if (call->packed) {
        product.c.storage = CUBLAS_PACKED;
        product.c.order = call->n;
        product.c.fill_lower = call->triangle == 1;
    }
    return cublas_launch_product(call->handle, call->type, &product, 1);
}

static int rank(const struct cublas_rank *call, int terms)
{
    CUBLAS_CHECK(call->handle, call->m >= 0 && call->n >= 0 && call->incx && call->incy &&
                                   (call->packed || call->lda >= at_least_one(call->m)));
    if (call->m == 0 || call->n == 0)
        return CUBLAS_OK;
    CUBLAS_REJECT(!call->alpha || !call->x || !call->y || !call->a, CUBLAS_INVALID_VALUE);
    struct cublas_scalar alpha = cublas_scalar(call->handle, call->scalar_type, call->alpha);
    const int status = add_rank(call, &alpha, call->x, call->incx, call->y, call->incy);
    if (status || terms == 1)
        return status;
    alpha.conjugate = call->conjugate;
    return add_rank(call, &alpha, call->y, call->incy, call->x, call->incx);
}

#define GER(name, type, conjugate, N, suffix)                                                      \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, N m, N n, const void *alpha, \
                                        const void *x, N incx, const void *y, N incy, void *a,     \
                                        N lda)                                                     \
    {                                                                                              \
        return rank(&(struct cublas_rank){handle, type, type, m, n, 0, conjugate, false, alpha, x, \
                                          y, incx, incy, a, lda},                                  \
                    1);                                                                            \
    }
#define SYR(name, type, scalar, conjugate, N, suffix)                                             \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, N n,              \
                                        const void *alpha, const void *x, N incx, void *a, N lda) \
    {                                                                                             \
        return rank(&(struct cublas_rank){handle, type, scalar, n, n,                             \
                                          fill == CUBLAS_LOWER ? 1 : 2, conjugate, false, alpha,  \
                                          x, x, incx, incx, a, lda},                              \
                    1);                                                                           \
    }
#define SPR(name, type, scalar, conjugate, N, suffix)                                              \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, N n,               \
                                        const void *alpha, const void *x, N incx, void *a)         \
    {                                                                                              \
        return rank(&(struct cublas_rank){handle, type, scalar, n, n,                              \
                                          fill == CUBLAS_LOWER ? 1 : 2, conjugate, true, alpha, x, \
                                          x, incx, incx, a, 0},                                    \
                    1);                                                                            \
    }
#define SYR2(name, type, conjugate, N, suffix)                                                    \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, N n,              \
                                        const void *alpha, const void *x, N incx, const void *y,  \
                                        N incy, void *a, N lda)                                   \
    {                                                                                             \
        return rank(&(struct cublas_rank){handle, type, type, n, n, fill == CUBLAS_LOWER ? 1 : 2, \
                                          conjugate, false, alpha, x, y, incx, incy, a, lda},     \
                    2);                                                                           \
    }
#define SPR2(name, type, conjugate, N, suffix)                                                    \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, int fill, N n,              \
                                        const void *alpha, const void *x, N incx, const void *y,  \
                                        N incy, void *a)                                          \
    {                                                                                             \
        return rank(&(struct cublas_rank){handle, type, type, n, n, fill == CUBLAS_LOWER ? 1 : 2, \
                                          conjugate, true, alpha, x, y, incx, incy, a, 0},        \
                    2);                                                                           \
    }
#define RANKS(N, suffix)                                       \
    GER(Sger_v2, CUBLAS_R_32F, false, N, suffix)               \
    GER(Dger_v2, CUBLAS_R_64F, false, N, suffix)               \
    GER(Cgeru_v2, CUBLAS_C_32F, false, N, suffix)              \
    GER(Cgerc_v2, CUBLAS_C_32F, true, N, suffix)               \
    GER(Zgeru_v2, CUBLAS_C_64F, false, N, suffix)              \
    GER(Zgerc_v2, CUBLAS_C_64F, true, N, suffix)               \
    SYR(Ssyr_v2, CUBLAS_R_32F, CUBLAS_R_32F, false, N, suffix) \
    SYR(Dsyr_v2, CUBLAS_R_64F, CUBLAS_R_64F, false, N, suffix) \
    SYR(Csyr_v2, CUBLAS_C_32F, CUBLAS_C_32F, false, N, suffix) \
    SYR(Zsyr_v2, CUBLAS_C_64F, CUBLAS_C_64F, false, N, suffix) \
    SYR(Cher_v2, CUBLAS_C_32F, CUBLAS_R_32F, true, N, suffix)  \
    SYR(Zher_v2, CUBLAS_C_64F, CUBLAS_R_64F, true, N, suffix)  \
    SPR(Sspr_v2, CUBLAS_R_32F, CUBLAS_R_32F, false, N, suffix) \
    SPR(Dspr_v2, CUBLAS_R_64F, CUBLAS_R_64F, false, N, suffix) \
    SPR(Chpr_v2, CUBLAS_C_32F, CUBLAS_R_32F, true, N, suffix)  \
    SPR(Zhpr_v2, CUBLAS_C_64F, CUBLAS_R_64F, true, N, suffix)  \
    SYR2(Ssyr2_v2, CUBLAS_R_32F, false, N, suffix)             \
    SYR2(Dsyr2_v2, CUBLAS_R_64F, false, N, suffix)             \
    SYR2(Csyr2_v2, CUBLAS_C_32F, false, N, suffix)             \
    SYR2(Zsyr2_v2, CUBLAS_C_64F, false, N, suffix)             \
    SYR2(Cher2_v2, CUBLAS_C_32F, true, N, suffix)              \
    SYR2(Zher2_v2, CUBLAS_C_64F, true, N, suffix)              \
    SPR2(Sspr2_v2, CUBLAS_R_32F, false, N, suffix)             \
    SPR2(Dspr2_v2, CUBLAS_R_64F, false, N, suffix)             \
    SPR2(Chpr2_v2, CUBLAS_C_32F, true, N, suffix)              \
    SPR2(Zhpr2_v2, CUBLAS_C_64F, true, N, suffix)
RANKS(int, )
RANKS(int64_t, _64)
