// SPDX-License-Identifier: Apache-2.0
// network: inference with a network of dense layers. Each layer is built, loaded and run.
//
// A layer's weights are copied to the GPU when it is built, and again when they are loaded, with no
// use between: dead write and temporary idleness of each l.weights_gpu. l.output_gpu is allocated
// before the weights are loaded (early allocation), and is idle while the next layer is built, as
// the input is while the first is (temporary idleness). l.delta_gpu is for training and never used
// (unused allocation). All objects are freed at the end (late deallocation of each l.weights_gpu
// and l.output_gpu), except the input, which is never freed (memory leak of input_gpu). A layer's
// weights could reuse the memory of the previous layer's weights; from the second layer on, an
// output could reuse that of the output before the last (redundant allocation). network_fixed.cu
// needs the memory of one layer.
#include "network.h"

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 64);
    const size_t weight_count = (size_t)size * size, count = (size_t)batch * size;

    uint32_t seed = 81;
    std::vector<layer> layers(layer_count);
    for (layer &l : layers)
        l.weights = make_array(weight_count, &seed);
    const std::vector<float> input = make_array(count, &seed);
    std::vector<float> output(count);

    float *input_gpu = cuda_make_array(input.data(), count);
    const float *previous_gpu = input_gpu;
    for (layer &l : layers) {
        l.weights_gpu = cuda_make_array(l.weights.data(), weight_count);
        l.output_gpu = cuda_make_array(NULL, count);
        l.delta_gpu = cuda_make_array(NULL, count);
        cuda_push_array(l.weights_gpu, l.weights.data(), weight_count);
        launch_forward(size, previous_gpu, l);
        previous_gpu = l.output_gpu;
    }
    cuda_pull_array(previous_gpu, output.data(), count);

    for (layer &l : layers) {
        CHECK(cudaFree(l.weights_gpu));
        CHECK(cudaFree(l.output_gpu));
        CHECK(cudaFree(l.delta_gpu));
    }
    return peak_end("network", output, expected_output(size, layers, input));
}
