// SPDX-License-Identifier: Apache-2.0
// jacobi: Jacobi's method on a matrix, in two arrays that change places.
//
// A block collects its results in a tile in shared memory before it stores them. Nothing is gained
// by that: every element of the tile is stored once and loaded once, by the same thread, for each
// of the block's tiles. What would gain from shared memory is the input, of which every element is
// loaded four times. jacobi_fixed.cu has a tile of the input instead. GMProf's jcb_v1 and jcb_v2 do
// the same with a1 and a2.
#include "jacobi.h"

__global__ void relax(int width, int height, const float *in, float *out)
{
    __shared__ float out_tile[tile_height][tile_width];

    const int x = blockIdx.x * tile_width + threadIdx.x;
    for (int tile = 0; tile < block_tiles; ++tile) {
        const int y = (blockIdx.y * block_tiles + tile) * tile_height + threadIdx.y;
        const bool inside = x > 0 && y > 0 && x < width - 1 && y < height - 1;
        const int i = y * width + x;
        if (inside)
            out_tile[threadIdx.y][threadIdx.x] =
                mean_of(in[i - 1], in[i + 1], in[i - width], in[i + width]);
        __syncthreads();
        if (inside)
            out[i] = out_tile[threadIdx.y][threadIdx.x];
        __syncthreads();
    }
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {100, 130, 4});
    const int width = problem.columns, height = problem.rows;
    const dim3 block(tile_width, tile_height);
    const dim3 grid(example_blocks(width, tile_width),
                    example_blocks(height, tile_height * block_tiles));
    const std::vector<float> matrix = make_matrix(problem);
    const size_t bytes = matrix.size() * sizeof(float);

    float *in_gpu, *out_gpu;
    CHECK(cudaMalloc(&in_gpu, bytes));
    CHECK(cudaMalloc(&out_gpu, bytes));
    CHECK(cudaMemcpy(in_gpu, matrix.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(out_gpu, in_gpu, bytes, cudaMemcpyDeviceToDevice));

    const double began = values_begin();
    for (int step = 0; step < problem.steps; ++step) {
        relax<<<grid, block>>>(width, height, in_gpu, out_gpu);
        std::swap(in_gpu, out_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    std::vector<float> result(matrix.size());
    CHECK(cudaMemcpy(result.data(), in_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in_gpu));
    CHECK(cudaFree(out_gpu));
    return values_end("jacobi", result, expected_matrix(problem, matrix));
}
