// SPDX-License-Identifier: Apache-2.0
// binomial_fixed: binomial.cu with its waste removed. A block keeps the values of its option in
// shared memory. The kernel loads the values at the end once, from the array that the other version
// copies, and a new array has the prices.
#include "binomial.h"

__global__ void price(int steps, const odds *all_odds, const float *leaves, float *prices)
{
    __shared__ float values[most_steps + 1], before[most_steps];

    const odds odds = all_odds[blockIdx.x];
    for (int i = threadIdx.x; i <= steps; i += blockDim.x)
        values[i] = leaves[(size_t)blockIdx.x * (steps + 1) + i];
    __syncthreads();
    for (int left = steps; left > 0; left -= 2) {
        for (int i = threadIdx.x; i < left; i += blockDim.x)
            before[i] = value_before(odds, values[i], values[i + 1]);
        __syncthreads();
        for (int i = threadIdx.x; i < left - 1; i += blockDim.x)
            values[i] = value_before(odds, before[i], before[i + 1]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        prices[blockIdx.x] = steps % 2 == 1 ? before[0] : values[0];
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {8, most_steps, 1});
    const options options = make_options(problem);
    const size_t bytes = options.leaves.size() * sizeof(float);
    const size_t odds_bytes = problem.rows * sizeof(odds);

    float *leaves_gpu, *prices_gpu;
    odds *odds_gpu;
    CHECK(cudaMalloc(&leaves_gpu, bytes));
    CHECK(cudaMalloc(&prices_gpu, problem.rows * sizeof(float)));
    CHECK(cudaMalloc(&odds_gpu, odds_bytes));
    CHECK(cudaMemcpy(leaves_gpu, options.leaves.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(odds_gpu, options.odds.data(), odds_bytes, cudaMemcpyHostToDevice));

    const double began = values_begin();
    for (int i = 0; i < problem.steps; ++i)
        price<<<problem.rows, block>>>(problem.columns, odds_gpu, leaves_gpu, prices_gpu);
    CHECK(cudaGetLastError());
    values_done(began);

    std::vector<float> prices(problem.rows);
    CHECK(cudaMemcpy(prices.data(), prices_gpu, problem.rows * sizeof(float),
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(leaves_gpu));
    CHECK(cudaFree(prices_gpu));
    CHECK(cudaFree(odds_gpu));
    return values_end("binomial_fixed", prices, expected_prices(problem, options));
}
