// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of despeckle: how a pixel changes, the image, and the host's own
// computation.
#pragma once

#include "../values.h"

#include <math.h>

// The positions of the four neighbours of a pixel. At a border of the image, a pixel is its own
// neighbour.
struct neighbours {
    int north, south, west, east;
};

__host__ __device__ static inline neighbours neighbours_of(int rows, int columns, int i)
{
    const int row = i / columns, column = i % columns;
    return {row > 0 ? i - columns : i, row + 1 < rows ? i + columns : i, column > 0 ? i - 1 : i,
            column + 1 < columns ? i + 1 : i};
}

// The value of pixel i after a step. It moves towards its neighbours, the slower the more they
// differ, so that noise vanishes and edges stay.
__host__ __device__ static inline float next_pixel(const float *image, int i, neighbours near)
{
    const float own = image[i];
    const float north = image[near.north] - own, south = image[near.south] - own;
    const float west = image[near.west] - own, east = image[near.east] - own;
    const float square = fmaf(north, north, fmaf(south, south, fmaf(west, west, east * east)));
    const float rate = 0.2f / (1.0f + square);
    return fmaf(rate, (north + south) + (west + east), own);
}

static std::vector<float> make_image(int count)
{
    std::vector<float> image(count);
    uint32_t seed = 151;
    for (float &pixel : image)
        pixel = (float)example_random(&seed, 100000) * 0.00001f;
    return image;
}

static std::vector<float> expected_image(const values_problem &problem)
{
    std::vector<float> image = make_image(problem.rows * problem.columns), next(image.size());
    for (int step = 0; step < problem.steps; ++step) {
        for (int i = 0; i < (int)next.size(); ++i)
            next[i] = next_pixel(image.data(), i, neighbours_of(problem.rows, problem.columns, i));
        image.swap(next);
    }
    return image;
}
