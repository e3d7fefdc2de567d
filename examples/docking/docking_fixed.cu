// SPDX-License-Identifier: Apache-2.0
// docking_fixed: docking.cu without the overallocation. pMem_conformations is only as large as the
// population needs.
#include "docking.h"

int main(int argc, char **argv)
{
    const int population = population_size(argc, argv);
    const size_t bytes = population * sizeof(int), grid_bytes = grid_points * sizeof(int);
    const int blocks = example_blocks(population, block);

    const std::vector<int> grid = make_grid();
    std::vector<int> energies(population);

    int *pMem_fgrids, *pMem_conformations, *pMem_energies, *pMem_evals;
    CHECK(cudaMalloc(&pMem_fgrids, grid_bytes));
    CHECK(cudaMalloc(&pMem_conformations, bytes * genes));
    CHECK(cudaMalloc(&pMem_energies, bytes));
    CHECK(cudaMalloc(&pMem_evals, bytes));

    CHECK(cudaMemcpy(pMem_fgrids, grid.data(), grid_bytes, cudaMemcpyHostToDevice));
    create<<<blocks, block>>>(population, pMem_conformations);
    score<<<blocks, block>>>(population, pMem_fgrids, pMem_conformations, pMem_energies);
    for (int generation = 0; generation < generations; ++generation) {
        compete<<<blocks, block>>>(population, pMem_energies, pMem_conformations);
        mutate<<<blocks, block>>>(population, generation, pMem_conformations);
        score<<<blocks, block>>>(population, pMem_fgrids, pMem_conformations, pMem_energies);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(energies.data(), pMem_energies, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(pMem_fgrids));
    CHECK(cudaFree(pMem_conformations));
    CHECK(cudaFree(pMem_energies));
    CHECK(cudaFree(pMem_evals));

    return peak_end("docking_fixed", energies, expected_energies(population, grid));
}
