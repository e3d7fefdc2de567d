// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of network: layers, arrays on the GPU, the kernel of a layer,
// and the host's own computation.
#pragma once

#include "../peak.h"

#include <math.h>

static const int layer_count = 6, batch = 16;

// A layer has as many outputs as inputs.
struct layer {
    std::vector<float> weights;
    float *weights_gpu, *output_gpu, *delta_gpu;
};

// An array on the GPU, with what x has, if it is not NULL.
static float *cuda_make_array(const float *x, size_t count)
{
    float *x_gpu;
    CHECK(cudaMalloc(&x_gpu, count * sizeof(float)));
    if (x)
        CHECK(cudaMemcpy(x_gpu, x, count * sizeof(float), cudaMemcpyHostToDevice));
    return x_gpu;
}

static void cuda_push_array(float *x_gpu, const float *x, size_t count)
{
    CHECK(cudaMemcpy(x_gpu, x, count * sizeof(float), cudaMemcpyHostToDevice));
}

static void cuda_pull_array(const float *x_gpu, float *x, size_t count)
{
    CHECK(cudaMemcpy(x, x_gpu, count * sizeof(float), cudaMemcpyDeviceToHost));
}

__global__ void forward_layer(int size, const float *input, const float *weights, float *output)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int image = blockIdx.y;
    if (row >= size)
        return;
    float sum = 0.0f;
    for (int i = 0; i < size; ++i)
        sum = fmaf(weights[row * size + i], input[image * size + i], sum);
    output[image * size + row] = fmaxf(sum, 0.0f);
}

static void launch_forward(int size, const float *input, const layer &l)
{
    forward_layer<<<dim3(example_blocks(size, 64), batch), 64>>>(size, input, l.weights_gpu,
                                                                 l.output_gpu);
    CHECK(cudaGetLastError());
}

static std::vector<float> make_array(size_t count, uint32_t *seed)
{
    std::vector<float> array(count);
    for (float &element : array)
        element = (int)example_random(seed, 2001) * 0.0001f - 0.05f;
    return array;
}

static std::vector<float> expected_output(int size, const std::vector<layer> &layers,
                                          std::vector<float> input)
{
    for (const layer &l : layers) {
        std::vector<float> output(input.size());
        for (int image = 0; image < batch; ++image) {
            for (int row = 0; row < size; ++row) {
                float sum = 0.0f;
                for (int i = 0; i < size; ++i)
                    sum = fmaf(l.weights[row * size + i], input[image * size + i], sum);
                output[image * size + row] = fmaxf(sum, 0.0f);
            }
        }
        input = output;
    }
    return input;
}
