// SPDX-License-Identifier: Apache-2.0
// Matrices and their product, on the GPU and on the host, for the examples that chain products.
#pragma once

#include "peak.h"

#include <math.h>

// The left matrix has as many columns as the right one has rows: `inner`.
__global__ void multiply(int rows, int inner, int columns, const float *left, const float *right,
                         float *product)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns)
        return;
    float sum = 0.0f;
    for (int k = 0; k < inner; ++k)
        sum = fmaf(left[row * inner + k], right[k * columns + column], sum);
    product[row * columns + column] = sum;
}

static void launch_multiply(int rows, int inner, int columns, const float *left, const float *right,
                            float *product)
{
    const dim3 block(16, 8);
    const dim3 grid(example_blocks(columns, block.x), example_blocks(rows, block.y));
    multiply<<<grid, block>>>(rows, inner, columns, left, right, product);
    CHECK(cudaGetLastError());
}

static std::vector<float> make_matrix(int rows, int columns, uint32_t *seed)
{
    std::vector<float> matrix((size_t)rows * columns);
    for (float &element : matrix)
        element = example_random(seed, 1000) * 0.001f;
    return matrix;
}

static std::vector<float> expected_product(int rows, int inner, int columns,
                                           const std::vector<float> &left,
                                           const std::vector<float> &right)
{
    std::vector<float> product((size_t)rows * columns);
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            float sum = 0.0f;
            for (int k = 0; k < inner; ++k)
                sum = fmaf(left[row * inner + k], right[k * columns + column], sum);
            product[row * columns + column] = sum;
        }
    }
    return product;
}
