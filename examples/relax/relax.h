// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of relax: kernels, and the host's own computation.
//
// There are many systems of equations, each a row of 64 unknowns, in whole numbers; rows do not
// depend on each other.
#pragma once

#include "../waits.h"

static const int row = 64;

static inline __host__ __device__ uint32_t at(const uint32_t *unknowns, int i, int step)
{
    const int column = i % row + step;
    return column < 0 || column >= row ? 0 : unknowns[i + step];
}

// Twice as much, so that nothing is lost.
static inline __host__ __device__ uint32_t residual_of(const uint32_t *unknowns, uint32_t side,
                                                       int i)
{
    return side + at(unknowns, i, -1) + at(unknowns, i, 1) - 2 * unknowns[i];
}

static inline __host__ __device__ uint32_t side_of(uint32_t key, int i)
{
    return (key ^ (uint32_t)i * 2654435761u) >> 8;
}

__global__ void residual(int count, uint32_t key, const uint32_t *unknowns, uint32_t *result)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        result[i] = residual_of(unknowns, side_of(key, i), i);
}

__global__ void halve(int count, const uint32_t *from, uint32_t *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = from[i] >> 1;
}

__global__ void add(int count, const uint32_t *change, uint32_t *unknowns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        unknowns[i] += change[i];
}

static const uint32_t first_state = 73;

// Whether rows that the host computes too are as they are here.
static bool are_unknowns(const waits_problem &problem, const std::vector<uint32_t> &unknowns)
{
    const std::vector<uint32_t> keys = waits_keys(first_state, problem.steps, problem.work);
    const int rows = problem.count / row, stride = rows <= 64 ? 1 : rows / 16;
    for (int first = 0; first < rows; first += stride) {
        std::vector<uint32_t> x(row), change(row);
        for (uint32_t key : keys) {
            for (int sweep = 0; sweep < problem.rounds; ++sweep) {
                for (int i = 0; i < row; ++i)
                    change[i] = residual_of(x.data(), side_of(key, first * row + i), i) >> 1;
                for (int i = 0; i < row; ++i)
                    x[i] += change[i];
            }
        }
        for (int i = 0; i < row; ++i) {
            if (unknowns[(size_t)first * row + i] != x[i])
                return false;
        }
    }
    return true;
}
