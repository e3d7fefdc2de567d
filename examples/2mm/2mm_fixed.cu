// SPDX-License-Identifier: Apache-2.0
// 2mm_fixed: 2mm.cu with its waste removed. Matrices are allocated just before their first use.
// D_gpu and E_gpu reuse the memory of A_gpu and B_gpu. The other memory is freed after its last
// use.
#include "../matrices.h"

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 64);
    const size_t bytes = (size_t)size * size * sizeof(float);

    uint32_t seed = 21;
    const std::vector<float> A = make_matrix(size, size, &seed), B = make_matrix(size, size, &seed),
                             D = make_matrix(size, size, &seed);
    std::vector<float> E(A.size());

    float *A_gpu, *B_gpu, *C_gpu;
    CHECK(cudaMalloc(&A_gpu, bytes));
    CHECK(cudaMemcpy(A_gpu, A.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&B_gpu, bytes));
    CHECK(cudaMemcpy(B_gpu, B.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&C_gpu, bytes));
    launch_multiply(size, size, size, A_gpu, B_gpu, C_gpu);

    float *D_gpu = A_gpu, *E_gpu = B_gpu;
    CHECK(cudaMemcpy(D_gpu, D.data(), bytes, cudaMemcpyHostToDevice));
    launch_multiply(size, size, size, C_gpu, D_gpu, E_gpu);
    CHECK(cudaFree(C_gpu));
    CHECK(cudaFree(D_gpu));
    CHECK(cudaMemcpy(E.data(), E_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(E_gpu));

    return peak_end(
        "2mm_fixed", E,
        expected_product(size, size, size, expected_product(size, size, size, A, B), D));
}
