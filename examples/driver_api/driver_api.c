// SPDX-License-Identifier: Apache-2.0
// A CUDA program in plain C: loads the PTX of examples/sgemm through the driver API, multiplies two
// matrices, and checks the result against the CPU. It shows that glint also handles programs that
// call the driver directly. Building it needs no CUDA toolkit, so it runs on machines without one.
// Waste: the second allocation of the result is never used, and the matrices are not freed before
// the end.
//
//     driver_api [SIZE]
#include "../driver.h"

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 96;
    const char *ptx = argc > 2 ? argv[2] : "examples/sgemm/sgemm.ptx";
    size_t count = (size_t)size * (size_t)size, bytes = count * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr device_a, device_b, device_c, unused;
    char name[64];
    if (!a || !b || !c || size < 1)
        return 1;
    for (size_t i = 0; i < count; i++) {
        a[i] = (float)((int)(i * 7 % 13) - 6);
        b[i] = (float)((int)(i * 5 % 11) - 5);
    }
    CUdevice device = start_driver();
    CHECK(cuDeviceGetName(name, sizeof(name), device));
    CHECK(cuModuleLoad(&module, ptx));
    CHECK(cuModuleGetFunction(&kernel, module, "_Z5sgemmiPKfS0_Pf"));
    CHECK(cuMemAlloc(&device_a, bytes));
    CHECK(cuMemAlloc(&device_b, bytes));
    CHECK(cuMemAlloc(&device_c, bytes));
    CHECK(cuMemAlloc(&unused, bytes));
    CHECK(cuMemcpyHtoD(device_a, a, bytes));
    CHECK(cuMemcpyHtoD(device_b, b, bytes));
    void *params[] = {&size, &device_a, &device_b, &device_c};
    unsigned blocks_x = ((unsigned)size + 31) / 32, blocks_y = ((unsigned)size + 7) / 8;
    CHECK(cuLaunchKernel(kernel, blocks_x, blocks_y, 1, 32, 8, 1, 0, NULL, params, NULL));
    CHECK(cuMemcpyDtoH(c, device_c, bytes));
    // Whole numbers, small enough that floats hold every sum exactly in any order.
    for (int y = 0; y < size; y++) {
        for (int x = 0; x < size; x++) {
            float sum = 0;
            for (int k = 0; k < size; k++)
                sum += a[y * size + k] * b[k * size + x];
            if (c[y * size + x] != sum) {
                printf("driver_api: element (%d, %d) is %g, not %g\n", y, x, c[y * size + x], sum);
                return 1;
            }
        }
    }
    CHECK(cuMemFree(unused));
    CHECK(cuMemFree(device_c));
    CHECK(cuMemFree(device_b));
    CHECK(cuMemFree(device_a));
    printf("driver_api: ok, %d x %d on %s\n", size, size, name);
    free(a);
    free(b);
    free(c);
    return 0;
}
