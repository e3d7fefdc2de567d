// SPDX-License-Identifier: Apache-2.0
// convolution: the first layer of a network for images.
//
// A thread computes a line of the output from left to right, and keeps the pixels below the filter
// in registers. So neighbouring threads load from neighbouring lines of the image, which are far
// from each other in memory, and a cache must keep a line of each thread until it has used all of
// it. With many images there are more such lines than caches hold. convolution_fixed.cu exchanges
// the two directions. The same was found in the first layer of Tango's ResNet by profiner (von
// Buelow, Guthe and Fellner, "Fine-Grained Memory Profiling of GPGPU Kernels", 2022): 2.99 ms
// became 1.35 ms by exchanging two indices.
#include "convolution.h"

__global__ void first_layer(int images, int columns, filter filter, const float *input,
                            float *output)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int image = i / height, y = i % height;
    if (image >= images)
        return;
    window window = {};
    for (int x = -1; x < columns; ++x) {
#pragma unroll
        for (int colour = 0; colour < colours; ++colour) {
#pragma unroll
            for (int row = 0; row < reach; ++row) {
                float *const pixels = window.pixels[colour][row];
                pixels[0] = pixels[1];
                pixels[1] = pixels[2];
                pixels[2] = 0.0f;
                if (is_inside(y + row - 1, x + 1, columns))
                    pixels[2] = input[index_of(image, colour, y + row - 1, x + 1, columns)];
            }
        }
        if (x >= 0)
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
        first_layer<<<example_blocks(problem.rows * height, block), block>>>(
            problem.rows, problem.columns, make_filter(), input_gpu, output_gpu);
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(output.data(), output_gpu, output_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(input_gpu));
    CHECK(cudaFree(output_gpu));
    return values_end("convolution", output, expected_output(problem, input));
}
