// SPDX-License-Identifier: Apache-2.0
// binomial: the prices of options by binomial trees, one block for each option.
//
// The values of a step are computed from those of the step after it, which are in another array.
// Both arrays are in global memory, although one block alone uses its part of them, and uses each
// element once for every step. binomial_fixed.cu has them in shared memory. GMProf's bo_v1 and
// bo_v2 do the same with a1 and a2.
#include "binomial.h"

// Leaves the price in the first element of the option's row of `values`.
__global__ void price(int steps, const odds *all_odds, float *values, float *before)
{
    const odds odds = all_odds[blockIdx.x];
    values += (size_t)blockIdx.x * (steps + 1);
    before += (size_t)blockIdx.x * (steps + 1);
    for (int left = steps; left > 0; --left) {
        for (int i = threadIdx.x; i < left; i += blockDim.x)
            before[i] = value_before(odds, values[i], values[i + 1]);
        __syncthreads();
        float *const swapped = values;
        values = before;
        before = swapped;
    }
    if (threadIdx.x == 0 && steps % 2 == 1)
        before[0] = values[0];
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {8, most_steps, 1});
    const options options = make_options(problem);
    const size_t row_bytes = (problem.columns + 1) * sizeof(float);
    const size_t bytes = problem.rows * row_bytes, odds_bytes = problem.rows * sizeof(odds);

    float *leaves_gpu, *values_gpu, *before_gpu;
    odds *odds_gpu;
    CHECK(cudaMalloc(&leaves_gpu, bytes));
    CHECK(cudaMalloc(&values_gpu, bytes));
    CHECK(cudaMalloc(&before_gpu, bytes));
    CHECK(cudaMalloc(&odds_gpu, odds_bytes));
    CHECK(cudaMemcpy(leaves_gpu, options.leaves.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(odds_gpu, options.odds.data(), odds_bytes, cudaMemcpyHostToDevice));

    const double began = values_begin();
    for (int i = 0; i < problem.steps; ++i) {
        CHECK(cudaMemcpy(values_gpu, leaves_gpu, bytes, cudaMemcpyDeviceToDevice));
        price<<<problem.rows, block>>>(problem.columns, odds_gpu, values_gpu, before_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    std::vector<float> prices(problem.rows);
    CHECK(cudaMemcpy2D(prices.data(), sizeof(float), values_gpu, row_bytes, sizeof(float),
                       problem.rows, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(leaves_gpu));
    CHECK(cudaFree(values_gpu));
    CHECK(cudaFree(before_gpu));
    CHECK(cudaFree(odds_gpu));
    return values_end("binomial", prices, expected_prices(problem, options));
}
