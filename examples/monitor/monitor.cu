// SPDX-License-Identifier: Apache-2.0
// monitor: a simulation in which every step is measured. The host reads a measurement one step
// later, while the GPU works on the next step.
//
// An asynchronous copy brings the measurement to pinned memory. But the host synchronizes right
// after it, and only then draws the next key (misplaced-sync): the host and the GPU never work at
// the same time. The wait is needed, because the host reads the data, but it comes too early.
// monitor_fixed.cu records an event after the copy, and waits for it just before it reads the data.
#include "monitor.h"

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 15, 6, 2, 1000000});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const int numbers = numbers_of(problem);
    const size_t measured_bytes = numbers * sizeof(uint32_t);
    const double began = waits_begin();

    uint32_t *state_gpu, *measured_gpu, *measured[2];
    CHECK(cudaMalloc(&state_gpu, bytes));
    CHECK(cudaMalloc(&measured_gpu, measured_bytes));
    CHECK(cudaMemset(state_gpu, 0, bytes));
    for (uint32_t *&each : measured)
        CHECK(cudaMallocHost(&each, measured_bytes));

    uint32_t state = first_state;
    uint64_t checksum = waits_checksum_start;
    for (int step = 0; step < problem.steps; ++step) {
        const int slot = step % 2;
        const uint32_t key = waits_draw(&state, problem.work);
        advance<<<example_blocks(problem.count, block), block>>>(problem.count, key, problem.rounds,
                                                                 state_gpu);
        measure<<<example_blocks(numbers, block), block>>>(problem.count, numbers, state_gpu,
                                                           measured_gpu);
        if (step > 0)
            checksum = waits_checksum(checksum, measured[1 - slot], numbers);
        CHECK(
            cudaMemcpyAsync(measured[slot], measured_gpu, measured_bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaStreamSynchronize(0));
    }
    CHECK(cudaGetLastError());
    std::vector<uint32_t> last(problem.count);
    CHECK(cudaMemcpy(last.data(), state_gpu, bytes, cudaMemcpyDeviceToHost));
    const uint32_t *last_measured = measured[(problem.steps - 1) % 2];
    checksum = waits_checksum(checksum, last_measured, numbers);
    checksum = waits_checksum(checksum, last.data(), last.size());
    CHECK(cudaFree(state_gpu));
    CHECK(cudaFree(measured_gpu));
    waits_done(began);

    const bool ok = is_last(problem, last) && is_measured(last, last_measured, numbers);
    for (uint32_t *each : measured)
        CHECK(cudaFreeHost(each));
    return waits_end("monitor", checksum, ok);
}
