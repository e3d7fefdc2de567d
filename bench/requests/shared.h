// SPDX-License-Identifier: Apache-2.0
// Kernels that reach shared memory in different ways: with and without bank conflicts, in elements
// of all sizes, and in tiles of odd sizes.
#pragma once

#include <stdint.h>

// --- Tiles -------------------------------------------------------------------------------------

static const int tile_side = 32;

// Blocks are `tile_side` times 8, sides a multiple of tile_side.
template <int padding>
__device__ static inline void transpose_tile(float (*tile)[tile_side + padding], const float *in,
                                             float *out, int side)
{
    const int column = (int)blockIdx.x * tile_side, row = (int)blockIdx.y * tile_side;
    for (int y = (int)threadIdx.y; y < tile_side; y += (int)blockDim.y)
        tile[y][threadIdx.x] = in[(row + y) * side + column + (int)threadIdx.x];
    __syncthreads();
    for (int y = (int)threadIdx.y; y < tile_side; y += (int)blockDim.y)
        out[(column + y) * side + row + (int)threadIdx.x] = tile[threadIdx.x][y];
}

__global__ void transpose_conflicts(const float *in, float *out, int side)
{
    __shared__ float tile[tile_side][tile_side];
    transpose_tile<0>(tile, in, out, side);
}

__global__ void transpose_padded(const float *in, float *out, int side)
{
    __shared__ float tile[tile_side][tile_side + 1];
    transpose_tile<1>(tile, in, out, side);
}

// Blocks of 33 x 5: warps begin in the middle of rows.
__global__ void odd_tile(const float *in, float *out, int width, int height)
{
    __shared__ float tile[5][33];
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x < width && y < height)
        tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    if (x < width && y < height)
        out[y * width + x] = tile[4 - threadIdx.y][threadIdx.x] + tile[threadIdx.y][0];
}

__global__ void product(const float *a, const float *b, float *c, int side)
{
    __shared__ float a_tile[16][16], b_tile[16][16];
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;
    const int row = (int)blockIdx.y * 16 + y, column = (int)blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int first = 0; first < side; first += 16) {
        a_tile[y][x] = a[row * side + first + x];
        b_tile[y][x] = b[(first + y) * side + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();
    }
    c[row * side + column] = sum;
}

__global__ void with_halo(const float *in, float *out, int count)
{
    __shared__ float piece[256 + 2];
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), at = (int)threadIdx.x + 1;
    piece[at] = i < count ? in[i] : 0.0f;
    if (at == 1)
        piece[0] = i > 0 ? in[i - 1] : 0.0f;
    if (at == 256)
        piece[257] = i + 1 < count ? in[i + 1] : 0.0f;
    __syncthreads();
    if (i < count)
        out[i] = piece[at - 1] + piece[at] + piece[at + 1];
}

// --- Distances and sizes -----------------------------------------------------------------------

__global__ void shared_apart(float *out, int stride)
{
    extern __shared__ float dynamic[];
    dynamic[(int)threadIdx.x * stride] = (float)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = dynamic[((int)threadIdx.x ^ 1) * stride];
}

__global__ void shared_one_word(const float *in, float *out)
{
    __shared__ float words[64];
    if (threadIdx.x < 64)
        words[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 64; ++k)
        sum += words[k] * (float)threadIdx.x;
    out[threadIdx.x] = sum;
}

__global__ void shared_bytes(const uint8_t *in, uint8_t *out)
{
    __shared__ uint8_t bytes[256 * 5];
    bytes[(int)threadIdx.x * 5] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = bytes[(255 - (int)threadIdx.x) * 5];
}

__global__ void shared_doubles(const double *in, double *out, int stride)
{
    __shared__ double words[128 * 3];
    words[(int)threadIdx.x * stride] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = words[(127 - (int)threadIdx.x) * stride] + words[(int)threadIdx.x / 32];
}

__global__ void shared_quads(const float4 *in, float4 *out, int stride)
{
    __shared__ float4 words[128 * 3];
    words[(int)threadIdx.x * stride] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = words[(127 - (int)threadIdx.x) * stride];
}

__global__ void shared_quads_same(const float4 *in, float4 *out)
{
    __shared__ float4 words[128];
    words[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const float4 first = words[threadIdx.x / 32], other = words[threadIdx.x / 3];
    out[threadIdx.x] = {first.x + other.w, first.y, other.z, first.w};
}

struct particle {
    float x, y, z;
};

__global__ void shared_structures(const float *in, float *out)
{
    __shared__ particle particles[128];
    particles[threadIdx.x] = {in[threadIdx.x], in[threadIdx.x + 128], in[threadIdx.x + 256]};
    __syncthreads();
    const particle &other = particles[127 - threadIdx.x];
    out[threadIdx.x] = other.x * other.y + other.z;
}

// --- Addresses from memory, and branches -------------------------------------------------------

__global__ void shared_table(const uint32_t *in, uint32_t *out, int count)
{
    __shared__ uint32_t table[256];
    table[threadIdx.x] = threadIdx.x * threadIdx.x;
    __syncthreads();
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        out[i] = table[in[i] % 256];
}

__global__ void shared_pairs(const uint32_t *in, uint2 *out, int count)
{
    __shared__ uint2 table[256];
    table[threadIdx.x] = {threadIdx.x, threadIdx.x + 7};
    __syncthreads();
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        out[i] = table[in[i] % 256];
}

__global__ void shared_branches(const uint32_t *in, uint32_t *out)
{
    __shared__ uint32_t words[256];
    const uint32_t i = threadIdx.x;
    words[i] = in[i];
    __syncthreads();
    uint32_t value = 0;
    if (i % 3 == 0)
        value = words[(i * 2) % 256] / 3;
    else if (i % 3 == 1)
        value = words[255 - i] % 11;
    __syncthreads();
    if (value & 1)
        words[(i * 4) % 256] = value;
    __syncthreads();
    out[i] = words[i ^ 8] * (value > 0);
}

__global__ void shared_histogram(const uint32_t *in, uint32_t *bins, int count)
{
    __shared__ uint32_t own[64];
    if (threadIdx.x < 64)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < count;
         i += (int)(gridDim.x * blockDim.x))
        atomicAdd(&own[in[i] % 64], 1u);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// --- Sums --------------------------------------------------------------------------------------

__global__ void sum_halving(const float *in, float *sums)
{
    __shared__ float part[256];
    const int i = (int)threadIdx.x;
    part[i] = in[(int)blockIdx.x * 256 + i];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (i < half)
            part[i] += part[i + half];
        __syncthreads();
    }
    if (i == 0)
        sums[blockIdx.x] = part[0];
}

__global__ void sum_doubling(const float *in, float *sums)
{
    __shared__ float part[256];
    const int i = (int)threadIdx.x;
    part[i] = in[(int)blockIdx.x * 256 + i];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        const int at = 2 * step * i;
        if (at < 256)
            part[at] += part[at + step];
        __syncthreads();
    }
    if (i == 0)
        sums[blockIdx.x] = part[0];
}

__global__ void sums_so_far(const float *in, float *out)
{
    __shared__ float part[2][256];
    const int i = (int)threadIdx.x;
    int now = 0;
    part[now][i] = in[(int)blockIdx.x * 256 + i];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        part[1 - now][i] = i < step ? part[now][i] : part[now][i] + part[now][i - step];
        now = 1 - now;
        __syncthreads();
    }
    out[(int)blockIdx.x * 256 + i] = part[now][i];
}
