// SPDX-License-Identifier: Apache-2.0
// The program of docs/guide/tutorial.md: multiplies three matrices with the kernel of
// examples/sgemm. Like many first versions, chain.c allocates everything at the start and frees
// everything at the end. chain_fixed.c has the fixes that the report suggests.
//
//     chain [SIZE [PTX]]
#include "driver.h"

static void fill(float *matrix, int count, int step)
{
    for (int i = 0; i < count; i++)
        matrix[i] = (float)(i * step % 5 - 2);
}

static void multiply(CUfunction sgemm, int size, CUdeviceptr left, CUdeviceptr right,
                     CUdeviceptr product)
{
    void *params[] = {&size, &left, &right, &product};
    unsigned blocks_x = ((unsigned)size + 31) / 32, blocks_y = ((unsigned)size + 7) / 8;
    CHECK(cuLaunchKernel(sgemm, blocks_x, blocks_y, 1, 32, 8, 1, 0, NULL, params, NULL));
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 128, count = size * size;
    size_t bytes = sizeof(float) * (size_t)count;
    float *matrix = malloc(bytes);
    CUdeviceptr A_gpu, B_gpu, C_gpu, product_gpu, result_gpu;
    CUmodule module;
    CUfunction sgemm;
    if (!matrix)
        return 1;
    start_driver();
    CHECK(cuModuleLoad(&module, argc > 2 ? argv[2] : "examples/sgemm/sgemm.ptx"));
    CHECK(cuModuleGetFunction(&sgemm, module, "_Z5sgemmiPKfS0_Pf"));

    CHECK(cuMemAlloc(&A_gpu, bytes));
    CHECK(cuMemAlloc(&B_gpu, bytes));
    CHECK(cuMemAlloc(&product_gpu, bytes));

    fill(matrix, count, 7);
    CHECK(cuMemcpyHtoD(A_gpu, matrix, bytes));
    fill(matrix, count, 3);
    CHECK(cuMemcpyHtoD(B_gpu, matrix, bytes));
    multiply(sgemm, size, A_gpu, B_gpu, product_gpu);

    C_gpu = A_gpu;
    result_gpu = B_gpu;
    fill(matrix, count, 4);
    CHECK(cuMemcpyHtoD(C_gpu, matrix, bytes));
    multiply(sgemm, size, product_gpu, C_gpu, result_gpu);
    CHECK(cuMemcpyDtoH(matrix, result_gpu, bytes));

    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += matrix[i];
    printf("sum %.0f\n", sum);

    CHECK(cuMemFree(A_gpu));
    CHECK(cuMemFree(B_gpu));
    CHECK(cuMemFree(product_gpu));
    free(matrix);
    return 0;
}
