// SPDX-License-Identifier: Apache-2.0
// Reads memory in ways that make a value frequent among reads but not among elements, and the other
// way round: one element that all threads read, vectors, structures, zeros of both signs, memory
// that is also written, and memory that is not read at all.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "check.h"

enum { COUNT = 6000 };

struct pair {
    float weight;
    int index;
    double value;
};

// All threads read one element, and each reads its own.
__global__ void shared_factor(float *out, const float *in, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[7] * 2 + in[8] + in[i];
}

__global__ void vectors(float *out, const float4 *in, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count / 4)
        out[i] = in[i].x + in[i].w;
}

__global__ void structures(double *out, const pair *in, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; i < count && k < i % 3; k++)
        out[i] += in[(i + k) % count].value * in[i].weight + in[(5 * i + k) % count].index;
}

__global__ void in_place(int *all, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        all[i] = all[i / 2 * 2] + 1;
}

// The lower half is read often.
__global__ void lower(int *out, const int *in, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i % (count / 8)] + in[i];
}

template <typename T> static T *copied(const std::vector<T> &from)
{
    T *made;
    CHECK(cudaMalloc(&made, from.size() * sizeof(T)));
    CHECK(cudaMemcpy(made, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return made;
}

int main()
{
    const int blocks = (COUNT + 127) / 128;
    std::vector<float> floats(COUNT);
    std::vector<int> ints(COUNT);
    std::vector<pair> pairs(COUNT);
    for (int i = 0; i < COUNT; i++) {
        floats[i] = i % 3 ? (float)i : i % 2 ? -0.0f : 0.0f;
        ints[i] = i < COUNT / 8 ? -5 : i;
        pairs[i] = {i % 4 ? 1.5f : (float)i, i, i % 5 ? 0.25 : (double)i};
    }
    float *out = copied(floats), *in = copied(floats);
    int *some = copied(ints), *others = copied(ints);
    pair *all = copied(pairs);
    double *sums = copied(std::vector<double>(COUNT));
    for (int i = 0; i < 2; i++) {
        shared_factor<<<blocks, 128>>>(out, in, COUNT);
        vectors<<<blocks, 128>>>(out, (const float4 *)in, COUNT);
        structures<<<blocks, 128>>>(sums, all, COUNT);
        lower<<<blocks, 128>>>(others, some, COUNT);
        in_place<<<blocks, 128>>>(others, COUNT);
    }
    CHECK(cudaMemcpy(ints.data(), others, COUNT * sizeof(int), cudaMemcpyDeviceToHost));
    printf("weighed: %d\n", ints[COUNT - 1]);
    CHECK(cudaFree(out));
    CHECK(cudaFree(in));
    CHECK(cudaFree(some));
    CHECK(cudaFree(others));
    CHECK(cudaFree(all));
    CHECK(cudaFree(sums));
    return 0;
}
