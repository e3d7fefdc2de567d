// SPDX-License-Identifier: Apache-2.0
// pool: a block of a network of convolutions, whose tensors lie in a pool that is allocated once.
//
// A convolution is a product of its weights and a matrix of columns, which has each input as often
// as there are taps. For those of one tap the input is that matrix already, and columns is taken
// from the pool and never used (unused allocation). An output is taken before columns is, and
// filled after it (early allocation); it is given back when the block is done (late deallocation),
// so the output of the second layer cannot have the memory of the first one's (redundant
// allocation). The input is needed again at the end, and lies idle until then (temporary idleness),
// as weights do. In pool_fixed.cu columns is taken where it is needed, and the pool is smaller by
// what it had of it when the pool was fullest.
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

    // Most is needed in the last layer: its input, the outputs of all layers, and its columns.
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
