// SPDX-License-Identifier: Apache-2.0
// coefficients: a solver whose step is a function that knows nothing about the previous step, and
// so copies its table of coefficients to the GPU every time.
//
// The table is the same in all steps, and nothing on the GPU writes to it: every copy but the first
// copies data that is already there (duplicate-transfer). The copies are synchronous, so they wait
// for the previous step (synchronous-transfer). The wait costs more than the transfer: the host
// draws the next key only after the GPU is done. coefficients_fixed.cu copies the table once, from
// pinned memory, before the first step.
#include "coefficients.h"

static void step(const waits_problem &problem, uint32_t *state,
                 const std::vector<uint32_t> &coefficients, uint32_t *coefficients_gpu,
                 uint32_t *state_gpu)
{
    const size_t bytes = coefficients.size() * sizeof(uint32_t);
    CHECK(cudaMemcpy(coefficients_gpu, coefficients.data(), bytes, cudaMemcpyHostToDevice));
    const uint32_t key = waits_draw(state, problem.work);
    advance<<<example_blocks(problem.count, block), block>>>(
        problem.count, key, problem.rounds, (int)coefficients.size(), coefficients_gpu, state_gpu);
    CHECK(cudaGetLastError());
}

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 16, 6, 2, 1000});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const double began = waits_begin();

    std::vector<uint32_t> coefficients(count_coefficients(problem));
    draw_coefficients(coefficients.data(), (int)coefficients.size());
    uint32_t *coefficients_gpu, *state_gpu;
    CHECK(cudaMalloc(&coefficients_gpu, coefficients.size() * sizeof(uint32_t)));
    CHECK(cudaMalloc(&state_gpu, bytes));
    CHECK(cudaMemset(state_gpu, 0, bytes));

    uint32_t state = first_state;
    for (int i = 0; i < problem.steps; ++i)
        step(problem, &state, coefficients, coefficients_gpu, state_gpu);
    std::vector<uint32_t> last(problem.count);
    CHECK(cudaMemcpy(last.data(), state_gpu, bytes, cudaMemcpyDeviceToHost));
    const uint64_t checksum = waits_checksum(waits_checksum_start, last.data(), last.size());
    CHECK(cudaFree(coefficients_gpu));
    CHECK(cudaFree(state_gpu));
    waits_done(began);
    return waits_end("coefficients", checksum, is_last(problem, coefficients.data(), last));
}
