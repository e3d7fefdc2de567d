// SPDX-License-Identifier: Apache-2.0
// cuBLAS in the matrix of recorded programs: NVIDIA's library on a GPU, and its stand-in on the simulated one. The program
// prints a checksum of a product of integer matrices, which is exact in any order.
#include <cublas_v2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                      \
    do {                                                 \
        if ((call) != 0) {                               \
            fprintf(stderr, "cublas: %s failed\n", #call); \
            exit(1);                                     \
        }                                                \
    } while (0)

enum { SIZE = 160, COUNT = SIZE * SIZE };

int main(void)
{
    static float a[COUNT], b[COUNT], c[COUNT];
    const float one = 1, zero = 0;
    float *device_a, *device_b, *device_c;
    cublasHandle_t handle;
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)(i * 7 % 13 - 6);
        b[i] = (float)(i * 5 % 11 - 5);
    }
    CHECK(cublasCreate(&handle));
    CHECK(cudaMalloc(&device_a, sizeof(a)));
    CHECK(cudaMalloc(&device_b, sizeof(b)));
    CHECK(cudaMalloc(&device_c, sizeof(c)));
    CHECK(cublasSetMatrix(SIZE, SIZE, sizeof(float), a, SIZE, device_a, SIZE));
    CHECK(cublasSetMatrix(SIZE, SIZE, sizeof(float), b, SIZE, device_b, SIZE));
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, SIZE, SIZE, SIZE, &one, device_a, SIZE, device_b, SIZE,
                      &zero, device_c, SIZE));
    CHECK(cublasGetMatrix(SIZE, SIZE, sizeof(float), device_c, SIZE, c, SIZE));
    uint64_t sum = 0xcbf29ce484222325u;
    for (int i = 0; i < COUNT; i++)
        sum = (sum ^ (uint64_t)(int64_t)c[i]) * 0x100000001b3u;
    printf("cublas: %016llx\n", (unsigned long long)sum);
    CHECK(cudaFree(device_c));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_a));
    CHECK(cublasDestroy(handle));
    return 0;
}
