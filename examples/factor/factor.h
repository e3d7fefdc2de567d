// SPDX-License-Identifier: Apache-2.0
// What both versions of factor have in common: kernels, and the host's own computation.
#pragma once

#include "../waits.h"

// What the model is off by, for this step's key.
__global__ void gradient(int count, uint32_t key, int rounds, const uint32_t *model,
                         uint32_t *slope)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        slope[i] = waits_mix(model[i] + (uint32_t)i, key, rounds);
}

__global__ void smooth(int count, const uint32_t *slope, uint32_t *change)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        change[i] = slope[i] ^ (slope[i] >> 7);
}

__global__ void apply(int count, const uint32_t *change, uint32_t *model)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        model[i] += change[i];
}

static const uint32_t first_state = 71;

// Whether the elements that the host computes too are those of the model.
static bool is_model(const waits_problem &problem, const std::vector<uint32_t> &model)
{
    std::vector<uint32_t> keys;
    uint32_t state = first_state;
    for (int step = 0; step < problem.steps; ++step)
        keys.push_back(waits_draw(&state, problem.work));
    for (int i = 0; i < problem.count; i += waits_stride(problem.count)) {
        uint32_t element = 0;
        for (uint32_t key : keys) {
            const uint32_t slope = waits_mix(element + (uint32_t)i, key, problem.rounds);
            element += slope ^ (slope >> 7);
        }
        if (model[i] != element)
            return false;
    }
    return true;
}
