// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of pool: a pool of tensors inside one allocation, which tells
// glint of them, the layers of a block of a network, their kernels, and the host's own computation.
#pragma once

#include "../../include/glint/glint.h"
#include "../peak.h"

#include <math.h>

// --- The pool ------------------------------------------------------------------------------------

// Tensors lie where there is room first, each at a multiple of 512 bytes.
struct tensor_pool {
    char *chunk;
    size_t bytes;
    std::map<size_t, size_t> taken; // first byte to the byte after the last
};

static size_t tensor_bytes(size_t count)
{
    return (count * sizeof(float) + 511) / 512 * 512;
}

static float *take_tensor(tensor_pool &pool, const char *name, size_t count)
{
    const size_t bytes = tensor_bytes(count);
    size_t at = 0;
    for (const auto &other : pool.taken) {
        if (other.first - at >= bytes)
            break;
        at = other.second;
    }
    if (pool.bytes - at < bytes) {
        fprintf(stderr, "the pool is too small for %s\n", name);
        exit(1);
    }
    pool.taken[at] = at + bytes;
    float *tensor = (float *)(pool.chunk + at);
    glint_suballoc(tensor, count * sizeof(float));
    glint_name(tensor, name);
    return tensor;
}

static void give_tensor(tensor_pool &pool, float *tensor)
{
    glint_subfree(tensor);
    pool.taken.erase((size_t)((char *)tensor - pool.chunk));
}

// --- The layers ----------------------------------------------------------------------------------

static const int wide = 64, narrow = 4; // channels

// A convolution by squares of side x side taps.
struct layer {
    const char *output_name;
    int inputs, outputs, side;
    std::vector<float> weights;
    float *weights_gpu;
};

// For each tap and pixel the input that the tap falls on, or zero beyond the border.
__global__ void make_columns(int width, int side, const float *input, float *columns)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y, tap = row % (side * side), channel = row / (side * side);
    if (pixel >= width * width)
        return;
    int x = pixel % width + tap % side - side / 2, y = pixel / width + tap / side - side / 2;
    bool inside = x >= 0 && x < width && y >= 0 && y < width;
    columns[row * width * width + pixel] =
        inside ? input[channel * width * width + y * width + x] : 0.0f;
}

__global__ void multiply(int pixels, int inputs, const float *weights, const float *input,
                         float *output)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (pixel >= pixels)
        return;
    float sum = 0.0f;
    for (int i = 0; i < inputs; ++i)
        sum = fmaf(weights[row * inputs + i], input[i * pixels + pixel], sum);
    output[row * pixels + pixel] = sum;
}

__global__ void add_and_cut(int count, const float *input, float *output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        output[i] = fmaxf(output[i] + input[i], 0.0f);
}

static void launch_columns(int width, const layer &l, const float *input, float *columns)
{
    const dim3 grid(example_blocks(width * width, 128), l.inputs * l.side * l.side);
    make_columns<<<grid, 128>>>(width, l.side, input, columns);
    CHECK(cudaGetLastError());
}

static void launch_multiply(int width, const layer &l, const float *input, float *output)
{
    const int pixels = width * width;
    multiply<<<dim3(example_blocks(pixels, 128), l.outputs), 128>>>(
        pixels, l.inputs * l.side * l.side, l.weights_gpu, input, output);
    CHECK(cudaGetLastError());
}

static void launch_add(int width, const float *input, float *output)
{
    const int count = wide * width * width;
    add_and_cut<<<example_blocks(count, 128), 128>>>(count, input, output);
    CHECK(cudaGetLastError());
}

// --- The block -----------------------------------------------------------------------------------

static std::vector<float> make_values(size_t count, uint32_t *seed)
{
    std::vector<float> values(count);
    for (float &value : values)
        value = (int)example_random(seed, 2001) * 0.0001f - 0.1f;
    return values;
}

// From wide to narrow, over the neighbourhood, and back to wide.
static std::vector<layer> make_layers(uint32_t *seed)
{
    std::vector<layer> layers = {{"narrowed", wide, narrow, 1, {}, NULL},
                                 {"spread", narrow, narrow, 3, {}, NULL},
                                 {"widened", narrow, wide, 1, {}, NULL}};
    for (layer &l : layers)
        l.weights = make_values((size_t)l.inputs * l.outputs * l.side * l.side, seed);
    return layers;
}

static size_t weight_bytes(const std::vector<layer> &layers)
{
    size_t bytes = 0;
    for (const layer &l : layers)
        bytes += tensor_bytes(l.weights.size());
    return bytes;
}

static std::vector<float> convolve_on_host(int width, const layer &l,
                                           const std::vector<float> &input)
{
    const int pixels = width * width, taps = l.side * l.side;
    std::vector<float> output((size_t)l.outputs * pixels);
    for (int row = 0; row < l.outputs; ++row) {
        for (int pixel = 0; pixel < pixels; ++pixel) {
            float sum = 0.0f;
            for (int i = 0; i < l.inputs * taps; ++i) {
                int x = pixel % width + i % taps % l.side - l.side / 2;
                int y = pixel / width + i % taps / l.side - l.side / 2;
                bool inside = x >= 0 && x < width && y >= 0 && y < width;
                float value = inside ? input[(size_t)(i / taps) * pixels + y * width + x] : 0.0f;
                sum = fmaf(l.weights[(size_t)row * l.inputs * taps + i], value, sum);
            }
            output[(size_t)row * pixels + pixel] = sum;
        }
    }
    return output;
}

static std::vector<float> expected_output(int width, const std::vector<layer> &layers,
                                          const std::vector<float> &input)
{
    std::vector<float> output = input;
    for (const layer &l : layers)
        output = convolve_on_host(width, l, output);
    for (size_t i = 0; i < output.size(); ++i)
        output[i] = fmaxf(output[i] + input[i], 0.0f);
    return output;
}
