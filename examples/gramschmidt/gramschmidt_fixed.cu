// SPDX-License-Identifier: Apache-2.0
// gramschmidt_fixed: gramschmidt.cu without the structured access. R_gpu is one row, which every
// launch of gramschmidt_kernel3 reuses.
#include "gramschmidt.h"

// Subtracts column k from each later column, multiplied by its coefficient, which is stored in R.
__global__ void gramschmidt_kernel3(int size, int k, const float *Q, const float *norm, float *R,
                                    float *A)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= size)
        return;
    if (j <= k) {
        R[j] = j < k ? 0.0f : *norm;
        return;
    }
    float share = 0.0f;
    for (int i = 0; i < size; ++i)
        share = fmaf(Q[i * size + k], A[i * size + j], share);
    R[j] = share;
    for (int i = 0; i < size; ++i)
        A[i * size + j] = fmaf(-Q[i * size + k], R[j], A[i * size + j]);
}

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 128);
    const size_t bytes = (size_t)size * size * sizeof(float);

    const std::vector<float> A = make_vectors(size);
    std::vector<float> Q(A.size());

    float *A_gpu, *R_gpu, *Q_gpu, *norm_gpu;
    CHECK(cudaMalloc(&A_gpu, bytes));
    CHECK(cudaMalloc(&R_gpu, size * sizeof(float)));
    CHECK(cudaMalloc(&Q_gpu, bytes));
    CHECK(cudaMalloc(&norm_gpu, sizeof(float)));

    CHECK(cudaMemcpy(A_gpu, A.data(), bytes, cudaMemcpyHostToDevice));
    const int blocks = example_blocks(size, block);
    for (int k = 0; k < size; ++k) {
        gramschmidt_kernel1<<<1, block>>>(size, k, A_gpu, norm_gpu);
        gramschmidt_kernel2<<<blocks, block>>>(size, k, A_gpu, norm_gpu, Q_gpu);
        gramschmidt_kernel3<<<blocks, block>>>(size, k, Q_gpu, norm_gpu, R_gpu, A_gpu);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpy(Q.data(), Q_gpu, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(A_gpu));
    CHECK(cudaFree(R_gpu));
    CHECK(cudaFree(Q_gpu));
    CHECK(cudaFree(norm_gpu));

    return peak_end("gramschmidt_fixed", Q, expected_basis(size, A));
}
