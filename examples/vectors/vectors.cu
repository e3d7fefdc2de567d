// SPDX-License-Identifier: Apache-2.0
// vectors: a program that uses a small vector library. The library synchronizes with the GPU in
// its calls, so that its callers need not know that it works asynchronously.
//
// The results stay on the GPU, and one stream runs all calls in order. Between calls the host draws
// the next factor, for which it needs no result. So the synchronization at the start of
// add() is not needed (unnecessary-sync), and that at its end only tells whether a kernel failed
// (checking-sync), which every later call would tell, too. Because of them the host and the GPU
// never work at the same time. sum() must wait, because the caller uses the number that it returns.
// vectors_fixed.cu waits nowhere else.
#include "vectors.h"

namespace library
{

static void scale(int count, uint32_t by, int rounds, uint32_t *vector)
{
    scale_kernel<<<example_blocks(count, block), block>>>(count, by, rounds, vector);
    CHECK(cudaGetLastError());
}

static void add(int count, const uint32_t *from, uint32_t *to)
{
    cudaDeviceSynchronize(); // the vectors may still be computed
    add_kernel<<<example_blocks(count, block), block>>>(count, from, to);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

static uint32_t sum(int count, const uint32_t *vector, uint32_t *sum_gpu)
{
    uint32_t sum;
    CHECK(cudaMemset(sum_gpu, 0, sizeof(*sum_gpu)));
    sum_kernel<<<example_blocks(count, block), block>>>(count, vector, sum_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&sum, sum_gpu, sizeof(sum), cudaMemcpyDeviceToHost));
    return sum;
}

} // namespace library

int main(int argc, char **argv)
{
    const waits_problem problem = waits_arguments(argc, argv, {1 << 15, 8, 8, 1000});
    const size_t bytes = problem.count * sizeof(uint32_t);
    const double began = waits_begin();

    uint32_t *x_gpu, *y_gpu, *sum_gpu;
    CHECK(cudaMalloc(&x_gpu, bytes));
    CHECK(cudaMalloc(&y_gpu, bytes));
    CHECK(cudaMalloc(&sum_gpu, sizeof(*sum_gpu)));
    number_kernel<<<example_blocks(problem.count, block), block>>>(problem.count, x_gpu);
    CHECK(cudaMemset(y_gpu, 0, bytes));

    uint32_t state = first_state;
    for (int step = 0; step < problem.steps; ++step) {
        const uint32_t first = waits_draw(&state, problem.work);
        library::scale(problem.count, first, problem.rounds, x_gpu);
        library::add(problem.count, x_gpu, y_gpu);
        const uint32_t second = waits_draw(&state, problem.work);
        library::scale(problem.count, second, problem.rounds, y_gpu);
        library::add(problem.count, y_gpu, x_gpu);
    }
    const uint32_t sum = library::sum(problem.count, x_gpu, sum_gpu);
    std::vector<uint32_t> x(problem.count);
    CHECK(cudaMemcpy(x.data(), x_gpu, bytes, cudaMemcpyDeviceToHost));
    const uint64_t checksum = waits_checksum(waits_checksum_start, x.data(), x.size());
    CHECK(cudaFree(x_gpu));
    CHECK(cudaFree(y_gpu));
    CHECK(cudaFree(sum_gpu));
    waits_done(began);

    uint32_t expected = 0;
    for (uint32_t element : x)
        expected += element;
    return waits_end("vectors", checksum, sum == expected && is_vector(problem, x));
}
