// SPDX-License-Identifier: Apache-2.0
// What both versions of history have in common: the kernel, and the host's own computation.
#pragma once

#include "../waits.h"

__global__ void advance(int count, uint32_t key, int rounds, uint32_t *state)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        state[i] = waits_mix(state[i] + (uint32_t)i, key, rounds);
}

static const uint32_t first_state = 89;

// Whether the elements that the host computes too are those of the last state.
static bool is_last(const waits_problem &problem, const std::vector<uint32_t> &last)
{
    std::vector<uint32_t> keys;
    uint32_t state = first_state;
    for (int step = 0; step < problem.steps; ++step)
        keys.push_back(waits_draw(&state, problem.work));
    for (int i = 0; i < problem.count; i += waits_stride(problem.count)) {
        uint32_t element = 0;
        for (uint32_t key : keys)
            element = waits_mix(element + (uint32_t)i, key, problem.rounds);
        if (last[i] != element)
            return false;
    }
    return true;
}
