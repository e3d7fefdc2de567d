// SPDX-License-Identifier: Apache-2.0
// sgemm_tiled: the product of two square matrices through tiles in shared memory, each element of
// which is read once for every row or column of the tile.
//
// A profiler should find the shared memory well used. The tile of bias is not: every element of it
// is written once and read once by the same thread, so it could have stayed in a register.
#include "../example.h"

#include <math.h>
#include <vector>

static const int tile = 16;

__global__ void sgemm_tiled(int size, const float *a, const float *b, const float *bias, float *c)
{
    __shared__ float a_tile[tile][tile];
    __shared__ float b_tile[tile][tile];
    __shared__ float bias_tile[tile][tile];

    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * tile + x;
    int row = blockIdx.y * tile + y;
    bool inside = row < size && column < size;

    bias_tile[y][x] = inside ? bias[row * size + column] : 0.0f;
    float sum = 0.0f;
    for (int first = 0; first < size; first += tile) {
        a_tile[y][x] = row < size && first + x < size ? a[row * size + first + x] : 0.0f;
        b_tile[y][x] = first + y < size && column < size ? b[(first + y) * size + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < tile; ++k)
            sum = fmaf(a_tile[y][k], b_tile[k][x], sum);
        __syncthreads();
    }
    if (inside)
        c[row * size + column] = sum + bias_tile[y][x];
}

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 72);
    const size_t bytes = (size_t)size * size * sizeof(float);

    uint32_t seed = 3;
    std::vector<float> a(size * size), b(size * size), bias(size * size), c(size * size);
    for (int i = 0; i < size * size; ++i) {
        a[i] = example_random(&seed, 100) * 0.01f;
        b[i] = example_random(&seed, 100) * 0.01f;
        bias[i] = example_random(&seed, 100) * 0.5f;
    }

    float *a_gpu, *b_gpu, *bias_gpu, *c_gpu;
    CHECK(cudaMalloc(&a_gpu, bytes));
    CHECK(cudaMemcpy(a_gpu, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&b_gpu, bytes));
    CHECK(cudaMemcpy(b_gpu, b.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&bias_gpu, bytes));
    CHECK(cudaMemcpy(bias_gpu, bias.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&c_gpu, bytes));

    const dim3 block(tile, tile);
    const dim3 grid(example_blocks(size, tile), example_blocks(size, tile));
    sgemm_tiled<<<grid, block>>>(size, a_gpu, b_gpu, bias_gpu, c_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(a_gpu));
    CHECK(cudaFree(b_gpu));
    CHECK(cudaFree(bias_gpu));
    CHECK(cudaMemcpy(c.data(), c_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(c_gpu));

    bool ok = true;
    for (int row = 0; row < size; ++row) {
        for (int column = 0; column < size; ++column) {
            float sum = 0.0f;
            for (int k = 0; k < size; ++k)
                sum = fmaf(a[row * size + k], b[k * size + column], sum);
            ok = ok && c[row * size + column] == sum + bias[row * size + column];
        }
    }
    return example_end("sgemm_tiled", ok);
}
