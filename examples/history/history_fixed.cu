// SPDX-License-Identifier: Apache-2.0
// history_fixed: history.cu with its waste removed. The state of each step is copied asynchronously
// to pinned memory.
#include "history.h"

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 16, 6, 2, 1000});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const int blocks = example_blocks(problem.count, block);
    const double began = waits_begin();

    uint32_t *state_gpu, *watched;
    CHECK(cudaMalloc(&state_gpu, bytes));
    CHECK(cudaMemset(state_gpu, 0, bytes));
    CHECK(cudaMallocHost(&watched, bytes));
    std::vector<uint32_t> last(problem.count);
    uint32_t state = first_state;
    for (int step = 0; step < problem.steps; ++step) {
        const uint32_t key = waits_draw(&state, problem.work);
        advance<<<blocks, block>>>(problem.count, key, problem.rounds, state_gpu);
        CHECK(cudaMemcpyAsync(watched, state_gpu, bytes, cudaMemcpyDeviceToHost));
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(last.data(), state_gpu, bytes, cudaMemcpyDeviceToHost));
    const uint64_t checksum = waits_checksum(waits_checksum_start, last.data(), last.size());
    CHECK(cudaFree(state_gpu));
    CHECK(cudaFreeHost(watched));
    waits_done(began);
    return waits_end("history_fixed", checksum, is_last(problem, last));
}
