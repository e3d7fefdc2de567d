// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of montecarlo: the tables, the kernels that make and use them,
// and the host's own computation. Numbers are unsigned integers, so that sums are exact in any
// order.
#pragma once

#include "../peak.h"

// Points of the grid of nuclides for each point of the index, concentrations, points of a
// particle's chunk of the index, and for how many times as many particles the index may have room.
static const int points = 10, concentrations = 40 * points, chunk = 32, spare = 20;
static const int block = 64;

struct simulation_data {
    uint32_t *concs;        // concentration of each nuclide
    uint32_t *nuclide_grid; // cross sections
    uint32_t *index_grid;   // where paths lead in nuclide_grid: a chunk for each particle
    int spacing;            // chunks from that of a particle to that of the next
};

// A number that looks random, for particle and step.
__host__ __device__ static inline uint32_t weight(uint32_t particle, uint32_t step)
{
    return (particle * 2654435761u ^ step * 40503u) % 1000u;
}

__global__ void tabulate(int count, simulation_data GSD)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        GSD.nuclide_grid[i] = GSD.concs[i % concentrations] * (1u + i % 97);
}

__global__ void build_index(int particles, simulation_data GSD)
{
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle >= particles)
        return;
    for (int step = 0; step < chunk; ++step) {
        uint32_t i = particle * chunk + step;
        GSD.index_grid[particle * GSD.spacing * chunk + step] =
            i * points + GSD.nuclide_grid[i * points] % points;
    }
}

// Follows each particle through its chunk of the index.
__global__ void look_up(int particles, simulation_data GSD, uint32_t *results)
{
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle >= particles)
        return;
    uint32_t sum = 0;
    for (int step = 0; step < chunk; ++step)
        sum += GSD.nuclide_grid[GSD.index_grid[particle * GSD.spacing * chunk + step]] *
               weight(particle, step);
    results[particle] = sum;
}

// What needs no index: scattering where a particle starts.
__global__ void scatter(int particles, simulation_data GSD, uint32_t *results)
{
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle < particles)
        results[particle] += GSD.nuclide_grid[particle];
}

static std::vector<uint32_t> make_concentrations(void)
{
    std::vector<uint32_t> concs(concentrations);
    uint32_t seed = 71;
    for (uint32_t &element : concs)
        element = example_random(&seed, 1000);
    return concs;
}

static std::vector<uint32_t> expected_results(int particles, const std::vector<uint32_t> &concs)
{
    std::vector<uint32_t> grid((size_t)particles * chunk * points), results(particles);
    for (size_t i = 0; i < grid.size(); ++i)
        grid[i] = concs[i % concentrations] * (uint32_t)(1 + i % 97);
    for (int particle = 0; particle < particles; ++particle) {
        results[particle] = grid[particle];
        for (int step = 0; step < chunk; ++step) {
            size_t i = (size_t)particle * chunk + step;
            results[particle] +=
                grid[i * points + grid[i * points] % points] * weight(particle, step);
        }
    }
    return results;
}
