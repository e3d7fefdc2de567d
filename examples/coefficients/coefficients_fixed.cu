// SPDX-License-Identifier: Apache-2.0
// coefficients_fixed: coefficients.cu with its waste removed. The table is copied once, before the
// first step. The copy is asynchronous, from pinned memory, so the host does not wait for it.
#include "coefficients.h"

static void step(const waits_problem &problem, uint32_t *state, const uint32_t *coefficients_gpu,
                 uint32_t *state_gpu)
{
    const uint32_t key = waits_draw(state, problem.work);
    advance<<<example_blocks(problem.count, block), block>>>(problem.count, key, problem.rounds,
                                                             count_coefficients(problem),
                                                             coefficients_gpu, state_gpu);
    CHECK(cudaGetLastError());
}

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 16, 6, 2, 1000});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const size_t table_bytes = count_coefficients(problem) * sizeof(uint32_t);
    const double began = waits_begin();

    uint32_t *coefficients, *coefficients_gpu, *state_gpu;
    CHECK(cudaMallocHost(&coefficients, table_bytes));
    draw_coefficients(coefficients, count_coefficients(problem));
    CHECK(cudaMalloc(&coefficients_gpu, table_bytes));
    CHECK(cudaMalloc(&state_gpu, bytes));
    CHECK(cudaMemset(state_gpu, 0, bytes));
    CHECK(cudaMemcpyAsync(coefficients_gpu, coefficients, table_bytes, cudaMemcpyHostToDevice));

    uint32_t state = first_state;
    for (int i = 0; i < problem.steps; ++i)
        step(problem, &state, coefficients_gpu, state_gpu);
    std::vector<uint32_t> last(problem.count);
    CHECK(cudaMemcpy(last.data(), state_gpu, bytes, cudaMemcpyDeviceToHost));
    const uint64_t checksum = waits_checksum(waits_checksum_start, last.data(), last.size());
    CHECK(cudaFree(coefficients_gpu));
    CHECK(cudaFree(state_gpu));
    waits_done(began);

    const bool ok = is_last(problem, coefficients, last);
    CHECK(cudaFreeHost(coefficients));
    return waits_end("coefficients_fixed", checksum, ok);
}
