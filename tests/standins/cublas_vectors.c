// SPDX-License-Identifier: Apache-2.0
// Levels 1 and 2 of the stand-in for cuBLAS, compared exactly with naive references.
#include "blas_testing.h"

// The numbers of a vector in an array, also one with a negative step.
static number *at(number *vector, int n, int step, int i)
{
    return &vector[step > 0 ? i * step : (i - n + 1) * step];
}

static number x[MOST], y[MOST], a[MOST], full[MOST], wanted[MOST];
static const int steps[][2] = {{1, 1}, {2, 3}, {-1, 2}, {3, -2}};
enum { LONG = 700, ROOM = LONG * 3 + 1, ORDER = 13, LD = 16, SHORT = ORDER * 3 };

#define FOR_TYPES_AND_STEPS                       \
    for (const char *type = types; *type; type++) \
        for (size_t pair = 0; pair < sizeof(steps) / sizeof(steps[0]); pair++)

static void elements_of_vectors_change_as_in_blas(void **unused)
{
    (void)unused;
    FOR_TYPES_AND_STEPS
    {
        const int n = LONG, incx = steps[pair][0], incy = steps[pair][1];
        const number alpha = is_complex(*type) ? 2 - 3 * I : -3;
        fill(*type, x, ROOM);
        fill(*type, y, ROOM);
        CUdeviceptr dx = upload(*type, x, ROOM), dy = upload(*type, y, ROOM);
        CALL(function("cublas%caxpy_v2", *type)(handle, n, scalar(*type, alpha), dx, incx, dy,
                                                incy));
        for (int i = 0; i < n; i++)
            *at(y, n, incy, i) += alpha * *at(x, n, incx, i);
        CALL(function("cublas%cswap_v2", *type)(handle, n, dx, incx, dy, incy));
        for (int i = 0; i < n; i++) {
            const number old = *at(x, n, incx, i);
            *at(x, n, incx, i) = *at(y, n, incy, i);
            *at(y, n, incy, i) = old;
        }
        CALL(function("cublas%cscal_v2", *type)(handle, n, scalar(*type, alpha), dx, abs(incx)));
        for (int i = 0; i < n; i++)
            x[i * abs(incx)] *= alpha;
        CALL(function("cublas%ccopy_v2_64", *type)(handle, (int64_t)n / 2, dx, (int64_t)incx, dy,
                                                   (int64_t)incy));
        for (int i = 0; i < n / 2; i++)
            *at(y, n / 2, incy, i) = *at(x, n / 2, incx, i);
        expect("x", *type, dx, x, ROOM);
        expect("y", *type, dy, y, ROOM);
    }
}

static void sums_and_places_are_those_of_blas(void **unused)
{
    (void)unused;
    FOR_TYPES_AND_STEPS
    {
        const int n = LONG, incx = steps[pair][0], incy = steps[pair][1];
        const char real = *type == 'S' || *type == 'C' ? 'S' : 'D';
        const char *const conjugates = is_complex(*type) ? "uc" : " ";
        number result;
        fill(*type, x, ROOM);
        fill(*type, y, ROOM);
        CUdeviceptr dx = upload(*type, x, ROOM), dy = upload(*type, y, ROOM);
        for (const char *kind = conjugates; *kind; kind++) {
            number sum = 0;
            for (int i = 0; i < n; i++)
                sum += (*kind == 'c' ? conj(*at(x, n, incx, i)) : *at(x, n, incx, i)) *
                       *at(y, n, incy, i);
            call *dot = *kind == ' ' ? function("cublas%cdot_v2", *type)
                                     : function("cublas%cdot%c_v2", *type, *kind);
            CALL(dot(handle, n, dx, incx, dy, incy, &result));
            assert_true(unpack(*type, &result, 0) == sum);
        }
        if (incx > 0) {
            double sum = 0, most = -1, least = 100;
            int first_most = 0, first_least = 0, place;
            for (int i = 0; i < n; i++) {
                const double size = fabs(creal(x[i * incx])) + fabs(cimag(x[i * incx]));
                sum += size;
                if (size > most)
                    most = size, first_most = i + 1;
                if (size < least)
                    least = size, first_least = i + 1;
            }
            static const char *const asum[] = {"Sasum", "Dasum", "Scasum", "Dzasum"};
            CALL(function("cublas%s_v2", asum[type - types])(handle, n, dx, incx, &result));
            assert_true(unpack(real, &result, 0) == sum);
            CALL(function("cublasI%camax_v2", *type + 'a' - 'A')(handle, n, dx, incx, &place));
            assert_int_equal(place, first_most);
            CALL(function("cublasI%camin_v2", *type + 'a' - 'A')(handle, n, dx, incx, &place));
            assert_int_equal(place, first_least);
            CALL(function("cublasI%camin_v2", *type + 'a' - 'A')(handle, 0, dx, incx, &place));
            assert_int_equal(place, 0);
        }
        CALL(cuMemFree_v2(dx));
        CALL(cuMemFree_v2(dy));
    }
}

static void norms_neither_overflow_nor_vanish(void **unused)
{
    (void)unused;
    static const char *const names[] = {"Snrm2", "Dnrm2", "Scnrm2", "Dznrm2"};
    for (int t = 0; t < 4; t++) {
        const double scales[] = {1, t % 2 ? 1e300 : 1e30, t % 2 ? 1e-300 : 1e-30};
        for (int s = 0; s < 3; s++) {
            const char type = types[t], real = t % 2 ? 'D' : 'S';
            const number vector[] = {3 * scales[s], 0, 4 * scales[s], 12 * scales[s]};
            number result;
            CUdeviceptr dx = upload(type, vector, 4);
            CALL(function("cublas%s_v2", names[t])(handle, 4, dx, 1, &result));
            const double is = creal(unpack(real, &result, 0));
            assert_true(fabs(is / scales[s] - 13) < 13 * (t % 2 ? 1e-15 : 1e-6));
            CALL(cuMemFree_v2(dx));
        }
    }
}

static void scalars_and_results_can_be_in_device_memory(void **unused)
{
    (void)unused;
    for (const char *type = types; *type; type++) {
        const number numbers[] = {2, 3, 5, 7, 0}, ones[] = {1, 1, 1, 1, 1}, alpha = 3,
                     sum[] = {17 + 12};
        CUdeviceptr dx = upload(*type, numbers, 5), dy = upload(*type, ones, 5),
                    at_alpha = upload(*type, &alpha, 1), result = upload(*type, ones, 1);
        CALL(function("cublasSetPointerMode_v2")(handle, 1));
        CALL(function("cublas%caxpy_v2", *type)(handle, 4, at_alpha, dy, 1, dx, 1));
        CALL(function(is_complex(*type) ? "cublas%cdotu_v2" : "cublas%cdot_v2",
                      *type)(handle, 4, dx, 1, dy, 1, result));
        CALL(function("cublasSetPointerMode_v2")(handle, 0));
        expect("dot", *type, result, sum, 1);
        CALL(cuMemFree_v2(dx));
        CALL(cuMemFree_v2(dy));
        CALL(cuMemFree_v2(at_alpha));
    }
}

static void planes_rotate(void **unused)
{
    (void)unused;
    for (const char *type = types; *type; type++) {
        const char real = *type == 'S' || *type == 'C' ? 'S' : 'D';
        const number c = 2, s = is_complex(*type) ? 1 + 2 * I : 3;
        fill(*type, x, LONG);
        fill(*type, y, LONG);
        CUdeviceptr dx = upload(*type, x, LONG), dy = upload(*type, y, LONG);
        CALL(function("cublas%crot_v2", *type)(handle, LONG, dx, 1, dy, 1, scalar(real, c),
                                               scalar(*type, s)));
        for (int i = 0; i < LONG; i++) {
            const number old = x[i];
            x[i] = c * old + s * y[i];
            y[i] = c * y[i] - conj(s) * old;
        }
        expect("x", *type, dx, x, LONG);
        expect("y", *type, dy, y, LONG);
    }
    double p = 3, q = 4, c, s;
    CALL(function("cublasDrotg_v2")(handle, &p, &q, &c, &s));
    assert_true(p == 5 && fabs(c - 0.6) < 1e-15 && fabs(s - 0.8) < 1e-15 &&
                fabs(q - 1 / 0.6) < 1e-15);
    const double h[5] = {-1, 1, 2, 3, 4};
    CUdeviceptr dx = upload('D', (number[]){5}, 1), dy = upload('D', (number[]){7}, 1);
    CALL(function("cublasDrotm_v2")(handle, 1, dx, 1, dy, 1, h));
    expect("x", 'D', dx, (number[]){5 + 3 * 7}, 1);
    expect("y", 'D', dy, (number[]){2 * 5 + 4 * 7}, 1);
}

// y = alpha * op(F) * x + beta * y
static void reference(char type, const number *f, int ld, int operation, int m, int n, int incx,
                      int incy)
{
    for (int i = 0; i < m; i++) {
        number sum = 0;
        for (int j = 0; j < n; j++)
            sum += op(f, ld, operation, i, j) * *at(x, n, incx, j);
        number *const to = at(y, m, incy, i);
        *to = (is_complex(type) ? 2 - I : 2) * sum + 3 * *to;
    }
}

static void general_matrices_times_vectors(void **unused)
{
    (void)unused;
    FOR_TYPES_AND_STEPS
    {
        for (int operation = N; operation <= C; operation++) {
            const int m = 11, n = ORDER, rows = operation == N ? m : n,
                      columns = operation == N ? n : m;
            const int incx = steps[pair][0], incy = steps[pair][1], lower = 2, upper = 3;
            const void *const alpha = scalar(*type, is_complex(*type) ? 2 - I : 2), *const beta =
                                                                                        scalar(
                                                                                            *type,
                                                                                            3);
            fill(*type, a, LD * n);
            fill(*type, x, SHORT);
            fill(*type, y, SHORT);
            CUdeviceptr da = upload(*type, a, LD * n), dx = upload(*type, x, SHORT),
                        dy = upload(*type, y, SHORT);
            CALL(function("cublas%cgemv_v2", *type)(handle, operation, m, n, alpha, da, LD, dx,
                                                    incx, beta, dy, incy));
            reference(*type, a, LD, operation, rows, columns, incx, incy);
            expect("gemv", *type, dy, y, SHORT);

            memset(full, 0, sizeof(full[0]) * (size_t)(m * n));
            for (int j = 0; j < n; j++) {
                for (int i = 0; i < m; i++) {
                    if (i - j <= lower && j - i <= upper)
                        full[i + j * m] = a[upper + i - j + j * LD];
                }
            }
            dy = upload(*type, y, SHORT);
            CALL(function("cublas%cgbmv_v2", *type)(handle, operation, m, n, lower, upper, alpha,
                                                    da, LD, dx, incx, beta, dy, incy));
            reference(*type, full, m, operation, rows, columns, incx, incy);
            expect("gbmv", *type, dy, y, SHORT);
            CALL(cuMemFree_v2(da));
            CALL(cuMemFree_v2(dx));
        }
    }
}

// Fills the matrix, and its stored triangle in `a`. Returns the width of its band.
static int make_triangle(char type, char kind, char storage, int triangle, bool unit)
{
    const int width = 4;
    fill(type, a, LD * ORDER);
    fill(type, full, ORDER * ORDER);
    shape(full, ORDER, ORDER, kind, triangle, unit);
    for (int i = 0; i < ORDER * ORDER; i++) {
        if (storage == 'b' && abs(i % ORDER - i / ORDER) > width)
            full[i] = 0;
    }
    store(a, full, ORDER, LD, storage, triangle, width);
    return width;
}

static void symmetric_matrices_times_vectors(void **unused)
{
    (void)unused;
    static const char *const names[] = {"Ssymv", "Dsymv", "Csymv", "Zsymv", "Chemv",
                                        "Zhemv", "Ssbmv", "Dsbmv", "Chbmv", "Zhbmv",
                                        "Sspmv", "Dspmv", "Chpmv", "Zhpmv"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (int triangle = LOWER; triangle <= UPPER; triangle++) {
            const char type = names[i][0], kind = names[i][1],
                       storage = names[i][2] == 'p'   ? 'p'
                                 : names[i][2] == 'b' ? 'b'
                                                      : 'd';
            const void *const alpha = scalar(type, is_complex(type) ? 2 - I : 2), *const beta =
                                                                                      scalar(type,
                                                                                             3);
            const int width = make_triangle(type, kind, storage, triangle, false);
            fill(type, x, SHORT);
            fill(type, y, SHORT);
            CUdeviceptr da = upload(type, a, LD * ORDER), dx = upload(type, x, SHORT),
                        dy = upload(type, y, SHORT);
            call *multiply = function("cublas%s_v2", names[i]);
            if (storage == 'd')
                CALL(multiply(handle, triangle, ORDER, alpha, da, LD, dx, 2, beta, dy, -1));
            else if (storage == 'b')
                CALL(multiply(handle, triangle, ORDER, width, alpha, da, LD, dx, 2, beta, dy, -1));
            else
                CALL(multiply(handle, triangle, ORDER, alpha, da, dx, 2, beta, dy, -1));
            reference(type, full, ORDER, N, ORDER, ORDER, 2, -1);
            expect(names[i], type, dy, y, SHORT);
            CALL(cuMemFree_v2(da));
            CALL(cuMemFree_v2(dx));
        }
    }
}

static void triangular_matrices_multiply_and_solve(void **unused)
{
    (void)unused;
    for (int which = 0; which < 4 * 3 * 2 * 3 * 2; which++) {
        const char type = types[which % 4], storage = "dbp"[which / 4 % 3];
        const int triangle = which / 12 % 2, operation = which / 24 % 3, unit = which / 72,
                  step = which % 2 ? 2 : -1;
        const char *const letters = storage == 'd' ? "tr" : storage == 'b' ? "tb" : "tp";
        const int width = make_triangle(type, 't', storage, triangle, unit);
        for (int i = 0; unit && i < ORDER; i++) { // which is not read
            if (storage == 'd')
                a[i + i * LD] = 9;
        }
        fill(type, x, SHORT);
        CUdeviceptr da = upload(type, a, LD * ORDER), dx = upload(type, x, SHORT);
        memcpy(wanted, x, sizeof(x));
        for (int i = 0; i < ORDER; i++) {
            number sum = 0;
            for (int j = 0; j < ORDER; j++)
                sum += op(full, ORDER, operation, i, j) * *at(x, ORDER, step, j);
            *at(wanted, ORDER, step, i) = sum;
        }
        CUdeviceptr dy = upload(type, wanted, SHORT); // what the solution leads back to x
        call *multiply = function("cublas%c%smv_v2", type, letters),
             *solve = function("cublas%c%ssv_v2", type, letters);
        if (storage == 'd') {
            CALL(multiply(handle, triangle, operation, unit, ORDER, da, LD, dx, step));
            CALL(solve(handle, triangle, operation, unit, ORDER, da, LD, dy, step));
        } else if (storage == 'b') {
            CALL(multiply(handle, triangle, operation, unit, ORDER, width, da, LD, dx, step));
            CALL(solve(handle, triangle, operation, unit, ORDER, width, da, LD, dy, step));
        } else {
            CALL(multiply(handle, triangle, operation, unit, ORDER, da, dx, step));
            CALL(solve(handle, triangle, operation, unit, ORDER, da, dy, step));
        }
        expect("product", type, dx, wanted, SHORT);
        expect("solution", type, dy, x, SHORT);
        CALL(cuMemFree_v2(da));
    }
}

static void vectors_add_to_matrices(void **unused)
{
    (void)unused;
    static const char *const names[] = {
        "Sger",  "Dger",  "Cgeru", "Cgerc", "Zgeru", "Zgerc", "Ssyr",  "Dsyr",  "Csyr",
        "Zsyr",  "Cher",  "Zher",  "Sspr",  "Dspr",  "Chpr",  "Zhpr",  "Ssyr2", "Dsyr2",
        "Csyr2", "Zsyr2", "Cher2", "Zher2", "Sspr2", "Dspr2", "Chpr2", "Zhpr2"};
    for (size_t which = 0; which < 2 * sizeof(names) / sizeof(names[0]); which++) {
        const char *const name = names[which / 2];
        const char type = name[0], real = type == 'C' ? 'S' : type == 'Z' ? 'D' : type;
        const bool general = name[1] == 'g', packed = name[2] == 'p', two = strchr(name, '2');
        const bool hermitian = name[1] == 'h' || (general && name[4] == 'c');
        const int triangle = general ? -1 : (int)which % 2, incx = which % 2 ? 2 : -1, incy = 1;
        const char scalar_type = !general && hermitian && !two ? real : type;
        const number alpha = is_complex(scalar_type) ? 2 - I : 2;
        fill(type, a, LD * ORDER);
        fill(type, x, SHORT);
        fill(type, y, SHORT);
        for (int i = 0; i < ORDER && hermitian && !general; i++) { // whose imaginary part is 0
            const int place = !packed             ? i + i * LD
                              : triangle == LOWER ? i + (2 * ORDER - i - 1) * i / 2
                                                  : i + i * (i + 1) / 2;
            a[place] = creal(a[place]);
        }
        CUdeviceptr da = upload(type, a, LD * ORDER), dx = upload(type, x, SHORT),
                    dy = upload(type, y, SHORT);
        for (int j = 0; j < ORDER; j++) {
            for (int i = 0; i < ORDER; i++) {
                if (triangle == LOWER ? i < j : triangle == UPPER && i > j)
                    continue;
                const number xi = *at(x, ORDER, incx, i), xj = *at(x, ORDER, incx, j);
                const number yi = general || two ? y[i] : xi, yj = general || two ? y[j] : xj;
                number sum = alpha * xi * (hermitian ? conj(yj) : yj);
                if (two)
                    sum += (hermitian ? conj(alpha) * yi * conj(xj) : alpha * yi * xj);
                a[!packed             ? i + j * LD
                  : triangle == LOWER ? i + (2 * ORDER - j - 1) * j / 2
                                      : i + j * (j + 1) / 2] += sum;
            }
        }
        call *add = function("cublas%s_v2", name);
        const void *const factor = scalar(scalar_type, alpha);
        if (general)
            CALL(add(handle, ORDER, ORDER, factor, dx, incx, dy, incy, da, LD));
        else if (two && packed)
            CALL(add(handle, triangle, ORDER, factor, dx, incx, dy, incy, da));
        else if (two)
            CALL(add(handle, triangle, ORDER, factor, dx, incx, dy, incy, da, LD));
        else if (packed)
            CALL(add(handle, triangle, ORDER, factor, dx, incx, da));
        else
            CALL(add(handle, triangle, ORDER, factor, dx, incx, da, LD));
        expect(name, type, da, a, LD * ORDER);
        CALL(cuMemFree_v2(dx));
        CALL(cuMemFree_v2(dy));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_vectors_change_as_in_blas),
        cmocka_unit_test(sums_and_places_are_those_of_blas),
        cmocka_unit_test(norms_neither_overflow_nor_vanish),
        cmocka_unit_test(scalars_and_results_can_be_in_device_memory),
        cmocka_unit_test(planes_rotate),
        cmocka_unit_test(general_matrices_times_vectors),
        cmocka_unit_test(symmetric_matrices_times_vectors),
        cmocka_unit_test(triangular_matrices_multiply_and_solve),
        cmocka_unit_test(vectors_add_to_matrices),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
