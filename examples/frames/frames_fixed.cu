// SPDX-License-Identifier: Apache-2.0
// frames_fixed: frames.cu with its waste removed. Host memory is pinned, copies are asynchronous,
// and the host waits for a frame just before it inspects it. There are two of each buffer, because
// the host draws a frame while the previous one may still be being copied.
#include "frames.h"

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 16, 6, 2, 16});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const int blocks = example_blocks(problem.count, block);
    const double began = waits_begin();

    uint32_t *in[2], *out[2];
    cudaEvent_t filtered[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaMallocHost(&in[i], bytes));
        CHECK(cudaMallocHost(&out[i], bytes));
        CHECK(cudaEventCreateWithFlags(&filtered[i], cudaEventDisableTiming));
    }
    uint32_t *in_gpu, *out_gpu;
    CHECK(cudaMalloc(&in_gpu, bytes));
    CHECK(cudaMalloc(&out_gpu, bytes));

    uint32_t state = first_state;
    uint64_t checksum = waits_checksum_start;
    for (int step = 0; step < problem.steps; ++step) {
        const int slot = step % 2;
        draw_frame(problem, &state, in[slot]); // the host has inspected frame step - 2
        CHECK(cudaMemcpyAsync(in_gpu, in[slot], bytes, cudaMemcpyHostToDevice));
        filter<<<blocks, block>>>(problem.count, (uint32_t)step, problem.rounds, in_gpu, out_gpu);
        CHECK(cudaMemcpyAsync(out[slot], out_gpu, bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaEventRecord(filtered[slot]));
        if (step > 0) {
            CHECK(cudaEventSynchronize(filtered[1 - slot]));
            checksum = waits_checksum(checksum, out[1 - slot], problem.count);
        }
    }
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    const int slot = (problem.steps - 1) % 2;
    checksum = waits_checksum(checksum, out[slot], problem.count);
    CHECK(cudaFree(in_gpu));
    CHECK(cudaFree(out_gpu));
    waits_done(began);

    bool ok = true; // of the last frame; the others were overwritten
    for (int i = 0; i < problem.count; i += waits_stride(problem.count))
        ok = ok &&
             out[slot][i] == waits_mix(in[slot][i], (uint32_t)problem.steps - 1, problem.rounds);
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaFreeHost(in[i]));
        CHECK(cudaFreeHost(out[i]));
        CHECK(cudaEventDestroy(filtered[i]));
    }
    return waits_end("frames_fixed", checksum, ok);
}
