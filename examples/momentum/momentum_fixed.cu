// SPDX-License-Identifier: Apache-2.0
// momentum_fixed: momentum.cu with its waste removed. cudaMemset makes the momenta zero on the GPU.
#include "momentum.h"

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {64, 256, 3});
    const int count = problem.rows * problem.columns;
    const int blocks = example_blocks(count, block);
    const size_t bytes = count * sizeof(float);

    const std::vector<float> weights = make_weights(count);
    std::vector<float> mean(count);
    float *weights_gpu, *momenta_gpu, *mean_gpu;
    CHECK(cudaMalloc(&weights_gpu, bytes));
    CHECK(cudaMalloc(&momenta_gpu, bytes));
    CHECK(cudaMalloc(&mean_gpu, bytes));

    const double began = values_begin();
    for (int fold = 0; fold < problem.steps; ++fold) {
        CHECK(cudaMemcpy(weights_gpu, weights.data(), bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemset(momenta_gpu, 0, bytes));
        for (int epoch = 0; epoch < epochs; ++epoch)
            train<<<blocks, block>>>(count, fold, weights_gpu, momenta_gpu);
        add_model<<<blocks, block>>>(count, fold, problem.steps, weights_gpu, mean_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(mean.data(), mean_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(weights_gpu));
    CHECK(cudaFree(momenta_gpu));
    CHECK(cudaFree(mean_gpu));
    return values_end("momentum_fixed", mean, expected_mean(problem, weights));
}
