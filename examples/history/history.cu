// SPDX-License-Identifier: Apache-2.0
// history: a simulation that copies its state to the host after every step, for an observer that
// does not exist.
//
// Nothing reads the copies; each is overwritten by the next. Yet the host waits for every copy, and
// for the step before it (synchronous-transfer), although it could draw the next key instead.
// history_fixed.cu copies to pinned memory and does not wait; an observer would have to. Only the
// author can know that the program needs no copies at all.
#include "history.h"

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 16, 6, 2, 1000});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const int blocks = example_blocks(problem.count, block);
    const double began = waits_begin();

    uint32_t *state_gpu;
    CHECK(cudaMalloc(&state_gpu, bytes));
    CHECK(cudaMemset(state_gpu, 0, bytes));
    std::vector<uint32_t> watched(problem.count), last(problem.count);
    uint32_t state = first_state;
    for (int step = 0; step < problem.steps; ++step) {
        const uint32_t key = waits_draw(&state, problem.work);
        advance<<<blocks, block>>>(problem.count, key, problem.rounds, state_gpu);
        CHECK(cudaMemcpy(watched.data(), state_gpu, bytes, cudaMemcpyDeviceToHost));
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(last.data(), state_gpu, bytes, cudaMemcpyDeviceToHost));
    const uint64_t checksum = waits_checksum(waits_checksum_start, last.data(), last.size());
    CHECK(cudaFree(state_gpu));
    waits_done(began);
    return waits_end("history", checksum, is_last(problem, last));
}
