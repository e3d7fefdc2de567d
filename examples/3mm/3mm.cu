// SPDX-License-Identifier: Apache-2.0
// 3mm: three chained products of matrices, E = A B, F = C D and G = E F.
//
// All matrices are allocated before the first is used (early allocation of all of them, F_gpu and
// G_gpu above all) and freed when everything is done (late deallocation of all of them, C_gpu and
// A_gpu above all). When D_gpu, F_gpu and G_gpu come into use, others that are as large are out of
// it: redundant allocations. E_gpu is computed first and lies idle while F is made (temporary
// idleness). 3mm_fixed.cu needs three matrices where this needs seven.
#include "../matrices.h"

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 64);
    const size_t bytes = (size_t)size * size * sizeof(float);

    uint32_t seed = 31;
    const std::vector<float> A = make_matrix(size, &seed), B = make_matrix(size, &seed),
                             C = make_matrix(size, &seed), D = make_matrix(size, &seed);
    std::vector<float> G(A.size());

    float *A_gpu, *B_gpu, *C_gpu, *D_gpu, *E_gpu, *F_gpu, *G_gpu;
    CHECK(cudaMalloc(&A_gpu, bytes));
    CHECK(cudaMalloc(&B_gpu, bytes));
    CHECK(cudaMalloc(&C_gpu, bytes));
    CHECK(cudaMalloc(&D_gpu, bytes));
    CHECK(cudaMalloc(&E_gpu, bytes));
    CHECK(cudaMalloc(&F_gpu, bytes));
    CHECK(cudaMalloc(&G_gpu, bytes));

    CHECK(cudaMemcpy(A_gpu, A.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(B_gpu, B.data(), bytes, cudaMemcpyHostToDevice));
    launch_multiply(size, A_gpu, B_gpu, E_gpu);
    CHECK(cudaMemcpy(C_gpu, C.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(D_gpu, D.data(), bytes, cudaMemcpyHostToDevice));
    launch_multiply(size, C_gpu, D_gpu, F_gpu);
    launch_multiply(size, E_gpu, F_gpu, G_gpu);
    CHECK(cudaMemcpy(G.data(), G_gpu, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(A_gpu));
    CHECK(cudaFree(B_gpu));
    CHECK(cudaFree(C_gpu));
    CHECK(cudaFree(D_gpu));
    CHECK(cudaFree(E_gpu));
    CHECK(cudaFree(F_gpu));
    CHECK(cudaFree(G_gpu));

    return peak_end(
        "3mm", G,
        expected_product(size, expected_product(size, A, B), expected_product(size, C, D)));
}
