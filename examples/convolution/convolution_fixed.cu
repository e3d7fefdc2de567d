// SPDX-License-Identifier: Apache-2.0
// convolution_fixed: convolution.cu with its two directions exchanged. A thread computes a column
// of the output from top to bottom, so that neighbouring threads load neighbouring pixels.
#include "convolution.h"

__global__ void first_layer(int images, int columns, filter filter, const float *input,
                            float *output)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int image = i / columns, x = i % columns;
    if (image >= images)
        return;
    window window = {};
    for (int y = -1; y < height; ++y) {
#pragma unroll
        for (int colour = 0; colour < colours; ++colour) {
#pragma unroll
            for (int column = 0; column < reach; ++column) {
                float(*const pixels)[reach] = window.pixels[colour];
                pixels[0][column] = pixels[1][column];
                pixels[1][column] = pixels[2][column];
                pixels[2][column] = 0.0f;
                if (is_inside(y + 1, x + column - 1, columns))
                    pixels[2][column] =
                        input[index_of(image, colour, y + 1, x + column - 1, columns)];
            }
        }
        if (y >= 0)
            output[((size_t)image * height + y) * columns + x] = weigh(filter, window);
    }
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {128, 32, 1});
    const std::vector<float> input = make_images(problem);
    std::vector<float> output((size_t)problem.rows * height * problem.columns);
    const size_t input_bytes = input.size() * sizeof(float);
    const size_t output_bytes = output.size() * sizeof(float);

    float *input_gpu, *output_gpu;
    CHECK(cudaMalloc(&input_gpu, input_bytes));
    CHECK(cudaMalloc(&output_gpu, output_bytes));
    CHECK(cudaMemcpy(input_gpu, input.data(), input_bytes, cudaMemcpyHostToDevice));

    const double began = values_begin();
    for (int i = 0; i < problem.steps; ++i)
        first_layer<<<example_blocks(problem.rows * problem.columns, block), block>>>(
            problem.rows, problem.columns, make_filter(), input_gpu, output_gpu);
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(output.data(), output_gpu, output_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(input_gpu));
    CHECK(cudaFree(output_gpu));
    return values_end("convolution_fixed", output, expected_output(problem, input));
}
