// SPDX-License-Identifier: Apache-2.0
// The stand-in for cuSPARSE, compared exactly with dense matrices of small whole numbers: products
// and conversions in all formats, kinds of indices and types.
#include "cusparse_testing.h"

enum { ROWS = 23, COLUMNS = 17 };

int cusparseCreateSpVec(void **vector, int64_t size, int64_t count, CUdeviceptr indices,
                        CUdeviceptr values, int index_type, int base, int type);
int cusparseDestroySpVec(void *vector);
int cusparseSpMV(void *handle, int operation, const void *alpha, void *a, void *x, const void *beta,
                 void *y, int type, int algorithm, CUdeviceptr buffer);
int cusparseSpMM(void *handle, int a_operation, int b_operation, const void *alpha, void *a,
                 void *b, const void *beta, void *c, int type, int algorithm, CUdeviceptr buffer);
int cusparseSparseToDense(void *handle, void *sparse, void *dense, int algorithm,
                          CUdeviceptr buffer);
int cusparseDenseToSparse_bufferSize(void *handle, void *dense, void *sparse, int algorithm,
                                     size_t *size_bytes);
int cusparseDenseToSparse_analysis(void *handle, void *dense, void *sparse, int algorithm,
                                   CUdeviceptr buffer);
int cusparseDenseToSparse_convert(void *handle, void *dense, void *sparse, int algorithm,
                                  CUdeviceptr buffer);
int cusparseXcsr2coo(void *handle, CUdeviceptr starts, int count, int rows, CUdeviceptr indices,
                     int base);
int cusparseXcoo2csr(void *handle, CUdeviceptr indices, int count, int rows, CUdeviceptr starts,
                     int base);
int cusparseCsr2cscEx2(void *handle, int rows, int columns, int count, CUdeviceptr values,
                       CUdeviceptr starts, CUdeviceptr minors, CUdeviceptr to_values,
                       CUdeviceptr to_starts, CUdeviceptr to_minors, int type, int action, int base,
                       int algorithm, CUdeviceptr buffer);
int cusparseAxpby(void *handle, const void *alpha, void *x, const void *beta, void *y);
int cusparseGather(void *handle, void *y, void *x);
int cusparseScatter(void *handle, void *x, void *y);
int cusparseSpVV(void *handle, int operation, void *x, void *y, void *result, int type,
                 CUdeviceptr buffer);
int cusparseSgtsv2(void);
const char *cusparseGetErrorName(int status);

// --- Matrices ------------------------------------------------------------------------------------

static number full[ROWS * COLUMNS]; // by rows

// A sparse matrix: sorted entries by rows, or by columns in CSC.
struct sparse {
    int count, starts[ROWS + COLUMNS], majors[ROWS * COLUMNS], minors[ROWS * COLUMNS];
    number values[ROWS * COLUMNS];
};

static void make_full(int type)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        full[i] =
            random_below(4) == 0 && i / COLUMNS != 5 ? random_number(type) : 0; // row 5 is empty
}

static struct sparse sparse_of(int format)
{
    struct sparse sparse = {0};
    const int majors = format == CSC ? COLUMNS : ROWS, minors = format == CSC ? ROWS : COLUMNS;
    for (int i = 0; i < majors; i++) {
        sparse.starts[i] = sparse.count;
        for (int k = 0; k < minors; k++) {
            const number value = format == CSC ? full[k * COLUMNS + i] : full[i * COLUMNS + k];
            if (value == 0)
                continue;
            sparse.majors[sparse.count] = i;
            sparse.minors[sparse.count] = k;
            sparse.values[sparse.count++] = value;
        }
    }
    sparse.starts[majors] = sparse.count;
    return sparse;
}

struct on_device {
    void *matrix;
    CUdeviceptr starts, minors, values;
};

static struct on_device describe(const struct sparse *sparse, int format, int type, int index_type,
                                 int base)
{
    struct on_device made;
    const int majors = format == CSC ? COLUMNS : ROWS;
    made.starts = format == COO ? upload_indices(index_type, sparse->majors, sparse->count, base)
                                : upload_indices(index_type, sparse->starts, majors + 1, base);
    made.minors = upload_indices(index_type, sparse->minors, sparse->count, base);
    made.values = upload(type, sparse->values, sparse->count);
    if (format == COO)
        CALL(cusparseCreateCoo(&made.matrix, ROWS, COLUMNS, sparse->count, made.starts, made.minors,
                               made.values, index_type, base, type));
    else
        CALL((format == CSR ? cusparseCreateCsr : cusparseCreateCsc)(
            &made.matrix, ROWS, COLUMNS, sparse->count, made.starts, made.minors, made.values,
            index_type, index_type, base, type));
    return made;
}

static void forget(struct on_device *made)
{
    CALL(cusparseDestroySpMat(made->matrix));
    CALL(cuMemFree_v2(made->starts));
    CALL(cuMemFree_v2(made->minors));
    CALL(cuMemFree_v2(made->values));
}

static number element(int operation, int i, int j)
{
    const number value = operation == N ? full[i * COLUMNS + j] : full[j * COLUMNS + i];
    return operation == H ? conj(value) : value;
}

// --- Tests ---------------------------------------------------------------------------------------

static void matrices_times_vectors_and_matrices(void **unused)
{
    (void)unused;
    enum { WIDTH = 5, LD = 29 };
    static number b[LD * LD], c[LD * LD];
    for (int which = 0; which < 4 * 3 * 3 * 2 * 2; which++) {
        const int type = types[which % 4], operation = which / 4 % 3, format = 1 + which / 12 % 3;
        const int index_type = which / 36 % 2 ? I64 : I32, base = which / 72;
        const int rows = operation == N ? ROWS : COLUMNS, inner = operation == N ? COLUMNS : ROWS;
        const number alpha = is_complex(type) ? 2 - I : 2, beta = which % 5 ? 3 : 0;
        number scalars[2];
        make_full(type);
        const struct sparse sparse = sparse_of(format);
        struct on_device a = describe(&sparse, format, type, index_type, base);
        pack(type, &scalars[0], 0, alpha);
        pack(type, &scalars[1], 0, beta);
        for (int i = 0; i < LD * LD; i++) {
            b[i] = random_number(type);
            c[i] = random_number(type);
        }
        void *x, *y;
        CUdeviceptr db = upload(type, b, LD * LD), dc = upload(type, c, LD * LD);
        CALL(cusparseCreateDnVec(&x, inner, db, type));
        CALL(cusparseCreateDnVec(&y, rows, dc, type));
        CALL(cusparseSpMV(handle, operation, &scalars[0], a.matrix, x, &scalars[1], y, type, 0, 0));
        for (int i = 0; i < rows; i++) {
            number sum = 0;
            for (int k = 0; k < inner; k++)
                sum += element(operation, i, k) * b[k];
            c[i] = alpha * sum + beta * c[i];
        }
        expect("SpMV", type, dc, c, LD * LD);
        CALL(cusparseDestroyDnVec(x));
        CALL(cusparseDestroyDnVec(y));

        const int b_operation = which % 3, b_order = 1 + which % 2, c_order = 1 + which / 3 % 2;
        dc = upload(type, c, LD * LD);
        CALL(cusparseCreateDnMat(&x, b_operation == N ? inner : WIDTH,
                                 b_operation == N ? WIDTH : inner, LD, db, type, b_order));
        CALL(cusparseCreateDnMat(&y, rows, WIDTH, LD, dc, type, c_order));
        CALL(cusparseSpMM(handle, operation, b_operation, &scalars[0], a.matrix, x, &scalars[1], y,
                          type, 0, 0));
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < WIDTH; j++) {
                number sum = 0, *const to = &c[c_order == BY_ROWS ? i * LD + j : i + j * LD];
                for (int k = 0; k < inner; k++) {
                    const int row = b_operation == N ? k : j, column = b_operation == N ? j : k;
                    const number value =
                        b[b_order == BY_ROWS ? row * LD + column : row + column * LD];
                    sum += element(operation, i, k) * (b_operation == H ? conj(value) : value);
                }
                *to = alpha * sum + beta * *to;
            }
        }
        expect("SpMM", type, dc, c, LD * LD);
        CALL(cusparseDestroyDnMat(x));
        CALL(cusparseDestroyDnMat(y));
        CALL(cuMemFree_v2(db));
        forget(&a);
    }
}

static void dense_matrices_become_sparse_and_back(void **unused)
{
    (void)unused;
    enum { LD = 25 };
    static number memory[LD * LD], wanted[LD * LD];
    for (int which = 0; which < 4 * 3 * 2 * 2; which++) {
        const int type = types[which % 4], format = 1 + which / 4 % 3, order = 1 + which / 12 % 2,
                  base = which / 24;
        make_full(type);
        const struct sparse sparse = sparse_of(format);
        const int majors = format == CSC ? COLUMNS : ROWS;
        for (int i = 0; i < LD * LD; i++)
            memory[i] = wanted[i] = 7;
        for (int i = 0; i < ROWS * COLUMNS; i++)
            wanted[order == BY_ROWS ? i / COLUMNS * LD + i % COLUMNS
                                    : i / COLUMNS + i % COLUMNS * LD] = full[i];
        struct on_device a = describe(&sparse, format, type, I32, base);
        CUdeviceptr at = upload(type, memory, LD * LD), buffer;
        void *dense;
        CALL(cusparseCreateDnMat(&dense, ROWS, COLUMNS, LD, at, type, order));
        CALL(cusparseSparseToDense(handle, a.matrix, dense, 0, 0));

        // And back, into memory that is overwritten first.
        size_t size_bytes;
        int64_t rows, columns, count;
        CALL(cusparseDenseToSparse_bufferSize(handle, dense, a.matrix, 0, &size_bytes));
        CALL(cuMemAlloc_v2(&buffer, size_bytes));
        CALL(cuMemsetD8_v2(a.starts, 1,
                           (size_t)(format == COO ? sparse.count : majors + 1) * sizeof(int)));
        CALL(cuMemsetD8_v2(a.minors, 1, (size_t)sparse.count * sizeof(int)));
        CALL(cuMemsetD8_v2(a.values, 1, (size_t)sparse.count * bytes_of(type)));
        CALL(cusparseDenseToSparse_analysis(handle, dense, a.matrix, 0, buffer));
        CALL(cusparseSpMatGetSize(a.matrix, &rows, &columns, &count));
        assert_int_equal(count, sparse.count);
        CALL(cusparseDenseToSparse_convert(handle, dense, a.matrix, 0, buffer));
        expect("dense", type, at, wanted, LD * LD);
        expect("values", type, a.values, sparse.values, sparse.count);
        expect_indices(I32, a.minors, sparse.minors, sparse.count, base);
        expect_indices(I32, a.starts, format == COO ? sparse.majors : sparse.starts,
                       format == COO ? sparse.count : majors + 1, base);
        CALL(cusparseDestroyDnMat(dense));
        CALL(cusparseDestroySpMat(a.matrix));
        CALL(cuMemFree_v2(buffer));
    }
}

static void formats_become_each_other(void **unused)
{
    (void)unused;
    for (int which = 0; which < 4 * 2; which++) {
        const int type = types[which % 4], base = which / 4;
        make_full(type);
        const struct sparse rows = sparse_of(CSR), columns = sparse_of(CSC);
        const int count = rows.count;
        CUdeviceptr starts = upload_indices(I32, rows.starts, ROWS + 1, base),
                    minors = upload_indices(I32, rows.minors, count, base),
                    values = upload(type, rows.values, count),
                    indices = upload_indices(I32, rows.minors, count, 9),
                    other = upload_indices(I32, rows.minors, ROWS + 1, 9), buffer, to_starts,
                    to_minors, to_values;
        CALL(cusparseXcsr2coo(handle, starts, count, ROWS, indices, base));
        CALL(cusparseXcoo2csr(handle, indices, count, ROWS, other, base));
        expect_indices(I32, indices, rows.majors, count, base);
        expect_indices(I32, other, rows.starts, ROWS + 1, base);

        to_starts = upload_indices(I32, rows.minors, COLUMNS + 1, 9);
        to_minors = upload_indices(I32, rows.minors, count, 9);
        to_values = upload(type, rows.values, count);
        CALL(cuMemAlloc_v2(&buffer, (COLUMNS + 1) * sizeof(int64_t)));
        CALL(cusparseCsr2cscEx2(handle, ROWS, COLUMNS, count, values, starts, minors, to_values,
                                to_starts, to_minors, type, 1, base, 1, buffer));
        expect("values", type, to_values, columns.values, count);
        expect_indices(I32, to_starts, columns.starts, COLUMNS + 1, base);
        expect_indices(I32, to_minors, columns.minors, count, base);
        CALL(cuMemFree_v2(starts));
        CALL(cuMemFree_v2(minors));
        CALL(cuMemFree_v2(values));
        CALL(cuMemFree_v2(buffer));
    }
}

static void sparse_vectors(void **unused)
{
    (void)unused;
    enum { SIZE = 300, COUNT = 60 };
    static number x[COUNT], y[SIZE];
    static int places[COUNT];
    for (int which = 0; which < 4 * 2; which++) {
        const int type = types[which % 4], index_type = which / 4 ? I64 : I32;
        const number alpha = is_complex(type) ? 2 - I : 2;
        number scalars[2], result, sum = 0;
        pack(type, &scalars[0], 0, alpha);
        pack(type, &scalars[1], 0, 3);
        for (int i = 0; i < SIZE; i++)
            y[i] = random_number(type);
        for (int i = 0; i < COUNT; i++) {
            places[i] = i * 5 + random_below(5);
            x[i] = random_number(type);
        }
        void *sparse, *dense;
        CUdeviceptr dx = upload(type, x, COUNT), dy = upload(type, y, SIZE),
                    di = upload_indices(index_type, places, COUNT, 1);
        CALL(cusparseCreateSpVec(&sparse, SIZE, COUNT, di, dx, index_type, 1, type));
        CALL(cusparseCreateDnVec(&dense, SIZE, dy, type));
        CALL(cusparseAxpby(handle, &scalars[0], sparse, &scalars[1], dense));
        for (int i = 0; i < SIZE; i++)
            y[i] *= 3;
        for (int i = 0; i < COUNT; i++)
            y[places[i]] += alpha * x[i];
        CALL(cusparseSpVV(handle, H, sparse, dense, &result, type, 0));
        for (int i = 0; i < COUNT; i++)
            sum += conj(x[i]) * y[places[i]];
        assert_true(unpack(type, &result, 0) == sum);
        CALL(cusparseGather(handle, dense, sparse));
        CALL(cuMemsetD8_v2(dy, 0, SIZE * bytes_of(type)));
        CALL(cusparseScatter(handle, sparse, dense));
        for (int i = 0, k = 0; i < SIZE; i++) {
            if (k < COUNT && places[k] == i)
                x[k++] = y[i];
            else
                y[i] = 0;
        }
        expect("x", type, dx, x, COUNT);
        expect("y", type, dy, y, SIZE);
        CALL(cuMemFree_v2(di));
        CALL(cusparseDestroySpVec(sparse));
        CALL(cusparseDestroyDnVec(dense));
    }
}

static void wrong_arguments_are_rejected(void **unused)
{
    (void)unused;
    void *matrix, *x, *y;
    const float one = 1;
    CALL(cusparseCreateCsr(&matrix, 4, 5, 0, 0, 0, 0, I32, I32, 0, 0));
    CALL(cusparseCreateDnVec(&x, 5, 0, 0));
    CALL(cusparseCreateDnVec(&y, 4, 0, 0));
    assert_int_equal(cusparseSpMV(NULL, N, &one, matrix, x, &one, y, 0, 0, 0), NOT_INITIALIZED);
    assert_int_equal(cusparseSpMV(handle, T, &one, matrix, x, &one, y, 0, 0, 0), INVALID_VALUE);
    assert_int_equal(cusparseSpMV(handle, N, &one, matrix, x, &one, y, 1, 0, 0), NOT_SUPPORTED);
    assert_int_equal(cusparseSgtsv2(), NOT_SUPPORTED);
    assert_string_equal(cusparseGetErrorName(NOT_SUPPORTED), "CUSPARSE_STATUS_NOT_SUPPORTED");
    CALL(cusparseDestroySpMat(matrix));
    CALL(cusparseDestroyDnVec(x));
    CALL(cusparseDestroyDnVec(y));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_times_vectors_and_matrices),
        cmocka_unit_test(dense_matrices_become_sparse_and_back),
        cmocka_unit_test(formats_become_each_other),
        cmocka_unit_test(sparse_vectors),
        cmocka_unit_test(wrong_arguments_are_rejected),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
