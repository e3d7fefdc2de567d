// SPDX-License-Identifier: Apache-2.0
// multicopy: frames that are copied to the GPU, processed and copied back on two streams. Each
// stream has its own buffers and half of the frames.
//
// The host has one staging buffer and waits for each frame, so the streams never work at the same
// time. Still both keep their buffers for the whole run. d_data_out1, d_data_in2 and d_data_out2
// are allocated long before their first use (early allocation), and all four are freed together
// (late deallocation). The second stream could reuse the buffers of the first (redundant
// allocation). d_data_in1 is set long before the warm-up launch reads it, and d_data_out1 and
// d_data_out2 are unused from the copy back to the next frame's results (temporary idleness).
// Before each frame is copied, its buffer is set to zero, which the copy overwrites completely
// (dead write). multicopy_fixed.cu needs two buffers instead of four.
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
    CHECK(cudaMalloc(&d_data_out2, bytes));
    increment<<<blocks, block>>>(count, d_data_in1, d_data_out1);

    for (int i = 0; i < frame_count; ++i) {
        const int half = i < frame_count / 2 ? 0 : 1;
        int *in = half ? d_data_in2 : d_data_in1, *out = half ? d_data_out2 : d_data_out1;
        cudaStream_t stream = streams[half];
        memcpy(staging.data(), &frames[(size_t)i * count], bytes);
        CHECK(cudaMemsetAsync(in, 0, bytes, stream));
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
