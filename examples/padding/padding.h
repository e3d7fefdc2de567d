// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of padding: the kernels, the gradients, and the host's own computation.
//
// A row is padded at both ends with copies of its first and of its last element. Backwards, the
// gradients of the copies are added to those of the elements that they were copied from. All
// numbers are multiples of 1/8, so sums are exact in any order.
#pragma once

#include "../values.h"

static const int pad = 16; // Copies at each end of a row.

__global__ void fill(int count, float value, float *elements)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        elements[i] = value;
}

// The gradient of the padded output, which the loss function gives. It differs in every step.
__host__ __device__ static inline float output_gradient(int i, int step)
{
    return (float)(((uint32_t)i * 37u + (uint32_t)step * 101u) % 4093u + 1u) * 0.125f;
}

__global__ void loss(int count, int step, float *gradient)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        gradient[i] = output_gradient(i, step);
}

// The column of a row that a column of the padded row was copied from.
__host__ __device__ static inline int source_of(int padded, int columns)
{
    int column = padded - pad;
    return column < 0 ? 0 : column >= columns ? columns - 1 : column;
}

__global__ void pad_backward(int rows, int columns, const float *output, float *input)
{
    const int padded = columns + 2 * pad;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * padded)
        atomicAdd(&input[i / padded * columns + source_of(i % padded, columns)], output[i]);
}

__global__ void update(int count, const float *gradient, float *weights)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        weights[i] -= gradient[i];
}

static std::vector<float> make_weights(const values_problem &problem)
{
    std::vector<float> weights((size_t)problem.rows * problem.columns);
    uint32_t seed = 131;
    for (float &weight : weights)
        weight = (float)example_random(&seed, 4093) * 0.125f;
    return weights;
}

static std::vector<float> expected_weights(const values_problem &problem)
{
    const int padded = problem.columns + 2 * pad;
    std::vector<float> weights = make_weights(problem);
    for (int step = 0; step < problem.steps; ++step) {
        for (int row = 0; row < problem.rows; ++row) {
            float *const elements = &weights[(size_t)row * problem.columns];
            for (int column = 0; column < padded; ++column)
                elements[source_of(column, problem.columns)] -=
                    output_gradient(row * padded + column, step);
        }
    }
    return weights;
}
