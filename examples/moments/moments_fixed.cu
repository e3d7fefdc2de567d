// SPDX-License-Identifier: Apache-2.0
// moments_fixed: moments.cu with its loops exchanged. The threads of a warp add up neighbouring
// columns, so that all elements of a line are used at once.
#include "moments.h"

static const int tile = 32; // Sensors of a block: a line of readings.

__global__ void add_up(int samples, int sensors, const int *readings, sums *all)
{
    const int sensor = blockIdx.y * tile + threadIdx.x, begin = blockIdx.x * chunk;
    const int end = begin + chunk < samples ? begin + chunk : samples;
    if (sensor >= sensors)
        return;
    unsigned long long values = 0, squares = 0;
    for (int sample = begin + threadIdx.y; sample < end; sample += blockDim.y) {
        const unsigned long long reading = readings[(size_t)sample * sensors + sensor];
        values += reading;
        squares += reading * reading;
    }
    atomicAdd(&all[sensor].values, values);
    atomicAdd(&all[sensor].squares, squares);
}

static void launch(const values_problem &problem, const int *readings_gpu, sums *sums_gpu)
{
    const dim3 grid(example_blocks(problem.rows, chunk), example_blocks(problem.columns, tile));
    add_up<<<grid, dim3(tile, block / tile)>>>(problem.rows, problem.columns, readings_gpu,
                                               sums_gpu);
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {1 << 17, 32, 1});
    const std::vector<int> readings = make_readings(problem);
    std::vector<unsigned long long> all((size_t)problem.columns * 2);
    const size_t bytes = readings.size() * sizeof(int), sums_bytes = problem.columns * sizeof(sums);

    int *readings_gpu;
    sums *sums_gpu;
    CHECK(cudaMalloc(&readings_gpu, bytes));
    CHECK(cudaMalloc(&sums_gpu, sums_bytes));
    CHECK(cudaMemcpy(readings_gpu, readings.data(), bytes, cudaMemcpyHostToDevice));

    const double began = values_begin();
    for (int i = 0; i < problem.steps; ++i) {
        CHECK(cudaMemset(sums_gpu, 0, sums_bytes));
        launch(problem, readings_gpu, sums_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(all.data(), sums_gpu, sums_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(readings_gpu));
    CHECK(cudaFree(sums_gpu));
    return values_end("moments_fixed", all, expected_sums(problem, readings));
}
