// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of huffman: the code, the kernels, the text, and the host's own
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

// How many bits a code word has.
__host__ __device__ static inline uint32_t bits_of(uint32_t word)
{
    uint32_t bits = 1;
    for (; word; word &= word - 1)
        ++bits;
    return bits;
}

// How many bits each group of code words has, of as many as a block has threads.
__global__ void measure(int count, const uint32_t *words, uint32_t *lengths)
{
    __shared__ uint32_t bits[block];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bits[threadIdx.x] = i < count ? bits_of(words[i]) : 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum = 0;
        for (int k = 0; k < block; ++k)
            sum += bits[k];
        lengths[blockIdx.x] = sum;
    }
}

// Where each group begins: the sum of all lengths before it.
__global__ void place(int groups, const uint32_t *lengths, uint32_t *offsets)
{
    uint32_t offset = 0;
    for (int i = 0; i < groups; ++i) {
        offsets[i] = offset;
        offset += lengths[i];
    }
}

// Where each code word begins.
__global__ void locate(int count, const uint32_t *words, const uint32_t *offsets,
                       uint32_t *positions)
{
    __shared__ uint32_t bits[block];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bits[threadIdx.x] = i < count ? bits_of(words[i]) : 0;
    __syncthreads();
    uint32_t position = offsets[blockIdx.x];
    for (int k = 0; k < (int)threadIdx.x; ++k)
        position += bits[k];
    if (i < count)
        positions[i] = position;
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

// Code words, their positions behind them, and those of groups.
static std::vector<uint32_t> expected_code(const std::vector<uint32_t> &text)
{
    std::vector<uint32_t> code(text.size() * 2);
    uint32_t position = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        code[i] = code_word(text[i]);
        code[text.size() + i] = position;
        if (i % block == 0)
            code.push_back(position);
        position += text[i] + 1;
    }
    return code;
}
