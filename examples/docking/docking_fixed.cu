// SPDX-License-Identifier: Apache-2.0
// docking_fixed: docking.cu with its waste removed. pMem_conformations is as large as the
// population needs it; nothing is allocated that is not used; memory is allocated just before its
// first use and freed after its last. The grid stays on the GPU while it is idle: all else is
// needed together with it, so that the peak would be the same.
#include "docking.h"

int main(int argc, char **argv)
{
    const int population = population_size(argc, argv);
    const size_t bytes = population * sizeof(int), grid_bytes = grid_points * sizeof(int);
    const int blocks = example_blocks(population, block);

    const std::vector<int> grid = make_grid();
    std::vector<int> energies(population);

    int *pMem_fgrids, *pMem_conformations, *pMem_energies;
    CHECK(cudaMalloc(&pMem_fgrids, grid_bytes));
    CHECK(cudaMemcpy(pMem_fgrids, grid.data(), grid_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&pMem_conformations, bytes * genes));
    create<<<blocks, block>>>(population, pMem_conformations);
    CHECK(cudaMalloc(&pMem_energies, bytes));
    score<<<blocks, block>>>(population, pMem_fgrids, pMem_conformations, pMem_energies);
    for (int generation = 0; generation < generations; ++generation) {
        compete<<<blocks, block>>>(population, pMem_energies, pMem_conformations);
        mutate<<<blocks, block>>>(population, generation, pMem_conformations);
        score<<<blocks, block>>>(population, pMem_fgrids, pMem_conformations, pMem_energies);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaFree(pMem_fgrids));
    CHECK(cudaFree(pMem_conformations));
    CHECK(cudaMemcpy(energies.data(), pMem_energies, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(pMem_energies));

    return peak_end("docking_fixed", energies, expected_energies(population, grid));
}
