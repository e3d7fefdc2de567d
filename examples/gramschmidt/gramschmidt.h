// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of gramschmidt: the two kernels that make one column of the
// orthonormal basis Q, the vectors to start with, and the host's own computation.
#pragma once

#include "../peak.h"

#include <math.h>

static const int block = 64;

// The length of column k of A.
__global__ void gramschmidt_kernel1(int size, int k, const float *A, float *norm)
{
    if (threadIdx.x || blockIdx.x)
        return;
    float sum = 0.0f;
    for (int i = 0; i < size; ++i)
        sum = fmaf(A[i * size + k], A[i * size + k], sum);
    *norm = sqrtf(sum);
}

// Column k of Q: that of A, of length 1.
__global__ void gramschmidt_kernel2(int size, int k, const float *A, const float *norm, float *Q)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size)
        Q[i * size + k] = A[i * size + k] / *norm;
}

static std::vector<float> make_vectors(int size)
{
    std::vector<float> A((size_t)size * size);
    uint32_t seed = 41;
    for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j)
            A[i * size + j] = example_random(&seed, 1000) * 0.001f + (i == j ? size : 0);
    }
    return A;
}

static std::vector<float> expected_basis(int size, std::vector<float> A)
{
    std::vector<float> Q(A.size());
    for (int k = 0; k < size; ++k) {
        float sum = 0.0f;
        for (int i = 0; i < size; ++i)
            sum = fmaf(A[i * size + k], A[i * size + k], sum);
        for (int i = 0; i < size; ++i)
            Q[i * size + k] = A[i * size + k] / sqrtf(sum);
        for (int j = k + 1; j < size; ++j) {
            float share = 0.0f;
            for (int i = 0; i < size; ++i)
                share = fmaf(Q[i * size + k], A[i * size + j], share);
            for (int i = 0; i < size; ++i)
                A[i * size + j] = fmaf(-Q[i * size + k], share, A[i * size + j]);
        }
    }
    return Q;
}
