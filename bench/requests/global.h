// SPDX-License-Identifier: Apache-2.0
// Kernels that reach global memory in different ways: distances between lanes, alignments, sizes of
// elements, structures, blocks of odd sizes, branches, and atomic operations. Each does little more
// than that.
#pragma once

#include <stdint.h>

#define THREAD ((int)(blockIdx.x * blockDim.x + threadIdx.x))

// --- Distances and alignments ------------------------------------------------------------------

__global__ void neighbours(const float *in, float *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[i] + 1.0f;
}

__global__ void apart(const float *in, float *out, int count, int stride)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[i * stride];
}

__global__ void apart_stores(float *out, int count, int stride)
{
    const int i = THREAD;
    if (i < count)
        out[i * stride] = (float)i;
}

__global__ void misaligned(const float *in, float *out, int count, int first)
{
    const int i = THREAD;
    if (i < count)
        out[i + first] = in[i + first];
}

__global__ void backwards(const float *in, float *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[count - 1 - i] = in[count - 1 - i];
}

__global__ void one_address(const float *in, float *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[blockIdx.x];
}

__global__ void all_store_one(float *out)
{
    out[blockIdx.x] = 1.0f;
}

__global__ void rows_by_thread(const float *in, float *sums, int rows, int columns)
{
    const int row = THREAD;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int column = 0; column < columns; ++column)
        sum += in[row * columns + column];
    sums[row] = sum;
}

__global__ void columns_by_thread(const float *in, float *sums, int rows, int columns)
{
    const int column = THREAD;
    if (column >= columns)
        return;
    float sum = 0.0f;
    for (int row = 0; row < rows; ++row)
        sum += in[row * columns + column];
    sums[column] = sum;
}

__global__ void grid_steps(const float *in, float *out, int count)
{
    for (int i = THREAD; i < count; i += (int)(gridDim.x * blockDim.x))
        out[i] = 2.0f * in[i];
}

__global__ void by_texture_path(const float *__restrict__ in, float *__restrict__ out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = __ldg(&in[i ^ 1]) + __ldg(&in[(i * 7) % count]);
}

__global__ void volatile_both(const volatile float *in, volatile float *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[i] + in[i];
}

// --- Sizes of elements -------------------------------------------------------------------------

__global__ void single_bytes(const uint8_t *in, uint8_t *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = (uint8_t)(in[i] + 1);
}

__global__ void bytes_apart(const uint8_t *in, uint8_t *out, int count, int stride)
{
    const int i = THREAD;
    if (i < count)
        out[i * stride + 1] = in[i * stride + 3];
}

__global__ void halves(const uint16_t *in, uint16_t *out, int count, int first)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[i + first];
}

__global__ void eight_bytes(const double *in, double *out, int count, int first)
{
    const int i = THREAD;
    if (i < count)
        out[i + first] = in[i + first];
}

__global__ void sixteen_bytes(const float4 *in, float4 *out, int count, int first)
{
    const int i = THREAD;
    if (i < count)
        out[i + first] = in[i + first];
}

__global__ void sixteen_bytes_apart(const float4 *in, float4 *out, int count, int stride)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[i * stride];
}

struct triple {
    float x, y, z;
};

__global__ void triples(const triple *in, triple *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = {in[i].z, in[i].x, in[i].y};
}

struct record {
    uint8_t kind, flags;
    uint16_t length;
    float weight;
    double value;
    float rest[4];
};

__global__ void one_field(const record *in, double *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[i].value;
}

__global__ void several_fields(record *records, int count)
{
    const int i = THREAD;
    if (i >= count)
        return;
    records[i].weight = (float)records[i].kind + (float)records[i].length;
    records[i].rest[3] = records[i].rest[0];
}

// --- Addresses from memory ---------------------------------------------------------------------

__global__ void gather(const uint32_t *at, const float *in, float *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[at[i]];
}

__global__ void gather_doubles(const uint32_t *at, const double *in, double *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[at[i]];
}

__global__ void gather_quads(const uint32_t *at, const float4 *in, float4 *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[at[i] % 512];
}

__global__ void gather_bytes(const uint32_t *at, const uint8_t *in, uint8_t *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = in[at[i]];
}

__global__ void scatter(const uint32_t *at, const float *in, float *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[at[i]] = in[i];
}

// --- Blocks of other shapes --------------------------------------------------------------------

__global__ void plane(const float *in, float *out, int width, int height)
{
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x < width && y < height)
        out[y * width + x] = in[y * width + x];
}

__global__ void plane_transposed(const float *in, float *out, int width, int height)
{
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x < width && y < height)
        out[x * height + y] = in[y * width + x];
}

__global__ void volume(const float *in, float *out, int width, int height, int depth)
{
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    const int z = (int)(blockIdx.z * blockDim.z + threadIdx.z);
    if (x < 1 || y < 1 || z < 1 || x >= width - 1 || y >= height - 1 || z >= depth - 1)
        return;
    const int i = (z * height + y) * width + x, plane = width * height;
    out[i] = in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width] + in[i - plane] +
             in[i + plane];
}

// --- Branches ----------------------------------------------------------------------------------

__global__ void even_and_odd(const float *in, float *out, int count)
{
    const int i = THREAD;
    if (i >= count)
        return;
    if (i & 1)
        out[i] = sinf(in[i / 2]);
    else
        out[i] = sqrtf(in[count - 1 - i]);
}

__global__ void four_ways(const uint32_t *in, uint32_t *out, int count)
{
    const int i = THREAD;
    if (i >= count)
        return;
    switch (in[i] % 4) {
    case 0: out[i] = in[i / 4] * 3; break;
    case 1: out[i * 2] = in[i + 1] / 5; break;
    case 2: out[i + count] = in[(i + 32) % count] % 7; break;
    default: break;
    }
}

__global__ void different_trips(const uint32_t *in, uint32_t *out, int count)
{
    const int i = THREAD;
    if (i >= count)
        return;
    uint32_t sum = 0;
#pragma unroll 1
    for (uint32_t k = 0; k < in[i] % 13; ++k)
        sum += in[(i + (int)k * 17) % count];
    out[i] = sum;
}

__global__ void few_lanes(const uint32_t *in, uint32_t *out, int count)
{
    const int i = THREAD;
    if (i < count && in[i] % 16 == 0)
        out[i] = in[i] + 1;
}

__global__ void first_lanes(const float *in, float *out)
{
    const int lane = (int)threadIdx.x % 32;
    if (lane < 5)
        out[THREAD] = in[THREAD];
}

// --- Atomic operations -------------------------------------------------------------------------

__global__ void add_to_one(const uint32_t *in, uint32_t *sum, int count)
{
    const int i = THREAD;
    if (i < count)
        atomicAdd(sum, in[i] % 3);
}

__global__ void add_to_neighbours(float *sums, int count)
{
    const int i = THREAD;
    if (i < count)
        atomicAdd(&sums[i], 1.0f);
}

__global__ void add_apart(uint32_t *sums, int count, int stride)
{
    const int i = THREAD;
    if (i < count)
        atomicAdd(&sums[i * stride], 1u);
}

__global__ void add_anywhere(const uint32_t *at, uint32_t *sums, int count)
{
    const int i = THREAD;
    if (i < count)
        atomicAdd(&sums[at[i]], 1u);
}

__global__ void add_doubles(const uint32_t *at, double *sums, int count)
{
    const int i = THREAD;
    if (i < count)
        atomicAdd(&sums[at[i] % 64], 1.0);
}

__global__ void take_numbers(uint32_t *next, uint32_t *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = atomicAdd(&next[i % 8], 2u);
}

__global__ void exchange(uint64_t *words, uint64_t *out, int count)
{
    const int i = THREAD;
    if (i < count)
        out[i] = atomicExch((unsigned long long *)&words[i ^ 3], (unsigned long long)i);
}

__global__ void greatest(const uint32_t *at, const uint32_t *in, uint32_t *most, int count)
{
    const int i = THREAD;
    if (i < count)
        atomicMax(&most[at[i] % 32], in[i]);
}
