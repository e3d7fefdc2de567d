// SPDX-License-Identifier: Apache-2.0
// huffman: encodes a text by a Huffman code: code words, and where each of them and each group of
// them begins.
//
// d_cw32, d_cw32len and d_cw32idx are for a check that is not made (unused allocation). All memory
// is allocated before the first of it is used and freed when everything is done: early allocation
// and late deallocation of all the rest. The text is needed for the first kernel alone, and
// d_positions, which is as large, could have its memory (redundant allocation). Code words lie idle
// while groups are placed (temporary idleness of d_destData). huffman_fixed.cu needs two arrays
// where this needs six, but for the small ones of groups.
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
