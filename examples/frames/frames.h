// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of frames: the kernel, how frames are made and looked at, and
// the host's own computation.
#pragma once

#include "../waits.h"

__global__ void filter(int count, uint32_t key, int rounds, const uint32_t *in, uint32_t *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = waits_mix(in[i], key, rounds);
}

// Draws a frame: problem.work numbers for each element.
static void draw_frame(const waits_problem &problem, uint32_t *state, uint32_t *frame)
{
    for (int i = 0; i < problem.count; ++i)
        frame[i] = waits_draw(state, problem.work);
}

static const uint32_t first_state = 83;
