// SPDX-License-Identifier: Apache-2.0
// bicg_fixed: bicg.cu with its waste removed. The kernels add in shared memory and write each sum
// once. q_gpu reuses the memory of r_gpu. Memory is allocated just before its first use and freed
// after its last.
#include "bicg.h"

__global__ void bicg_kernel1(int size, const float *A, const float *r, float *s)
{
    __shared__ float sums[block];
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= size)
        return;
    sums[threadIdx.x] = 0.0f;
    for (int i = 0; i < size; ++i) {
        float product = A[i * size + j] * r[i];
        if (product != 0.0f)
            sums[threadIdx.x] += product;
    }
    s[j] = sums[threadIdx.x];
}

__global__ void bicg_kernel2(int size, const float *A, const float *p, float *q)
{
    __shared__ float sums[block];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    sums[threadIdx.x] = 0.0f;
    for (int j = 0; j < size; ++j) {
        float product = A[i * size + j] * p[j];
        if (product != 0.0f)
            sums[threadIdx.x] += product;
    }
    q[i] = sums[threadIdx.x];
}

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 128);
    const size_t matrix_bytes = (size_t)size * size * sizeof(float);
    const size_t bytes = size * sizeof(float);

    const std::vector<float> A = make_matrix(size);
    std::vector<float> both(2 * size);

    float *A_gpu, *r_gpu, *s_gpu, *p_gpu;
    const int blocks = example_blocks(size, block);
    CHECK(cudaMalloc(&A_gpu, matrix_bytes));
    CHECK(cudaMemcpy(A_gpu, A.data(), matrix_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&r_gpu, bytes));
    CHECK(cudaMalloc(&p_gpu, bytes));
    start<<<blocks, block>>>(size, r_gpu, p_gpu);
    CHECK(cudaMalloc(&s_gpu, bytes));
    bicg_kernel1<<<blocks, block>>>(size, A_gpu, r_gpu, s_gpu);
    float *q_gpu = r_gpu;
    bicg_kernel2<<<blocks, block>>>(size, A_gpu, p_gpu, q_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(A_gpu));
    CHECK(cudaFree(p_gpu));
    CHECK(cudaMemcpy(both.data(), s_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(s_gpu));
    CHECK(cudaMemcpy(both.data() + size, q_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(q_gpu));

    return peak_end("bicg_fixed", both, expected_vectors(size, A));
}
