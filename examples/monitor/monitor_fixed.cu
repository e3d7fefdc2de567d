// SPDX-License-Identifier: Apache-2.0
// monitor_fixed: monitor.cu with its waste removed. An event is recorded after each copy, and the
// host waits for it just before it reads the data. By then the GPU works on the next step, for
// which the host does not wait.
#include "monitor.h"

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 15, 6, 2, 1000000});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const int numbers = numbers_of(problem);
    const size_t measured_bytes = numbers * sizeof(uint32_t);
    const double began = waits_begin();

    uint32_t *state_gpu, *measured_gpu, *measured[2];
    cudaEvent_t copied[2];
    CHECK(cudaMalloc(&state_gpu, bytes));
    CHECK(cudaMalloc(&measured_gpu, measured_bytes));
    CHECK(cudaMemset(state_gpu, 0, bytes));
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaMallocHost(&measured[i], measured_bytes));
        CHECK(cudaEventCreateWithFlags(&copied[i], cudaEventDisableTiming));
    }

    uint32_t state = first_state;
    uint64_t checksum = waits_checksum_start;
    for (int step = 0; step < problem.steps; ++step) {
        const int slot = step % 2;
        const uint32_t key = waits_draw(&state, problem.work);
        advance<<<example_blocks(problem.count, block), block>>>(problem.count, key, problem.rounds,
                                                                 state_gpu);
        measure<<<example_blocks(numbers, block), block>>>(problem.count, numbers, state_gpu,
                                                           measured_gpu);
        if (step > 0) {
            CHECK(cudaEventSynchronize(copied[1 - slot]));
            checksum = waits_checksum(checksum, measured[1 - slot], numbers);
        }
        CHECK(
            cudaMemcpyAsync(measured[slot], measured_gpu, measured_bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaEventRecord(copied[slot]));
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
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaFreeHost(measured[i]));
        CHECK(cudaEventDestroy(copied[i]));
    }
    return waits_end("monitor_fixed", checksum, ok);
}
