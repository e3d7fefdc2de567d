// SPDX-License-Identifier: Apache-2.0
// 3mm: three chained products of matrices, E = A B, F = C D and G = E F. A is 1.5 times as wide as
// it is high, B is 1.5 times as high as it is wide, and the others are square.
//
// All matrices are allocated before the first is used: early allocation, longest for F_gpu and
// G_gpu. All are freed at the end: late deallocation, longest for A_gpu and B_gpu. G_gpu could
// reuse the memory of D_gpu, which has the same size and is no longer used by then: redundant
// allocation. E_gpu is computed first and is idle while F is computed: temporary idleness.
// 3mm_fixed.cu needs half as much memory: that of one product, and E.
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

    float *A_gpu, *B_gpu, *C_gpu, *D_gpu, *E_gpu, *F_gpu, *G_gpu;
    CHECK(cudaMalloc(&A_gpu, long_bytes));
    CHECK(cudaMalloc(&B_gpu, long_bytes));
    CHECK(cudaMalloc(&C_gpu, bytes));
    CHECK(cudaMalloc(&D_gpu, bytes));
    CHECK(cudaMalloc(&E_gpu, bytes));
    CHECK(cudaMalloc(&F_gpu, bytes));
    CHECK(cudaMalloc(&G_gpu, bytes));

    CHECK(cudaMemcpy(A_gpu, A.data(), long_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(B_gpu, B.data(), long_bytes, cudaMemcpyHostToDevice));
    launch_multiply(size, inner, size, A_gpu, B_gpu, E_gpu);
    CHECK(cudaMemcpy(C_gpu, C.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(D_gpu, D.data(), bytes, cudaMemcpyHostToDevice));
    launch_multiply(size, size, size, C_gpu, D_gpu, F_gpu);
    launch_multiply(size, size, size, E_gpu, F_gpu, G_gpu);
    CHECK(cudaMemcpy(G.data(), G_gpu, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(A_gpu));
    CHECK(cudaFree(B_gpu));
    CHECK(cudaFree(C_gpu));
    CHECK(cudaFree(D_gpu));
    CHECK(cudaFree(E_gpu));
    CHECK(cudaFree(F_gpu));
    CHECK(cudaFree(G_gpu));

    return peak_end("3mm", G,
                    expected_product(size, size, size, expected_product(size, inner, size, A, B),
                                     expected_product(size, size, size, C, D)));
}
