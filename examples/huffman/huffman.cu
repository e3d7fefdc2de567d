// SPDX-License-Identifier: Apache-2.0
// huffman: encodes a text with a Huffman code. Computes the code words, and the positions of code
// words and of groups of code words.
//
// d_cw32, d_cw32len and d_cw32idx are for a check that the program never makes (unused allocation).
// All memory is allocated before any of it is used and freed at the end: early allocation and late
// deallocation of all other objects. Only the first kernel needs the text, and d_positions, which
// has the same size, could reuse its memory (redundant allocation). Code words are idle while
// groups are placed (temporary idleness of d_destData). Apart from the small arrays of groups,
// huffman_fixed.cu needs two arrays instead of six.
#include "huffman.h"

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 1 << 12);
    const int blocks = example_blocks(count, block);
    const size_t bytes = count * sizeof(uint32_t), group_bytes = blocks * sizeof(uint32_t);

    const std::vector<uint32_t> text = make_text(count);
    std::vector<uint32_t> code(2 * text.size() + blocks);

    uint32_t *d_sourceData, *d_destData, *d_lengths, *d_offsets, *d_positions;
    uint32_t *d_cw32, *d_cw32len, *d_cw32idx;
    CHECK(cudaMalloc(&d_sourceData, bytes));
    CHECK(cudaMalloc(&d_destData, bytes));
    CHECK(cudaMalloc(&d_lengths, group_bytes));
    CHECK(cudaMalloc(&d_offsets, group_bytes));
    CHECK(cudaMalloc(&d_positions, bytes));
    CHECK(cudaMalloc(&d_cw32, bytes));
    CHECK(cudaMalloc(&d_cw32len, bytes));
    CHECK(cudaMalloc(&d_cw32idx, bytes));

    CHECK(cudaMemcpy(d_sourceData, text.data(), bytes, cudaMemcpyHostToDevice));
    encode<<<blocks, block>>>(count, d_sourceData, d_destData);
    measure<<<blocks, block>>>(count, d_destData, d_lengths);
    place<<<1, 1>>>(blocks, d_lengths, d_offsets);
    CHECK(cudaMemcpy(&code[2 * text.size()], d_offsets, group_bytes, cudaMemcpyDeviceToHost));
    locate<<<blocks, block>>>(count, d_destData, d_offsets, d_positions);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&code[text.size()], d_positions, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(code.data(), d_destData, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(d_sourceData));
    CHECK(cudaFree(d_destData));
    CHECK(cudaFree(d_lengths));
    CHECK(cudaFree(d_offsets));
    CHECK(cudaFree(d_positions));
    CHECK(cudaFree(d_cw32));
    CHECK(cudaFree(d_cw32len));
    CHECK(cudaFree(d_cw32idx));

    return peak_end("huffman", code, expected_code(text));
}
