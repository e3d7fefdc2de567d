// SPDX-License-Identifier: Apache-2.0
// wavelet_fixed: wavelet.cu with its waste removed. Memory is allocated just before its first use
// and freed after its last; while a colour is transformed, those that come later wait on the host.
#include "wavelet.h"

int main(int argc, char **argv)
{
    const int half = example_blocks(example_size(argc, argv, 64), 2), pixels = 4 * half * half;
    const size_t bytes = pixels * sizeof(int);

    const std::vector<uint8_t> image = make_image(pixels);
    std::vector<int> colours(image.size()), waiting(2 * (size_t)pixels);

    uint8_t *d_src;
    int *c_r, *c_g, *c_b, *c_out;
    CHECK(cudaMalloc(&d_src, image.size()));
    CHECK(cudaMemcpy(d_src, image.data(), image.size(), cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&c_r, bytes));
    CHECK(cudaMalloc(&c_g, bytes));
    CHECK(cudaMalloc(&c_b, bytes));
    split<<<example_blocks(pixels, block), block>>>(pixels, d_src, c_r, c_g, c_b);
    CHECK(cudaFree(d_src));
    CHECK(cudaMemcpy(waiting.data(), c_g, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(c_g));
    CHECK(cudaMemcpy(waiting.data() + pixels, c_b, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(c_b));

    CHECK(cudaMalloc(&c_out, bytes));
    launch_transform(half, c_r, c_out);
    CHECK(cudaMemcpy(colours.data(), c_out, bytes, cudaMemcpyDeviceToHost));
    c_g = c_r;
    CHECK(cudaMemcpy(c_g, waiting.data(), bytes, cudaMemcpyHostToDevice));
    launch_transform(half, c_g, c_out);
    CHECK(cudaMemcpy(colours.data() + pixels, c_out, bytes, cudaMemcpyDeviceToHost));
    c_b = c_g;
    CHECK(cudaMemcpy(c_b, waiting.data() + pixels, bytes, cudaMemcpyHostToDevice));
    launch_transform(half, c_b, c_out);
    CHECK(cudaFree(c_b));
    CHECK(cudaMemcpy(colours.data() + 2 * pixels, c_out, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(c_out));

    return peak_end("wavelet_fixed", colours, expected_colours(half, image));
}
