// SPDX-License-Identifier: Apache-2.0
// Level 3 of the stand-in for cuBLAS and its extensions, compared with naive references: exactly,
// but for LU factors.
#include "blas_testing.h"

static number a[MOST], b[MOST], c[MOST], full[MOST], wanted[MOST];

static number at_alpha(char type)
{
    return is_complex(type) ? 2 - I : 2;
}

// C = alpha * left * right + 3 * C, where left is m by k.
static void reference(char type, number alpha, const number *left, int left_ld, int left_op,
                      const number *right, int right_ld, int right_op, number *to, int ld, int m,
                      int n, int k)
{
    (void)type;
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) {
            number sum = 0;
            for (int l = 0; l < k; l++)
                sum += op(left, left_ld, left_op, i, l) * op(right, right_ld, right_op, l, j);
            to[i + j * ld] = alpha * sum + 3 * to[i + j * ld];
        }
    }
}

static void products_of_all_sizes_and_operations(void **unused)
{
    (void)unused;
    static const int sizes[][3] = {{1, 1, 1},   {17, 9, 5},  {65, 66, 7},
                                   {3, 40, 70}, {64, 64, 1}, {9, 130, 33}};
    for (size_t which = 0; which < sizeof(sizes) / sizeof(sizes[0]) * 36; which++) {
        const int *const size = sizes[which / 36], m = size[0], n = size[1], k = size[2];
        const char type = types[which % 4];
        const int a_op = (int)(which / 4 % 3), b_op = (int)(which / 12 % 3);
        const int lda = (a_op == N ? m : k) + 3, ldb = (b_op == N ? k : n) + 2, ldc = m + 1;
        const size_t a_count = (size_t)lda * (size_t)(a_op == N ? k : m),
                     b_count = (size_t)ldb * (size_t)(b_op == N ? n : k),
                     c_count = (size_t)ldc * (size_t)n;
        const void *const alpha = scalar(type, at_alpha(type)), *const beta = scalar(type, 3);
        fill(type, a, a_count);
        fill(type, b, b_count);
        fill(type, c, c_count);
        CUdeviceptr da = upload(type, a, a_count), db = upload(type, b, b_count),
                    dc = upload(type, c, c_count);
        CALL(function("cublas%cgemm_v2", type)(handle, a_op, b_op, m, n, k, alpha, da, lda, db, ldb,
                                               beta, dc, ldc));
        reference(type, at_alpha(type), a, lda, a_op, b, ldb, b_op, c, ldc, m, n, k);
        expect("gemm", type, dc, c, c_count);
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(db));
    }
}

static void products_without_beta_do_not_read_their_result(void **unused)
{
    (void)unused;
    for (int n = 1; n <= 20; n += 19) {
        for (int i = 0; i < n * n; i++) {
            a[i] = b[i] = 1;
            c[i] = NAN;
            wanted[i] = n;
        }
        const size_t count = (size_t)n * (size_t)n;
        CUdeviceptr da = upload('S', a, count), db = upload('S', b, count),
                    dc = upload('S', c, count);
        CALL(function("cublasSgemm_v2")(handle, N, N, n, n, n, scalar('S', 1), da, n, db, n,
                                        scalar('S', 0), dc, n));
        expect("gemm", 'S', dc, wanted, count);
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(db));
    }
}

static void batches_have_strides_or_addresses(void **unused)
{
    (void)unused;
    enum { SIDE = 12, MEMBERS = 3, STRIDE = SIDE * SIDE + 5, COUNT = STRIDE * MEMBERS };
    for (const char *type = types; *type; type++) {
        const void *const alpha = scalar(*type, at_alpha(*type)), *const beta = scalar(*type, 3);
        fill(*type, a, COUNT);
        fill(*type, b, COUNT);
        fill(*type, c, COUNT);
        CUdeviceptr da = upload(*type, a, COUNT), db = upload(*type, b, COUNT),
                    dc = upload(*type, c, COUNT), arrays;
        CALL(function("cublas%cgemmStridedBatched",
                      *type)(handle, N, T, SIDE, SIDE, SIDE, alpha, da, SIDE, (int64_t)STRIDE, db,
                             SIDE, (int64_t)STRIDE, beta, dc, SIDE, (int64_t)STRIDE, MEMBERS));
        for (int i = 0; i < MEMBERS; i++)
            reference(*type, at_alpha(*type), a + i * STRIDE, SIDE, N, b + i * STRIDE, SIDE, T,
                      c + i * STRIDE, SIDE, SIDE, SIDE, SIDE);
        CUdeviceptr addresses[3][MEMBERS];
        for (int i = 0; i < MEMBERS; i++) { // in reverse order
            const size_t away = (size_t)((MEMBERS - 1 - i) * STRIDE) * bytes_of(*type);
            addresses[0][i] = da + away;
            addresses[1][i] = db + away;
            addresses[2][i] = dc + away;
        }
        CALL(cuMemAlloc_v2(&arrays, sizeof(addresses)));
        CALL(cuMemcpyHtoD_v2(arrays, addresses, sizeof(addresses)));
        CALL(function("cublas%cgemmBatched", *type)(
            handle, N, N, SIDE, SIDE, SIDE, alpha, arrays, SIDE, arrays + sizeof(addresses[0]),
            SIDE, beta, arrays + 2 * sizeof(addresses[0]), SIDE, MEMBERS));
        for (int i = 0; i < MEMBERS; i++)
            reference(*type, at_alpha(*type), a + i * STRIDE, SIDE, N, b + i * STRIDE, SIDE, N,
                      c + i * STRIDE, SIDE, SIDE, SIDE, SIDE);
        expect("gemm", *type, dc, c, COUNT);
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(db));
        CALL(cuMemFree_v2(arrays));
    }
}

static void symmetric_and_hermitian_factors(void **unused)
{
    (void)unused;
    enum { M = 14, COLUMNS = 11, LDA = 16, LDB = 15, LDC = 17 };
    static const char *const names[] = {"Ssymm", "Dsymm", "Csymm", "Zsymm", "Chemm", "Zhemm"};
    for (int which = 0; which < 6 * 4; which++) {
        const char *const name = names[which / 4], type = name[0];
        const int side = which % 2, triangle = which / 2 % 2, order = side == LEFT ? M : COLUMNS;
        const void *const alpha = scalar(type, at_alpha(type)), *const beta = scalar(type, 3);
        fill(type, a, LDA * M);
        fill(type, full, M * M);
        shape(full, order, order, name[1], triangle, false);
        store(a, full, order, LDA, 'd', triangle, 0);
        fill(type, b, LDB * COLUMNS);
        fill(type, c, LDC * COLUMNS);
        CUdeviceptr da = upload(type, a, LDA * M), db = upload(type, b, LDB * COLUMNS),
                    dc = upload(type, c, LDC * COLUMNS);
        CALL(function("cublas%s_v2", name)(handle, side, triangle, M, COLUMNS, alpha, da, LDA, db,
                                           LDB, beta, dc, LDC));
        if (side == LEFT)
            reference(type, at_alpha(type), full, order, N, b, LDB, N, c, LDC, M, COLUMNS, M);
        else
            reference(type, at_alpha(type), b, LDB, N, full, order, N, c, LDC, M, COLUMNS, COLUMNS);
        expect(name, type, dc, c, LDC * COLUMNS);
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(db));
    }
}

static void rank_k_updates_change_one_triangle(void **unused)
{
    (void)unused;
    enum { ORDER = 13, K = 6, LDA = 15, LDC = 16 };
    static const char *const names[] = {
        "Ssyrk_v2",  "Dsyrk_v2",  "Csyrk_v2",  "Zsyrk_v2",  "Cherk_v2",  "Zherk_v2",
        "Ssyr2k_v2", "Dsyr2k_v2", "Csyr2k_v2", "Zsyr2k_v2", "Cher2k_v2", "Zher2k_v2",
        "Ssyrkx",    "Dsyrkx",    "Csyrkx",    "Zsyrkx",    "Cherkx",    "Zherkx"};
    for (int which = 0; which < 18 * 4; which++) {
        const char *const name = names[which / 4], type = name[0],
                          real = type == 'C'   ? 'S'
                                 : type == 'Z' ? 'D'
                                               : type;
        const bool hermitian = name[1] == 'h', two = name[4] == '2', plain = !two && name[5] != 'x';
        const int triangle = which % 2, turned = which / 2 % 2, mark = hermitian ? C : T;
        const int operation = turned ? mark : N, other = turned ? N : mark;
        const number alpha = hermitian && plain ? 2 : at_alpha(type);
        const void *const factor = scalar(hermitian && plain ? real : type, alpha);
        const void *const beta = scalar(hermitian ? real : type, 3);
        fill(type, a, LDA * ORDER);
        fill(type, b, LDA * ORDER);
        if (plain || (!two && hermitian))
            memcpy(b, a, sizeof(b));
        fill(type, c, LDC * ORDER);
        for (int i = 0; i < ORDER && hermitian; i++)
            c[i + i * LDC] = creal(c[i + i * LDC]);
        CUdeviceptr da = upload(type, a, LDA * ORDER), db = upload(type, b, LDA * ORDER),
                    dc = upload(type, c, LDC * ORDER);
        if (plain)
            CALL(function("cublas%s", name)(handle, triangle, operation, ORDER, K, factor, da, LDA,
                                            beta, dc, LDC));
        else
            CALL(function("cublas%s", name)(handle, triangle, operation, ORDER, K, factor, da, LDA,
                                            db, LDA, beta, dc, LDC));
        memcpy(wanted, c, sizeof(wanted));
        reference(type, alpha, a, LDA, operation, b, LDA, other, wanted, LDC, ORDER, ORDER, K);
        if (two) {
            memset(full, 0, sizeof(full));
            reference(type, hermitian ? conj(alpha) : alpha, b, LDA, operation, a, LDA, other, full,
                      LDC, ORDER, ORDER, K);
        }
        for (int j = 0; j < ORDER; j++) {
            for (int i = 0; i < ORDER; i++) {
                if (triangle == LOWER ? i < j : i > j)
                    continue;
                c[i + j * LDC] = wanted[i + j * LDC] + (two ? full[i + j * LDC] : 0);
                if (i == j && hermitian)
                    c[i + j * LDC] = creal(c[i + j * LDC]);
            }
        }
        expect(name, type, dc, c, LDC * ORDER);
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(db));
    }
}

static void triangular_matrices_multiply_and_solve(void **unused)
{
    (void)unused;
    enum { M = 12, COLUMNS = 9, LDA = 14, LDB = 15, COUNT = LDB * COLUMNS };
    for (int which = 0; which < 4 * 2 * 2 * 3 * 2; which++) {
        const char type = types[which % 4];
        const int side = which / 4 % 2, triangle = which / 8 % 2, operation = which / 16 % 3,
                  unit = which / 48;
        const int order = side == LEFT ? M : COLUMNS;
        fill(type, a, LDA * M);
        fill(type, full, M * M);
        shape(full, order, order, 't', triangle, unit);
        store(a, full, order, LDA, 'd', triangle, 0);
        fill(type, b, COUNT);
        memcpy(c, b, sizeof(c));
        for (int j = 0; j < COLUMNS; j++) {
            for (int i = 0; i < M; i++)
                c[i + j * LDB] = 0;
        }
        if (side == LEFT)
            reference(type, 2, full, order, operation, b, LDB, N, c, LDB, M, COLUMNS, M);
        else
            reference(type, 2, b, LDB, N, full, order, operation, c, LDB, M, COLUMNS, COLUMNS);
        CUdeviceptr da = upload(type, a, LDA * M), db = upload(type, b, COUNT),
                    dc = upload(type, b, COUNT), arrays;
        const void *const two = scalar(type, 2), *const half = scalar(type, 0.5);
        CALL(function("cublas%ctrmm_v2", type)(handle, side, triangle, operation, unit, M, COLUMNS,
                                               two, da, LDA, db, LDB, dc, LDB));
        expect("trmm", type, dc, c, COUNT);
        CALL(function("cublas%ctrmm_v2", type)(handle, side, triangle, operation, unit, M, COLUMNS,
                                               two, da, LDA, db, LDB, db, LDB));
        CALL(function("cublas%ctrsm_v2", type)(handle, side, triangle, operation, unit, M, COLUMNS,
                                               half, da, LDA, db, LDB));
        expect("trsm", type, db, b, COUNT);
        dc = upload(type, c, COUNT);
        const CUdeviceptr addresses[] = {da, dc};
        CALL(cuMemAlloc_v2(&arrays, sizeof(addresses)));
        CALL(cuMemcpyHtoD_v2(arrays, addresses, sizeof(addresses)));
        CALL(function("cublas%ctrsmBatched", type)(handle, side, triangle, operation, unit, M,
                                                   COLUMNS, half, arrays, LDA,
                                                   arrays + sizeof(addresses[0]), LDB, 1));
        expect("trsmBatched", type, dc, b, COUNT);
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(arrays));
    }
}

static void elements_of_matrices(void **unused)
{
    (void)unused;
    enum { M = 17, COLUMNS = 9, LD = 20, COUNT = LD * M };
    for (const char *type = types; *type; type++) {
        fill(*type, a, COUNT);
        fill(*type, b, COUNT);
        fill(*type, c, COUNT);
        CUdeviceptr da = upload(*type, a, COUNT), db = upload(*type, b, COUNT),
                    dc = upload(*type, c, COUNT);
        CALL(function("cublas%cgeam", *type)(handle, T, N, M, COLUMNS,
                                             scalar(*type, at_alpha(*type)), da, LD,
                                             scalar(*type, -1), db, LD, dc, LD));
        for (int i = 0; i < M * COLUMNS; i++) {
            const int row = i % M, column = i / M;
            c[row + column * LD] = at_alpha(*type) * a[column + row * LD] - b[row + column * LD];
        }
        expect("geam", *type, dc, c, COUNT);
        for (int side = LEFT; side <= RIGHT; side++) {
            dc = upload(*type, c, COUNT);
            CALL(function("cublas%cdgmm", *type)(handle, side, M, COLUMNS, da, LD, db, 2, dc, LD));
            for (int i = 0; i < M * COLUMNS; i++) {
                const int row = i % M, column = i / M;
                c[row + column * LD] = a[row + column * LD] * b[2 * (side == LEFT ? row : column)];
            }
            expect("dgmm", *type, dc, c, COUNT);
        }
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(db));
    }
}

// Factors and inverts matrices of whole numbers. What is compared is the product with the inverse.
static void batches_are_factored_and_inverted(void **unused)
{
    (void)unused;
    enum { ORDER = 10, MEMBERS = 3, COUNT = ORDER * ORDER };
    for (const char *type = types; *type; type++) {
        const double bound = *type == 'S' || *type == 'C' ? 2e-3 : 1e-10;
        CUdeviceptr memory, inverses, pivots, status, addresses[2][MEMBERS], arrays;
        fill(*type, a, COUNT * MEMBERS);
        for (int i = 0; i < COUNT * MEMBERS; i += i % COUNT == COUNT - 1 ? 1 : ORDER + 1)
            a[i] += 30; // far from singular
        a[0] = 0;       // which is no pivot
        memory = upload(*type, a, COUNT * MEMBERS);
        inverses = upload(*type, a, COUNT * MEMBERS);
        for (int i = 0; i < MEMBERS; i++) {
            addresses[0][i] = memory + (size_t)i * COUNT * bytes_of(*type);
            addresses[1][i] = inverses + (size_t)i * COUNT * bytes_of(*type);
        }
        CALL(cuMemAlloc_v2(&arrays, sizeof(addresses)));
        CALL(cuMemcpyHtoD_v2(arrays, addresses, sizeof(addresses)));
        CALL(cuMemAlloc_v2(&pivots, ORDER * MEMBERS * sizeof(int)));
        CALL(cuMemAlloc_v2(&status, MEMBERS * sizeof(int)));
        const CUdeviceptr second = arrays + sizeof(addresses[0]);
        for (int way = 0; way < 2; way++) {
            if (way == 0) {
                CALL(function("cublas%cmatinvBatched", *type)(handle, ORDER, arrays, ORDER, second,
                                                              ORDER, status, MEMBERS));
                expect("the matrix", *type, memory, a, COUNT * MEMBERS);
                memory = upload(*type, a, COUNT * MEMBERS);
                for (int i = 0; i < MEMBERS; i++)
                    addresses[0][i] = memory + (size_t)i * COUNT * bytes_of(*type);
                CALL(cuMemcpyHtoD_v2(arrays, addresses, sizeof(addresses)));
            } else {
                CALL(function("cublas%cgetrfBatched", *type)(handle, ORDER, arrays, ORDER, pivots,
                                                             status, MEMBERS));
                CALL(function("cublas%cgetriBatched", *type)(handle, ORDER, arrays, ORDER, pivots,
                                                             second, ORDER, status, MEMBERS));
            }
            static char bytes[COUNT * MEMBERS * sizeof(number)];
            int found[MEMBERS];
            CALL(cuMemcpyDtoH_v2(bytes, inverses, COUNT * MEMBERS * bytes_of(*type)));
            CALL(cuMemcpyDtoH_v2(found, status, sizeof(found)));
            for (int i = 0; i < COUNT * MEMBERS; i++) {
                const int member = i / COUNT, row = i % COUNT % ORDER, column = i % COUNT / ORDER;
                number sum = 0;
                for (int k = 0; k < ORDER; k++)
                    sum += a[member * COUNT + row + k * ORDER] *
                           unpack(*type, bytes,
                                  (size_t)member * COUNT + (size_t)k + (size_t)column * ORDER);
                assert_true(cabs(sum - (row == column)) < bound);
                assert_int_equal(found[member], 0);
            }
        }
        CALL(cuMemFree_v2(memory));
        CALL(cuMemFree_v2(inverses));
        CALL(cuMemFree_v2(arrays));
        CALL(cuMemFree_v2(pivots));
        CALL(cuMemFree_v2(status));
    }
}

static uint16_t half_of(int value) // |value| < 2048
{
    int exponent = 0, size = abs(value);
    if (!size)
        return 0;
    while (size >> (exponent + 1))
        exponent++;
    const int fraction = exponent <= 10 ? size << (10 - exponent) : size >> (exponent - 10);
    return (uint16_t)((value < 0) << 15 | (exponent + 15) << 10 | (fraction & 1023));
}

static void half_and_whole_numbers(void **unused)
{
    (void)unused;
    enum { SIDE = 19, COUNT = SIDE * SIDE };
    enum {
        R_32F = 0,
        R_16F = 2,
        R_8I = 3,
        R_32I = 10,
        R_16BF = 14,
        COMPUTE_32F = 68,
        COMPUTE_32I = 72
    };
    uint16_t halves[2][COUNT], bfloats[2][COUNT], half_result[COUNT], bfloat_result[COUNT];
    int8_t bytes[2][COUNT];
    float sums[COUNT], float_result[COUNT];
    int32_t whole_result[COUNT];
    for (int i = 0; i < 2 * COUNT; i++) {
        const int value = random_below(9) - 4;
        const float as_float = (float)value;
        uint32_t bits;
        memcpy(&bits, &as_float, sizeof(bits));
        halves[i / COUNT][i % COUNT] = half_of(value);
        bfloats[i / COUNT][i % COUNT] = (uint16_t)(bits >> 16);
        bytes[i / COUNT][i % COUNT] = (int8_t)value;
    }
    for (int i = 0; i < COUNT; i++) {
        int sum = 0;
        for (int k = 0; k < SIDE; k++)
            sum += bytes[0][i % SIDE + k * SIDE] * bytes[1][k + i / SIDE * SIDE];
        sums[i] = (float)sum;
    }
    const struct {
        const void *a, *b;
        int type, result_type, compute;
        void *result;
        size_t size;
    } forms[] = {
        {halves[0], halves[1], R_16F, R_16F, COMPUTE_32F, half_result, 2},
        {halves[0], halves[1], R_16F, R_32F, COMPUTE_32F, float_result, 2},
        {bfloats[0], bfloats[1], R_16BF, R_16BF, COMPUTE_32F, bfloat_result, 2},
        {bfloats[0], bfloats[1], R_16BF, R_32F, COMPUTE_32F, float_result, 2},
        {bytes[0], bytes[1], R_8I, R_32I, COMPUTE_32I, whole_result, 1},
        {bytes[0], bytes[1], R_8I, R_32F, COMPUTE_32F, float_result, 1},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        CUdeviceptr da, db, dc;
        const float one = 1, zero = 0;
        const int32_t whole_one = 1, whole_zero = 0;
        const bool whole = forms[i].compute == COMPUTE_32I;
        const size_t result_bytes =
            forms[i].result_type == R_16F || forms[i].result_type == R_16BF ? 2 : 4;
        CALL(cuMemAlloc_v2(&da, COUNT * forms[i].size));
        CALL(cuMemAlloc_v2(&db, COUNT * forms[i].size));
        CALL(cuMemAlloc_v2(&dc, COUNT * result_bytes));
        CALL(cuMemcpyHtoD_v2(da, forms[i].a, COUNT * forms[i].size));
        CALL(cuMemcpyHtoD_v2(db, forms[i].b, COUNT * forms[i].size));
        CALL(function("cublasGemmEx")(
            handle, N, N, SIDE, SIDE, SIDE, whole ? (const void *)&whole_one : &one, da,
            forms[i].type, SIDE, db, forms[i].type, SIDE, whole ? (const void *)&whole_zero : &zero,
            dc, forms[i].result_type, SIDE, forms[i].compute, -1));
        CALL(cuMemcpyDtoH_v2(forms[i].result, dc, COUNT * result_bytes));
        for (int k = 0; k < COUNT; k++) {
            uint32_t bits;
            memcpy(&bits, &sums[k], sizeof(bits));
            switch (forms[i].result_type) {
            case R_16F: assert_int_equal(half_result[k], half_of((int)sums[k])); break;
            case R_16BF: // rounded to the nearest, ties to even
                assert_int_equal(bfloat_result[k], (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
                break;
            case R_32I: assert_int_equal(whole_result[k], (int)sums[k]); break;
            default: assert_true(float_result[k] == sums[k]);
            }
        }
        CALL(cuMemFree_v2(da));
        CALL(cuMemFree_v2(db));
        CALL(cuMemFree_v2(dc));
    }
}

static void wrong_arguments_are_rejected(void **unused)
{
    (void)unused;
    enum { NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
    CUdeviceptr memory = upload('S', a, 64);
    const void *const one = scalar('S', 1);
    call *gemm = function("cublasSgemm_v2");
    assert_int_equal(gemm(NULL, N, N, 8, 8, 8, one, memory, 8, memory, 8, one, memory, 8),
                     NOT_INITIALIZED);
    assert_int_equal(gemm(handle, N, N, 8, 8, 8, one, memory, 7, memory, 8, one, memory, 8),
                     INVALID_VALUE);
    assert_int_equal(gemm(handle, N, N, -1, 8, 8, one, memory, 8, memory, 8, one, memory, 8),
                     INVALID_VALUE);
    assert_int_equal(gemm(handle, 7, N, 8, 8, 8, one, memory, 8, memory, 8, one, memory, 8),
                     INVALID_VALUE);
    CALL(gemm(handle, N, N, 0, 8, 8, one, memory, 8, memory, 8, one, memory, 8));
    assert_int_equal(function("cublasSgeqrfBatched")(handle, 1, 1, memory, 1, memory, NULL, 1),
                     NOT_SUPPORTED);
    CALL(cuMemFree_v2(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_all_sizes_and_operations),
        cmocka_unit_test(products_without_beta_do_not_read_their_result),
        cmocka_unit_test(batches_have_strides_or_addresses),
        cmocka_unit_test(symmetric_and_hermitian_factors),
        cmocka_unit_test(rank_k_updates_change_one_triangle),
        cmocka_unit_test(triangular_matrices_multiply_and_solve),
        cmocka_unit_test(elements_of_matrices),
        cmocka_unit_test(batches_are_factored_and_inverted),
        cmocka_unit_test(half_and_whole_numbers),
        cmocka_unit_test(wrong_arguments_are_rejected),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
