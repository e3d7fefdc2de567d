// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of monitor: kernels, and the host's own computation.
#pragma once

#include "../waits.h"

static const int gathered = 16; // elements that one number of a measurement is of

__global__ void advance(int count, uint32_t key, int rounds, uint32_t *state)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        state[i] = waits_mix(state[i] ^ (uint32_t)i, key, rounds);
}

// Number i is the sum of every element whose index is i more than a multiple of how many there are.
__global__ void measure(int count, int numbers, const uint32_t *state, uint32_t *measured)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= numbers)
        return;
    uint32_t sum = 0;
    for (int j = i; j < count; j += numbers)
        sum += state[j];
    measured[i] = sum;
}

static int numbers_of(const waits_problem &problem)
{
    return example_blocks(problem.count, gathered);
}

static const uint32_t first_state = 101;

static bool is_last(const waits_problem &problem, const std::vector<uint32_t> &last)
{
    return waits_is_last(problem, first_state, last, [&](uint32_t element, int i, uint32_t key) {
        return waits_mix(element ^ (uint32_t)i, key, problem.rounds);
    });
}

// Whether that was measured of the last state.
static bool is_measured(const std::vector<uint32_t> &last, const uint32_t *measured, int numbers)
{
    std::vector<uint32_t> sums(numbers);
    for (size_t i = 0; i < last.size(); ++i)
        sums[i % numbers] += last[i];
    for (int i = 0; i < numbers; ++i) {
        if (measured[i] != sums[i])
            return false;
    }
    return true;
}
