// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of history: the kernel, and the host's own computation.
#pragma once

#include "../waits.h"

__global__ void advance(int count, uint32_t key, int rounds, uint32_t *state)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        state[i] = waits_mix(state[i] + (uint32_t)i, key, rounds);
}

static const uint32_t first_state = 89;

static bool is_last(const waits_problem &problem, const std::vector<uint32_t> &last)
{
    return waits_is_last(problem, first_state, last, [&](uint32_t element, int i, uint32_t key) {
        return waits_mix(element + (uint32_t)i, key, problem.rounds);
    });
}
