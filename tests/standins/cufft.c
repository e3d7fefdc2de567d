// SPDX-License-Identifier: Apache-2.0
// The stand-in for cuFFT, compared with the definition of the transform: all types, sizes with
// small and large factors, one to three dimensions, batches, layouts with strides, and transforms
// in place.
#include <complex.h>
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

typedef double complex number;

enum {
    R2C = 0x2a,
    C2R = 0x2c,
    C2C = 0x29,
    D2Z = 0x6a,
    Z2D = 0x6c,
    Z2Z = 0x69,
    FORWARD = -1,
    INVERSE = 1,
    MOST = 1 << 15
};

int cufftPlan1d(int *plan, int nx, int type, int batch);
int cufftPlan2d(int *plan, int nx, int ny, int type);
int cufftPlan3d(int *plan, int nx, int ny, int nz, int type);
int cufftPlanMany(int *plan, int rank, int *n, int *in_embed, int in_stride, int in_distance,
                  int *out_embed, int out_stride, int out_distance, int type, int batch);
int cufftCreate(int *plan);
int cufftSetAutoAllocation(int plan, int automatic);
int cufftMakePlan1d(int plan, int nx, int type, int batch, size_t *work_bytes);
int cufftSetWorkArea(int plan, CUdeviceptr area);
int cufftXtExec(int plan, CUdeviceptr in, CUdeviceptr out, int direction);
int cufftExecC2C(int plan, CUdeviceptr in, CUdeviceptr out, int direction);
int cufftXtSetCallback(int plan, void *callback, int type, void *info);
int cufftDestroy(int plan);

#define CALL(...) assert_int_equal(__VA_ARGS__, 0)

// --- The program's memory ------------------------------------------------------------------------

static bool is_double(int type)
{
    return type == D2Z || type == Z2D || type == Z2Z;
}

static size_t bytes_of(int type, bool is_complex)
{
    return (is_double(type) ? 8 : 4) * (is_complex ? 2 : 1);
}

static char bytes[MOST * 16];

static CUdeviceptr upload(int type, bool is_complex, const number *from, size_t count)
{
    CUdeviceptr at;
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++) {
        const double parts[2] = {creal(from[i]), cimag(from[i])};
        for (int k = 0; k <= is_complex; k++) {
            if (is_double(type))
                ((double *)bytes)[i * (is_complex ? 2 : 1) + (size_t)k] = parts[k];
            else
                ((float *)bytes)[i * (is_complex ? 2 : 1) + (size_t)k] = (float)parts[k];
        }
    }
    CALL(cuMemAlloc_v2(&at, count * bytes_of(type, true)));
    CALL(cuMemcpyHtoD_v2(at, bytes, count * bytes_of(type, is_complex)));
    return at;
}

static void download(int type, bool is_complex, CUdeviceptr at, number *to, size_t count)
{
    CALL(cuCtxSynchronize());
    CALL(cuMemcpyDtoH_v2(bytes, at, count * bytes_of(type, is_complex)));
    for (size_t i = 0; i < count; i++) {
        double parts[2] = {0, 0};
        for (int k = 0; k <= is_complex; k++)
            parts[k] = is_double(type)
                           ? ((double *)bytes)[i * (is_complex ? 2 : 1) + (size_t)k]
                           : (double)((float *)bytes)[i * (is_complex ? 2 : 1) + (size_t)k];
        to[i] = parts[0] + parts[1] * I;
    }
}

// --- The definition ------------------------------------------------------------------------------

// Transforms along each dimension by its definition.
static void define(const int n[3], int direction, number *data)
{
    static number row[MOST];
    int inner = 1;
    const int total = n[0] * n[1] * n[2];
    for (int d = 2; d >= 0; d--) {
        for (int start = 0; start < total; start++) {
            if (start / inner % n[d])
                continue;
            for (int k = 0; k < n[d]; k++) {
                row[k] = 0;
                for (int j = 0; j < n[d]; j++) {
                    const double angle = 2 * M_PI * (double)((long long)j * k % n[d]) / n[d];
                    row[k] += data[start + j * inner] * (cos(angle) + direction * sin(angle) * I);
                }
            }
            for (int k = 0; k < n[d]; k++)
                data[start + k * inner] = row[k];
        }
        inner *= n[d];
    }
}

static number random_number(void)
{
    static uint32_t state = 1;
    double parts[2];
    for (int i = 0; i < 2; i++) {
        state = state * 1664525 + 1013904223;
        parts[i] = (double)(state >> 8) / (1 << 24) - 0.5;
    }
    return parts[0] + parts[1] * I;
}

// The program's memory on one side: how many numbers are between consecutive ones of each dimension
// and of the batch.
struct layout {
    bool is_complex;
    int step[3], batch_step;
    int count; // numbers in memory
};

static struct layout dense(const int n[3], bool is_complex, int width, int batch)
{
    return (struct layout){
        is_complex, {n[1] * width, width, 1}, n[0] * n[1] * width, n[0] * n[1] * width * batch};
}

static int place(const struct layout *layout, const int n[3], int member, int at)
{
    return member * layout->batch_step + at / (n[1] * n[2]) * layout->step[0] +
           at / n[2] % n[1] * layout->step[1] + at % n[2] * layout->step[2];
}

// Runs the plan, compares all results with the definition, and all other memory with what it was.
static void check(int plan, int type, int direction, const int n[3], int batch,
                  const struct layout *in, const struct layout *out, bool in_place)
{
    static number whole[MOST], memory[MOST], wanted[MOST], is[MOST];
    const int total = n[0] * n[1] * n[2], half = n[2] / 2;
    const bool from_half = type == C2R || type == Z2D, to_half = type == R2C || type == D2Z;
    assert_true(in->count <= MOST && out->count <= MOST && total <= MOST);
    for (int i = 0; i < in->count; i++)
        memory[i] = 7;
    for (int i = 0; i < out->count; i++)
        wanted[i] = 9;
    double norm = 0;
    for (int member = 0; member < batch; member++) {
        for (int i = 0; i < total; i++)
            whole[i] = from_half || to_half ? creal(random_number()) : random_number();
        if (from_half)
            define(n, FORWARD, whole); // so that numbers beyond the middle are conjugates
        for (int i = 0; i < total; i++) {
            if (!from_half || i % n[2] <= half)
                memory[place(in, n, member, i)] = whole[i];
        }
        define(n, direction, whole);
        for (int i = 0; i < total; i++) {
            norm = fmax(norm, cabs(whole[i]));
            if (!to_half || i % n[2] <= half)
                wanted[place(out, n, member, i)] = out->is_complex ? whole[i] : creal(whole[i]);
        }
    }
    CUdeviceptr from = upload(type, in->is_complex, memory, (size_t)in->count), to = from;
    if (!in_place) {
        for (int i = 0; i < out->count; i++)
            is[i] = 9;
        to = upload(type, out->is_complex, is, (size_t)out->count);
    }
    CALL(cufftXtExec(plan, from, to, direction));
    download(type, out->is_complex, to, is, (size_t)out->count);
    const double bound = norm * (is_double(type) ? 1e-13 : 1e-5);
    for (int i = 0; i < out->count; i++) {
        if (in_place && wanted[i] == 9)
            continue;
        if (!(cabs(is[i] - wanted[i]) <= bound))
            fail_msg("type %x of %d x %d x %d: number %d is %g%+gi, not %g%+gi", (unsigned)type,
                     n[0], n[1], n[2], i, creal(is[i]), cimag(is[i]), creal(wanted[i]),
                     cimag(wanted[i]));
    }
    CALL(cuMemFree_v2(from));
    if (!in_place)
        CALL(cuMemFree_v2(to));
}

// --- Tests ---------------------------------------------------------------------------------------

static const int types[] = {C2C, R2C, C2R, Z2Z, D2Z, Z2D};

static void run(int plan, int type, const int n[3], int batch, bool in_place)
{
    const bool from_half = type == C2R || type == Z2D, to_half = type == R2C || type == D2Z;
    const int half = n[2] / 2 + 1, real = in_place ? 2 * half : n[2];
    const struct layout in = dense(n, !to_half, from_half ? half : to_half ? real : n[2], batch);
    const struct layout out = dense(n, !from_half, to_half ? half : from_half ? real : n[2], batch);
    check(plan, type, from_half ? INVERSE : FORWARD, n, batch, &in, &out, in_place);
    if (!from_half && !to_half)
        check(plan, type, INVERSE, n, batch, &in, &out, in_place);
}

static void transforms_of_one_dimension_and_any_size(void **unused)
{
    (void)unused;
    static const int sizes[] = {1,  2,  3,  4,   5,   6,   7,   8,   13,  16,  30,
                                61, 64, 67, 100, 121, 134, 210, 256, 509, 1000};
    for (size_t which = 0; which < sizeof(sizes) / sizeof(sizes[0]) * 6; which++) {
        const int n[3] = {1, 1, sizes[which / 6]}, type = types[which % 6],
                  batch = n[2] > 200 ? 2 : 3;
        int plan;
        CALL(cufftPlan1d(&plan, n[2], type, batch));
        run(plan, type, n, batch, false);
        run(plan, type, n, batch, true);
        CALL(cufftDestroy(plan));
    }
}

static void transforms_of_two_and_three_dimensions(void **unused)
{
    (void)unused;
    static const int sizes[][3] = {{1, 8, 8}, {1, 5, 12}, {1, 12, 5}, {1, 67, 6}, {1, 6, 67},
                                   {4, 4, 4}, {3, 5, 7},  {2, 67, 3}, {71, 2, 5}, {1, 1, 9}};
    for (size_t which = 0; which < sizeof(sizes) / sizeof(sizes[0]) * 6; which++) {
        const int *const n = sizes[which / 6], type = types[which % 6];
        int plan;
        if (n[0] == 1)
            CALL(cufftPlan2d(&plan, n[1], n[2], type));
        else
            CALL(cufftPlan3d(&plan, n[0], n[1], n[2], type));
        run(plan, type, n, 1, false);
        run(plan, type, n, 1, true);
        CALL(cufftDestroy(plan));
    }
}

static void batches_with_strides(void **unused)
{
    (void)unused;
    enum { BATCH = 3 };
    const int n[3] = {1, 6, 10};
    for (size_t which = 0; which < 6; which++) {
        const int type = types[which];
        const bool from_half = type == C2R || type == Z2D, to_half = type == R2C || type == D2Z;
        int plan, sizes[2] = {n[1], n[2]}, in_embed[2] = {7, 12}, out_embed[2] = {6, 11};
        // Numbers of all members alternate on one side; on the other, members are apart.
        const struct layout in = {!to_half, {0, 12 * BATCH, BATCH}, 1, 7 * 12 * BATCH};
        const struct layout out = {!from_half, {0, 11 * 2, 2}, 150, 150 * BATCH};
        CALL(cufftPlanMany(&plan, 2, sizes, in_embed, BATCH, 1, out_embed, 2, 150, type, BATCH));
        check(plan, type, from_half ? INVERSE : FORWARD, n, BATCH, &in, &out, false);
        CALL(cufftDestroy(plan));
        // Without the sizes of the layout, strides do not count.
        CALL(cufftPlanMany(&plan, 2, sizes, NULL, 5, 1, NULL, 2, 1, type, BATCH));
        run(plan, type, n, BATCH, false);
        run(plan, type, n, BATCH, true);
        CALL(cufftDestroy(plan));
    }
}

static void a_program_may_bring_the_work_area(void **unused)
{
    (void)unused;
    enum { NO_WORKSPACE = 13 };
    const int n[3] = {1, 1, 67};
    int plan;
    size_t work_bytes = 0;
    CUdeviceptr area;
    CALL(cufftCreate(&plan));
    CALL(cufftSetAutoAllocation(plan, 0));
    CALL(cufftMakePlan1d(plan, 67, C2C, 2, &work_bytes));
    CALL(cuMemAlloc_v2(&area, work_bytes));
    assert_int_equal(cufftExecC2C(plan, area, area, FORWARD), NO_WORKSPACE);
    CALL(cufftSetWorkArea(plan, area));
    run(plan, C2C, n, 2, false);
    CALL(cufftDestroy(plan));
    CALL(cuMemFree_v2(area));
}

static void wrong_arguments_are_rejected(void **unused)
{
    (void)unused;
    enum {
        INVALID_PLAN = 1,
        INVALID_TYPE = 3,
        INVALID_VALUE = 4,
        INVALID_SIZE = 8,
        NOT_SUPPORTED = 16
    };
    int plan;
    assert_int_equal(cufftPlan1d(&plan, 0, C2C, 1), INVALID_SIZE);
    assert_int_equal(cufftPlan1d(&plan, 8, 77, 1), INVALID_TYPE);
    assert_int_equal(cufftExecC2C(12345, 0, 0, FORWARD), INVALID_PLAN);
    CALL(cufftPlan1d(&plan, 8, R2C, 1));
    assert_int_equal(cufftExecC2C(plan, 1, 1, FORWARD), INVALID_TYPE);
    assert_int_equal(cufftXtExec(plan, 0, 0, FORWARD), INVALID_VALUE);
    assert_int_equal(cufftXtSetCallback(plan, NULL, 0, NULL), NOT_SUPPORTED);
    CALL(cufftDestroy(plan));
    assert_int_equal(cufftDestroy(plan), INVALID_PLAN);
}

static int open_device(void **unused)
{
    (void)unused;
    CUdevice device;
    CUcontext context;
    CALL(cuInit(0));
    CALL(cuDeviceGet(&device, 0));
    CALL(cuDevicePrimaryCtxRetain(&context, device));
    CALL(cuCtxSetCurrent(context));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_of_one_dimension_and_any_size),
        cmocka_unit_test(transforms_of_two_and_three_dimensions),
        cmocka_unit_test(batches_with_strides),
        cmocka_unit_test(a_program_may_bring_the_work_area),
        cmocka_unit_test(wrong_arguments_are_rejected),
    };
    return cmocka_run_group_tests(tests, open_device, NULL);
}
