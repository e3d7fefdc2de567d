// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks traverse memory together, in loops over the grid or by tiles: sums,
// histograms, bodies, asynchronous copies. Each kernel is followed by its setup and by its
// definition for the host.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "bench.h"

enum { BLOCK = 256 };

// --- Sum of a stream, by shuffles and shared memory ----------------------------------------------

__device__ static float warp_sum(float sum)
{
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    return sum;
}

extern "C" __global__ void reduction(int n, float *partial, const float *in)
{
    __shared__ float warps[BLOCK / 32];
    float sum = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        sum += in[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(threadIdx.x < BLOCK / 32 ? warps[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0)
            partial[blockIdx.x] = sum;
    }
}

static void run_reduction(bench &bench)
{
    int n = bench.linear(128 << 20), grid = bench.linear(1024);
    array<float> partial(bench, "partial", grid), in(bench, "in", n);
    in.fill([](size_t i) { return unit_noise(i, 1); });
    bench.measure([&] { reduction<<<grid, BLOCK>>>(n, partial.device, in.device); });
    bench.check(grid, (double)n / grid, [&](size_t block) {
        double sum = 0;
        for (size_t i = block * BLOCK; i < (size_t)n; i += (size_t)grid * BLOCK) {
            for (size_t k = i; k < i + BLOCK && k < (size_t)n; k++)
                sum += in.load(k);
        }
        partial.store(block, (float)sum);
    });
}

// --- Histogram, in shared memory first; the bins are a variable of the module --------------------

enum { BINS = 4096 };
__device__ unsigned histogram_bins[BINS];

extern "C" __global__ void histogram(int n, const unsigned *in)
{
    __shared__ unsigned counts[BINS];
    for (int i = threadIdx.x; i < BINS; i += BLOCK)
        counts[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        atomicAdd(&counts[in[i] / (1u << 20)], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += BLOCK) {
        if (counts[i])
            atomicAdd(&histogram_bins[i], counts[i]);
    }
}

static void run_histogram(bench &bench)
{
    int n = bench.linear(64 << 20), grid = bench.linear(1056);
    unsigned *variable;
    CHECK(cudaGetSymbolAddress((void **)&variable, histogram_bins));
    array<unsigned> bins(bench, "bins", BINS, variable), in(bench, "in", n);
    in.fill([](size_t i) { return noise(i, 1); });
    bench.measure([&] { histogram<<<grid, BLOCK>>>(n, in.device); });
    bench.check_all(grid, [&](size_t block) {
        std::vector<unsigned> counts(BINS);
        for (size_t i = block * BLOCK; i < (size_t)n; i += (size_t)grid * BLOCK) {
            for (size_t k = i; k < i + BLOCK && k < (size_t)n; k++)
                counts[in.load(k) / (1u << 20)]++;
        }
        for (size_t i = 0; i < BINS; i++) {
            if (counts[i])
                bins.add(i, counts[i]);
        }
    });
}

// --- Bodies that attract each other, by tiles ----------------------------------------------------

__host__ __device__ static void attract(float4 own, float4 other, float4 *sum)
{
    float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
    float square = x * x + y * y + z * z + 0.01f;
#ifdef __CUDA_ARCH__
    float inverse = rsqrtf(square);
#else
    float inverse = 1.0f / sqrtf(square);
#endif
    float pull = other.w * inverse * inverse * inverse;
    sum->x += pull * x;
    sum->y += pull * y;
    sum->z += pull * z;
}

extern "C" __global__ void nbody(int n, float4 *pulls, const float4 *bodies)
{
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 none = make_float4(0, 0, 0, 0), sum = none;
    float4 own = i < n ? bodies[i] : none;
    for (int first = 0; first < n; first += BLOCK) {
        int other = first + threadIdx.x;
        tile[threadIdx.x] = other < n ? bodies[other] : none;
        __syncthreads();
        for (int k = 0; k < BLOCK; k++)
            attract(own, tile[k], &sum);
        __syncthreads();
    }
    if (i < n)
        pulls[i] = sum;
}

static void run_nbody(bench &bench)
{
    int n = bench.square(32768), grid = blocks(n, BLOCK);
    array<float4> pulls(bench, "pulls", n), bodies(bench, "bodies", n);
    bodies.fill([&](size_t i) {
        return make_float4(unit_noise(i, 1), unit_noise(i, 2), unit_noise(i, 3),
                           unit_noise(i, 4) / (float)n);
    });
    bench.measure([&] { nbody<<<grid, BLOCK>>>(n, pulls.device, bodies.device); });
    bench.check(grid, (double)BLOCK * n, [&](size_t block) {
        std::vector<float4> own, sums(BLOCK, make_float4(0, 0, 0, 0));
        for (size_t i = block * BLOCK; i < (block + 1) * BLOCK && i < (size_t)n; i++)
            own.push_back(bodies.load(i));
        for (size_t k = 0; k < (size_t)n; k++) { // each thread loads some for all
            float4 other = bodies.load(k);
            for (size_t i = 0; i < own.size(); i++)
                attract(own[i], other, &sums[i]);
        }
        for (size_t i = 0; i < own.size(); i++)
            pulls.store(block * BLOCK + i, sums[i]);
    });
}

// --- A copy whose loads run ahead into shared memory (cp.async) ----------------------------------

extern "C" __global__ void async(int n, float4 *out, const float4 *in)
{
    __shared__ float4 stages[2][BLOCK];
    int stage = 0, step = gridDim.x * BLOCK;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        __pipeline_memcpy_async(&stages[0][threadIdx.x], &in[i], sizeof *in);
    __pipeline_commit();
    for (; i < n; i += step, stage ^= 1) {
        if (i + step < n)
            __pipeline_memcpy_async(&stages[stage ^ 1][threadIdx.x], &in[i + step], sizeof *in);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        float4 value = stages[stage][threadIdx.x];
        out[i] = make_float4(value.w, value.z, value.y, value.x);
    }
}

static void run_async(bench &bench)
{
    int n = bench.linear(32 << 20), grid = bench.linear(1056);
    array<float4> out(bench, "out", n), in(bench, "in", n);
    in.fill([](size_t i) {
        return make_float4(unit_noise(i, 1), unit_noise(i, 2), unit_noise(i, 3), (float)(i % 1024));
    });
    bench.measure([&] { async<<<grid, BLOCK>>>(n, out.device, in.device); });
    bench.check(n, 2, [&](size_t i) {
        float4 value = in.load(i);
        out.store(i, make_float4(value.w, value.z, value.y, value.x));
    });
}
