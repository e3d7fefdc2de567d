// SPDX-License-Identifier: Apache-2.0
// momentum: trains a model by gradient descent with momentum, once for each fold of the data.
//
// Each training starts with momenta of zero, which the host copies to the GPU from an array that it
// keeps for this purpose (single-zero of momenta_gpu). momentum_fixed.cu calls cudaMemset instead,
// which moves no data from the host. Rodinia's backprop copies its previous weights, which are all
// zero, in the same way.
#include "momentum.h"

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {64, 256, 3});
    const int count = problem.rows * problem.columns;
    const int blocks = example_blocks(count, block);
    const size_t bytes = count * sizeof(float);

    const std::vector<float> weights = make_weights(count), momenta(count);
    std::vector<float> mean(count);
    float *weights_gpu, *momenta_gpu, *mean_gpu;
    CHECK(cudaMalloc(&weights_gpu, bytes));
    CHECK(cudaMalloc(&momenta_gpu, bytes));
    CHECK(cudaMalloc(&mean_gpu, bytes));

    const double began = values_begin();
    for (int fold = 0; fold < problem.steps; ++fold) {
        CHECK(cudaMemcpy(weights_gpu, weights.data(), bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(momenta_gpu, momenta.data(), bytes, cudaMemcpyHostToDevice));
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
    return values_end("momentum", mean, expected_mean(problem, weights));
}
