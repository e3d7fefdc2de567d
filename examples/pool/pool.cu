// SPDX-License-Identifier: Apache-2.0
// pool: a block of a convolutional network, whose tensors are in a pool that is allocated once.
//
// A convolution multiplies its weights with a matrix of columns, which repeats each input once per
// tap. With one tap, the input itself is that matrix, so columns is taken from the pool and never
// used (unused allocation). An output is taken before columns, and filled after it (early
// allocation). It is returned to the pool at the end of the block (late deallocation), so the
// output of the second layer cannot reuse the memory of the first layer's output (redundant
// allocation). The input is needed again at the end, and is idle until then, like the weights
// (temporary idleness). pool_fixed.cu takes columns only where it is needed; so its pool is smaller
// by the columns that were in the pool when it was fullest.
#include "pool.h"

static float *convolve(tensor_pool &pool, int width, const layer &l, const float *input)
{
    const size_t pixels = (size_t)width * width;
    float *output = take_tensor(pool, l.output_name, l.outputs * pixels);
    float *columns = take_tensor(pool, "columns", l.inputs * l.side * l.side * pixels);
    if (l.side > 1)
        launch_columns(width, l, input, columns);
    launch_multiply(width, l, l.side > 1 ? columns : input, output);
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

    // The last layer needs the most memory: its input, the outputs of all layers, and its columns.
    tensor_pool pool = {};
    pool.bytes = weight_bytes(layers) + 2 * tensor_bytes(count) + 3 * tensor_bytes(narrow * pixels);
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
    return peak_end("pool", output, expected_output(width, layers, input));
}
