// SPDX-License-Identifier: Apache-2.0
// Kernels whose threads access addresses given by their position in the grid: streams, matrices,
// grids. Each kernel is followed by its setup and by its definition for the host.
#pragma once

#include "bench.h"

// --- A stream of floats --------------------------------------------------------------------------

extern "C" __global__ void triad(int n, float *a, const float *b, const float *c, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = b[i] + factor * c[i];
}

static void run_triad(bench &bench)
{
    int n = bench.linear(64 << 20);
    array<float> a(bench, "a", n), b(bench, "b", n), c(bench, "c", n);
    b.fill([](size_t i) { return unit_noise(i, 1); });
    c.fill([](size_t i) { return unit_noise(i, 2); });
    bench.measure([&] { triad<<<blocks(n, 256), 256>>>(n, a.device, b.device, c.device, 3.0f); });
    bench.check(n, 3, [&](size_t i) { a.store(i, b.load(i) + 3.0f * c.load(i)); });
}

// --- The same in vectors of four -----------------------------------------------------------------

extern "C" __global__ void copy4(int n, float4 *out, const float4 *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
}

static void run_copy4(bench &bench)
{
    int n = bench.linear(32 << 20);
    array<float4> out(bench, "out", n), in(bench, "in", n);
    in.fill([](size_t i) {
        return make_float4(unit_noise(i, 1), unit_noise(i, 2), unit_noise(i, 3), (float)(i % 1024));
    });
    bench.measure([&] { copy4<<<blocks(n, 256), 256>>>(n, out.device, in.device); });
    bench.check(n, 2, [&](size_t i) { out.store(i, in.load(i)); });
}

// --- Bytes: a picture of red, green and blue to grey ---------------------------------------------

extern "C" __global__ void grey(int n, uint8_t *out, const uint8_t *__restrict__ in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (uint8_t)((77 * in[3 * i] + 150 * in[3 * i + 1] + 29 * in[3 * i + 2]) >> 8);
}

static void run_grey(bench &bench)
{
    int n = bench.linear(64 << 20);
    array<uint8_t> out(bench, "out", n), in(bench, "in", (size_t)n * 3);
    in.fill([](size_t i) { return (uint8_t)noise(i, 1); });
    bench.measure([&] { grey<<<blocks(n, 256), 256>>>(n, out.device, in.device); });
    bench.check(n, 4, [&](size_t i) {
        int red = in.load(3 * i), green = in.load(3 * i + 1), blue = in.load(3 * i + 2);
        out.store(i, (uint8_t)((77 * red + 150 * green + 29 * blue) >> 8));
    });
}

// --- Product of matrices, each thread along a row and a column -----------------------------------

extern "C" __global__ void sgemm(int n, float *c, const float *a, const float *b)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

static void run_sgemm(bench &bench)
{
    int n = bench.cube(2048);
    size_t count = (size_t)n * n;
    array<float> a(bench, "a", count), b(bench, "b", count), c(bench, "c", count);
    a.fill([](size_t i) { return unit_noise(i, 1); });
    b.fill([](size_t i) { return unit_noise(i, 2); });
    dim3 grid(blocks(n, 32), blocks(n, 8));
    bench.measure([&] { sgemm<<<grid, dim3(32, 8)>>>(n, c.device, a.device, b.device); });
    bench.check(count, 2.0 * n, [&](size_t i) {
        size_t row = i / n, column = i % n;
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += a.load(row * n + k) * b.load((size_t)k * n + column);
        c.store(i, (float)sum);
    });
}

// --- The same by tiles in shared memory ----------------------------------------------------------

enum { TILE = 32 };

extern "C" __global__ void sgemm_tiled(int n, float *c, const float *__restrict__ a,
                                       const float *__restrict__ b)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        tile_a[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        tile_b[y][x] = column < n && k + y < n ? b[(k + y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}

static void run_sgemm_tiled(bench &bench)
{
    int n = bench.cube(2048);
    size_t count = (size_t)n * n, side = (size_t)blocks(n, TILE);
    array<float> a(bench, "a", count), b(bench, "b", count), c(bench, "c", count);
    a.fill([](size_t i) { return unit_noise(i, 1); });
    b.fill([](size_t i) { return unit_noise(i, 2); });
    dim3 grid(side, side), block(TILE, TILE);
    bench.measure([&] { sgemm_tiled<<<grid, block>>>(n, c.device, a.device, b.device); });
    bench.check(side * side, 2.0 * TILE * TILE * n, [&](size_t block_index) {
        size_t first_row = block_index / side * TILE, first_column = block_index % side * TILE;
        static double sums[TILE][TILE];
        memset(sums, 0, sizeof sums);
        for (size_t k = 0; k < (size_t)n; k += TILE) {
            static float tile_a[TILE][TILE], tile_b[TILE][TILE];
            for (size_t y = 0; y < TILE; y++) {
                for (size_t x = 0; x < TILE; x++) {
                    size_t row = first_row + y, column = first_column + x, m = n;
                    tile_a[y][x] = row < m && k + x < m ? a.load(row * m + k + x) : 0;
                    tile_b[y][x] = column < m && k + y < m ? b.load((k + y) * m + column) : 0;
                }
            }
            for (size_t y = 0; y < TILE; y++) {
                for (size_t i = 0; i < TILE; i++) {
                    for (size_t x = 0; x < TILE; x++)
                        sums[y][x] += tile_a[y][i] * tile_b[i][x];
                }
            }
        }
        for (size_t y = 0; y < TILE && first_row + y < (size_t)n; y++) {
            for (size_t x = 0; x < TILE && first_column + x < (size_t)n; x++)
                c.store((first_row + y) * n + first_column + x, (float)sums[y][x]);
        }
    });
}

// --- Transposition, by tiles ---------------------------------------------------------------------

extern "C" __global__ void transpose(int n, float *out, const float *in)
{
    __shared__ float tile[TILE][TILE + 1];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += 8) {
        if (column < n && row + i < n)
            tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * n + column];
    }
    __syncthreads();
    column = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += 8) {
        if (column < n && row + i < n)
            out[(row + i) * n + column] = tile[threadIdx.x][threadIdx.y + i];
    }
}

static void run_transpose(bench &bench)
{
    int n = bench.square(8192);
    size_t count = (size_t)n * n;
    array<float> out(bench, "out", count), in(bench, "in", count);
    in.fill([](size_t i) { return (float)(i % (1 << 24)); });
    dim3 grid(blocks(n, TILE), blocks(n, TILE));
    bench.measure([&] { transpose<<<grid, dim3(TILE, 8)>>>(n, out.device, in.device); });
    bench.check(count, 2, [&](size_t i) { out.store(i % n * n + i / n, in.load(i)); });
}

// --- Five-point stencil of a grid's inner points -------------------------------------------------

extern "C" __global__ void stencil(int n, float *out, const float *in)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    int i = y * n + x;
    out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

static void run_stencil(bench &bench)
{
    int n = bench.square(8192);
    size_t count = (size_t)n * n;
    array<float> out(bench, "out", count), in(bench, "in", count);
    in.fill([](size_t i) { return unit_noise(i, 1); });
    dim3 grid(blocks(n, 32), blocks(n, 8));
    bench.measure([&] { stencil<<<grid, dim3(32, 8)>>>(n, out.device, in.device); });
    bench.check(count, 6, [&](size_t i) {
        size_t x = i % n, y = i / n, last = (size_t)n - 1;
        if (x < 1 || y < 1 || x >= last || y >= last)
            return;
        float around = in.load(i - 1) + in.load(i + 1) + in.load(i - n) + in.load(i + n);
        out.store(i, 0.5f * in.load(i) + 0.125f * around);
    });
}

// --- Seven-point stencil of doubles, each thread up a column -------------------------------------

extern "C" __global__ void stencil3d(int n, double *out, const double *in)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    int layer = n * n, i = layer + y * n + x;
    double below = in[i - layer], here = in[i];
    for (int z = 1; z < n - 1; z++, i += layer) {
        double above = in[i + layer];
        out[i] = 0.4 * here + 0.1 * (below + above + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
        below = here;
        here = above;
    }
}

static void run_stencil3d(bench &bench)
{
    int n = bench.cube(320);
    size_t layer = (size_t)n * n;
    array<double> out(bench, "out", layer * n), in(bench, "in", layer * n);
    in.fill([](size_t i) { return (double)unit_noise(i, 1); });
    dim3 grid(blocks(n, 32), blocks(n, 8));
    bench.measure([&] { stencil3d<<<grid, dim3(32, 8)>>>(n, out.device, in.device); });
    bench.check(layer, 6.0 * n, [&](size_t column) {
        size_t x = column % n, y = column / n, last = (size_t)n - 1;
        if (x < 1 || y < 1 || x >= last || y >= last)
            return;
        size_t i = layer + column;
        double below = in.load(i - layer), here = in.load(i);
        for (size_t z = 1; z < last; z++, i += layer) {
            double above = in.load(i + layer);
            double beside = in.load(i - 1) + in.load(i + 1) + in.load(i - n) + in.load(i + n);
            out.store(i, 0.4 * here + 0.1 * (below + above + beside));
            below = here;
            here = above;
        }
    });
}
