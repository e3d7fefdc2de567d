// SPDX-License-Identifier: Apache-2.0
// What both versions of huffman have in common: the code, the kernels, the text, and the host's own
// computation. Symbols are half as frequent each as the one before, for which the Huffman code is:
// as many ones as the symbol says, and a zero.
#pragma once

#include "../peak.h"

static const int symbols = 16, block = 128;

__host__ __device__ static inline uint32_t code_word(uint32_t symbol)
{
    return (1u << (symbol + 1)) - 2;
}

__global__ void encode(int count, const uint32_t *source, uint32_t *words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        words[i] = code_word(source[i]);
}

// How many bits each code word has.
__global__ void measure(int count, const uint32_t *words, uint32_t *lengths)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        lengths[i] = __popc(words[i]) + 1;
}

// Where each code word begins: the sum of all lengths before it. One block, each thread of which
// has a part.
__global__ void place(int count, const uint32_t *lengths, uint32_t *offsets)
{
    __shared__ uint32_t sums[block];
    int part = (count + block - 1) / block, first = threadIdx.x * part;
    int end = first + part < count ? first + part : count;
    uint32_t sum = 0;
    for (int i = first; i < end; ++i)
        sum += lengths[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    uint32_t offset = 0;
    for (int i = 0; i < (int)threadIdx.x; ++i)
        offset += sums[i];
    for (int i = first; i < end; ++i) {
        offsets[i] = offset;
        offset += lengths[i];
    }
}

static std::vector<uint32_t> make_text(int count)
{
    std::vector<uint32_t> text(count);
    uint32_t seed = 91;
    for (uint32_t &symbol : text) {
        uint32_t bits = example_random(&seed, 1u << (symbols - 1));
        while (bits & 1) {
            bits >>= 1;
            ++symbol;
        }
    }
    return text;
}

// Code words, and offsets behind them.
static std::vector<uint32_t> expected_code(const std::vector<uint32_t> &text)
{
    std::vector<uint32_t> code(text.size() * 2);
    uint32_t offset = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        code[i] = code_word(text[i]);
        code[text.size() + i] = offset;
        offset += text[i] + 1;
    }
    return code;
}
