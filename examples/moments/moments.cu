// SPDX-License-Identifier: Apache-2.0
// moments: mean and variance of the columns of a tall matrix.
//
// A block adds up a part of a column, so that its threads load elements that are a row apart from
// each other. The blocks of one column run before those of the next: when these need the other
// elements of the same lines, the lines have left all caches, if there are more rows than caches
// have lines. moments_fixed.cu lets a block add up a tile of columns.
#include "moments.h"

__device__ static unsigned long long sum_of_warp(unsigned long long value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffff, value, distance);
    return value;
}

__global__ void add_up(int samples, int sensors, const int *readings, sums *all)
{
    const int sensor = blockIdx.y, begin = blockIdx.x * chunk;
    const int end = begin + chunk < samples ? begin + chunk : samples;
    unsigned long long values = 0, squares = 0;
    for (int sample = begin + threadIdx.x; sample < end; sample += blockDim.x) {
        const unsigned long long reading = readings[(size_t)sample * sensors + sensor];
        values += reading;
        squares += reading * reading;
    }
    values = sum_of_warp(values);
    squares = sum_of_warp(squares);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&all[sensor].values, values);
        atomicAdd(&all[sensor].squares, squares);
    }
}

static void launch(const values_problem &problem, const int *readings_gpu, sums *sums_gpu)
{
    const dim3 grid(example_blocks(problem.rows, chunk), problem.columns);
    add_up<<<grid, block>>>(problem.rows, problem.columns, readings_gpu, sums_gpu);
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
    return values_end("moments", all, expected_sums(problem, readings));
}
