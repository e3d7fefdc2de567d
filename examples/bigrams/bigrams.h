// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of bigrams: the kernel that counts, the texts, and the host's own
// computation.
//
// A document is a row of letters, which are numbers below 64. Documents come in batches, each as
// large as the memory for counts allows.
#pragma once

#include "../values.h"

static const int alphabet = 64, pairs = alphabet * alphabet;

// Each block counts the pairs of adjacent letters of one document.
__global__ void count_pairs(int letters, const uint8_t *texts, uint32_t *counts)
{
    __shared__ uint32_t own[pairs];
    for (int pair = threadIdx.x; pair < pairs; pair += blockDim.x)
        own[pair] = 0;
    __syncthreads();
    const uint8_t *text = &texts[(size_t)blockIdx.x * letters];
    for (int i = threadIdx.x; i + 1 < letters; i += blockDim.x)
        atomicAdd(&own[text[i] * alphabet + text[i + 1]], 1u);
    __syncthreads();
    for (int pair = threadIdx.x; pair < pairs; pair += blockDim.x)
        counts[(size_t)blockIdx.x * pairs + pair] = own[pair];
}

// Low numbers are frequent letters.
static std::vector<uint8_t> make_texts(const values_problem &problem)
{
    std::vector<uint8_t> texts((size_t)problem.steps * problem.rows * problem.columns);
    uint32_t seed = 139;
    for (uint8_t &letter : texts) {
        const uint32_t number = example_random(&seed, 999983);
        letter = (uint8_t)(number / alphabet % alphabet * (number % alphabet) / alphabet);
    }
    return texts;
}

// How often each pair occurred in documents that were counted earlier.
static std::vector<uint32_t> make_totals()
{
    std::vector<uint32_t> totals(pairs);
    uint32_t seed = 167;
    for (uint32_t &total : totals)
        total = example_random(&seed, 1000000);
    return totals;
}

static std::vector<uint32_t> expected_totals(const values_problem &problem,
                                             const std::vector<uint8_t> &texts)
{
    std::vector<uint32_t> totals = make_totals();
    for (size_t first = 0; first < texts.size(); first += problem.columns) {
        for (int i = 0; i + 1 < problem.columns; ++i)
            ++totals[texts[first + i] * alphabet + texts[first + i + 1]];
    }
    return totals;
}
