// SPDX-License-Identifier: Apache-2.0
// 3mm_fixed: 3mm.cu with its waste removed. Matrices are allocated just before their first use and
// freed after their last use; G_gpu reuses the memory of D_gpu.
#include "../matrices.h"

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 64), inner = size + size / 2;
    const size_t bytes = (size_t)size * size * sizeof(float);
    const size_t long_bytes = (size_t)size * inner * sizeof(float);

    uint32_t seed = 31;
    const std::vector<float> A = make_matrix(size, inner, &seed),
                             B = make_matrix(inner, size, &seed),
                             C = make_matrix(size, size, &seed), D = make_matrix(size, size, &seed);
    std::vector<float> G(C.size());

    float *A_gpu, *B_gpu, *C_gpu, *D_gpu, *E_gpu, *F_gpu;
    CHECK(cudaMalloc(&A_gpu, long_bytes));
    CHECK(cudaMemcpy(A_gpu, A.data(), long_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&B_gpu, long_bytes));
    CHECK(cudaMemcpy(B_gpu, B.data(), long_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&E_gpu, bytes));
    launch_multiply(size, inner, size, A_gpu, B_gpu, E_gpu);
    CHECK(cudaFree(A_gpu));
    CHECK(cudaFree(B_gpu));

    CHECK(cudaMalloc(&C_gpu, bytes));
    CHECK(cudaMemcpy(C_gpu, C.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&D_gpu, bytes));
    CHECK(cudaMemcpy(D_gpu, D.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&F_gpu, bytes));
    launch_multiply(size, size, size, C_gpu, D_gpu, F_gpu);
    CHECK(cudaFree(C_gpu));

    float *G_gpu = D_gpu;
    launch_multiply(size, size, size, E_gpu, F_gpu, G_gpu);
    CHECK(cudaFree(E_gpu));
    CHECK(cudaFree(F_gpu));
    CHECK(cudaMemcpy(G.data(), G_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(G_gpu));

    return peak_end("3mm_fixed", G,
                    expected_product(size, size, size, expected_product(size, inner, size, A, B),
                                     expected_product(size, size, size, C, D)));
}
