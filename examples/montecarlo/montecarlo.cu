// SPDX-License-Identifier: Apache-2.0
// montecarlo: particles that look up cross sections on their way, through an index with one chunk
// for each particle.
//
// The index has room for far more particles than there are: GSD.index_grid consists of equal
// chunks, each thread accesses only its own chunk, and 19 of 20 chunks are never accessed
// (overallocation). The chunks that are accessed are scattered over the index, so that only another
// layout saves something. GSD.concs is never freed (memory leak). montecarlo_fixed.cu has as many chunks
// as particles, and frees all memory.
#include "montecarlo.h"

int main(int argc, char **argv)
{
    const int particles = example_size(argc, argv, 256);
    const int grid_count = particles * chunk * points;
    const size_t bytes = particles * sizeof(uint32_t);

    const std::vector<uint32_t> concs = make_concentrations();
    std::vector<uint32_t> results(particles);

    simulation_data GSD = {};
    GSD.spacing = spare;
    uint32_t *results_gpu;
    const int blocks = example_blocks(particles, block);
    CHECK(cudaMalloc(&GSD.concs, concentrations * sizeof(uint32_t)));
    CHECK(cudaMemcpy(GSD.concs, concs.data(), concentrations * sizeof(uint32_t),
                     cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&GSD.nuclide_grid, grid_count * sizeof(uint32_t)));
    tabulate<<<example_blocks(grid_count, block), block>>>(grid_count, GSD);
    CHECK(cudaMalloc(&GSD.index_grid, bytes * chunk * spare));
    build_index<<<blocks, block>>>(particles, GSD);
    CHECK(cudaMalloc(&results_gpu, bytes));
    look_up<<<blocks, block>>>(particles, GSD, results_gpu);
    CHECK(cudaFree(GSD.index_grid));
    scatter<<<blocks, block>>>(particles, GSD, results_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(GSD.nuclide_grid));
    CHECK(cudaMemcpy(results.data(), results_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(results_gpu));

    return peak_end("montecarlo", results, expected_results(particles, concs));
}
