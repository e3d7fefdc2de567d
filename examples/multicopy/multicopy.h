// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of multicopy: the kernel, the frames and the host's own
// computation.
#pragma once

#include "../peak.h"

static const int frame_count = 4;
static const int block = 128;

__global__ void increment(int count, const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i] * 3 + 1;
}

static std::vector<int> make_frames(int count)
{
    std::vector<int> frames((size_t)frame_count * count);
    uint32_t seed = 61;
    for (int &element : frames)
        element = (int)example_random(&seed, 1000);
    return frames;
}

static std::vector<int> expected_frames(std::vector<int> frames)
{
    for (int &element : frames)
        element = element * 3 + 1;
    return frames;
}
