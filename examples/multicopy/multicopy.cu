// SPDX-License-Identifier: Apache-2.0
// multicopy: frames that are copied to the GPU, computed and copied back, in turn on two streams
// with buffers of their own.
//
// The host has one staging buffer and waits for each frame, so the streams never work at the same
// time. Still both have their buffers all the time: d_data_in1 is set long before anything is done
// with it, and lies idle with d_data_out1 while the other stream works (temporary idleness of both,
// and of d_data_in2 between its set and its frame); d_data_out1 and d_data_out2 are allocated
// before they are used (early allocation); and d_data_in2 and d_data_out2, which the last frame
// does not need, are freed with the others (late deallocation, of d_data_in1 and d_data_out1 by a
// single call). d_data_in2 is set to zeros that the first copy overwrites (dead write); those of
// d_data_in1 are read, by a launch that warms up. multicopy_fixed.cu needs two buffers where this
// needs four.
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

    int *d_data_in1, *d_data_out1, *d_data_in2, *d_data_out2;
    CHECK(cudaMalloc(&d_data_in1, bytes));
    CHECK(cudaMemset(d_data_in1, 0, bytes));
    CHECK(cudaMalloc(&d_data_out1, bytes));
    CHECK(cudaMalloc(&d_data_in2, bytes));
    CHECK(cudaMemset(d_data_in2, 0, bytes));
    CHECK(cudaMalloc(&d_data_out2, bytes));
    increment<<<blocks, block>>>(count, d_data_in1, d_data_out1);

    for (int i = 0; i < frame_count; ++i) {
        int *in = i % 2 ? d_data_in2 : d_data_in1, *out = i % 2 ? d_data_out2 : d_data_out1;
        cudaStream_t stream = streams[i % 2];
        memcpy(staging.data(), &frames[(size_t)i * count], bytes);
        CHECK(cudaMemcpyAsync(in, staging.data(), bytes, cudaMemcpyHostToDevice, stream));
        increment<<<blocks, block, 0, stream>>>(count, in, out);
        CHECK(cudaMemcpyAsync(staging.data(), out, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        memcpy(&results[(size_t)i * count], staging.data(), bytes);
    }
    CHECK(cudaGetLastError());

    CHECK(cudaFree(d_data_in1));
    CHECK(cudaFree(d_data_out1));
    CHECK(cudaFree(d_data_in2));
    CHECK(cudaFree(d_data_out2));
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));

    return peak_end("multicopy", results, expected_frames(frames));
}
