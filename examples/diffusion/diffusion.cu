// SPDX-License-Identifier: Apache-2.0
// diffusion: how heat spreads in a plate.
//
// The solver takes the conductivity of each cell, although the plate is of one material and all
// elements of conductivities_gpu have the same value (single-value). Each step reads them all, a
// third of what it moves, and the host copies them to the GPU first. diffusion_fixed.cu passes the
// value as a parameter of the kernel.
#include "diffusion.h"

#include <utility>

__global__ void diffuse(int rows, int columns, const float *conductivities,
                        const float *temperatures, float *next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns)
        next[i] = next_temperature(rows, columns, i, conductivities[i], temperatures);
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {64, 256, 4});
    const int count = problem.rows * problem.columns;
    const int blocks = example_blocks(count, block);
    const size_t bytes = count * sizeof(float);

    const std::vector<float> conductivities(count, material_conductivity);
    std::vector<float> temperatures = make_temperatures(count);
    float *conductivities_gpu, *temperatures_gpu, *next_gpu;
    CHECK(cudaMalloc(&conductivities_gpu, bytes));
    CHECK(cudaMalloc(&temperatures_gpu, bytes));
    CHECK(cudaMalloc(&next_gpu, bytes));

    const double began = values_begin();
    CHECK(cudaMemcpy(conductivities_gpu, conductivities.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(temperatures_gpu, temperatures.data(), bytes, cudaMemcpyHostToDevice));
    for (int step = 0; step < problem.steps; ++step) {
        diffuse<<<blocks, block>>>(problem.rows, problem.columns, conductivities_gpu,
                                   temperatures_gpu, next_gpu);
        std::swap(temperatures_gpu, next_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(temperatures.data(), temperatures_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(conductivities_gpu));
    CHECK(cudaFree(temperatures_gpu));
    CHECK(cudaFree(next_gpu));
    return values_end("diffusion", temperatures, expected_temperatures(problem));
}
