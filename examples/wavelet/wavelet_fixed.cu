// SPDX-License-Identifier: Apache-2.0
// wavelet_fixed: wavelet.cu with its waste removed. Memory is allocated just before its first use
// and freed after its last. Memory that a copy overwrites is not set to zero first. All results
// reuse the memory of the image.
#include "wavelet.h"

int main(int argc, char **argv)
{
    const int half = example_blocks(example_size(argc, argv, 64), 2), pixels = 4 * half * half;
    const size_t bytes = pixels * sizeof(int);

    const std::vector<uint32_t> image = make_image(pixels);
    std::vector<int> colours(3 * image.size());

    uint32_t *d_src;
    int *c_r, *c_g, *c_b;
    CHECK(cudaMalloc(&d_src, bytes));
    CHECK(cudaMemcpy(d_src, image.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&c_r, bytes));
    CHECK(cudaMalloc(&c_g, bytes));
    CHECK(cudaMalloc(&c_b, bytes));
    split<<<example_blocks(pixels, block), block>>>(pixels, d_src, c_r, c_g, c_b);

    int *c_out = (int *)d_src;
    launch_transform(half, c_r, c_out);
    CHECK(cudaFree(c_r));
    CHECK(cudaMemcpy(colours.data(), c_out, bytes, cudaMemcpyDeviceToHost));
    launch_transform(half, c_g, c_out);
    CHECK(cudaFree(c_g));
    CHECK(cudaMemcpy(colours.data() + pixels, c_out, bytes, cudaMemcpyDeviceToHost));
    launch_transform(half, c_b, c_out);
    CHECK(cudaFree(c_b));
    CHECK(cudaMemcpy(colours.data() + 2 * pixels, c_out, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(c_out));

    return peak_end("wavelet_fixed", colours, expected_colours(half, image));
}
