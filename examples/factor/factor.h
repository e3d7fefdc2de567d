// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of factor: kernels, and the host's own computation.
#pragma once

#include "../waits.h"

// Returns the error of the model for this step's key.
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

static bool is_model(const waits_problem &problem, const std::vector<uint32_t> &model)
{
    return waits_is_last(problem, first_state, model, [&](uint32_t element, int i, uint32_t key) {
        const uint32_t slope = waits_mix(element + (uint32_t)i, key, problem.rounds);
        return element + (slope ^ (slope >> 7));
    });
}
