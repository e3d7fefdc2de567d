// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of vectors: the kernels of the library, and what the host
// expects of the program that uses it.
#pragma once

#include "../waits.h"

__global__ void number_kernel(int count, uint32_t *vector)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        vector[i] = (uint32_t)i;
}

__global__ void scale_kernel(int count, uint32_t by, int rounds, uint32_t *vector)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        vector[i] = waits_mix(vector[i], by, rounds);
}

__global__ void add_kernel(int count, const uint32_t *from, uint32_t *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] += from[i];
}

__global__ void sum_kernel(int count, const uint32_t *vector, unsigned *sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(sum, vector[i]);
}

static const uint32_t first_state = 79;

// Whether the elements that the host computes too are those of the vector.
static bool is_vector(const waits_problem &problem, const std::vector<uint32_t> &vector)
{
    const std::vector<uint32_t> keys = waits_keys(first_state, 2 * problem.steps, problem.work);
    for (int i = 0; i < problem.count; i += waits_stride(problem.count)) {
        uint32_t x = (uint32_t)i, y = 0;
        for (int step = 0; step < problem.steps; ++step) {
            x = waits_mix(x, keys[2 * step], problem.rounds);
            y += x;
            y = waits_mix(y, keys[2 * step + 1], problem.rounds);
            x += y;
        }
        if (vector[i] != x)
            return false;
    }
    return true;
}
