// SPDX-License-Identifier: Apache-2.0
// What both versions of wavelet have in common: the kernels, the image, and the host's own
// computation. Numbers are integers, so that nothing is rounded.
#pragma once

#include "../peak.h"

static const int block = 64;

// The colours of an image, each with three bytes a pixel.
__global__ void split(int pixels, const uint8_t *image, int *red, int *green, int *blue)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    red[i] = image[3 * i] - 128;
    green[i] = image[3 * i + 1] - 128;
    blue[i] = image[3 * i + 2] - 128;
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

static std::vector<uint8_t> make_image(int pixels)
{
    std::vector<uint8_t> image(3 * (size_t)pixels);
    uint32_t seed = 101;
    for (uint8_t &element : image)
        element = example_random(&seed, 256);
    return image;
}

// The three colours, one behind the other.
static std::vector<int> expected_colours(int half, const std::vector<uint8_t> &image)
{
    size_t pixels = image.size() / 3;
    std::vector<int> colours(image.size()), colour(pixels);
    for (int which = 0; which < 3; ++which) {
        for (size_t i = 0; i < pixels; ++i)
            colour[i] = image[3 * i + which] - 128;
        for (int y = 0; y < half; ++y) {
            for (int x = 0; x < half; ++x)
                transform_square(half, x, y, colour.data(), &colours[which * pixels]);
        }
    }
    return colours;
}
