// SPDX-License-Identifier: Apache-2.0
// Square matrices and their product, on the GPU and on the host, for the examples that chain
// products.
#pragma once

#include "peak.h"

#include <math.h>

__global__ void multiply(int size, const float *left, const float *right, float *product)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= size || column >= size)
        return;
    float sum = 0.0f;
    for (int k = 0; k < size; ++k)
        sum = fmaf(left[row * size + k], right[k * size + column], sum);
    product[row * size + column] = sum;
}

static void launch_multiply(int size, const float *left, const float *right, float *product)
{
    const dim3 block(16, 8);
    const dim3 grid(example_blocks(size, block.x), example_blocks(size, block.y));
    multiply<<<grid, block>>>(size, left, right, product);
    CHECK(cudaGetLastError());
}

static std::vector<float> make_matrix(int size, uint32_t *seed)
{
    std::vector<float> matrix((size_t)size * size);
    for (float &element : matrix)
        element = example_random(seed, 1000) * 0.001f;
    return matrix;
}

static std::vector<float> expected_product(int size, const std::vector<float> &left,
                                           const std::vector<float> &right)
{
    std::vector<float> product((size_t)size * size);
    for (int row = 0; row < size; ++row) {
        for (int column = 0; column < size; ++column) {
            float sum = 0.0f;
            for (int k = 0; k < size; ++k)
                sum = fmaf(left[row * size + k], right[k * size + column], sum);
            product[row * size + column] = sum;
        }
    }
    return product;
}
