// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of diffusion: how a cell changes, the first temperatures, and the host's
// own computation.
#pragma once

#include "../values.h"

#include <math.h>

// All cells are of the same material. The number is the one of the material, times the length of a
// step, divided by the square of the cells' distance.
static const float material_conductivity = 0.2f;

// The temperature of cell i after a step. No heat leaves the grid.
__host__ __device__ static inline float
next_temperature(int rows, int columns, int i, float conductivity, const float *temperatures)
{
    const int row = i / columns, column = i % columns;
    const float own = temperatures[i];
    const float north = row > 0 ? temperatures[i - columns] : own;
    const float south = row + 1 < rows ? temperatures[i + columns] : own;
    const float west = column > 0 ? temperatures[i - 1] : own;
    const float east = column + 1 < columns ? temperatures[i + 1] : own;
    return fmaf(conductivity, ((north - own) + (south - own)) + ((west - own) + (east - own)), own);
}

static std::vector<float> make_temperatures(int count)
{
    std::vector<float> temperatures(count);
    uint32_t seed = 149;
    for (float &temperature : temperatures)
        temperature = (float)example_random(&seed, 100000) * 0.001f;
    return temperatures;
}

static std::vector<float> expected_temperatures(const values_problem &problem)
{
    std::vector<float> temperatures = make_temperatures(problem.rows * problem.columns);
    std::vector<float> next(temperatures.size());
    for (int step = 0; step < problem.steps; ++step) {
        for (int i = 0; i < (int)next.size(); ++i)
            next[i] = next_temperature(problem.rows, problem.columns, i, material_conductivity,
                                       temperatures.data());
        temperatures.swap(next);
    }
    return temperatures;
}
