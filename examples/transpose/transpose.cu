// SPDX-License-Identifier: Apache-2.0
// transpose: transposes a matrix twice, once directly in device memory, and back through a tile in
// shared memory that is padded so that its columns lie in different banks.
//
// A profiler should find the stores of transpose_naive poorly coalesced, and those of
// transpose_tiled not.
#include "../example.h"

#include <vector>

static const int tile = 32;
static const int rows_at_once = 8;

__global__ void transpose_naive(int width, int height, const float *in, float *out)
{
    int x = blockIdx.x * tile + threadIdx.x;
    for (int row = 0; row < tile; row += rows_at_once) {
        int y = blockIdx.y * tile + threadIdx.y + row;
        if (x < width && y < height)
            out[x * height + y] = in[y * width + x];
    }
}

__global__ void transpose_tiled(int width, int height, const float *in, float *out)
{
    __shared__ float block[tile][tile + 1];
    int x = blockIdx.x * tile + threadIdx.x;
    for (int row = 0; row < tile; row += rows_at_once) {
        int y = blockIdx.y * tile + threadIdx.y + row;
        if (x < width && y < height)
            block[threadIdx.y + row][threadIdx.x] = in[y * width + x];
    }
    __syncthreads();
    int y = blockIdx.y * tile + threadIdx.x;
    for (int row = 0; row < tile; row += rows_at_once) {
        x = blockIdx.x * tile + threadIdx.y + row;
        if (x < width && y < height)
            out[x * height + y] = block[threadIdx.x][threadIdx.y + row];
    }
}

int main(int argc, char **argv)
{
    const int width = example_size(argc, argv, 200);
    const int height = width / 2 + 1;
    const int count = width * height;
    const size_t bytes = (size_t)count * sizeof(float);

    std::vector<float> matrix(count), turned(count), back(count);
    for (int i = 0; i < count; ++i)
        matrix[i] = (float)i;

    float *matrix_gpu, *turned_gpu, *back_gpu;
    CHECK(cudaMalloc(&matrix_gpu, bytes));
    CHECK(cudaMemcpy(matrix_gpu, matrix.data(), bytes, cudaMemcpyHostToDevice));
    const dim3 block(tile, rows_at_once);
    const int across = example_blocks(width, tile), down = example_blocks(height, tile);
    CHECK(cudaMalloc(&turned_gpu, bytes));
    transpose_naive<<<dim3(across, down), block>>>(width, height, matrix_gpu, turned_gpu);
    CHECK(cudaFree(matrix_gpu));
    CHECK(cudaMalloc(&back_gpu, bytes));
    transpose_tiled<<<dim3(down, across), block>>>(height, width, turned_gpu, back_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(turned.data(), turned_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(turned_gpu));
    CHECK(cudaMemcpy(back.data(), back_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(back_gpu));

    bool ok = back == matrix;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x)
            ok = ok && turned[x * height + y] == matrix[y * width + x];
    }
    return example_end("transpose", ok);
}
