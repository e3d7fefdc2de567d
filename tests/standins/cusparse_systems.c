// SPDX-License-Identifier: Apache-2.0
// The stand-in for cuSPARSE: products of two sparse matrices, systems of equations with triangles,
// and counts, compared exactly with dense matrices of small whole numbers.
#include "cusparse_testing.h"

int cusparseSpGEMM_createDescr(void **descriptor);
int cusparseSpGEMM_destroyDescr(void *descriptor);
int cusparseSpGEMM_getNumProducts(void *descriptor, int64_t *count);
int cusparseSpGEMM_workEstimation(void *handle, int a_operation, int b_operation, const void *alpha,
                                  void *a, void *b, const void *beta, void *c, int computed,
                                  int algorithm, void *descriptor, size_t *size_bytes,
                                  CUdeviceptr buffer);
int cusparseSpGEMM_estimateMemory(void *handle, int a_operation, int b_operation, const void *alpha,
                                  void *a, void *b, const void *beta, void *c, int computed,
                                  int algorithm, void *descriptor, float fraction,
                                  size_t *size_bytes, CUdeviceptr buffer, size_t *rows_size_bytes);
int cusparseSpGEMM_compute(void *handle, int a_operation, int b_operation, const void *alpha,
                           void *a, void *b, const void *beta, void *c, int computed, int algorithm,
                           void *descriptor, size_t *size_bytes, CUdeviceptr buffer);
int cusparseSpGEMM_copy(void *handle, int a_operation, int b_operation, const void *alpha, void *a,
                        void *b, const void *beta, void *c, int computed, int algorithm,
                        void *descriptor);
int cusparseSpMatSetAttribute(void *matrix, int attribute, const int *data, size_t size_bytes);
int cusparseSpSV_createDescr(void **descriptor);
int cusparseSpSV_destroyDescr(void *descriptor);
int cusparseSpSV_bufferSize(void *handle, int operation, const void *alpha, void *a, void *x,
                            void *y, int computed, int algorithm, void *descriptor,
                            size_t *size_bytes);
int cusparseSpSV_analysis(void *handle, int operation, const void *alpha, void *a, void *x, void *y,
                          int computed, int algorithm, void *descriptor, CUdeviceptr buffer);
int cusparseSpSV_solve(void *handle, int operation, const void *alpha, void *a, void *x, void *y,
                       int computed, int algorithm, void *descriptor);
int cusparseSpSV_updateMatrix(void *handle, void *descriptor, CUdeviceptr values, int part);
int cusparseSpSM_createDescr(void **descriptor);
int cusparseSpSM_destroyDescr(void *descriptor);
int cusparseSpSM_bufferSize(void *handle, int a_operation, int b_operation, const void *alpha,
                            void *a, void *b, void *c, int computed, int algorithm,
                            void *descriptor, size_t *size_bytes);
int cusparseSpSM_analysis(void *handle, int a_operation, int b_operation, const void *alpha,
                          void *a, void *b, void *c, int computed, int algorithm, void *descriptor,
                          CUdeviceptr buffer);
int cusparseSpSM_solve(void *handle, int a_operation, int b_operation, const void *alpha, void *a,
                       void *b, void *c, int computed, int algorithm, void *descriptor);
int cusparseCreateMatDescr(void **descriptor);
int cusparseDestroyMatDescr(void *descriptor);
int cusparseSetMatType(void *descriptor, int type);
typedef int count_function(void *handle, int direction, int rows, int columns, void *descriptor,
                           CUdeviceptr matrix, int ld, CUdeviceptr counts, void *total);
count_function cusparseSnnz, cusparseDnnz, cusparseCnnz, cusparseZnnz;

enum { SIDE = 37, DEPTH = 21, WIDTH = 3 };

// A matrix in CSR or COO, of the numbers of a dense one by rows that are not 0.
struct lists {
    int count, starts[SIDE + 1], majors[SIDE * SIDE], minors[SIDE * SIDE];
    number values[SIDE * SIDE];
    void *matrix;
    CUdeviceptr memory[3];
};

static void make_lists(struct lists *lists, const number *full, int rows, int columns, int format,
                       int type, int index_type, int base)
{
    lists->count = 0;
    for (int i = 0; i < rows; i++) {
        lists->starts[i] = lists->count;
        for (int k = 0; k < columns; k++) {
            if (full[i * columns + k] == 0)
                continue;
            lists->majors[lists->count] = i;
            lists->minors[lists->count] = k;
            lists->values[lists->count++] = full[i * columns + k];
        }
    }
    lists->starts[rows] = lists->count;
    lists->memory[0] = format == COO ? upload_indices(index_type, lists->majors, lists->count, base)
                                     : upload_indices(index_type, lists->starts, rows + 1, base);
    lists->memory[1] = upload_indices(index_type, lists->minors, lists->count, base);
    lists->memory[2] = upload(type, lists->values, lists->count);
    if (format == COO)
        CALL(cusparseCreateCoo(&lists->matrix, rows, columns, lists->count, lists->memory[0],
                               lists->memory[1], lists->memory[2], index_type, base, type));
    else
        CALL(cusparseCreateCsr(&lists->matrix, rows, columns, lists->count, lists->memory[0],
                               lists->memory[1], lists->memory[2], index_type, index_type, base,
                               type));
}

static void forget_lists(struct lists *lists)
{
    CALL(cusparseDestroySpMat(lists->matrix));
    for (int i = 0; i < 3; i++)
        CALL(cuMemFree_v2(lists->memory[i]));
}

static CUdeviceptr allocate(size_t size_bytes)
{
    CUdeviceptr at;
    CALL(cuMemAlloc_v2(&at, size_bytes + 1));
    return at;
}

// --- Products ------------------------------------------------------------------------------------

static void sparse_times_sparse(void **unused)
{
    (void)unused;
    enum { DEFAULT, ALGORITHM_2 = 4 };
    static number a_full[SIDE * DEPTH], b_full[DEPTH * SIDE], wanted[SIDE * SIDE];
    static struct lists a, b;
    for (int which = 0; which < 4 * 2 * 2; which++) {
        const int type = types[which % 4], base = which / 4 % 2, index_type = which / 8 ? I64 : I32;
        const int algorithm = which % 3 ? DEFAULT : ALGORITHM_2;
        const number alpha = is_complex(type) ? 2 - I : 2, nothing = 0;
        number scalars[2];
        // Row 5 of A is empty, and so is row 4 of B. There are products whose sum is 0.
        for (int i = 0; i < SIDE * DEPTH; i++) {
            a_full[i] = random_below(4) == 0 && i / DEPTH != 5 ? random_number(type) - 3 : 0;
            b_full[i] = random_below(4) == 0 && i / SIDE != 4 ? random_number(type) - 3 : 0;
        }
        make_lists(&a, a_full, SIDE, DEPTH, CSR, type, index_type, base);
        make_lists(&b, b_full, DEPTH, SIDE, CSR, type, index_type, 1 - base);
        int64_t products = 0, rows, columns, count, counted = 0;
        static int starts[SIDE + 1], minors[SIDE * SIDE];
        for (int i = 0; i < SIDE; i++) {
            starts[i] = (int)counted;
            for (int j = 0; j < SIDE; j++) {
                number sum = 0;
                int terms = 0;
                for (int k = 0; k < DEPTH; k++) {
                    sum += a_full[i * DEPTH + k] * b_full[k * SIDE + j];
                    terms += a_full[i * DEPTH + k] != 0 && b_full[k * SIDE + j] != 0;
                }
                products += terms;
                minors[counted] = j;
                wanted[counted] = alpha * sum;
                counted += terms != 0;
            }
        }
        starts[SIDE] = (int)counted;

        void *c, *descriptor;
        size_t size_bytes, rows_size_bytes, other_bytes;
        pack(type, &scalars[0], 0, alpha);
        pack(type, &scalars[1], 0, nothing);
        const CUdeviceptr c_starts = allocate((SIDE + 1) * sizeof(int64_t));
        CALL(cusparseCreateCsr(&c, SIDE, SIDE, 0, c_starts, 0, 0, index_type, index_type, base,
                               type));
        CALL(cusparseSpGEMM_createDescr(&descriptor));
#define PRODUCT \
    handle, N, N, &scalars[0], a.matrix, b.matrix, &scalars[1], c, type, algorithm, descriptor
        CALL(cusparseSpGEMM_workEstimation(PRODUCT, &size_bytes, 0));
        const CUdeviceptr first = allocate(size_bytes);
        CALL(cusparseSpGEMM_workEstimation(PRODUCT, &size_bytes, first));
        CALL(cusparseSpGEMM_getNumProducts(descriptor, &count));
        assert_int_equal(count, products);
        CALL(cusparseSpGEMM_compute(PRODUCT, &rows_size_bytes, 0));
        if (algorithm == ALGORITHM_2) {
            CALL(cusparseSpGEMM_estimateMemory(PRODUCT, 1, &size_bytes, 0, NULL));
            const CUdeviceptr third = allocate(size_bytes);
            CALL(cusparseSpGEMM_estimateMemory(PRODUCT, 1, &size_bytes, third, &other_bytes));
            CALL(cuMemFree_v2(third));
            assert_int_equal(other_bytes, rows_size_bytes);
        } else {
            assert_int_equal(
                cusparseSpGEMM_estimateMemory(PRODUCT, 1, &size_bytes, 0, &other_bytes),
                NOT_SUPPORTED);
        }
        const CUdeviceptr second = allocate(rows_size_bytes);
        rows_size_bytes--;
        assert_int_equal(cusparseSpGEMM_compute(PRODUCT, &rows_size_bytes, second),
                         INSUFFICIENT_RESOURCES);
        rows_size_bytes++;
        CALL(cusparseSpGEMM_compute(PRODUCT, &rows_size_bytes, second));
        CALL(cusparseSpMatGetSize(c, &rows, &columns, &count));
        assert_int_equal(count, counted);
        assert_int_equal(cusparseSpGEMM_copy(PRODUCT), INVALID_VALUE); // C has no memory yet
        const CUdeviceptr c_minors = allocate((size_t)count * sizeof(int64_t));
        const CUdeviceptr c_values = allocate((size_t)count * sizeof(number));
        CALL(cusparseCsrSetPointers(c, c_starts, c_minors, c_values));
        CALL(cusparseSpGEMM_copy(PRODUCT));
        expect("SpGEMM", type, c_values, wanted, (int)count);
        expect_indices(index_type, c_starts, starts, SIDE + 1, base);
        expect_indices(index_type, c_minors, minors, (int)count, base);
        CALL(cusparseSpGEMM_destroyDescr(descriptor));
        CALL(cusparseDestroySpMat(c));
        CALL(cuMemFree_v2(first));
        CALL(cuMemFree_v2(second));
        forget_lists(&a);
        forget_lists(&b);
    }
}

static void wrong_products_are_rejected(void **unused)
{
    (void)unused;
    void *a, *csc, *c, *descriptor;
    const float one = 1, zero = 0;
    size_t size_bytes = 0;
    const CUdeviceptr memory = allocate(4096);
    CALL(cuMemsetD8_v2(memory, 0, 4096));
    CALL(cusparseCreateCsr(&a, 4, 5, 0, memory, memory, memory, I32, I32, 0, 0));
    CALL(cusparseCreateCsc(&csc, 5, 4, 0, memory, memory, memory, I32, I32, 0, 0));
    CALL(cusparseCreateCsr(&c, 4, 4, 0, memory, 0, 0, I32, I32, 0, 0));
    CALL(cusparseSpGEMM_createDescr(&descriptor));
#define ESTIMATE(a, b, c, operation, computed)                                             \
    cusparseSpGEMM_workEstimation(handle, operation, N, &one, a, b, &zero, c, computed, 0, \
                                  descriptor, &size_bytes, 0)
    assert_int_equal(ESTIMATE(a, a, c, N, 0), INVALID_VALUE); // 5 columns, 4 rows
    assert_int_equal(ESTIMATE(c, c, a, N, 0), INVALID_VALUE); // C is 4 by 5
    assert_int_equal(ESTIMATE(c, c, NULL, N, 0), INVALID_VALUE);
    assert_int_equal(ESTIMATE(c, c, c, T, 0), NOT_SUPPORTED);
    assert_int_equal(ESTIMATE(c, c, c, N, 1), NOT_SUPPORTED);
    assert_int_equal(ESTIMATE(a, csc, c, N, 0), NOT_SUPPORTED);
    CALL(ESTIMATE(c, c, c, N, 0));
    // Not before the first step, and not with what that C had.
    assert_int_equal(cusparseSpGEMM_compute(handle, N, N, &one, c, c, &zero, c, 0, 0, descriptor,
                                            &size_bytes, 0),
                     INVALID_VALUE);
    CALL(cusparseSpGEMM_workEstimation(handle, N, N, &one, c, c, &zero, c, 0, 0, descriptor,
                                       &size_bytes, memory));
    assert_int_equal(cusparseSpGEMM_copy(handle, N, N, &one, c, c, &zero, c, 0, 0, descriptor),
                     INVALID_VALUE);
    assert_int_equal(
        cusparseSpGEMM_compute(handle, N, N, &one, c, c, &one, c, 0, 0, descriptor, &size_bytes, 0),
        NOT_SUPPORTED);
    CALL(cusparseSpGEMM_destroyDescr(descriptor));
    CALL(cusparseDestroySpMat(a));
    CALL(cusparseDestroySpMat(csc));
    CALL(cusparseDestroySpMat(c));
    CALL(cuMemFree_v2(memory));
}

// --- Triangles -----------------------------------------------------------------------------------

// The entries of the other triangle are there, too, and do not count. Those of the diagonal are
// powers of 2 (in complex numbers, times i), so that quotients are exact.
static void make_triangle(number *full, int type, bool unit)
{
    for (int i = 0; i < SIDE * SIDE; i++) {
        full[i] = random_below(6) == 0 ? random_number(type) : 0;
        if (i / SIDE == i % SIDE)
            full[i] = unit ? (random_below(2) ? 7 : 0) : is_complex(type) ? 2 * I : 1 - 3 * (i % 2);
    }
}

static number part(const number *full, bool upper, bool unit, int operation, int i, int j)
{
    const int row = operation == N ? i : j, column = operation == N ? j : i;
    if (row == column && unit)
        return 1;
    if (row != column && (row < column) != upper)
        return 0;
    const number value = full[row * SIDE + column];
    return operation == H ? conj(value) : value;
}

// Makes right sides for known solutions, so that all numbers on the way are whole.
static void triangles_are_solved(void **unused)
{
    (void)unused;
    enum { LD = SIDE + 2 };
    static number full[SIDE * SIDE], x[SIDE * WIDTH], b[LD * LD], c[LD * LD];
    static struct lists a;
    for (int which = 0; which < 4 * 3 * 2 * 2 * 2; which++) {
        const int type = types[which % 4], operation = which / 4 % 3;
        const int upper = which / 12 % 2, unit = which / 24 % 2, format = which / 48 ? COO : CSR;
        const int b_operation = which % 3, b_order = 1 + which / 3 % 2, c_order = 1 + which / 2 % 2;
        const number alpha = is_complex(type) ? 2 * I : 2;
        number scalar;
        pack(type, &scalar, 0, 1 / alpha);
        make_triangle(full, type, unit);
        make_lists(&a, full, SIDE, SIDE, format, type, which % 5 ? I32 : I64, which % 2);
        CALL(cusparseSpMatSetAttribute(a.matrix, 0, &upper, sizeof(upper)));
        CALL(cusparseSpMatSetAttribute(a.matrix, 1, &unit, sizeof(unit)));
        for (int i = 0; i < LD * LD; i++)
            b[i] = c[i] = 0;
        for (int i = 0; i < SIDE * WIDTH; i++)
            x[i] = random_below(7) - 3;
        for (int i = 0; i < SIDE; i++) {
            for (int j = 0; j < WIDTH; j++) {
                number sum = 0;
                for (int k = 0; k < SIDE; k++)
                    sum += part(full, upper, unit, operation, i, k) * x[k * WIDTH + j];
                const int row = b_operation == N ? i : j, column = b_operation == N ? j : i;
                sum *= alpha;
                b[b_order == BY_ROWS ? row * LD + column : row + column * LD] =
                    b_operation == H ? conj(sum) : sum;
                c[c_order == BY_ROWS ? i * LD + j : i + j * LD] = x[i * WIDTH + j];
            }
        }
        static number zeros[LD * LD];
        CUdeviceptr db = upload(type, b, LD * LD), dc = upload(type, zeros, LD * LD);
        void *from, *to, *descriptor;
        size_t size_bytes;
        CALL(cusparseCreateDnMat(&from, b_operation == N ? SIDE : WIDTH,
                                 b_operation == N ? WIDTH : SIDE, LD, db, type, b_order));
        CALL(cusparseCreateDnMat(&to, SIDE, WIDTH, LD, dc, type, c_order));
        CALL(cusparseSpSM_createDescr(&descriptor));
#define SYSTEM handle, operation, b_operation, &scalar, a.matrix, from, to, type, 0, descriptor
        CALL(cusparseSpSM_bufferSize(SYSTEM, &size_bytes));
        const CUdeviceptr buffer = allocate(size_bytes);
        assert_int_equal(cusparseSpSM_solve(SYSTEM), INVALID_VALUE); // before the analysis
        CALL(cusparseSpSM_analysis(SYSTEM, buffer));
        CALL(cusparseSpSM_solve(SYSTEM));
        expect("SpSM", type, dc, c, LD * LD);
        CALL(cusparseSpSM_destroyDescr(descriptor));
        CALL(cusparseDestroyDnMat(from));
        CALL(cusparseDestroyDnMat(to));
        CALL(cuMemFree_v2(buffer));
        CALL(cuMemFree_v2(db));
        forget_lists(&a);
    }
}

// Also in place, and with values that were set after the analysis.
static void triangles_are_solved_for_a_vector(void **unused)
{
    (void)unused;
    enum { ALL, DIAGONAL };
    static number full[SIDE * SIDE], x[SIDE], b[SIDE], other[SIDE * SIDE], diagonal[SIDE];
    static struct lists a;
    const int type = 1, upper = 1;
    const double one = 1;
    make_triangle(full, type, false);
    make_lists(&a, full, SIDE, SIDE, CSR, type, I32, 0);
    CALL(cusparseSpMatSetAttribute(a.matrix, 0, &upper, sizeof(upper)));
    void *vector, *descriptor;
    size_t size_bytes;
    CUdeviceptr memory = allocate(sizeof(x)), buffer, values;
    CALL(cusparseCreateDnVec(&vector, SIDE, memory, type));
    CALL(cusparseSpSV_createDescr(&descriptor));
#define VECTORS handle, N, &one, a.matrix, vector, vector, type, 0, descriptor
    CALL(cusparseSpSV_bufferSize(VECTORS, &size_bytes));
    buffer = allocate(size_bytes);
    assert_int_equal(cusparseSpSV_updateMatrix(handle, descriptor, buffer, ALL), INVALID_VALUE);
    CALL(cusparseSpSV_analysis(VECTORS, buffer));
    for (int round = 0; round < 3; round++) {
        if (round == 1) { // all values three times as large
            for (int i = 0; i < a.count; i++)
                other[i] = a.values[i] * 3;
            for (int i = 0; i < SIDE * SIDE; i++)
                full[i] *= 3;
            for (int i = 0; i < SIDE; i++) // so that quotients stay exact
                full[i * SIDE + i] = 1;
            for (int i = 0; i < a.count; i++)
                other[i] = a.majors[i] == a.minors[i] ? 1 : other[i];
            values = upload(type, other, a.count);
            CALL(cusparseSpSV_updateMatrix(handle, descriptor, values, ALL));
            CALL(cuMemFree_v2(values)); // the descriptor has a copy
        } else if (round == 2) {
            for (int i = 0; i < SIDE; i++)
                full[i * SIDE + i] = diagonal[i] = i % 2 ? 4 : -1;
            values = upload(type, diagonal, SIDE);
            CALL(cusparseSpSV_updateMatrix(handle, descriptor, values, DIAGONAL));
            CALL(cuMemFree_v2(values));
        }
        for (int i = 0; i < SIDE; i++)
            x[i] = random_below(7) - 3;
        for (int i = 0; i < SIDE; i++) {
            b[i] = 0;
            for (int k = 0; k < SIDE; k++)
                b[i] += part(full, upper, false, N, i, k) * x[k];
            pack(type, bytes, (size_t)i, b[i]);
        }
        CALL(cuMemcpyHtoD_v2(memory, bytes, SIDE * sizeof(double)));
        CALL(cusparseSpSV_solve(VECTORS));
        CALL(cuCtxSynchronize());
        CALL(cuMemcpyDtoH_v2(bytes, memory, SIDE * sizeof(double)));
        for (int i = 0; i < SIDE; i++)
            assert_true(unpack(type, bytes, (size_t)i) == x[i]);
    }
    assert_int_equal(cusparseSpSV_updateMatrix(handle, descriptor, buffer, 2), INVALID_VALUE);
    CALL(cusparseSpSV_destroyDescr(descriptor));
    CALL(cusparseDestroyDnVec(vector));
    CALL(cuMemFree_v2(memory));
    CALL(cuMemFree_v2(buffer));
    forget_lists(&a);
}

static void wrong_systems_are_rejected(void **unused)
{
    (void)unused;
    void *square, *wide, *csc, *x, *longer, *descriptor;
    const float one = 1;
    size_t size_bytes;
    CALL(cusparseCreateCsr(&square, 4, 4, 0, 0, 0, 0, I32, I32, 0, 0));
    CALL(cusparseCreateCsr(&wide, 4, 5, 0, 0, 0, 0, I32, I32, 0, 0));
    CALL(cusparseCreateCsc(&csc, 4, 4, 0, 0, 0, 0, I32, I32, 0, 0));
    CALL(cusparseCreateDnVec(&x, 4, 0, 0));
    CALL(cusparseCreateDnVec(&longer, 5, 0, 0));
    CALL(cusparseSpSV_createDescr(&descriptor));
#define SIZE(operation, a, x, y, computed) \
    cusparseSpSV_bufferSize(handle, operation, &one, a, x, y, computed, 0, descriptor, &size_bytes)
    CALL(SIZE(N, square, x, x, 0));
    CALL(SIZE(H, square, x, x, 0));
    assert_int_equal(SIZE(3, square, x, x, 0), INVALID_VALUE);
    assert_int_equal(SIZE(N, wide, longer, x, 0), INVALID_VALUE);
    assert_int_equal(SIZE(N, square, longer, x, 0), INVALID_VALUE);
    assert_int_equal(SIZE(N, square, x, longer, 0), INVALID_VALUE);
    assert_int_equal(SIZE(N, square, x, NULL, 0), INVALID_VALUE);
    assert_int_equal(SIZE(N, square, x, x, 1), NOT_SUPPORTED);
    assert_int_equal(SIZE(N, csc, x, x, 0), NOT_SUPPORTED);
    assert_int_equal(cusparseSpSV_createDescr(NULL), INVALID_VALUE);
    CALL(cusparseSpSV_destroyDescr(descriptor));
    CALL(cusparseDestroySpMat(square));
    CALL(cusparseDestroySpMat(wide));
    CALL(cusparseDestroySpMat(csc));
    CALL(cusparseDestroyDnVec(x));
    CALL(cusparseDestroyDnVec(longer));
}

// --- Counts --------------------------------------------------------------------------------------

static void numbers_are_counted(void **unused)
{
    (void)unused;
    enum { LD = SIDE + 3 };
    static count_function *const functions[] = {cusparseSnnz, cusparseDnnz, cusparseCnnz,
                                                cusparseZnnz};
    static number dense[LD * DEPTH];
    void *descriptor;
    CALL(cusparseCreateMatDescr(&descriptor));
    const CUdeviceptr total_there = allocate(sizeof(int));
    for (int which = 0; which < 4 * 2 * 2; which++) {
        const int type = types[which % 4], by_column = which / 4 % 2, there = which / 8;
        const int majors = by_column ? DEPTH : SIDE;
        int wanted[SIDE] = {0}, all = 0, total = -1;
        // Below the matrix nothing is 0. Minus zero is 0.
        for (int i = 0; i < LD * DEPTH; i++) {
            const bool counts = i % LD >= SIDE || random_below(3) == 0;
            dense[i] = counts ? random_number(type) : random_below(2) ? -0.0 : 0;
            if (!counts || i % LD >= SIDE)
                continue;
            wanted[by_column ? i / LD : i % LD]++;
            all++;
        }
        const CUdeviceptr matrix = upload(type, dense, LD * DEPTH);
        const CUdeviceptr counts = allocate(SIDE * sizeof(int));
        CALL(cusparseSetPointerMode(handle, there));
        CALL(functions[which % 4](handle, by_column, SIDE, DEPTH, descriptor, matrix, LD, counts,
                                  there ? (void *)(uintptr_t)total_there : &total));
        if (there)
            CALL(cuMemcpyDtoH_v2(&total, total_there, sizeof(total)));
        assert_int_equal(total, all);
        expect_indices(I32, counts, wanted, majors, 0);
        CALL(cuMemFree_v2(matrix));
    }
    CALL(cusparseSetPointerMode(handle, 0));
    int total = -1;
    CALL(cusparseSnnz(handle, 0, 0, 5, descriptor, 0, 1, 0, &total));
    assert_int_equal(total, 0);
    assert_int_equal(cusparseSnnz(NULL, 0, 1, 1, descriptor, 8, 1, 8, &total), NOT_INITIALIZED);
    assert_int_equal(cusparseSnnz(handle, 2, 1, 1, descriptor, 8, 1, 8, &total), INVALID_VALUE);
    assert_int_equal(cusparseSnnz(handle, 0, 3, 1, descriptor, 8, 2, 8, &total), INVALID_VALUE);
    assert_int_equal(cusparseSnnz(handle, 0, -1, 1, descriptor, 8, 2, 8, &total), INVALID_VALUE);
    CALL(cusparseSetMatType(descriptor, 1)); // symmetric
    assert_int_equal(cusparseSnnz(handle, 0, 1, 1, descriptor, 8, 1, 8, &total),
                     TYPE_NOT_SUPPORTED);
    CALL(cusparseDestroyMatDescr(descriptor));
    CALL(cuMemFree_v2(total_there));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_times_sparse),
        cmocka_unit_test(wrong_products_are_rejected),
        cmocka_unit_test(triangles_are_solved),
        cmocka_unit_test(triangles_are_solved_for_a_vector),
        cmocka_unit_test(wrong_systems_are_rejected),
        cmocka_unit_test(numbers_are_counted),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
