// SPDX-License-Identifier: Apache-2.0
// Handles of cuBLAS, its settings, status texts, and copies between host and device.
#include <stdio.h>
#include <stdlib.h>

#include "blas.h"

COMMON_API int cublasCreate_v2(struct cublas_handle **handle)
{
    CUBLAS_REJECT(!handle, CUBLAS_INVALID_VALUE);
    const CUresult result = common_context();
    if (result != CUDA_SUCCESS)
        return cublas_status_of(result) == CUBLAS_EXECUTION_FAILED ? CUBLAS_NOT_INITIALIZED
                                                                   : cublas_status_of(result);
    *handle = calloc(1, sizeof(**handle));
    return *handle ? CUBLAS_OK : CUBLAS_ALLOC_FAILED;
}

COMMON_API int cublasDestroy_v2(struct cublas_handle *handle)
{
    CUBLAS_CHECK(handle, true);
    // Work that uses the memory may not have ended. Freeing waits for it.
    if (handle->result)
        cuMemFree_v2(handle->result);
    if (handle->temporary)
        cuMemFree_v2(handle->temporary);
    free(handle);
    return CUBLAS_OK;
}

int cublas_need_temporary(struct cublas_handle *handle, size_t size_bytes)
{
    if (handle->temporary_bytes >= size_bytes)
        return CUBLAS_OK;
    if (handle->temporary)
        cuMemFree_v2(handle->temporary);
    handle->temporary_bytes = 0;
    handle->temporary = 0;
    const CUresult result = cuMemAlloc_v2(&handle->temporary, size_bytes);
    if (result == CUDA_SUCCESS)
        handle->temporary_bytes = size_bytes;
    return cublas_status_of(result);
}

// --- Settings ------------------------------------------------------------------------------------

COMMON_API int cublasSetStream_v2(struct cublas_handle *handle, CUstream stream)
{
    CUBLAS_CHECK(handle, true);
    handle->stream = stream;
    return CUBLAS_OK;
}

COMMON_API int cublasGetStream_v2(struct cublas_handle *handle, CUstream *stream)
{
    CUBLAS_CHECK(handle, stream);
    *stream = handle->stream;
    return CUBLAS_OK;
}

COMMON_API int cublasSetWorkspace_v2(struct cublas_handle *handle, void *workspace,
                                     size_t size_bytes)
{
    (void)workspace; // the kernels need none
    (void)size_bytes;
    CUBLAS_CHECK(handle, true);
    return CUBLAS_OK;
}

COMMON_API int cublasGetPointerMode_v2(struct cublas_handle *handle, int *mode)
{
    CUBLAS_CHECK(handle, mode);
    *mode = handle->device_scalars;
    return CUBLAS_OK;
}

COMMON_API int cublasSetPointerMode_v2(struct cublas_handle *handle, int mode)
{
    CUBLAS_CHECK(handle, mode == 0 || mode == 1);
    handle->device_scalars = mode == 1;
    return CUBLAS_OK;
}

#define SETTING(Name, field)                                                 \
    COMMON_API int cublasGet##Name(struct cublas_handle *handle, int *value) \
    {                                                                        \
        CUBLAS_CHECK(handle, value);                                         \
        *value = handle->field;                                              \
        return CUBLAS_OK;                                                    \
    }                                                                        \
    COMMON_API int cublasSet##Name(struct cublas_handle *handle, int value)  \
    {                                                                        \
        CUBLAS_CHECK(handle, true);                                          \
        handle->field = value;                                               \
        return CUBLAS_OK;                                                    \
    }
SETTING(AtomicsMode, atomics)
SETTING(MathMode, math)
SETTING(SmCountTarget, sm_count_target)

COMMON_API int cublasGetVersion_v2(struct cublas_handle *handle, int *version)
{
    (void)handle; // may be NULL
    CUBLAS_REJECT(!version, CUBLAS_INVALID_VALUE);
    *version = STANDIN_VERSION * 10000;
    return CUBLAS_OK;
}

COMMON_API int cublasGetProperty(int property, int *value)
{
    CUBLAS_REJECT(!value || property < 0 || property > 2, CUBLAS_INVALID_VALUE);
    *value = property == 0 ? STANDIN_VERSION : 0;
    return CUBLAS_OK;
}

COMMON_API size_t cublasGetCudartVersion(void)
{
    return STANDIN_VERSION * 1000;
}

// The logger has nothing to write.
COMMON_API int cublasLoggerConfigure(int on, int to_stdout, int to_stderr, const char *file)
{
    (void)on, (void)to_stdout, (void)to_stderr, (void)file;
    return CUBLAS_OK;
}

COMMON_API int cublasSetLoggerCallback(void (*callback)(const char *))
{
    (void)callback;
    return CUBLAS_OK;
}

COMMON_API void cublasXerbla(const char *name, int info)
{
    fprintf(stderr, " ** On entry to %s  parameter number %d had an illegal value\n", name, info);
}

COMMON_API const char *cublasGetStatusName(int status)
{
    return cublas_status_name(status);
}

COMMON_API const char *cublasGetStatusString(int status)
{
    return cublas_status_text(status);
}

// --- Copies --------------------------------------------------------------------------------------

// Rows of a copy are the columns of a matrix, or the elements of a vector.
struct cublas_copy {
    const void *source;
    void *target;
    int64_t row_bytes, rows, source_step, target_step; // steps in bytes
    bool to_device, is_async;
    CUstream stream;
};

static int run_copy(const struct cublas_copy *copy)
{
    if (copy->row_bytes <= 0 || copy->rows <= 0)
        return CUBLAS_OK;
    CUresult result = common_context();
    if (result != CUDA_SUCCESS)
        return cublas_status_of(result);
    CUDA_MEMCPY2D about = {.WidthInBytes = (size_t)copy->row_bytes,
                           .Height = (size_t)copy->rows,
                           .srcPitch = (size_t)copy->source_step,
                           .dstPitch = (size_t)copy->target_step};
    if (copy->source_step == copy->row_bytes && copy->target_step == copy->row_bytes) { // dense
        about.WidthInBytes = about.srcPitch = about.dstPitch =
            (size_t)(copy->row_bytes * copy->rows);
        about.Height = 1;
    }
    if (copy->to_device) {
        about.srcMemoryType = CU_MEMORYTYPE_HOST;
        about.srcHost = copy->source;
        about.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        about.dstDevice = (CUdeviceptr)(uintptr_t)copy->target;
    } else {
        about.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        about.srcDevice = (CUdeviceptr)(uintptr_t)copy->source;
        about.dstMemoryType = CU_MEMORYTYPE_HOST;
        about.dstHost = copy->target;
    }
    result =
        copy->is_async ? cuMemcpy2DAsync_v2(&about, copy->stream) : cuMemcpy2DUnaligned_v2(&about);
    return result == CUDA_SUCCESS ? CUBLAS_OK : 11; // CUBLAS_STATUS_MAPPING_ERROR
}

#define COPIES(N, suffix, Direction, to_device)                                                    \
    COMMON_API int cublas##Direction##Vector##suffix(N n, N size, const void *x, N incx, void *y,  \
                                                     N incy)                                       \
    {                                                                                              \
        CUBLAS_REJECT(incx <= 0 || incy <= 0 || size <= 0, CUBLAS_INVALID_VALUE);                  \
        return run_copy(&(struct cublas_copy){x, y, size, n, (int64_t)incx * size,                 \
                                              (int64_t)incy * size, to_device, false, NULL});      \
    }                                                                                              \
    COMMON_API int cublas##Direction##VectorAsync##suffix(N n, N size, const void *x, N incx,      \
                                                          void *y, N incy, CUstream stream)        \
    {                                                                                              \
        CUBLAS_REJECT(incx <= 0 || incy <= 0 || size <= 0, CUBLAS_INVALID_VALUE);                  \
        return run_copy(&(struct cublas_copy){x, y, size, n, (int64_t)incx * size,                 \
                                              (int64_t)incy * size, to_device, true, stream});     \
    }                                                                                              \
    COMMON_API int cublas##Direction##Matrix##suffix(N rows, N columns, N size, const void *a,     \
                                                     N lda, void *b, N ldb)                        \
    {                                                                                              \
        CUBLAS_REJECT(rows < 0 || columns < 0 || size <= 0 || lda < rows || ldb < rows ||          \
                          lda <= 0 || ldb <= 0,                                                    \
                      CUBLAS_INVALID_VALUE);                                                       \
        return run_copy(&(struct cublas_copy){a, b, (int64_t)rows * size, columns,                 \
                                              (int64_t)lda * size, (int64_t)ldb * size, to_device, \
                                              false, NULL});                                       \
    }                                                                                              \
    COMMON_API int cublas##Direction##MatrixAsync##suffix(                                         \
        N rows, N columns, N size, const void *a, N lda, void *b, N ldb, CUstream stream)          \
    {                                                                                              \
        CUBLAS_REJECT(rows < 0 || columns < 0 || size <= 0 || lda < rows || ldb < rows ||          \
                          lda <= 0 || ldb <= 0,                                                    \
                      CUBLAS_INVALID_VALUE);                                                       \
        return run_copy(&(struct cublas_copy){a, b, (int64_t)rows * size, columns,                 \
                                              (int64_t)lda * size, (int64_t)ldb * size, to_device, \
                                              true, stream});                                      \
    }
COPIES(int, , Set, true)
COPIES(int, , Get, false)
COPIES(int64_t, _64, Set, true)
COPIES(int64_t, _64, Get, false)
