// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the stand-in for cuSPARSE: declarations, a handle, and numbers of all
// types in device memory.
#ifndef GLINT_TESTS_STANDINS_CUSPARSE_TESTING_H
#define GLINT_TESTS_STANDINS_CUSPARSE_TESTING_H

#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cudaabi/cudaabi.h"

typedef double complex number;

enum { CSR = 1, CSC, COO, BY_COLUMNS = 1, BY_ROWS, N = 0, T, H, I32 = 2, I64, MOST = 2048 };
enum {
    NOT_INITIALIZED = 1,
    INVALID_VALUE = 3,
    TYPE_NOT_SUPPORTED = 8,
    NOT_SUPPORTED = 10,
    INSUFFICIENT_RESOURCES = 11
};
static const int types[] = {0, 1, 4, 5}; // cudaDataType: real and complex, 32 and 64 bits

int cusparseCreate(void **handle);
int cusparseDestroy(void *handle);
int cusparseSetPointerMode(void *handle, int mode);
int cusparseCreateCsr(void **matrix, int64_t rows, int64_t columns, int64_t count,
                      CUdeviceptr starts, CUdeviceptr minors, CUdeviceptr values, int start_type,
                      int minor_type, int base, int type);
int cusparseCreateCsc(void **matrix, int64_t rows, int64_t columns, int64_t count,
                      CUdeviceptr starts, CUdeviceptr minors, CUdeviceptr values, int start_type,
                      int minor_type, int base, int type);
int cusparseCreateCoo(void **matrix, int64_t rows, int64_t columns, int64_t count,
                      CUdeviceptr row_indices, CUdeviceptr column_indices, CUdeviceptr values,
                      int index_type, int base, int type);
int cusparseDestroySpMat(void *matrix);
int cusparseSpMatGetSize(void *matrix, int64_t *rows, int64_t *columns, int64_t *count);
int cusparseCsrSetPointers(void *matrix, CUdeviceptr starts, CUdeviceptr minors,
                           CUdeviceptr values);
int cusparseCreateDnVec(void **vector, int64_t size, CUdeviceptr values, int type);
int cusparseDestroyDnVec(void *vector);
int cusparseCreateDnMat(void **matrix, int64_t rows, int64_t columns, int64_t ld,
                        CUdeviceptr values, int type, int order);
int cusparseDestroyDnMat(void *matrix);

#define CALL(...) assert_int_equal(__VA_ARGS__, 0)

static void *handle;

// --- Numbers and memory --------------------------------------------------------------------------

static inline bool is_complex(int type)
{
    return type >= 4;
}

static inline size_t bytes_of(int type)
{
    return type == 0 ? 4 : type == 5 ? 16 : 8;
}

static inline void pack(int type, void *at, size_t i, number value)
{
    switch (type) {
    case 0: ((float *)at)[i] = (float)creal(value); break;
    case 1: ((double *)at)[i] = creal(value); break;
    case 4: ((float complex *)at)[i] = (float complex)value; break;
    default: ((number *)at)[i] = value;
    }
}

static inline number unpack(int type, const void *at, size_t i)
{
    switch (type) {
    case 0: return ((const float *)at)[i];
    case 1: return ((const double *)at)[i];
    case 4: return ((const float complex *)at)[i];
    default: return ((const number *)at)[i];
    }
}

static inline int random_below(int n)
{
    static uint32_t state = 7;
    state = state * 1664525 + 1013904223;
    return (int)((state >> 8) % (uint32_t)n);
}

static inline number random_number(int type)
{
    const double x = 1 + random_below(5), y = random_below(9) - 4;
    return is_complex(type) ? x + y * I : x;
}

static char bytes[MOST * sizeof(number)];

static inline CUdeviceptr upload(int type, const number *from, int count)
{
    CUdeviceptr at;
    assert_true(count <= MOST);
    for (int i = 0; i < count; i++)
        pack(type, bytes, (size_t)i, from[i]);
    CALL(cuMemAlloc_v2(&at, (size_t)count * bytes_of(type) + 1));
    CALL(cuMemcpyHtoD_v2(at, bytes, (size_t)count * bytes_of(type)));
    return at;
}

static inline void expect(const char *what, int type, CUdeviceptr at, const number *wanted,
                          int count)
{
    CALL(cuCtxSynchronize());
    CALL(cuMemcpyDtoH_v2(bytes, at, (size_t)count * bytes_of(type)));
    for (int i = 0; i < count; i++) {
        const number is = unpack(type, bytes, (size_t)i);
        if (is != wanted[i])
            fail_msg("%s of type %d: number %d is %g%+gi, not %g%+gi", what, type, i, creal(is),
                     cimag(is), creal(wanted[i]), cimag(wanted[i]));
    }
    CALL(cuMemFree_v2(at));
}

static inline CUdeviceptr upload_indices(int index_type, const int *from, int count, int base)
{
    static int64_t wide[MOST];
    CUdeviceptr at;
    for (int i = 0; i < count; i++) {
        if (index_type == I64)
            wide[i] = from[i] + base;
        else
            ((int32_t *)wide)[i] = from[i] + base;
    }
    CALL(cuMemAlloc_v2(&at, (size_t)count * sizeof(int64_t) + 1));
    CALL(cuMemcpyHtoD_v2(at, wide, (size_t)count * (index_type == I64 ? 8 : 4)));
    return at;
}

static inline void expect_indices(int index_type, CUdeviceptr at, const int *wanted, int count,
                                  int base)
{
    static int64_t is[MOST];
    CALL(cuCtxSynchronize());
    CALL(cuMemcpyDtoH_v2(is, at, (size_t)count * (index_type == I64 ? 8 : 4)));
    for (int i = 0; i < count; i++)
        assert_int_equal(index_type == I64 ? is[i] : ((const int32_t *)is)[i], wanted[i] + base);
    CALL(cuMemFree_v2(at));
}

// --- The library ---------------------------------------------------------------------------------

static inline int open_library(void **unused)
{
    (void)unused;
    CUdevice device;
    CUcontext context;
    CALL(cuInit(0));
    CALL(cuDeviceGet(&device, 0));
    CALL(cuDevicePrimaryCtxRetain(&context, device));
    CALL(cuCtxSetCurrent(context));
    CALL(cusparseCreate(&handle));
    return 0;
}

static inline int close_library(void **unused)
{
    (void)unused;
    CALL(cusparseDestroy(handle));
    return 0;
}

#endif
