// SPDX-License-Identifier: Apache-2.0
// The stand-in for cublasLt: products with layouts, batches and epilogues, compared exactly with a
// naive reference but for GELU.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cudaabi/cudaabi.h"

enum {
    R_32F = 0,
    R_16F = 2,
    COMPUTE_32F = 68,
    N = 0,
    T = 1,
    BY_COLUMNS = 0,
    BY_ROWS = 1,
    LD = 24,
    MEMBERS = 2
};
enum { STRIDE = LD * LD, COUNT = STRIDE * MEMBERS, ROWS = 19, COLUMNS = 13, INNER = 11 };
enum {
    ORDER = 1,
    BATCH_COUNT = 5,
    BATCH_STRIDE = 6,
    TRANS_A = 3,
    EPILOGUE = 7,
    BIAS_POINTER = 8,
    SCALE_POINTER = 17
};
enum {
    DEFAULT = 1,
    RELU = 2,
    BIAS = 4,
    GELU = 32,
    GELU_AUX = 32 | 128,
    NOT_SUPPORTED = 15,
    INVALID_VALUE = 7
};

int cublasLtCreate(void **handle);
int cublasLtDestroy(void *handle);
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                               int64_t ld);
int cublasLtMatrixLayoutInit_internal(void *layout, size_t size_bytes, int type, uint64_t rows,
                                      uint64_t columns, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value,
                                     size_t size_bytes);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatmulDescCreate(void **matmul, int compute, int scalar);
int cublasLtMatmulDescSetAttribute(void *matmul, int attribute, const void *value,
                                   size_t size_bytes);
int cublasLtMatmulDescGetAttribute(void *matmul, int attribute, void *value, size_t size_bytes,
                                   size_t *written);
int cublasLtMatmulDescDestroy(void *matmul);
int cublasLtMatmulPreferenceCreate(void **preference);
int cublasLtMatmulPreferenceDestroy(void *preference);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *matmul, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, void *results, int *found);
int cublasLtMatmul(void *handle, void *matmul, const void *alpha, CUdeviceptr a, void *a_layout,
                   CUdeviceptr b, void *b_layout, const void *beta, CUdeviceptr c, void *c_layout,
                   CUdeviceptr d, void *d_layout, const void *algorithm, CUdeviceptr workspace,
                   size_t workspace_bytes, CUstream stream);

#define CALL(...) assert_int_equal(__VA_ARGS__, 0)

static void *handle;

static void *layout_of(int rows, int columns, int order)
{
    const int32_t members = MEMBERS;
    const int64_t stride = STRIDE;
    const int32_t value = order;
    void *layout;
    CALL(cublasLtMatrixLayoutCreate(&layout, R_32F, (uint64_t)rows, (uint64_t)columns, LD));
    CALL(cublasLtMatrixLayoutSetAttribute(layout, ORDER, &value, sizeof(value)));
    CALL(cublasLtMatrixLayoutSetAttribute(layout, BATCH_COUNT, &members, sizeof(members)));
    CALL(cublasLtMatrixLayoutSetAttribute(layout, BATCH_STRIDE, &stride, sizeof(stride)));
    return layout;
}

static CUdeviceptr upload(const float *from, size_t count)
{
    CUdeviceptr at;
    CALL(cuMemAlloc_v2(&at, count * sizeof(*from)));
    CALL(cuMemcpyHtoD_v2(at, from, count * sizeof(*from)));
    return at;
}

static int place(int i, int j, int order)
{
    return order == BY_ROWS ? i * LD + j : i + j * LD;
}

static float after(float value, int epilogue, float bias)
{
    const double x = (double)(value + (epilogue & BIAS ? bias : 0));
    if (epilogue & RELU)
        return x > 0 ? (float)x : 0;
    return epilogue & GELU
               ? (float)(0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))))
               : (float)x;
}

static void products_with_layouts_batches_and_epilogues(void **unused)
{
    (void)unused;
    static const int epilogues[] = {DEFAULT, RELU, BIAS, RELU | BIAS, GELU | BIAS};
    static float a[COUNT], b[COUNT], c[COUNT], d[COUNT], is[COUNT], bias[ROWS];
    for (int which = 0; which < 5 * 2 * 2 * 2; which++) {
        const int epilogue = epilogues[which % 5], a_operation = which / 5 % 2,
                  order = which / 10 % 2, in_place = which / 20;
        const float alpha = epilogue & GELU ? 0.01f : 2, beta = epilogue & GELU ? 0.5f : 3;
        for (int i = 0; i < COUNT; i++) {
            a[i] = (float)(i * 7 % 9 - 4);
            b[i] = (float)(i * 5 % 11 - 5);
            c[i] = (float)(i * 3 % 7 - 3);
            d[i] = 100;
        }
        for (int i = 0; i < ROWS; i++)
            bias[i] = (float)(i % 5 - 2);
        if (in_place)
            memcpy(d, c, sizeof(d));
        void *matmul, *la = a_operation == N ? layout_of(ROWS, INNER, BY_COLUMNS)
                                             : layout_of(INNER, ROWS, BY_COLUMNS);
        void *lb = layout_of(INNER, COLUMNS, order), *lc = layout_of(ROWS, COLUMNS, order);
        CUdeviceptr da = upload(a, COUNT), db = upload(b, COUNT), dc = upload(c, COUNT),
                    dd = in_place ? dc : upload(d, COUNT), dbias = upload(bias, ROWS);
        CALL(cublasLtMatmulDescCreate(&matmul, COMPUTE_32F, R_32F));
        CALL(cublasLtMatmulDescSetAttribute(matmul, TRANS_A, &a_operation, sizeof(a_operation)));
        CALL(cublasLtMatmulDescSetAttribute(matmul, EPILOGUE, &epilogue, sizeof(epilogue)));
        CALL(cublasLtMatmulDescSetAttribute(matmul, BIAS_POINTER, &dbias, sizeof(dbias)));
        void *preference;
        uint64_t heuristic[16];
        int found = 0;
        CALL(cublasLtMatmulPreferenceCreate(&preference));
        CALL(cublasLtMatmulAlgoGetHeuristic(handle, matmul, la, lb, lc, lc, preference, 1,
                                            heuristic, &found));
        assert_int_equal(found, 1);
        CALL(cublasLtMatmulPreferenceDestroy(preference));
        CALL(cublasLtMatmul(handle, matmul, &alpha, da, la, db, lb, &beta, dc, lc, dd, lc,
                            heuristic, 0, 0, NULL));
        for (int member = 0; member < MEMBERS; member++) {
            for (int i = 0; i < ROWS; i++) {
                for (int j = 0; j < COLUMNS; j++) {
                    float sum = 0;
                    const int at = member * STRIDE + place(i, j, order);
                    for (int k = 0; k < INNER; k++)
                        sum += a[member * STRIDE + (a_operation == N ? i + k * LD : k + i * LD)] *
                               b[member * STRIDE + place(k, j, order)];
                    d[at] = after(alpha * sum + beta * c[at], epilogue, bias[i]);
                }
            }
        }
        CALL(cuMemcpyDtoH_v2(is, dd, sizeof(is)));
        for (int i = 0; i < COUNT; i++) {
            const float bound = epilogue & GELU ? 1e-5f : 0;
            if (!(fabsf(is[i] - d[i]) <= bound))
                fail_msg("epilogue %d, order %d: number %d is %g, not %g", epilogue, order, i,
                         (double)is[i], (double)d[i]);
        }
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(db));
        CALL(cuMemFree_v2(dc));
        CALL(cuMemFree_v2(dbias));
        if (!in_place)
            CALL(cuMemFree_v2(dd));
        CALL(cublasLtMatmulDescDestroy(matmul));
        CALL(cublasLtMatrixLayoutDestroy(la));
        CALL(cublasLtMatrixLayoutDestroy(lb));
        CALL(cublasLtMatrixLayoutDestroy(lc));
    }
}

static void half_numbers_with_a_bias(void **unused)
{
    (void)unused;
    enum {
        SIDE = 16,
        ONE = 0x3c00,
        TWO = 0x4000,
        HALF_35 = 0x5060
    }; // 1, 2 and 16 * 1 * 2 + 3 = 35
    uint16_t ones[SIDE * SIDE], twos[SIDE * SIDE], threes[SIDE], is[SIDE * SIDE];
    uint64_t layout[8];
    const int epilogue = BIAS;
    const float alpha = 1, beta = 0;
    void *matmul;
    CUdeviceptr da, db, dd, dbias;
    for (int i = 0; i < SIDE * SIDE; i++) {
        ones[i] = ONE;
        twos[i] = TWO;
        threes[i % SIDE] = 0x4200;
    }
    CALL(cublasLtMatrixLayoutInit_internal(layout, sizeof(layout), R_16F, SIDE, SIDE, SIDE));
    CALL(cuMemAlloc_v2(&da, sizeof(ones)));
    CALL(cuMemAlloc_v2(&db, sizeof(twos)));
    CALL(cuMemAlloc_v2(&dd, sizeof(is)));
    CALL(cuMemAlloc_v2(&dbias, sizeof(threes)));
    CALL(cuMemcpyHtoD_v2(da, ones, sizeof(ones)));
    CALL(cuMemcpyHtoD_v2(db, twos, sizeof(twos)));
    CALL(cuMemcpyHtoD_v2(dbias, threes, sizeof(threes)));
    CALL(cublasLtMatmulDescCreate(&matmul, COMPUTE_32F, R_32F));
    CALL(cublasLtMatmulDescSetAttribute(matmul, EPILOGUE, &epilogue, sizeof(epilogue)));
    CALL(cublasLtMatmulDescSetAttribute(matmul, BIAS_POINTER, &dbias, sizeof(dbias)));
    CALL(cublasLtMatmul(handle, matmul, &alpha, da, layout, db, layout, &beta, dd, layout, dd,
                        layout, NULL, 0, 0, NULL));
    CALL(cuMemcpyDtoH_v2(is, dd, sizeof(is)));
    for (int i = 0; i < SIDE * SIDE; i++)
        assert_int_equal(is[i], HALF_35);
    CALL(cublasLtMatmulDescDestroy(matmul));
}

static void what_is_wrong_or_missing_is_rejected(void **unused)
{
    (void)unused;
    const int epilogue = GELU_AUX;
    const float one = 1;
    int value = 0;
    size_t written;
    void *matmul, *layout = layout_of(8, 8, BY_COLUMNS), *other = layout_of(8, 7, BY_COLUMNS);
    CUdeviceptr memory;
    CALL(cuMemAlloc_v2(&memory, COUNT * sizeof(float)));
    CALL(cublasLtMatmulDescCreate(&matmul, COMPUTE_32F, R_32F));
    assert_int_equal(cublasLtMatmulDescSetAttribute(matmul, SCALE_POINTER, &memory, sizeof(memory)),
                     NOT_SUPPORTED);
    assert_int_equal(cublasLtMatmulDescSetAttribute(matmul, EPILOGUE, &epilogue, 1), INVALID_VALUE);
    assert_int_equal(cublasLtMatmul(handle, matmul, &one, memory, layout, memory, layout, &one,
                                    memory, other, memory, other, NULL, 0, 0, NULL),
                     INVALID_VALUE);
    CALL(cublasLtMatmulDescSetAttribute(matmul, EPILOGUE, &epilogue, sizeof(epilogue)));
    CALL(cublasLtMatmulDescGetAttribute(matmul, EPILOGUE, &value, sizeof(value), &written));
    assert_int_equal(value, epilogue);
    assert_int_equal(cublasLtMatmul(handle, matmul, &one, memory, layout, memory, layout, &one,
                                    memory, layout, memory, layout, NULL, 0, 0, NULL),
                     NOT_SUPPORTED);
    CALL(cublasLtMatmulDescDestroy(matmul));
    CALL(cublasLtMatrixLayoutDestroy(layout));
    CALL(cublasLtMatrixLayoutDestroy(other));
    CALL(cuMemFree_v2(memory));
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
    CALL(cublasLtCreate(&handle));
    return 0;
}

static int close_library(void **unused)
{
    (void)unused;
    CALL(cublasLtDestroy(handle));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_with_layouts_batches_and_epilogues),
        cmocka_unit_test(half_numbers_with_a_bias),
        cmocka_unit_test(what_is_wrong_or_missing_is_rejected),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
