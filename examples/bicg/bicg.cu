// SPDX-License-Identifier: Apache-2.0
// bicg: the two products of a step of the biconjugate gradient method, s = A' r and q = A p, for a
// triangular matrix A.
//
// The kernels add directly into s_gpu and q_gpu, and skip zeros. So elements with many nonzeros of
// A are accessed far more often than others: non-uniform access of s_gpu and q_gpu. All memory is
// allocated before any of it is used and freed at the end: early allocation and late deallocation
// of A_gpu, r_gpu, s_gpu, p_gpu and q_gpu. q_gpu could reuse the memory of r_gpu, which has the
// same size and is no longer used by then: redundant allocation. bicg_fixed.cu adds in shared
// memory, and needs one vector less.
#include "bicg.h"

__global__ void bicg_kernel1(int size, const float *A, const float *r, float *s)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= size)
        return;
    s[j] = 0.0f;
    for (int i = 0; i < size; ++i) {
        float product = A[i * size + j] * r[i];
        if (product != 0.0f)
            s[j] += product;
    }
}

__global__ void bicg_kernel2(int size, const float *A, const float *p, float *q)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    q[i] = 0.0f;
    for (int j = 0; j < size; ++j) {
        float product = A[i * size + j] * p[j];
        if (product != 0.0f)
            q[i] += product;
    }
}

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 128);
    const size_t matrix_bytes = (size_t)size * size * sizeof(float);
    const size_t bytes = size * sizeof(float);

    const std::vector<float> A = make_matrix(size);
    std::vector<float> both(2 * size);

    float *A_gpu, *r_gpu, *s_gpu, *p_gpu, *q_gpu;
    CHECK(cudaMalloc(&A_gpu, matrix_bytes));
    CHECK(cudaMalloc(&r_gpu, bytes));
    CHECK(cudaMalloc(&s_gpu, bytes));
    CHECK(cudaMalloc(&p_gpu, bytes));
    CHECK(cudaMalloc(&q_gpu, bytes));

    const int blocks = example_blocks(size, block);
    CHECK(cudaMemcpy(A_gpu, A.data(), matrix_bytes, cudaMemcpyHostToDevice));
    start<<<blocks, block>>>(size, r_gpu, p_gpu);
    bicg_kernel1<<<blocks, block>>>(size, A_gpu, r_gpu, s_gpu);
    bicg_kernel2<<<blocks, block>>>(size, A_gpu, p_gpu, q_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(both.data(), s_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(both.data() + size, q_gpu, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(A_gpu));
    CHECK(cudaFree(r_gpu));
    CHECK(cudaFree(s_gpu));
    CHECK(cudaFree(p_gpu));
    CHECK(cudaFree(q_gpu));

    return peak_end("bicg", both, expected_vectors(size, A));
}
