// SPDX-License-Identifier: Apache-2.0
// network_fixed: network.cu with its waste removed. A layer has memory only while it runs: its
// weights are copied once, just before, and freed just after; its output is freed after the next
// layer has run. No memory is allocated for training.
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

    float *previous_gpu = cuda_make_array(input.data(), count);
    for (layer &l : layers) {
        l.weights_gpu = cuda_make_array(NULL, weight_count);
        cuda_push_array(l.weights_gpu, l.weights.data(), weight_count);
        l.output_gpu = cuda_make_array(NULL, count);
        launch_forward(size, previous_gpu, l);
        CHECK(cudaFree(l.weights_gpu));
        CHECK(cudaFree(previous_gpu));
        previous_gpu = l.output_gpu;
    }
    cuda_pull_array(previous_gpu, output.data(), count);
    CHECK(cudaFree(previous_gpu));
    return peak_end("network_fixed", output, expected_output(size, layers, input));
}
