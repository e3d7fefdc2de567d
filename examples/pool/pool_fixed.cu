// SPDX-License-Identifier: Apache-2.0
// pool_fixed: pool.cu, but columns is taken only for convolutions with more than one tap.
#include "pool.h"

static float *convolve(tensor_pool &pool, int width, const layer &l, const float *input)
{
    const size_t pixels = (size_t)width * width;
    float *output = take_tensor(pool, l.output_name, l.outputs * pixels);
    if (l.side == 1) {
        launch_multiply(width, l, input, output);
        return output;
    }
    float *columns = take_tensor(pool, "columns", l.inputs * l.side * l.side * pixels);
    launch_columns(width, l, input, columns);
    launch_multiply(width, l, columns, output);
    give_tensor(pool, columns);
    return output;
}

int main(int argc, char **argv)
{
    const int width = example_size(argc, argv, 32);
    const size_t pixels = (size_t)width * width, count = wide * pixels;

    uint32_t seed = 79;
    std::vector<layer> layers = make_layers(&seed);
    const std::vector<float> input = make_values(count, &seed);
    std::vector<float> output(count);

    // The last layer needs the most memory: its input, and the outputs of all layers.
    tensor_pool pool = {};
    pool.bytes = weight_bytes(layers) + 2 * tensor_bytes(count) + 2 * tensor_bytes(narrow * pixels);
    CHECK(cudaMalloc(&pool.chunk, pool.bytes));

    for (layer &l : layers) {
        l.weights_gpu = take_tensor(pool, "weights", l.weights.size());
        CHECK(cudaMemcpy(l.weights_gpu, l.weights.data(), l.weights.size() * sizeof(float),
                         cudaMemcpyHostToDevice));
    }
    std::vector<float *> tensors = {take_tensor(pool, "input", count)};
    CHECK(cudaMemcpy(tensors[0], input.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    for (const layer &l : layers)
        tensors.push_back(convolve(pool, width, l, tensors.back()));
    launch_add(width, tensors.front(), tensors.back());
    CHECK(cudaMemcpy(output.data(), tensors.back(), count * sizeof(float), cudaMemcpyDeviceToHost));

    for (float *tensor : tensors)
        give_tensor(pool, tensor);
    for (const layer &l : layers)
        give_tensor(pool, l.weights_gpu);
    CHECK(cudaFree(pool.chunk));
    return peak_end("pool_fixed", output, expected_output(width, layers, input));
}
