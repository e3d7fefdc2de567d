// SPDX-License-Identifier: Apache-2.0
// factor_fixed: factor.cu with its waste removed. Memory for intermediate results is allocated
// once, and every step reuses it, so the host can run ahead of the GPU.
#include "factor.h"

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 12, 8, 4, 1000});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const int blocks = example_blocks(problem.count, block);
    const double began = waits_begin();

    uint32_t *model_gpu, *slope_gpu, *change_gpu;
    CHECK(cudaMalloc(&model_gpu, bytes));
    CHECK(cudaMalloc(&slope_gpu, bytes));
    CHECK(cudaMalloc(&change_gpu, bytes));
    CHECK(cudaMemset(model_gpu, 0, bytes));
    uint32_t state = first_state;
    for (int step = 0; step < problem.steps; ++step) {
        const uint32_t key = waits_draw(&state, problem.work);
        gradient<<<blocks, block>>>(problem.count, key, problem.rounds, model_gpu, slope_gpu);
        smooth<<<blocks, block>>>(problem.count, slope_gpu, change_gpu);
        apply<<<blocks, block>>>(problem.count, change_gpu, model_gpu);
    }
    CHECK(cudaGetLastError());
    std::vector<uint32_t> model(problem.count);
    CHECK(cudaMemcpy(model.data(), model_gpu, bytes, cudaMemcpyDeviceToHost));
    const uint64_t checksum = waits_checksum(waits_checksum_start, model.data(), model.size());
    CHECK(cudaFree(slope_gpu));
    CHECK(cudaFree(change_gpu));
    CHECK(cudaFree(model_gpu));
    waits_done(began);
    return waits_end("factor_fixed", checksum, is_model(problem, model));
}
