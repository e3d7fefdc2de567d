// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of docking: the kernels of the genetic search, the force grid,
// and the host's own computation. Numbers are integers, so that sums are exact.
#pragma once

#include "../peak.h"

// Generations, genes of a conformation, conformations that there may be at most, and points of the
// grid.
static const int generations = 3, genes = 16, most_conformations = 4096, grid_points = 36864;
static const int block = 64;

// The size of the population: an even number of conformations.
static int population_size(int argc, char **argv)
{
    int population = example_size(argc, argv, 64);
    population += population % 2;
    if (population > most_conformations) {
        fprintf(stderr, "%s: there are at most %d conformations\n", argv[0], most_conformations);
        exit(1);
    }
    return population;
}

__host__ __device__ static inline int first_gene(int conformation, int gene)
{
    return (conformation * 37 + gene * 11) % 101;
}

__host__ __device__ static inline int mutated_gene(int value, int generation, int gene)
{
    return (value * 5 + generation * 7 + gene) % 101;
}

__global__ void create(int population, int *conformations)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int gene = 0; i < population && gene < genes; ++gene)
        conformations[i * genes + gene] = first_gene(i, gene);
}

// The energy of each conformation: every point of the grid, by one gene.
__global__ void score(int population, const int *grid, const int *conformations, int *energies)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= population)
        return;
    int energy = 0;
    for (int point = 0; point < grid_points; point += genes) {
        for (int gene = 0; gene < genes; ++gene)
            energy += grid[point + gene] * conformations[i * genes + gene];
    }
    energies[i] = energy;
}

// The one of each pair with the lower energy replaces both.
__global__ void compete(int population, const int *energies, int *conformations)
{
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= population / 2)
        return;
    bool second = energies[2 * pair + 1] < energies[2 * pair];
    for (int gene = 0; gene < genes; ++gene) {
        int *one = &conformations[2 * pair * genes + gene], *other = one + genes;
        int first_value = *one, second_value = *other;
        *one = second ? second_value : first_value;
        *other = second ? second_value : first_value;
    }
}

// The second of each pair changes in all genes, the first in none.
__global__ void mutate(int population, int generation, int *conformations)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int gene = 0; i < population && gene < genes; ++gene) {
        int *value = &conformations[i * genes + gene];
        *value = i % 2 ? mutated_gene(*value, generation, gene) : *value;
    }
}

static std::vector<int> make_grid(void)
{
    std::vector<int> grid(grid_points);
    uint32_t seed = 111;
    for (int &element : grid)
        element = (int)example_random(&seed, 21) - 10;
    return grid;
}

static void expected_scores(const std::vector<int> &grid, const std::vector<int> &conformations,
                            std::vector<int> &energies)
{
    for (size_t i = 0; i < energies.size(); ++i) {
        energies[i] = 0;
        for (int point = 0; point < grid_points; ++point)
            energies[i] += grid[point] * conformations[i * genes + point % genes];
    }
}

static std::vector<int> expected_energies(int population, const std::vector<int> &grid)
{
    std::vector<int> conformations((size_t)population * genes), energies(population);
    for (int i = 0; i < population * genes; ++i)
        conformations[i] = first_gene(i / genes, i % genes);
    expected_scores(grid, conformations, energies);
    for (int generation = 0; generation < generations; ++generation) {
        for (int i = 0; i < population; i += 2) {
            int best = energies[i + 1] < energies[i] ? i + 1 : i;
            for (int gene = 0; gene < genes; ++gene) {
                int value = conformations[best * genes + gene];
                conformations[i * genes + gene] = value;
                conformations[(i + 1) * genes + gene] = mutated_gene(value, generation, gene);
            }
        }
        expected_scores(grid, conformations, energies);
    }
    return energies;
}
