// SPDX-License-Identifier: Apache-2.0
// bigrams_fixed: bigrams.cu without the additions of zero.
#include "bigrams.h"

// Each block adds some counts of document blockIdx.x.
__global__ void add_counts(const uint32_t *counts, uint32_t *totals)
{
    const int pair = blockIdx.y * blockDim.x + threadIdx.x;
    const uint32_t count = counts[(size_t)blockIdx.x * pairs + pair];
    if (count != 0)
        atomicAdd(&totals[pair], count);
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {8, 1024, 3});
    const size_t batch = (size_t)problem.rows * problem.columns;
    const size_t total_bytes = pairs * sizeof(uint32_t), count_bytes = problem.rows * total_bytes;

    const std::vector<uint8_t> texts = make_texts(problem);
    std::vector<uint32_t> totals = make_totals();
    uint8_t *texts_gpu;
    uint32_t *counts_gpu, *totals_gpu;
    CHECK(cudaMalloc(&texts_gpu, texts.size()));
    CHECK(cudaMalloc(&counts_gpu, count_bytes));
    CHECK(cudaMalloc(&totals_gpu, total_bytes));
    CHECK(cudaMemcpy(texts_gpu, texts.data(), texts.size(), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(totals_gpu, totals.data(), total_bytes, cudaMemcpyHostToDevice));

    const double began = values_begin();
    for (int step = 0; step < problem.steps; ++step) {
        count_pairs<<<problem.rows, block>>>(problem.columns, &texts_gpu[step * batch], counts_gpu);
        add_counts<<<dim3(problem.rows, pairs / block), block>>>(counts_gpu, totals_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(totals.data(), totals_gpu, total_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(texts_gpu));
    CHECK(cudaFree(counts_gpu));
    CHECK(cudaFree(totals_gpu));
    return values_end("bigrams_fixed", totals, expected_totals(problem, texts));
}
