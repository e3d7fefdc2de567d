// SPDX-License-Identifier: Apache-2.0
// montecarlo_fixed: montecarlo.cu with its waste removed. The index has as many chunks as there are
// particles, and GSD.concs is freed after its last use.
#include "montecarlo.h"

int main(int argc, char **argv)
{
    const int particles = example_size(argc, argv, 256);
    const int grid_count = particles * chunk * points;
    const size_t bytes = particles * sizeof(uint32_t);

    const std::vector<uint32_t> concs = make_concentrations();
    std::vector<uint32_t> results(particles);

    simulation_data GSD = {};
    GSD.spacing = 1;
    uint32_t *results_gpu;
    const int blocks = example_blocks(particles, block);
    CHECK(cudaMalloc(&GSD.concs, concentrations * sizeof(uint32_t)));
    CHECK(cudaMemcpy(GSD.concs, concs.data(), concentrations * sizeof(uint32_t),
                     cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&GSD.nuclide_grid, grid_count * sizeof(uint32_t)));
    tabulate<<<example_blocks(grid_count, block), block>>>(grid_count, GSD);
    CHECK(cudaFree(GSD.concs));
    CHECK(cudaMalloc(&GSD.index_grid, bytes * chunk));
    build_index<<<blocks, block>>>(particles, GSD);
    CHECK(cudaMalloc(&results_gpu, bytes));
    look_up<<<blocks, block>>>(particles, GSD, results_gpu);
    CHECK(cudaFree(GSD.index_grid));
    scatter<<<blocks, block>>>(particles, GSD, results_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(GSD.nuclide_grid));
    CHECK(cudaMemcpy(results.data(), results_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(results_gpu));

    return peak_end("montecarlo_fixed", results, expected_results(particles, concs));
}
