// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of jacobi: sizes, the initial matrix, the steps, and the host's own
// computation.
//
// In a step of Jacobi's method, each element of a matrix becomes the mean of its four neighbours.
// Those at the border keep their values.
#pragma once

#include "../values.h"

#include <utility>

static const int tile_width = 32, tile_height = 8; // also the threads of a block
static const int block_tiles = 4;                  // tiles of a block, one below the other

__host__ __device__ static inline float mean_of(float left, float right, float above, float below)
{
    return 0.25f * ((left + right) + (above + below));
}

static std::vector<float> make_matrix(const values_problem &problem)
{
    std::vector<float> matrix(problem.rows * problem.columns);
    uint32_t seed = 97;
    for (float &element : matrix)
        element = (float)example_random(&seed, 10000) * 0.01f;
    return matrix;
}

static std::vector<float> expected_matrix(const values_problem &problem,
                                          const std::vector<float> &matrix)
{
    const int width = problem.columns;
    std::vector<float> now = matrix, next = matrix;
    for (int step = 0; step < problem.steps; ++step) {
        for (int y = 1; y < problem.rows - 1; ++y) {
            for (int x = 1; x < width - 1; ++x) {
                const float *at = &now[(size_t)y * width + x];
                next[(size_t)y * width + x] = mean_of(at[-1], at[1], at[-width], at[width]);
            }
        }
        std::swap(now, next);
    }
    return now;
}
