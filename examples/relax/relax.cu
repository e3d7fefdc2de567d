// SPDX-License-Identifier: Apache-2.0
// relax: a solver that sweeps over many small systems of equations, written with arrays that
// allocate device memory where they are declared and free it where they go out of scope.
//
// Nothing in sweep() looks like a wait. But its two temporary arrays call cudaMalloc and cudaFree
// twice, and each time the first cudaFree waits for the sweep's kernels (alloc-free-churn). The
// calls take longer than the kernels. Meanwhile the host could prepare the next right-hand
// side. relax_fixed.cu allocates the arrays once and uses them for all sweeps.
#include "relax.h"

template <typename type> class temporary_array
{
  public:
    explicit temporary_array(int count)
    {
        CHECK(cudaMalloc(&elements, count * sizeof(type)));
    }
    ~temporary_array()
    {
        CHECK(cudaFree(elements));
    }
    temporary_array(const temporary_array &) = delete;
    temporary_array &operator=(const temporary_array &) = delete;
    type *data()
    {
        return elements;
    }

  private:
    type *elements;
};

static void sweep(int count, uint32_t key, uint32_t *unknowns_gpu)
{
    const int blocks = example_blocks(count, block);
    temporary_array<uint32_t> error(count), change(count);
    residual<<<blocks, block>>>(count, key, unknowns_gpu, error.data());
    halve<<<blocks, block>>>(count, error.data(), change.data());
    add<<<blocks, block>>>(count, change.data(), unknowns_gpu);
}

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
    for (int step = 0; step < problem.steps; ++step) {
        const uint32_t key = waits_draw(&state, problem.work);
        for (int i = 0; i < problem.rounds; ++i)
            sweep(problem.count, key, unknowns_gpu);
    }
    CHECK(cudaGetLastError());
    std::vector<uint32_t> unknowns(problem.count);
    CHECK(cudaMemcpy(unknowns.data(), unknowns_gpu, bytes, cudaMemcpyDeviceToHost));
    const uint64_t checksum =
        waits_checksum(waits_checksum_start, unknowns.data(), unknowns.size());
    CHECK(cudaFree(unknowns_gpu));
    waits_done(began);
    return waits_end("relax", checksum, are_unknowns(problem, unknowns));
}
