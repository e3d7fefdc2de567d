// SPDX-License-Identifier: Apache-2.0
// gramschmidt: makes the columns of a matrix orthonormal, one after the other. Each column is
// normalized, and its projection is subtracted from all later columns.
//
// The coefficients of column k are row k of R_gpu, which only launch k of gramschmidt_kernel3 uses.
// So the launches access slices of R_gpu that have one size and do not overlap (structured access),
// and R_gpu is idle between launches (temporary idleness). Within a launch, coefficients of
// finished columns are accessed once, and the others once more for each row (non-uniform access).
// All memory is allocated before any of it is used and freed at the end: early allocation and late
// deallocation of A_gpu, R_gpu, Q_gpu and norm_gpu. gramschmidt_fixed.cu keeps one row of R, so it
// needs memory for two matrices instead of three.
#include "gramschmidt.h"

// Subtracts column k from each later column, multiplied by its coefficient in row k of R.
__global__ void gramschmidt_kernel3(int size, int k, const float *Q, const float *norm, float *R,
                                    float *A)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= size)
        return;
    if (j <= k) {
        R[k * size + j] = j < k ? 0.0f : *norm;
        return;
    }
    float share = 0.0f;
    for (int i = 0; i < size; ++i)
        share = fmaf(Q[i * size + k], A[i * size + j], share);
    R[k * size + j] = share;
    for (int i = 0; i < size; ++i)
        A[i * size + j] = fmaf(-Q[i * size + k], R[k * size + j], A[i * size + j]);
}

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 128);
    const size_t bytes = (size_t)size * size * sizeof(float);

    const std::vector<float> A = make_vectors(size);
    std::vector<float> Q(A.size());

    float *A_gpu, *R_gpu, *Q_gpu, *norm_gpu;
    CHECK(cudaMalloc(&A_gpu, bytes));
    CHECK(cudaMalloc(&R_gpu, bytes));
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

    return peak_end("gramschmidt", Q, expected_basis(size, A));
}
