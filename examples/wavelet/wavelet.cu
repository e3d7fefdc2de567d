// SPDX-License-Identifier: Apache-2.0
// wavelet: the wavelet transform of an image's three colors.
//
// d_src is set to zero (dead write), and much later overwritten by a copy (temporary idleness). All
// memory is allocated before the image is on the GPU and freed at the end: early allocation of all
// objects except d_src, longest for c_r_out, c_g_out and c_b_out, and late deallocation of all
// objects that are used. backup is for transforms of several levels and never used (unused
// allocation). Colors are transformed one after the other; c_g and c_b are idle meanwhile
// (temporary idleness). c_r_out could reuse the memory of the image, and c_g_out and c_b_out that
// of the previous results (redundant allocation). wavelet_fixed.cu needs half as much memory, only
// what splitting the image into colors needs.
#include "wavelet.h"

int main(int argc, char **argv)
{
    const int half = example_blocks(example_size(argc, argv, 64), 2), pixels = 4 * half * half;
    const size_t bytes = pixels * sizeof(int);

    const std::vector<uint32_t> image = make_image(pixels);
    std::vector<int> colours(3 * image.size());

    uint32_t *d_src;
    int *c_r, *c_g, *c_b, *c_r_out, *c_g_out, *c_b_out, *backup;
    CHECK(cudaMalloc(&d_src, bytes));
    CHECK(cudaMemset(d_src, 0, bytes));
    CHECK(cudaMalloc(&c_r, bytes));
    CHECK(cudaMalloc(&c_g, bytes));
    CHECK(cudaMalloc(&c_b, bytes));
    CHECK(cudaMalloc(&c_r_out, bytes));
    CHECK(cudaMalloc(&c_g_out, bytes));
    CHECK(cudaMalloc(&c_b_out, bytes));
    CHECK(cudaMalloc(&backup, bytes));

    CHECK(cudaMemcpy(d_src, image.data(), bytes, cudaMemcpyHostToDevice));
    split<<<example_blocks(pixels, block), block>>>(pixels, d_src, c_r, c_g, c_b);
    launch_transform(half, c_r, c_r_out);
    CHECK(cudaMemcpy(colours.data(), c_r_out, bytes, cudaMemcpyDeviceToHost));
    launch_transform(half, c_g, c_g_out);
    CHECK(cudaMemcpy(colours.data() + pixels, c_g_out, bytes, cudaMemcpyDeviceToHost));
    launch_transform(half, c_b, c_b_out);
    CHECK(cudaMemcpy(colours.data() + 2 * pixels, c_b_out, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(d_src));
    CHECK(cudaFree(c_r));
    CHECK(cudaFree(c_g));
    CHECK(cudaFree(c_b));
    CHECK(cudaFree(c_r_out));
    CHECK(cudaFree(c_g_out));
    CHECK(cudaFree(c_b_out));
    CHECK(cudaFree(backup));

    return peak_end("wavelet", colours, expected_colours(half, image));
}
