// SPDX-License-Identifier: Apache-2.0
// relax_fixed: relax.cu with its waste removed. The solver owns the arrays of a sweep and allocates
// them once.
#include "relax.h"

class solver
{
  public:
    explicit solver(int count) : count(count)
    {
        CHECK(cudaMalloc(&error, count * sizeof(uint32_t)));
        CHECK(cudaMalloc(&change, count * sizeof(uint32_t)));
    }
    ~solver()
    {
        CHECK(cudaFree(error));
        CHECK(cudaFree(change));
    }
    solver(const solver &) = delete;
    solver &operator=(const solver &) = delete;
    void sweep(uint32_t key, uint32_t *unknowns_gpu)
    {
        const int blocks = example_blocks(count, block);
        residual<<<blocks, block>>>(count, key, unknowns_gpu, error);
        halve<<<blocks, block>>>(count, error, change);
        add<<<blocks, block>>>(count, change, unknowns_gpu);
    }

  private:
    int count;
    uint32_t *error, *change;
};

int main(int argc, char **argv)
{
    waits_problem problem = waits_arguments(argc, argv, {1 << 12, 4, 3, 1000});
    problem.count = example_blocks(problem.count, row) * row;
    const size_t bytes = problem.count * sizeof(uint32_t);
    const double began = waits_begin();

    uint32_t *unknowns_gpu;
    CHECK(cudaMalloc(&unknowns_gpu, bytes));
    CHECK(cudaMemset(unknowns_gpu, 0, bytes));
    uint32_t state = first_state;
    std::vector<uint32_t> unknowns(problem.count);
    uint64_t checksum;
    {
        solver systems(problem.count);
        for (int step = 0; step < problem.steps; ++step) {
            const uint32_t key = waits_draw(&state, problem.work);
            for (int i = 0; i < problem.rounds; ++i)
                systems.sweep(key, unknowns_gpu);
        }
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(unknowns.data(), unknowns_gpu, bytes, cudaMemcpyDeviceToHost));
        checksum = waits_checksum(waits_checksum_start, unknowns.data(), unknowns.size());
    }
    CHECK(cudaFree(unknowns_gpu));
    waits_done(began);
    return waits_end("relax_fixed", checksum, are_unknowns(problem, unknowns));
}
