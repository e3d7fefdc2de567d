// SPDX-License-Identifier: Apache-2.0
// despeckle: removes speckle from an image by anisotropic diffusion.
//
// The kernel looks up the positions of a pixel's neighbours in four tables. But except at the
// borders of the image, a position is the pixel's own plus a constant: all four tables hold
// structured values. Each step reads them all, and the host makes them and copies them to the GPU
// first. despeckle_fixed.cu computes the positions. Rodinia's srad_v1 has such tables.
#include "despeckle.h"

#include <utility>

__global__ void diffuse(int count, const int *north, const int *south, const int *west,
                        const int *east, const float *image, float *next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        next[i] = next_pixel(image, i, {north[i], south[i], west[i], east[i]});
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {256, 320, 4});
    const int count = problem.rows * problem.columns;
    const int blocks = example_blocks(count, block);
    const size_t bytes = count * sizeof(float), table_bytes = count * sizeof(int);

    std::vector<float> image = make_image(count);
    std::vector<int> north(count), south(count), west(count), east(count);
    for (int i = 0; i < count; ++i) {
        const neighbours near = neighbours_of(problem.rows, problem.columns, i);
        north[i] = near.north;
        south[i] = near.south;
        west[i] = near.west;
        east[i] = near.east;
    }
    int *north_gpu, *south_gpu, *west_gpu, *east_gpu;
    float *image_gpu, *next_gpu;
    CHECK(cudaMalloc(&north_gpu, table_bytes));
    CHECK(cudaMalloc(&south_gpu, table_bytes));
    CHECK(cudaMalloc(&west_gpu, table_bytes));
    CHECK(cudaMalloc(&east_gpu, table_bytes));
    CHECK(cudaMalloc(&image_gpu, bytes));
    CHECK(cudaMalloc(&next_gpu, bytes));

    const double began = values_begin();
    CHECK(cudaMemcpy(north_gpu, north.data(), table_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(south_gpu, south.data(), table_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(west_gpu, west.data(), table_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(east_gpu, east.data(), table_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(image_gpu, image.data(), bytes, cudaMemcpyHostToDevice));
    for (int step = 0; step < problem.steps; ++step) {
        diffuse<<<blocks, block>>>(count, north_gpu, south_gpu, west_gpu, east_gpu, image_gpu,
                                   next_gpu);
        std::swap(image_gpu, next_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(image.data(), image_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(north_gpu));
    CHECK(cudaFree(south_gpu));
    CHECK(cudaFree(west_gpu));
    CHECK(cudaFree(east_gpu));
    CHECK(cudaFree(image_gpu));
    CHECK(cudaFree(next_gpu));
    return values_end("despeckle", image, expected_image(problem));
}
