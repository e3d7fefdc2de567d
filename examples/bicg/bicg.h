// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of bicg: the vectors that a step starts with, the matrix, and
// the host's own computation. All numbers are small integers, so that sums are exact in any order.
#pragma once

#include "../peak.h"

static const int block = 64;

__global__ void start(int size, float *r, float *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    r[i] = 1 + i % 7;
    p[i] = 1 + i % 5;
}

// Lower triangular.
static std::vector<float> make_matrix(int size)
{
    std::vector<float> A((size_t)size * size);
    uint32_t seed = 51;
    for (int i = 0; i < size; ++i) {
        for (int j = 0; j <= i; ++j)
            A[i * size + j] = 1 + example_random(&seed, 3);
    }
    return A;
}

// s, and q behind it.
static std::vector<float> expected_vectors(int size, const std::vector<float> &A)
{
    std::vector<float> both(2 * size);
    for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) {
            both[j] += A[i * size + j] * (1 + i % 7);
            both[size + i] += A[i * size + j] * (1 + j % 5);
        }
    }
    return both;
}
