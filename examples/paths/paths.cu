// SPDX-License-Identifier: Apache-2.0
// paths: the cheapest paths through maps, in which each cell has a cost, by dynamic programming.
//
// The costs of cells are doubles, like those of paths. But they are whole numbers below ten, for
// which a byte is enough (heavy-type of costs_gpu). paths_fixed.cu stores bytes, and converts a
// cost where it is used: a map then takes an eighth of the memory, and of the time to copy it.
// Rodinia's pathfinder has an int for each cell.
#include "paths.h"

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {16, 2048, 2});
    const int columns = problem.columns, blocks = example_blocks(columns, block);
    const size_t row_bytes = columns * sizeof(double);
    const size_t map = (size_t)problem.rows * columns, map_bytes = map * sizeof(double);

    const std::vector<double> maps = make_maps<double>(problem);
    const std::vector<double> start = make_start(columns);
    std::vector<double> paths((size_t)problem.steps * columns);
    double *costs_gpu, *before_gpu, *after_gpu;
    CHECK(cudaMalloc(&costs_gpu, map_bytes));
    CHECK(cudaMalloc(&before_gpu, row_bytes));
    CHECK(cudaMalloc(&after_gpu, row_bytes));

    const double began = values_begin();
    for (int step = 0; step < problem.steps; ++step) {
        CHECK(cudaMemcpy(costs_gpu, &maps[step * map], map_bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(before_gpu, start.data(), row_bytes, cudaMemcpyHostToDevice));
        for (int row = 0; row < problem.rows; ++row) {
            advance<<<blocks, block>>>(columns, &costs_gpu[(size_t)row * columns], before_gpu,
                                       after_gpu);
            std::swap(before_gpu, after_gpu);
        }
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&paths[(size_t)step * columns], before_gpu, row_bytes,
                         cudaMemcpyDeviceToHost));
    }
    values_done(began);

    CHECK(cudaFree(costs_gpu));
    CHECK(cudaFree(before_gpu));
    CHECK(cudaFree(after_gpu));
    return values_end("paths", paths, expected_paths(problem, maps));
}
