// SPDX-License-Identifier: Apache-2.0
// huffman: encodes a text by a Huffman code: code words, their lengths, and where each begins.
//
// d_cw32 and d_cw32len are for a check that is not made (unused allocation). All memory is
// allocated before the first of it is used and freed when everything is done: early allocation and
// late deallocation of d_sourceData, d_destData, d_lengths and d_offsets. The text is needed for
// the first kernel alone, and d_offsets, which is as large, could have its memory (redundant
// allocation). Code words lie idle on the GPU until all is done, and are copied back last
// (temporary idleness of d_destData). huffman_fixed.cu needs two arrays where this needs six.
#include "huffman.h"

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 1 << 12);
    const size_t bytes = count * sizeof(uint32_t);
    const int blocks = example_blocks(count, block);

    const std::vector<uint32_t> text = make_text(count);
    std::vector<uint32_t> code(2 * text.size());

    uint32_t *d_sourceData, *d_destData, *d_lengths, *d_offsets, *d_cw32, *d_cw32len;
    CHECK(cudaMalloc(&d_sourceData, bytes));
    CHECK(cudaMalloc(&d_destData, bytes));
    CHECK(cudaMalloc(&d_lengths, bytes));
    CHECK(cudaMalloc(&d_offsets, bytes));
    CHECK(cudaMalloc(&d_cw32, bytes));
    CHECK(cudaMalloc(&d_cw32len, bytes));

    CHECK(cudaMemcpy(d_sourceData, text.data(), bytes, cudaMemcpyHostToDevice));
    encode<<<blocks, block>>>(count, d_sourceData, d_destData);
    measure<<<blocks, block>>>(count, d_destData, d_lengths);
    place<<<1, block>>>(count, d_lengths, d_offsets);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(code.data() + count, d_offsets, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(code.data(), d_destData, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(d_sourceData));
    CHECK(cudaFree(d_destData));
    CHECK(cudaFree(d_lengths));
    CHECK(cudaFree(d_offsets));
    CHECK(cudaFree(d_cw32));
    CHECK(cudaFree(d_cw32len));

    return peak_end("huffman", code, expected_code(text));
}
