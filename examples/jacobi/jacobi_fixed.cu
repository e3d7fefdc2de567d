// SPDX-License-Identifier: Apache-2.0
// jacobi_fixed: jacobi.cu with its waste removed. A block has a tile of the input in shared memory,
// with a border of one element, so that elements are loaded from global memory only once, except at
// borders. The results are stored directly.
#include "jacobi.h"

__global__ void relax(int width, int height, const float *in, float *out)
{
    __shared__ float in_tile[tile_height + 2][tile_width + 2];

    const int x = blockIdx.x * tile_width + threadIdx.x;
    for (int tile = 0; tile < block_tiles; ++tile) {
        const int top = (blockIdx.y * block_tiles + tile) * tile_height, y = top + threadIdx.y;
        for (int row = threadIdx.y; row < tile_height + 2; row += tile_height) {
            for (int column = threadIdx.x; column < tile_width + 2; column += tile_width) {
                const int from_x = x + column - (int)threadIdx.x - 1, from_y = top + row - 1;
                if (from_x >= 0 && from_y >= 0 && from_x < width && from_y < height)
                    in_tile[row][column] = in[from_y * width + from_x];
            }
        }
        __syncthreads();
        if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
            const float *const at = &in_tile[threadIdx.y + 1][threadIdx.x + 1];
            out[y * width + x] = mean_of(at[-1], at[1], at[-(tile_width + 2)], at[tile_width + 2]);
        }
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
    return values_end("jacobi_fixed", result, expected_matrix(problem, matrix));
}
