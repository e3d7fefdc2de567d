// SPDX-License-Identifier: Apache-2.0
// diffusion_fixed: diffusion.cu with its waste removed. The conductivity of all cells is a
// parameter of the kernel.
#include "diffusion.h"

#include <utility>

__global__ void diffuse(int rows, int columns, float conductivity, const float *temperatures,
                        float *next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns)
        next[i] = next_temperature(rows, columns, i, conductivity, temperatures);
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {64, 256, 4});
    const int count = problem.rows * problem.columns;
    const int blocks = example_blocks(count, block);
    const size_t bytes = count * sizeof(float);

    std::vector<float> temperatures = make_temperatures(count);
    float *temperatures_gpu, *next_gpu;
    CHECK(cudaMalloc(&temperatures_gpu, bytes));
    CHECK(cudaMalloc(&next_gpu, bytes));

    const double began = values_begin();
    CHECK(cudaMemcpy(temperatures_gpu, temperatures.data(), bytes, cudaMemcpyHostToDevice));
    for (int step = 0; step < problem.steps; ++step) {
        diffuse<<<blocks, block>>>(problem.rows, problem.columns, material_conductivity,
                                   temperatures_gpu, next_gpu);
        std::swap(temperatures_gpu, next_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(temperatures.data(), temperatures_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(temperatures_gpu));
    CHECK(cudaFree(next_gpu));
    return values_end("diffusion_fixed", temperatures, expected_temperatures(problem));
}
