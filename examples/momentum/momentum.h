// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of momentum: the kernels, the initial weights, and the host's own
// computation.
//
// A model is trained once for each fold of the data, with another part of the data left out, always
// from the same initial weights. The result is the mean of the models. The loss is quadratic, so
// the gradient is the distance from the weights that fit the fold best.
#pragma once

#include "../values.h"

#include <math.h>

static const int epochs = 4;

struct model_element {
    float weight, momentum;
};

// The weight that fits fold `fold` best. The product is exact, so that it does not matter whether
// the compiler fuses it with what follows.
__host__ __device__ static inline float best_weight(int i, int fold)
{
    return (float)(((uint32_t)i * 2654435761u + (uint32_t)fold * 40503u) >> 16) * 0x1p-14f;
}

__host__ __device__ static inline model_element trained(model_element element, float best)
{
    const float gradient = element.weight - best;
    element.momentum = fmaf(0.9f, element.momentum, gradient);
    element.weight = fmaf(-0.05f, element.momentum, element.weight);
    return element;
}

__global__ void train(int count, int fold, float *weights, float *momenta)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const model_element element = trained({weights[i], momenta[i]}, best_weight(i, fold));
    weights[i] = element.weight;
    momenta[i] = element.momentum;
}

// Adds a model's share of the mean to those of the models before it.
__host__ __device__ static inline float next_mean(int folds, float weight, float before)
{
    return fmaf(1.0f / (float)folds, weight, before);
}

__global__ void add_model(int count, int fold, int folds, const float *weights, float *mean)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        mean[i] = next_mean(folds, weights[i], fold == 0 ? 0.0f : mean[i]);
}

static std::vector<float> make_weights(int count)
{
    std::vector<float> weights(count);
    uint32_t seed = 137;
    for (float &weight : weights)
        weight = (float)example_random(&seed, 100000) * 0.00001f;
    return weights;
}

static std::vector<float> expected_mean(const values_problem &problem,
                                        const std::vector<float> &weights)
{
    std::vector<float> mean(weights.size());
    for (size_t i = 0; i < mean.size(); ++i) {
        for (int fold = 0; fold < problem.steps; ++fold) {
            model_element element = {weights[i], 0.0f};
            for (int epoch = 0; epoch < epochs; ++epoch)
                element = trained(element, best_weight((int)i, fold));
            mean[i] = next_mean(problem.steps, element.weight, mean[i]);
        }
    }
    return mean;
}
