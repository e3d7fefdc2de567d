// SPDX-License-Identifier: Apache-2.0
// huffman_fixed: huffman.cu with its waste removed. Nothing is allocated for the check; lengths and
// offsets take over memory that is no longer needed, for which code words are copied back as soon
// as they are measured.
#include "huffman.h"

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 1 << 12);
    const size_t bytes = count * sizeof(uint32_t);
    const int blocks = example_blocks(count, block);

    const std::vector<uint32_t> text = make_text(count);
    std::vector<uint32_t> code(2 * text.size());

    uint32_t *d_sourceData, *d_destData;
    CHECK(cudaMalloc(&d_sourceData, bytes));
    CHECK(cudaMemcpy(d_sourceData, text.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&d_destData, bytes));
    encode<<<blocks, block>>>(count, d_sourceData, d_destData);
    uint32_t *d_lengths = d_sourceData;
    measure<<<blocks, block>>>(count, d_destData, d_lengths);
    CHECK(cudaMemcpy(code.data(), d_destData, bytes, cudaMemcpyDeviceToHost));
    uint32_t *d_offsets = d_destData;
    place<<<1, block>>>(count, d_lengths, d_offsets);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(d_lengths));
    CHECK(cudaMemcpy(code.data() + count, d_offsets, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_offsets));

    return peak_end("huffman_fixed", code, expected_code(text));
}
