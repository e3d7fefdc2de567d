// SPDX-License-Identifier: Apache-2.0
// huffman_fixed: huffman.cu with its waste removed. Nothing is allocated for the check. All memory
// is allocated just before its first use and freed after its last. Positions reuse the memory of
// the text.
#include "huffman.h"

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 1 << 12);
    const int blocks = example_blocks(count, block);
    const size_t bytes = count * sizeof(uint32_t), group_bytes = blocks * sizeof(uint32_t);

    const std::vector<uint32_t> text = make_text(count);
    std::vector<uint32_t> code(2 * text.size() + blocks);

    uint32_t *d_sourceData, *d_destData, *d_lengths, *d_offsets;
    CHECK(cudaMalloc(&d_sourceData, bytes));
    CHECK(cudaMemcpy(d_sourceData, text.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&d_destData, bytes));
    encode<<<blocks, block>>>(count, d_sourceData, d_destData);
    CHECK(cudaMalloc(&d_lengths, group_bytes));
    measure<<<blocks, block>>>(count, d_destData, d_lengths);
    CHECK(cudaMalloc(&d_offsets, group_bytes));
    place<<<1, 1>>>(blocks, d_lengths, d_offsets);
    CHECK(cudaFree(d_lengths));
    CHECK(cudaMemcpy(&code[2 * text.size()], d_offsets, group_bytes, cudaMemcpyDeviceToHost));
    uint32_t *d_positions = d_sourceData;
    locate<<<blocks, block>>>(count, d_destData, d_offsets, d_positions);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(d_offsets));
    CHECK(cudaMemcpy(&code[text.size()], d_positions, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_positions));
    CHECK(cudaMemcpy(code.data(), d_destData, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_destData));

    return peak_end("huffman_fixed", code, expected_code(text));
}
