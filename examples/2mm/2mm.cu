// SPDX-License-Identifier: Apache-2.0
// 2mm: two chained products of matrices, C = A B and E = C D.
//
// All matrices are allocated before the first is used: early allocation, longest for D_gpu and
// E_gpu, which only the second product needs. D_gpu also gets its values at the start; that copy
// can be delayed, because D does not change. All are freed at the end: late deallocation, longest
// for A_gpu and B_gpu, which only the first product needs. D_gpu and E_gpu could reuse the memory
// of A_gpu and B_gpu, which have the same size and are no longer used by then: redundant
// allocation. 2mm_fixed.cu needs memory for three matrices instead of five.
#include "../matrices.h"

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 64);
    const size_t bytes = (size_t)size * size * sizeof(float);

    uint32_t seed = 21;
    const std::vector<float> A = make_matrix(size, size, &seed), B = make_matrix(size, size, &seed),
                             D = make_matrix(size, size, &seed);
    std::vector<float> E(A.size());

    float *A_gpu, *B_gpu, *C_gpu, *D_gpu, *E_gpu;
    CHECK(cudaMalloc(&A_gpu, bytes));
    CHECK(cudaMalloc(&B_gpu, bytes));
    CHECK(cudaMalloc(&C_gpu, bytes));
    CHECK(cudaMalloc(&D_gpu, bytes));
    CHECK(cudaMalloc(&E_gpu, bytes));

    CHECK(cudaMemcpy(A_gpu, A.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(B_gpu, B.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(D_gpu, D.data(), bytes, cudaMemcpyHostToDevice));
    launch_multiply(size, size, size, A_gpu, B_gpu, C_gpu);
    launch_multiply(size, size, size, C_gpu, D_gpu, E_gpu);
    CHECK(cudaMemcpy(E.data(), E_gpu, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(A_gpu));
    CHECK(cudaFree(B_gpu));
    CHECK(cudaFree(C_gpu));
    CHECK(cudaFree(D_gpu));
    CHECK(cudaFree(E_gpu));

    return peak_end(
        "2mm", E, expected_product(size, size, size, expected_product(size, size, size, A, B), D));
}
