// SPDX-License-Identifier: Apache-2.0
// multicopy_fixed: multicopy.cu with its waste removed. A frame's buffers are allocated just before
// they are used and freed after, also those that a later frame needs again; what a copy overwrites
// is not set.
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
    CHECK(cudaFree(d_data_in));
    CHECK(cudaFree(d_data_out));

    for (int i = 0; i < frame_count; ++i) {
        cudaStream_t stream = streams[i % 2];
        memcpy(staging.data(), &frames[(size_t)i * count], bytes);
        CHECK(cudaMalloc(&d_data_in, bytes));
        CHECK(cudaMemcpyAsync(d_data_in, staging.data(), bytes, cudaMemcpyHostToDevice, stream));
        CHECK(cudaMalloc(&d_data_out, bytes));
        increment<<<blocks, block, 0, stream>>>(count, d_data_in, d_data_out);
        CHECK(cudaFree(d_data_in));
        CHECK(cudaMemcpyAsync(staging.data(), d_data_out, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaFree(d_data_out));
        memcpy(&results[(size_t)i * count], staging.data(), bytes);
    }
    CHECK(cudaGetLastError());
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));

    return peak_end("multicopy_fixed", results, expected_frames(frames));
}
