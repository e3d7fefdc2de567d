// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of convolution: the images, the filter, and the host's own computation.
//
// The first layer of a network for images: each pixel of the output is a weighted sum of 3 x 3
// pixels of three colours. A row of the problem is an image, and its columns are those of the
// image; all images have the same height. Pixels of an image lie in order of colour, line and
// column. Pixels are multiples of 1/8 and weights small integers, so sums are exact in any order.
#pragma once

#include "../values.h"

static const int height = 224; // Lines of an image.
static const int colours = 3;
static const int reach = 3; // Lines and columns of the filter.

struct filter {
    float weights[colours][reach][reach];
};

// The pixels below the filter, which a thread keeps in registers while it moves.
struct window {
    float pixels[colours][reach][reach];
};

__host__ __device__ static inline size_t index_of(int image, int colour, int y, int x, int columns)
{
    return ((size_t)(image * colours + colour) * height + y) * columns + x;
}

// Beyond the edges all pixels are black.
__host__ __device__ static inline bool is_inside(int y, int x, int columns)
{
    return y >= 0 && y < height && x >= 0 && x < columns;
}

__host__ __device__ static inline float weigh(const filter &filter, const window &window)
{
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < colours * reach * reach; ++i)
        sum += (&filter.weights[0][0][0])[i] * (&window.pixels[0][0][0])[i];
    return sum;
}

static filter make_filter()
{
    filter filter;
    for (int i = 0; i < colours * reach * reach; ++i)
        (&filter.weights[0][0][0])[i] = (float)(i % 7 - 3);
    return filter;
}

static std::vector<float> make_images(const values_problem &problem)
{
    std::vector<float> input((size_t)problem.rows * colours * height * problem.columns);
    uint32_t seed = 17;
    for (float &pixel : input)
        pixel = (float)example_random(&seed, 2040) * 0.125f;
    return input;
}

static std::vector<float> expected_output(const values_problem &problem,
                                          const std::vector<float> &input)
{
    const filter filter = make_filter();
    std::vector<float> output((size_t)problem.rows * height * problem.columns);
    size_t next = 0;
    for (int image = 0; image < problem.rows; ++image) {
        for (int y = 0; y < height; ++y) {
            for (int x = 0; x < problem.columns; ++x) {
                window window = {};
                for (int i = 0; i < colours * reach * reach; ++i) {
                    const int below_y = y + i / reach % reach - 1, below_x = x + i % reach - 1;
                    if (is_inside(below_y, below_x, problem.columns))
                        (&window.pixels[0][0][0])[i] = input[index_of(
                            image, i / reach / reach, below_y, below_x, problem.columns)];
                }
                output[next++] = weigh(filter, window);
            }
        }
    }
    return output;
}
