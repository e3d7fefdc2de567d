// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of paths: the kernel, the maps, and the host's own computation. The
// versions differ in the type that holds the cost of a cell.
//
// A path leads from row to row, straight or diagonally, through cells that cost a whole number
// below ten each. A diagonal step is longer, and costs as much more.
#pragma once

#include "../values.h"

#include <math.h>
#include <utility>

static const double diagonal = 1.4142135623730951;

// The cost of the cheapest path to a cell, of which the row before has the costs `before`.
__host__ __device__ static inline double path_cost(int columns, int column, double cost,
                                                   const double *before)
{
    const double west = before[column > 0 ? column - 1 : column];
    const double east = before[column + 1 < columns ? column + 1 : column];
    const double straight = before[column] + cost;
    const double slanted = fma(cost, diagonal, west < east ? west : east);
    return straight < slanted ? straight : slanted;
}

template <typename type>
__global__ void advance(int columns, const type *costs, const double *before, double *after)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns)
        after[column] = path_cost(columns, column, (double)costs[column], before);
}

// All maps, one behind the other.
template <typename type> static std::vector<type> make_maps(const values_problem &problem)
{
    std::vector<type> maps((size_t)problem.steps * problem.rows * problem.columns);
    uint32_t seed = 157;
    for (type &cost : maps)
        cost = (type)example_random(&seed, 10);
    return maps;
}

// What it costs to reach each cell of the row before the first.
static std::vector<double> make_start(int columns)
{
    std::vector<double> start(columns);
    uint32_t seed = 163;
    for (double &cost : start)
        cost = (double)example_random(&seed, 100000) * 0.001;
    return start;
}

// The costs of the cheapest paths to all cells of the last row, for each map.
template <typename type>
static std::vector<double> expected_paths(const values_problem &problem,
                                          const std::vector<type> &maps)
{
    const int columns = problem.columns;
    std::vector<double> paths, after(columns);
    const type *costs = maps.data();
    for (int step = 0; step < problem.steps; ++step) {
        std::vector<double> before = make_start(columns);
        for (int row = 0; row < problem.rows; ++row, costs += columns) {
            for (int column = 0; column < columns; ++column)
                after[column] = path_cost(columns, column, (double)costs[column], before.data());
            before.swap(after);
        }
        paths.insert(paths.end(), before.begin(), before.end());
    }
    return paths;
}
