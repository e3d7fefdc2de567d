// SPDX-License-Identifier: Apache-2.0
// sgemm: the product of two square matrices, one thread per element, directly from device memory.
//
// Neighboring threads read every element of a and b as many times as the matrix has rows: a
// profiler should name both as candidates for shared memory, which sgemm_tiled uses. They are also
// freed late, after the result has been copied, and c is allocated early.
#include "../example.h"

#include <math.h>
#include <vector>

__global__ void sgemm(int size, const float *a, const float *b, float *c)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= size || column >= size)
        return;
    float sum = 0.0f;
    for (int k = 0; k < size; ++k)
        sum += a[row * size + k] * b[k * size + column];
    c[row * size + column] = sum;
}

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 64);
    const size_t bytes = (size_t)size * size * sizeof(float);

    uint32_t seed = 2;
    std::vector<float> a(size * size), b(size * size), c(size * size);
    for (int i = 0; i < size * size; ++i) {
        a[i] = example_random(&seed, 100) * 0.01f;
        b[i] = example_random(&seed, 100) * 0.01f;
    }

    float *a_gpu, *b_gpu, *c_gpu;
    CHECK(cudaMalloc(&a_gpu, bytes));
    CHECK(cudaMalloc(&b_gpu, bytes));
    CHECK(cudaMalloc(&c_gpu, bytes));
    CHECK(cudaMemcpy(a_gpu, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b_gpu, b.data(), bytes, cudaMemcpyHostToDevice));

    const dim3 block(16, 16);
    const dim3 grid(example_blocks(size, block.x), example_blocks(size, block.y));
    sgemm<<<grid, block>>>(size, a_gpu, b_gpu, c_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), c_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a_gpu));
    CHECK(cudaFree(b_gpu));
    CHECK(cudaFree(c_gpu));

    bool ok = true;
    for (int row = 0; row < size; ++row) {
        for (int column = 0; column < size; ++column) {
            float sum = 0.0f;
            for (int k = 0; k < size; ++k)
                sum = fmaf(a[row * size + k], b[k * size + column], sum);
            ok = ok && c[row * size + column] == sum;
        }
    }
    return example_end("sgemm", ok);
}
