// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of wavelet: the kernels, the image, and the host's own
// computation. Numbers are integers, so that nothing is rounded.
#pragma once

#include "../peak.h"

static const int block = 64;

// One of an image's colours: a pixel is a byte for each of red, green and blue, and one that is not
// used.
__host__ __device__ static inline int colour_of(uint32_t pixel, int which)
{
    return (int)(pixel >> (8 * which) & 255) - 128;
}

__global__ void split(int pixels, const uint32_t *image, int *red, int *green, int *blue)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    red[i] = colour_of(image[i], 0);
    green[i] = colour_of(image[i], 1);
    blue[i] = colour_of(image[i], 2);
}

// One level of the Haar transform: of each square of four pixels the sum and three differences,
// each into its quarter.
__host__ __device__ static inline void transform_square(int half, int x, int y, const int *in,
                                                        int *out)
{
    int size = 2 * half;
    int a = in[2 * y * size + 2 * x], b = in[2 * y * size + 2 * x + 1];
    int c = in[(2 * y + 1) * size + 2 * x], d = in[(2 * y + 1) * size + 2 * x + 1];
    out[y * size + x] = a + b + c + d;
    out[y * size + half + x] = a - b + c - d;
    out[(half + y) * size + x] = a + b - c - d;
    out[(half + y) * size + half + x] = a - b - c + d;
}

__global__ void transform(int half, const int *in, int *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < half)
        transform_square(half, x, blockIdx.y, in, out);
}

static void launch_transform(int half, const int *in, int *out)
{
    transform<<<dim3(example_blocks(half, block), half), block>>>(half, in, out);
    CHECK(cudaGetLastError());
}

static std::vector<uint32_t> make_image(int pixels)
{
    std::vector<uint32_t> image(pixels);
    uint32_t seed = 101;
    for (uint32_t &pixel : image)
        pixel = example_random(&seed, 1 << 24);
    return image;
}

// The three colours, one behind the other.
static std::vector<int> expected_colours(int half, const std::vector<uint32_t> &image)
{
    size_t pixels = image.size();
    std::vector<int> colours(3 * pixels), colour(pixels);
    for (int which = 0; which < 3; ++which) {
        for (size_t i = 0; i < pixels; ++i)
            colour[i] = colour_of(image[i], which);
        for (int y = 0; y < half; ++y) {
            for (int x = 0; x < half; ++x)
                transform_square(half, x, y, colour.data(), &colours[which * pixels]);
        }
    }
    return colours;
}
