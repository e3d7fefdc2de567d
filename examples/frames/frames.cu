// SPDX-License-Identifier: Apache-2.0
// frames: a sequence of frames that the host draws, the GPU filters, and the host inspects. Both
// copies use host memory that is not pinned.
//
// The host inspects a frame while the GPU filters the next one, and could also draw one meanwhile.
// But the copy back to the host returns only when the frame has arrived (synchronous-transfer). So
// the host waits in every step for data that it does not read until it has drawn another frame.
// Only the copy to the GPU, which comes between, has to wait. frames_fixed.cu uses pinned memory
// and asynchronous copies in both directions, and waits for a frame just before it inspects it.
//
// The host inspects every frame completely; what it finds is the program's result.
#include "frames.h"

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 16, 6, 2, 16});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const int blocks = example_blocks(problem.count, block);
    const double began = waits_begin();

    std::vector<uint32_t> in(problem.count), out[2];
    for (std::vector<uint32_t> &frame : out)
        frame.resize(problem.count);
    uint32_t *in_gpu, *out_gpu;
    CHECK(cudaMalloc(&in_gpu, bytes));
    CHECK(cudaMalloc(&out_gpu, bytes));

    uint32_t state = first_state;
    uint64_t checksum = waits_checksum_start;
    for (int step = 0; step < problem.steps; ++step) {
        draw_frame(problem, &state, in.data());
        CHECK(cudaMemcpy(in_gpu, in.data(), bytes, cudaMemcpyHostToDevice));
        filter<<<blocks, block>>>(problem.count, (uint32_t)step, problem.rounds, in_gpu, out_gpu);
        if (step > 0)
            checksum = waits_checksum(checksum, out[(step - 1) % 2].data(), problem.count);
        CHECK(cudaMemcpy(out[step % 2].data(), out_gpu, bytes, cudaMemcpyDeviceToHost));
    }
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    const std::vector<uint32_t> &last = out[(problem.steps - 1) % 2];
    checksum = waits_checksum(checksum, last.data(), problem.count);
    CHECK(cudaFree(in_gpu));
    CHECK(cudaFree(out_gpu));
    waits_done(began);

    bool ok = true; // of the last frame; the others were overwritten
    for (int i = 0; i < problem.count; i += waits_stride(problem.count))
        ok = ok && last[i] == waits_mix(in[i], (uint32_t)problem.steps - 1, problem.rounds);
    return waits_end("frames", checksum, ok);
}
