// SPDX-License-Identifier: Apache-2.0
// Level 1 of cuBLAS: vectors.
#include <math.h>

#include "blas.h"

static struct cublas_vectors vectors_of(enum cublas_type type, int64_t n, const void *x,
                                        int64_t incx, const void *y, int64_t incy)
{
    return (struct cublas_vectors){.x = cublas_first(type, x, n, incx),
                                   .y = cublas_first(type, y, n, incy),
                                   .n = n > 0 ? n : 0,
                                   .x_step = incx,
                                   .y_step = incy};
}

static int launch_each(struct cublas_handle *handle, enum cublas_type type, const char *name,
                       struct cublas_vectors *about)
{
    return cublas_launch_one(handle, type, name, about,
                             common_blocks((uint64_t)about->n, CUBLAS_THREADS));
}

// --- Elements ------------------------------------------------------------------------------------

static int axpy(struct cublas_handle *handle, enum cublas_type type, int64_t n, const void *alpha,
                const void *x, int64_t incx, void *y, int64_t incy)
{
    CUBLAS_CHECK(handle, n <= 0 || (alpha && x && y));
    struct cublas_vectors about = vectors_of(type, n, x, incx, y, incy);
    if (n > 0)
        about.a = cublas_scalar(handle, type, alpha);
    return launch_each(handle, type, "axpy", &about);
}

// copy and swap
static int move(struct cublas_handle *handle, enum cublas_type type, const char *name, int64_t n,
                const void *x, int64_t incx, void *y, int64_t incy)
{
    CUBLAS_CHECK(handle, n <= 0 || (x && y));
    struct cublas_vectors about = vectors_of(type, n, x, incx, y, incy);
    return launch_each(handle, type, name, &about);
}

static int scale(struct cublas_handle *handle, enum cublas_type type, enum cublas_type scalar,
                 int64_t n, const void *alpha, void *x, int64_t incx)
{
    CUBLAS_CHECK(handle, n <= 0 || (alpha && x));
    if (n <= 0 || incx <= 0)
        return CUBLAS_OK;
    struct cublas_vectors about = vectors_of(type, n, x, incx, NULL, 0);
    about.a = cublas_scalar(handle, scalar, alpha);
    return launch_each(handle, type, "scal", &about);
}

static int rotate(struct cublas_handle *handle, enum cublas_type type, enum cublas_type c_type,
                  enum cublas_type s_type, int64_t n, void *x, int64_t incx, void *y, int64_t incy,
                  const void *c, const void *s)
{
    CUBLAS_CHECK(handle, n <= 0 || (x && y && c && s));
    if (n <= 0)
        return CUBLAS_OK;
    struct cublas_vectors about = vectors_of(type, n, x, incx, y, incy);
    about.a = cublas_scalar(handle, c_type, c);
    about.b = cublas_scalar(handle, s_type, s);
    return launch_each(handle, type, "rot", &about);
}

#define ELEMENTS(L, type, N, suffix)                                                              \
    COMMON_API int cublas##L##axpy_v2##suffix(struct cublas_handle *handle, N n,                  \
                                              const void *alpha, const void *x, N incx, void *y,  \
                                              N incy)                                             \
    {                                                                                             \
        return axpy(handle, type, n, alpha, x, incx, y, incy);                                    \
    }                                                                                             \
    COMMON_API int cublas##L##copy_v2##suffix(struct cublas_handle *handle, N n, const void *x,   \
                                              N incx, void *y, N incy)                            \
    {                                                                                             \
        return move(handle, type, "copy", n, x, incx, y, incy);                                   \
    }                                                                                             \
    COMMON_API int cublas##L##swap_v2##suffix(struct cublas_handle *handle, N n, void *x, N incx, \
                                              void *y, N incy)                                    \
    {                                                                                             \
        return move(handle, type, "swap", n, x, incx, y, incy);                                   \
    }                                                                                             \
    COMMON_API int cublas##L##scal_v2##suffix(struct cublas_handle *handle, N n,                  \
                                              const void *alpha, void *x, N incx)                 \
    {                                                                                             \
        return scale(handle, type, type, n, alpha, x, incx);                                      \
    }
CUBLAS_FOR_ALL(ELEMENTS)

#define SCALE_REAL(name, type, scalar, N, suffix)                                             \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, N n, const void *alpha, \
                                        void *x, N incx)                                      \
    {                                                                                         \
        return scale(handle, type, scalar, n, alpha, x, incx);                                \
    }
SCALE_REAL(Csscal_v2, CUBLAS_C_32F, CUBLAS_R_32F, int, )
SCALE_REAL(Csscal_v2, CUBLAS_C_32F, CUBLAS_R_32F, int64_t, _64)
SCALE_REAL(Zdscal_v2, CUBLAS_C_64F, CUBLAS_R_64F, int, )
SCALE_REAL(Zdscal_v2, CUBLAS_C_64F, CUBLAS_R_64F, int64_t, _64)

#define ROTATE(name, type, c_type, s_type, N, suffix)                                       \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, N n, void *x, N incx, \
                                        void *y, N incy, const void *c, const void *s)      \
    {                                                                                       \
        return rotate(handle, type, c_type, s_type, n, x, incx, y, incy, c, s);             \
    }
#define ROTATES(N, suffix)                                                \
    ROTATE(Srot_v2, CUBLAS_R_32F, CUBLAS_R_32F, CUBLAS_R_32F, N, suffix)  \
    ROTATE(Drot_v2, CUBLAS_R_64F, CUBLAS_R_64F, CUBLAS_R_64F, N, suffix)  \
    ROTATE(Crot_v2, CUBLAS_C_32F, CUBLAS_R_32F, CUBLAS_C_32F, N, suffix)  \
    ROTATE(Csrot_v2, CUBLAS_C_32F, CUBLAS_R_32F, CUBLAS_R_32F, N, suffix) \
    ROTATE(Zrot_v2, CUBLAS_C_64F, CUBLAS_R_64F, CUBLAS_C_64F, N, suffix)  \
    ROTATE(Zdrot_v2, CUBLAS_C_64F, CUBLAS_R_64F, CUBLAS_R_64F, N, suffix)
ROTATES(int, )
ROTATES(int64_t, _64)

// --- Reductions ----------------------------------------------------------------------------------

// Runs a reduction into the program's memory, or into the handle's and from there to the host,
// which waits.
static int reduce(struct cublas_handle *handle, enum cublas_type type, const char *name,
                  struct cublas_vectors *about, void *result, size_t result_bytes)
{
    enum { RESULT_BYTES = 64 };
    if (handle->device_scalars) {
        about->result = (uint64_t)(uintptr_t)result;
        return cublas_launch_one(handle, type, name, about, 1);
    }
    CUresult failed = CUDA_SUCCESS;
    if (!handle->result)
        failed = cuMemAlloc_v2(&handle->result, RESULT_BYTES);
    if (failed != CUDA_SUCCESS)
        return cublas_status_of(failed);
    about->result = handle->result;
    const int status = cublas_launch_one(handle, type, name, about, 1);
    if (status)
        return status;
    failed = cuMemcpyDtoHAsync_v2(result, handle->result, result_bytes, handle->stream);
    return cublas_status_of(failed == CUDA_SUCCESS ? cuStreamSynchronize(handle->stream) : failed);
}

static int dot(struct cublas_handle *handle, enum cublas_type type, bool conjugate, int64_t n,
               const void *x, int64_t incx, const void *y, int64_t incy, void *result)
{
    CUBLAS_CHECK(handle, result && (n <= 0 || (x && y)));
    struct cublas_vectors about = vectors_of(type, n, x, incx, y, incy);
    about.flag = conjugate ? CUBLAS_CONJUGATE : 0;
    return reduce(handle, type, "dot", &about, result, cublas_bytes(type));
}

#define DOT(name, type, conjugate, N, suffix)                                                     \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, N n, const void *x, N incx, \
                                        const void *y, N incy, void *result)                      \
    {                                                                                             \
        return dot(handle, type, conjugate, n, x, incx, y, incy, result);                         \
    }
#define DOTS(N, suffix)                           \
    DOT(Sdot_v2, CUBLAS_R_32F, false, N, suffix)  \
    DOT(Ddot_v2, CUBLAS_R_64F, false, N, suffix)  \
    DOT(Cdotu_v2, CUBLAS_C_32F, false, N, suffix) \
    DOT(Cdotc_v2, CUBLAS_C_32F, true, N, suffix)  \
    DOT(Zdotu_v2, CUBLAS_C_64F, false, N, suffix) \
    DOT(Zdotc_v2, CUBLAS_C_64F, true, N, suffix)
DOTS(int, )
DOTS(int64_t, _64)

// asum and nrm2: the result is real. A vector with a step that is not positive has no elements.
static int size_of(struct cublas_handle *handle, enum cublas_type type, const char *name, int64_t n,
                   const void *x, int64_t incx, void *result)
{
    CUBLAS_CHECK(handle, result && (n <= 0 || x));
    struct cublas_vectors about = vectors_of(type, incx > 0 ? n : 0, x, incx, NULL, 0);
    return reduce(handle, type, name, &about, result,
                  cublas_bytes(type) / (cublas_is_complex(type) ? 2 : 1));
}

#define SIZE(name, type, kernel, N, suffix)                                                       \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, N n, const void *x, N incx, \
                                        void *result)                                             \
    {                                                                                             \
        return size_of(handle, type, kernel, n, x, incx, result);                                 \
    }
#define SIZES(N, suffix)                             \
    SIZE(Sasum_v2, CUBLAS_R_32F, "asum", N, suffix)  \
    SIZE(Dasum_v2, CUBLAS_R_64F, "asum", N, suffix)  \
    SIZE(Scasum_v2, CUBLAS_C_32F, "asum", N, suffix) \
    SIZE(Dzasum_v2, CUBLAS_C_64F, "asum", N, suffix) \
    SIZE(Snrm2_v2, CUBLAS_R_32F, "nrm2", N, suffix)  \
    SIZE(Dnrm2_v2, CUBLAS_R_64F, "nrm2", N, suffix)  \
    SIZE(Scnrm2_v2, CUBLAS_C_32F, "nrm2", N, suffix) \
    SIZE(Dznrm2_v2, CUBLAS_C_64F, "nrm2", N, suffix)
SIZES(int, )
SIZES(int64_t, _64)

static int place_of(struct cublas_handle *handle, enum cublas_type type, bool smallest, int64_t n,
                    const void *x, int64_t incx, void *result, size_t result_bytes)
{
    CUBLAS_CHECK(handle, result && (n <= 0 || x));
    struct cublas_vectors about = vectors_of(type, incx > 0 ? n : 0, x, incx, NULL, 0);
    about.flag =
        (smallest ? CUBLAS_SMALLEST : 0) | (result_bytes == sizeof(int32_t) ? CUBLAS_NARROW : 0);
    return reduce(handle, type, "amax", &about, result, result_bytes);
}

#define PLACE(name, type, smallest, N, suffix)                                                    \
    COMMON_API int cublas##name##suffix(struct cublas_handle *handle, N n, const void *x, N incx, \
                                        N *result)                                                \
    {                                                                                             \
        return place_of(handle, type, smallest, n, x, incx, result, sizeof(*result));             \
    }
#define PLACES(N, suffix)                            \
    PLACE(Isamax_v2, CUBLAS_R_32F, false, N, suffix) \
    PLACE(Idamax_v2, CUBLAS_R_64F, false, N, suffix) \
    PLACE(Icamax_v2, CUBLAS_C_32F, false, N, suffix) \
    PLACE(Izamax_v2, CUBLAS_C_64F, false, N, suffix) \
    PLACE(Isamin_v2, CUBLAS_R_32F, true, N, suffix)  \
    PLACE(Idamin_v2, CUBLAS_R_64F, true, N, suffix)  \
    PLACE(Icamin_v2, CUBLAS_C_32F, true, N, suffix)  \
    PLACE(Izamin_v2, CUBLAS_C_64F, true, N, suffix)
PLACES(int, )
PLACES(int64_t, _64)

// --- Any type ------------------------------------------------------------------------------------

// The functions with types as arguments, for one type in all arguments. Sums of half numbers are
// not among them.
static bool is_one_type(int x, int y, int z)
{
    return x == y && y == z &&
           (x == CUBLAS_R_32F || x == CUBLAS_R_64F || x == CUBLAS_C_32F || x == CUBLAS_C_64F);
}

#define ANY_TYPE(N, suffix)                                                                       \
    COMMON_API int cublasAxpyEx##suffix(struct cublas_handle *handle, N n, const void *alpha,     \
                                        int alpha_type, const void *x, int x_type, N incx,        \
                                        void *y, int y_type, N incy, int compute)                 \
    {                                                                                             \
        if (!is_one_type(alpha_type, x_type, y_type) || compute != x_type)                        \
            return COMMON_REFUSE("cublasAxpyEx with these types", CUBLAS_NOT_SUPPORTED);          \
        return axpy(handle, (enum cublas_type)x_type, n, alpha, x, incx, y, incy);                \
    }                                                                                             \
    COMMON_API int cublasScalEx##suffix(struct cublas_handle *handle, N n, const void *alpha,     \
                                        int alpha_type, void *x, int x_type, N incx, int compute) \
    {                                                                                             \
        if (!is_one_type(alpha_type, x_type, compute))                                            \
            return COMMON_REFUSE("cublasScalEx with these types", CUBLAS_NOT_SUPPORTED);          \
        return scale(handle, (enum cublas_type)x_type, (enum cublas_type)x_type, n, alpha, x,     \
                     incx);                                                                       \
    }                                                                                             \
    COMMON_API int cublasDotEx##suffix(struct cublas_handle *handle, N n, const void *x,          \
                                       int x_type, N incx, const void *y, int y_type, N incy,     \
                                       void *result, int result_type, int compute)                \
    {                                                                                             \
        if (!is_one_type(x_type, y_type, result_type) || compute != x_type)                       \
            return COMMON_REFUSE("cublasDotEx with these types", CUBLAS_NOT_SUPPORTED);           \
        return dot(handle, (enum cublas_type)x_type, false, n, x, incx, y, incy, result);         \
    }                                                                                             \
    COMMON_API int cublasDotcEx##suffix(struct cublas_handle *handle, N n, const void *x,         \
                                        int x_type, N incx, const void *y, int y_type, N incy,    \
                                        void *result, int result_type, int compute)               \
    {                                                                                             \
        if (!is_one_type(x_type, y_type, result_type) || compute != x_type)                       \
            return COMMON_REFUSE("cublasDotcEx with these types", CUBLAS_NOT_SUPPORTED);          \
        return dot(handle, (enum cublas_type)x_type, true, n, x, incx, y, incy, result);          \
    }                                                                                             \
    COMMON_API int cublasNrm2Ex##suffix(struct cublas_handle *handle, N n, const void *x,         \
                                        int x_type, N incx, void *result, int result_type,        \
                                        int compute)                                              \
    {                                                                                             \
        const int real = x_type == CUBLAS_C_32F   ? CUBLAS_R_32F                                  \
                         : x_type == CUBLAS_C_64F ? CUBLAS_R_64F                                  \
                                                  : x_type;                                       \
        if (!is_one_type(real, result_type, compute))                                             \
            return COMMON_REFUSE("cublasNrm2Ex with these types", CUBLAS_NOT_SUPPORTED);          \
        return size_of(handle, (enum cublas_type)x_type, "nrm2", n, x, incx, result);             \
    }
ANY_TYPE(int, )
ANY_TYPE(int64_t, _64)

// --- Plane rotations -----------------------------------------------------------------------------

// Brings scalars to the host, or back to where the program has them.
static int fetch(struct cublas_handle *handle, void *target, const void *source, size_t size_bytes)
{
    if (!handle->device_scalars) {
        __builtin_memcpy(target, source, size_bytes);
        return CUBLAS_OK;
    }
    const CUresult failed = cuStreamSynchronize(handle->stream);
    return cublas_status_of(
        failed ? failed : cuMemcpyDtoH_v2(target, (CUdeviceptr)(uintptr_t)source, size_bytes));
}

static int put(struct cublas_handle *handle, void *target, const void *source, size_t size_bytes)
{
    if (!handle->device_scalars) {
        __builtin_memcpy(target, source, size_bytes);
        return CUBLAS_OK;
    }
    return cublas_status_of(cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)target, source, size_bytes));
}

// The rotation of BLAS that makes (a, b) to (r, 0). b becomes z, from which c and s can be
// computed.
static void make_rotation(double *a, double *b, double *c, double *s)
{
    const double scale = fabs(*a) + fabs(*b);
    if (scale == 0) {
        *c = 1;
        *s = *a = *b = 0;
        return;
    }
    const double sign = fabs(*a) > fabs(*b) ? *a : *b;
    const double r = copysign(hypot(*a, *b), sign);
    *c = *a / r;
    *s = *b / r;
    const double z = fabs(*a) > fabs(*b) ? *s : *c != 0 ? 1 / *c : 1;
    *a = r;
    *b = z;
}

#define ROTG(L, real)                                                                          \
    COMMON_API int cublas##L##rotg_v2(struct cublas_handle *handle, real *a, real *b, real *c, \
                                      real *s)                                                 \
    {                                                                                          \
        CUBLAS_CHECK(handle, a &&b &&c &&s);                                                   \
        real x = 0, y = 0;                                                                     \
        int status = fetch(handle, &x, a, sizeof(x));                                          \
        if (!status)                                                                           \
            status = fetch(handle, &y, b, sizeof(y));                                          \
        double values[4] = {(double)x, (double)y, 0, 0};                                       \
        real *const targets[4] = {a, b, c, s};                                                 \
        make_rotation(&values[0], &values[1], &values[2], &values[3]);                         \
        for (int i = 0; i < 4 && !status; i++) {                                               \
            x = (real)values[i];                                                               \
            status = put(handle, targets[i], &x, sizeof(x));                                   \
        }                                                                                      \
        return status;                                                                         \
    }
ROTG(S, float)
ROTG(D, double)

// c is real, s complex: s = conj(b) * sign(a) / |(a, b)|
#define ROTG_COMPLEX(L, real)                                                                  \
    COMMON_API int cublas##L##rotg_v2(struct cublas_handle *handle, real *a, real *b, real *c, \
                                      real *s)                                                 \
    {                                                                                          \
        CUBLAS_CHECK(handle, a &&b &&c &&s);                                                   \
        real x[2] = {0}, y[2] = {0};                                                           \
        int status = fetch(handle, x, a, sizeof(x));                                           \
        if (!status)                                                                           \
            status = fetch(handle, y, b, sizeof(y));                                           \
        if (status)                                                                            \
            return status;                                                                     \
        const double size = hypot((double)x[0], (double)x[1]);                                 \
        const double whole = hypot(size, hypot((double)y[0], (double)y[1]));                   \
        real cosine = 0, sine[2] = {1, 0}, r[2] = {y[0], y[1]};                                \
        if (size != 0) {                                                                       \
            const double p = x[0] / size, q = x[1] / size;                                     \
            cosine = (real)(size / whole);                                                     \
            sine[0] = (real)((p * y[0] + q * y[1]) / whole);                                   \
            sine[1] = (real)((q * y[0] - p * y[1]) / whole);                                   \
            r[0] = (real)(p * whole);                                                          \
            r[1] = (real)(q * whole);                                                          \
        }                                                                                      \
        status = put(handle, a, r, sizeof(r));                                                 \
        if (!status)                                                                           \
            status = put(handle, c, &cosine, sizeof(cosine));                                  \
        return status ? status : put(handle, s, sine, sizeof(sine));                           \
    }
ROTG_COMPLEX(C, float)
ROTG_COMPLEX(Z, double)

#define ROTM(L, type, real, N, suffix)                                                            \
    COMMON_API int cublas##L##rotm_v2##suffix(struct cublas_handle *handle, N n, void *x, N incx, \
                                              void *y, N incy, const real *parameters)            \
    {                                                                                             \
        CUBLAS_CHECK(handle, n <= 0 || (x && y && parameters));                                   \
        struct cublas_vectors about = vectors_of(type, n, x, incx, y, incy);                      \
        if (handle->device_scalars)                                                               \
            about.parameters = (uint64_t)(uintptr_t)parameters;                                   \
        for (int i = 0; i < 5 && n > 0 && !handle->device_scalars; i++)                           \
            about.given[i] = (double)parameters[i];                                               \
        return launch_each(handle, type, "rotm", &about);                                         \
    }
ROTM(S, CUBLAS_R_32F, float, int, )
ROTM(S, CUBLAS_R_32F, float, int64_t, _64)
ROTM(D, CUBLAS_R_64F, double, int, )
ROTM(D, CUBLAS_R_64F, double, int64_t, _64)
