// SPDX-License-Identifier: Apache-2.0
// multicopy_fixed: multicopy.cu with its waste removed. Buffers are allocated just before their
// first use and freed after their last, and the second stream reuses those of the first. Memory
// that a copy overwrites is not set to zero first.
#include "multicopy.h"

#include <string.h>

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 1 << 14);
    const size_t bytes = count * sizeof(int);
    const int blocks = example_blocks(count, block);

    const std::vector<int> frames = make_frames(count);
    std::vector<int> results(frames.size()), staging(count);
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreate(&stream));

    int *d_data_in, *d_data_out;
    CHECK(cudaMalloc(&d_data_in, bytes));
    CHECK(cudaMemset(d_data_in, 0, bytes));
    CHECK(cudaMalloc(&d_data_out, bytes));
    increment<<<blocks, block>>>(count, d_data_in, d_data_out);

    for (int i = 0; i < frame_count; ++i) {
        cudaStream_t stream = streams[i < frame_count / 2 ? 0 : 1];
        memcpy(staging.data(), &frames[(size_t)i * count], bytes);
        CHECK(cudaMemcpyAsync(d_data_in, staging.data(), bytes, cudaMemcpyHostToDevice, stream));
        increment<<<blocks, block, 0, stream>>>(count, d_data_in, d_data_out);
        CHECK(cudaMemcpyAsync(staging.data(), d_data_out, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        memcpy(&results[(size_t)i * count], staging.data(), bytes);
    }
    CHECK(cudaGetLastError());

    CHECK(cudaFree(d_data_in));
    CHECK(cudaFree(d_data_out));
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));

    return peak_end("multicopy_fixed", results, expected_frames(frames));
}
