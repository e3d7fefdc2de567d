// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of coefficients: the kernel, the table, and the host's own
// computation.
#pragma once

#include "../waits.h"

__global__ void advance(int count, uint32_t key, int rounds, int coefficient_count,
                        const uint32_t *coefficients, uint32_t *state)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        state[i] = waits_mix(state[i] + coefficients[i % coefficient_count], key, rounds);
}

// There is one for every 16 elements.
static int count_coefficients(const waits_problem &problem)
{
    return example_blocks(problem.count, 16);
}

static void draw_coefficients(uint32_t *coefficients, int count)
{
    uint32_t state = 103;
    for (int i = 0; i < count; ++i)
        coefficients[i] = waits_draw(&state, 1);
}

static const uint32_t first_state = 107;

static bool is_last(const waits_problem &problem, const uint32_t *coefficients,
                    const std::vector<uint32_t> &last)
{
    const int count = count_coefficients(problem);
    return waits_is_last(problem, first_state, last, [&](uint32_t element, int i, uint32_t key) {
        return waits_mix(element + coefficients[i % count], key, problem.rounds);
    });
}
