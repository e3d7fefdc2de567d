// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of hydro: the kernels of a time step, the flow to start with,
// and the host's own computation. A zone has 3 nodes of its own and 4 points of quadrature. Numbers
// are unsigned integers, so that sums are exact in any order.
#pragma once

#include "../peak.h"

static const int nodes = 3, quadrature = 4, block = 64;

// Velocity gradients at the points of quadrature.
__host__ __device__ static inline void zone_gradients(int zone, const uint32_t *v, uint32_t *q_dx,
                                                      uint32_t *q_dy)
{
    uint32_t a = v[zone * nodes], b = v[zone * nodes + 1], c = v[zone * nodes + 2];
    for (int k = 0; k < quadrature; ++k) {
        q_dx[zone * quadrature + k] = b - a + k;
        q_dy[zone * quadrature + k] = c - a - k;
    }
}

// Stress at the nodes; returns how long a step may be for the zone.
__host__ __device__ static inline uint32_t zone_stress(int zone, const uint32_t *q_dx,
                                                       const uint32_t *q_dy, uint32_t *s)
{
    uint32_t x = 0, y = 0;
    for (int k = 0; k < quadrature; ++k) {
        x += q_dx[zone * quadrature + k] * (k + 1);
        y += q_dy[zone * quadrature + k] * (k + 2);
    }
    for (int k = 0; k < nodes; ++k)
        s[zone * nodes + k] = x * k + y;
    return (x ^ y) % 1000;
}

__host__ __device__ static inline uint32_t node_force(uint32_t s)
{
    return s % 4096 * 3;
}

// Moves a node; returns how long a step may be for it.
__host__ __device__ static inline uint32_t move_node(uint32_t f, uint32_t s, uint32_t *x,
                                                     uint32_t *v, uint32_t *e)
{
    *v += f;
    *x += *v;
    *e += *v * f + s;
    return *e % 1000;
}

// The largest of what a block's threads have. All of them call it.
__device__ static inline void block_maximum(uint32_t value, uint32_t *result)
{
    __shared__ uint32_t largest;
    if (threadIdx.x == 0)
        largest = 0;
    __syncthreads();
    atomicMax(&largest, value);
    __syncthreads();
    if (threadIdx.x == 0)
        result[blockIdx.x] = largest;
}

__global__ void gradients(int zones, const uint32_t *v, uint32_t *q_dx, uint32_t *q_dy)
{
    int zone = blockIdx.x * blockDim.x + threadIdx.x;
    if (zone < zones)
        zone_gradients(zone, v, q_dx, q_dy);
}

__global__ void stress(int zones, const uint32_t *q_dx, const uint32_t *q_dy, uint32_t *s,
                       uint32_t *dt)
{
    int zone = blockIdx.x * blockDim.x + threadIdx.x;
    block_maximum(zone < zones ? zone_stress(zone, q_dx, q_dy, s) : 0, dt);
}

__global__ void forces(int zones, const uint32_t *s, uint32_t *f)
{
    int zone = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; zone < zones && k < nodes; ++k)
        f[zone * nodes + k] = node_force(s[zone * nodes + k]);
}

__global__ void advance(int zones, const uint32_t *f, const uint32_t *s, uint32_t *x, uint32_t *v,
                        uint32_t *e, uint32_t *dt)
{
    int zone = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t longest = 0;
    for (int k = 0; zone < zones && k < nodes; ++k) {
        int i = zone * nodes + k;
        uint32_t longest_here = move_node(f[i], s[i], &x[i], &v[i], &e[i]);
        longest = longest_here > longest ? longest_here : longest;
    }
    block_maximum(longest, dt);
}

// Where nodes are, how fast, and with which energy; and behind them the two limits for the step.
struct flow {
    std::vector<uint32_t> x, v, e, dt_first, dt_last;

    explicit flow(int zones) : dt_first(example_blocks(zones, block)), dt_last(dt_first.size())
    {
        uint32_t seed = 121;
        for (std::vector<uint32_t> *values : {&x, &v, &e}) {
            for (int i = 0; i < zones * nodes; ++i)
                values->push_back(example_random(&seed, 1000));
        }
    }
    std::vector<uint32_t> all(void) const
    {
        std::vector<uint32_t> result;
        for (const std::vector<uint32_t> *values : {&x, &v, &e, &dt_first, &dt_last})
            result.insert(result.end(), values->begin(), values->end());
        return result;
    }
};

static std::vector<uint32_t> expected_flow(int zones)
{
    flow flow(zones);
    std::vector<uint32_t> q_dx((size_t)zones * quadrature), q_dy(q_dx), s(flow.x.size());
    for (int zone = 0; zone < zones; ++zone) {
        uint32_t &first = flow.dt_first[zone / block], &last = flow.dt_last[zone / block];
        zone_gradients(zone, flow.v.data(), q_dx.data(), q_dy.data());
        uint32_t limit = zone_stress(zone, q_dx.data(), q_dy.data(), s.data());
        first = limit > first ? limit : first;
        for (int i = zone * nodes; i < (zone + 1) * nodes; ++i) {
            limit = move_node(node_force(s[i]), s[i], &flow.x[i], &flow.v[i], &flow.e[i]);
            last = limit > last ? limit : last;
        }
    }
    return flow.all();
}
