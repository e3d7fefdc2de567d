// SPDX-License-Identifier: Apache-2.0
// despeckle_fixed: despeckle.cu with its waste removed. The kernel computes the positions of a
// pixel's neighbours.
#include "despeckle.h"

#include <utility>

__global__ void diffuse(int rows, int columns, const float *image, float *next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns)
        next[i] = next_pixel(image, i, neighbours_of(rows, columns, i));
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {256, 320, 4});
    const int count = problem.rows * problem.columns;
    const int blocks = example_blocks(count, block);
    const size_t bytes = count * sizeof(float);

    std::vector<float> image = make_image(count);
    float *image_gpu, *next_gpu;
    CHECK(cudaMalloc(&image_gpu, bytes));
    CHECK(cudaMalloc(&next_gpu, bytes));

    const double began = values_begin();
    CHECK(cudaMemcpy(image_gpu, image.data(), bytes, cudaMemcpyHostToDevice));
    for (int step = 0; step < problem.steps; ++step) {
        diffuse<<<blocks, block>>>(problem.rows, problem.columns, image_gpu, next_gpu);
        std::swap(image_gpu, next_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(image.data(), image_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(image_gpu));
    CHECK(cudaFree(next_gpu));
    return values_end("despeckle_fixed", image, expected_image(problem));
}
