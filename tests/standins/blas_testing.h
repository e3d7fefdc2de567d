// SPDX-License-Identifier: Apache-2.0
// What the tests of cuBLAS share: numbers of four types as complex ones, their copies on the
// simulated device, and naive references. Numbers are small integers, so that every sum is exact
// and results are compared exactly.
#ifndef GLINT_TESTS_STANDINS_BLAS_TESTING_H
#define GLINT_TESTS_STANDINS_BLAS_TESTING_H

#include <complex.h>
#include <dlfcn.h>
#include <math.h>
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

enum { N, T, C };        // operations
enum { LOWER, UPPER };   // triangles
enum { LEFT, RIGHT };    // sides
enum { MOST = 1 << 15 }; // numbers in an array
static const char types[] = "SDCZ";

static void *handle;

// A function without a prototype takes what it is given. Integers of 64 bits must be passed as
// such.
typedef int call();

static call *function(const char *format, ...)
{
    char name[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found)
        fail_msg("%s is missing", name);
    call *result;
    memcpy(&result, &found, sizeof(result));
    return result;
}
#define CALL(...) assert_int_equal(__VA_ARGS__, 0)

static bool is_complex(char type)
{
    return type == 'C' || type == 'Z';
}

static size_t bytes_of(char type)
{
    return type == 'S' ? 4 : type == 'Z' ? 16 : 8;
}

static void pack(char type, void *at, size_t i, number value)
{
    switch (type) {
    case 'S': ((float *)at)[i] = (float)creal(value); break;
    case 'D': ((double *)at)[i] = creal(value); break;
    case 'C': ((float complex *)at)[i] = (float complex)value; break;
    default: ((number *)at)[i] = value;
    }
}

static number unpack(char type, const void *at, size_t i)
{
    switch (type) {
    case 'S': return ((const float *)at)[i];
    case 'D': return ((const double *)at)[i];
    case 'C': return ((const float complex *)at)[i];
    default: return ((const number *)at)[i];
    }
}

// A scalar in host memory; the next 7 calls leave it alone.
static const void *scalar(char type, number value)
{
    static number memory[8];
    static unsigned next;
    void *at = &memory[next++ % 8];
    pack(type, at, 0, value);
    return at;
}

static uint32_t state = 1;

static int random_below(int n)
{
    state = state * 1664525 + 1013904223;
    return (int)((state >> 8) % (uint32_t)n);
}

static number random_number(char type)
{
    const double x = random_below(9) - 4, y = random_below(9) - 4;
    return is_complex(type) ? x + y * I : x;
}

static void fill(char type, number *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at[i] = random_number(type);
}

static CUdeviceptr upload(char type, const number *from, size_t count)
{
    static char bytes[MOST * sizeof(number)];
    CUdeviceptr at;
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++)
        pack(type, bytes, i, from[i]);
    CALL(cuMemAlloc_v2(&at, count * bytes_of(type) + 1));
    CALL(cuMemcpyHtoD_v2(at, bytes, count * bytes_of(type)));
    return at;
}

// Compares memory of the device with what must be there, and frees it.
static void expect(const char *what, char type, CUdeviceptr at, const number *wanted, size_t count)
{
    static char bytes[MOST * sizeof(number)];
    CALL(cuCtxSynchronize());
    CALL(cuMemcpyDtoH_v2(bytes, at, count * bytes_of(type)));
    for (size_t i = 0; i < count; i++) {
        const number is = unpack(type, bytes, i);
        if (is != wanted[i])
            fail_msg("%s of type %c: number %zu is %g%+gi, not %g%+gi", what, type, i, creal(is),
                     cimag(is), creal(wanted[i]), cimag(wanted[i]));
    }
    CALL(cuMemFree_v2(at));
}

// Element (i, j) of op(A).
static number op(const number *a, int ld, int operation, int i, int j)
{
    if (operation == N)
        return a[i + j * ld];
    return operation == T ? a[j + i * ld] : conj(a[j + i * ld]);
}

// Makes A symmetric, Hermitian or triangular. A triangular matrix gets a diagonal of 1 and -1, so
// that solutions with it are whole numbers.
static void shape(number *a, int ld, int n, char kind, int triangle, bool unit)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            if (i == j && kind == 'h')
                a[i + j * ld] = creal(a[i + j * ld]);
            if (i == j && kind == 't')
                a[i + j * ld] = unit || random_below(2) ? 1 : -1;
            if (triangle == LOWER ? i >= j : i <= j)
                continue;
            const number other = a[j + i * ld];
            a[i + j * ld] = kind == 's' ? other : kind == 'h' ? conj(other) : 0;
        }
    }
}

// Stores one triangle of A; the rest of the memory has numbers that must not be read. kind: dense,
// band or packed.
static void store(number *to, const number *a, int n, int ld, char storage, int triangle, int width)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            if (triangle == LOWER ? i < j : i > j)
                continue;
            if (storage == 'd')
                to[i + j * ld] = a[i + j * n];
            else if (storage == 'p')
                to[triangle == LOWER ? i + (2 * n - j - 1) * j / 2 : i + j * (j + 1) / 2] =
                    a[i + j * n];
            else if (abs(i - j) <= width)
                to[(triangle == LOWER ? i - j : width + i - j) + j * ld] = a[i + j * n];
        }
    }
}

static int open_library(void **unused)
{
    (void)unused;
    CUdevice device;
    CUcontext context;
    CALL(cuInit(0));
    CALL(cuDeviceGet(&device, 0));
    CALL(cuDevicePrimaryCtxRetain(&context, device));
    CALL(cuCtxSetCurrent(context));
    CALL(function("cublasCreate_v2")(&handle));
    return 0;
}

static int close_library(void **unused)
{
    (void)unused;
    CALL(function("cublasDestroy_v2")(handle));
    return 0;
}

#endif
