// SPDX-License-Identifier: Apache-2.0
// padding: the backward pass of a layer that pads rows with copies of their border elements.
//
// In every step, zeros_like makes gradient_input zero, because it promises to return zeros, and
// pad_backward_layer makes it zero again, because the kernel adds to what is there. Nothing changes
// the memory in between, so the second kernel stores zeros where zeros are (redundant-values).
// padding_fixed.cu fills the memory once in each step. This is what happened in PyTorch's
// replication_pad*d_backward.
#include "padding.h"

static float *zeros_like(int count, float *memory)
{
    CHECK(cudaMemsetAsync(memory, 0, count * sizeof(float)));
    return memory;
}

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
        float *const gradient_input = zeros_like(count, gradient_input_gpu);
        pad_backward_layer(problem, gradient_output_gpu, gradient_input);
        update<<<example_blocks(count, block), block>>>(count, gradient_input, weights_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(weights.data(), weights_gpu, count * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(gradient_output_gpu));
    CHECK(cudaFree(gradient_input_gpu));
    CHECK(cudaFree(weights_gpu));
    return values_end("padding", weights, expected_weights(problem));
}
