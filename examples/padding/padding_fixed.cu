// SPDX-License-Identifier: Apache-2.0
// padding_fixed: padding.cu with its waste removed. The memory of the gradient is only reserved, as
// by empty_like, and pad_backward_layer alone makes it zero.
#include "padding.h"

static void pad_backward_layer(const values_problem &problem, const float *gradient_output,
                               float *gradient_input)
{
    const int count = problem.rows * problem.columns;
    const int padded_count = problem.rows * (problem.columns + 2 * pad);
    fill<<<example_blocks(count, block), block>>>(count, 0.0f, gradient_input);
    pad_backward<<<example_blocks(padded_count, block), block>>>(problem.rows, problem.columns,
                                                                 gradient_output, gradient_input);
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {64, 256, 4});
    const int count = problem.rows * problem.columns;
    const int padded_count = problem.rows * (problem.columns + 2 * pad);
    std::vector<float> weights = make_weights(problem);

    float *gradient_output_gpu, *gradient_input_gpu, *weights_gpu;
    CHECK(cudaMalloc(&gradient_output_gpu, padded_count * sizeof(float)));
    CHECK(cudaMalloc(&gradient_input_gpu, count * sizeof(float)));
    CHECK(cudaMalloc(&weights_gpu, count * sizeof(float)));
    CHECK(cudaMemcpy(weights_gpu, weights.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    const double began = values_begin();
    for (int step = 0; step < problem.steps; ++step) {
        loss<<<example_blocks(padded_count, block), block>>>(padded_count, step,
                                                             gradient_output_gpu);
        pad_backward_layer(problem, gradient_output_gpu, gradient_input_gpu);
        update<<<example_blocks(count, block), block>>>(count, gradient_input_gpu, weights_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(weights.data(), weights_gpu, count * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(gradient_output_gpu));
    CHECK(cudaFree(gradient_input_gpu));
    CHECK(cudaFree(weights_gpu));
    return values_end("padding_fixed", weights, expected_weights(problem));
}
