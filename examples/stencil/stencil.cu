// SPDX-License-Identifier: Apache-2.0
// stencil: heat spreading over a plate, a five-point average in two buffers that change places.
//
// The program allocates everything first and frees everything last, as many do. A profiler should
// find residual allocated early, field_gpu and next_gpu freed late, source idle while the steps
// run, and spare never used at all.
#include "../example.h"

#include <algorithm>
#include <math.h>
#include <vector>

__global__ void ignite(int size, const float *source, float *field)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size * size)
        field[i] = source[i];
}

__global__ void step(int size, const float *field, float *next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size)
        return;
    int i = y * size + x;
    if (x == 0 || y == 0 || x == size - 1 || y == size - 1)
        next[i] = field[i];
    else
        next[i] = 0.25f * ((field[i - 1] + field[i + 1]) + (field[i - size] + field[i + size]));
}

// Computes how much the plate differs from its initial state.
__global__ void compare(int size, const float *source, const float *field, float *residual)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size * size)
        residual[i] = fabsf(field[i] - source[i]);
}

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 128);
    const int steps = 8;
    const int count = size * size;
    const size_t bytes = (size_t)count * sizeof(float);

    uint32_t seed = 4;
    std::vector<float> source(count), residual(count);
    for (float &value : source)
        value = example_random(&seed, 16) == 0 ? 100.0f : 0.0f;

    float *source_gpu, *field_gpu, *next_gpu, *residual_gpu, *spare_gpu;
    CHECK(cudaMalloc(&source_gpu, bytes));
    CHECK(cudaMalloc(&field_gpu, bytes));
    CHECK(cudaMalloc(&next_gpu, bytes));
    CHECK(cudaMalloc(&residual_gpu, bytes));
    CHECK(cudaMalloc(&spare_gpu, bytes));
    CHECK(cudaMemcpy(source_gpu, source.data(), bytes, cudaMemcpyHostToDevice));

    const int blocks = example_blocks(count, 256);
    ignite<<<blocks, 256>>>(size, source_gpu, field_gpu);
    const dim3 block(32, 8);
    const dim3 grid(example_blocks(size, block.x), example_blocks(size, block.y));
    for (int i = 0; i < steps; ++i) {
        step<<<grid, block>>>(size, field_gpu, next_gpu);
        std::swap(field_gpu, next_gpu);
    }
    compare<<<blocks, 256>>>(size, source_gpu, field_gpu, residual_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(residual.data(), residual_gpu, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(source_gpu));
    CHECK(cudaFree(field_gpu));
    CHECK(cudaFree(next_gpu));
    CHECK(cudaFree(residual_gpu));
    CHECK(cudaFree(spare_gpu));

    std::vector<float> field = source, next = source;
    for (int i = 0; i < steps; ++i) {
        for (int y = 1; y < size - 1; ++y) {
            for (int x = 1; x < size - 1; ++x) {
                const float *at = &field[y * size + x];
                next[y * size + x] = 0.25f * ((at[-1] + at[1]) + (at[-size] + at[size]));
            }
        }
        std::swap(field, next);
    }
    bool ok = true;
    for (int i = 0; i < count; ++i)
        ok = ok && residual[i] == fabsf(field[i] - source[i]);
    return example_end("stencil", ok);
}
