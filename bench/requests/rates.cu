// SPDX-License-Identifier: Apache-2.0
// Measures the rates at which src/analyze/request_worth.c turns sectors and wavefronts into time: wavefronts of shared
// memory, and bytes that come from the L2 cache, for each multiprocessor and nanosecond; and bytes of device memory for
// each nanosecond. Each is the best of several launches.
//
//   nvcc -O3 -arch=native -o rates bench/requests/rates.cu && ./rates
//
// Prints one line for each rate, and its name first. The GPU must be idle.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { THREADS = 1024, ROUNDS = 2048, LAUNCHES = 10, CONFLICTS = 32 };

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "rates: %s\n", cudaGetErrorString(error));
    exit(1);
}

// Each request of a warp takes CONFLICTS wavefronts: all lanes are in one bank.
__global__ void conflicts(int *out)
{
    __shared__ volatile int words[32 * CONFLICTS + 8];
    for (int i = threadIdx.x; i < 32 * CONFLICTS + 8; i += blockDim.x)
        words[i] = i;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < ROUNDS; i += 4) {
        sum += words[threadIdx.x % 32 * 32];
        sum += words[threadIdx.x % 32 * 32 + 1];
        sum += words[threadIdx.x % 32 * 32 + 2];
        sum += words[threadIdx.x % 32 * 32 + 3];
    }
    if (sum == 1)
        *out = sum;
}

// Reads everything so many times, past the L1 cache.
__global__ void read(const int4 *in, size_t count, int times, int *out)
{
    int sum = 0;
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (int round = 0; round < times; round++) {
        for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += 4 * step) {
            int4 four[4];
            for (int k = 0; k < 4; k++)
                four[k] = i + k * step < count ? __ldcg(in + i + k * step) : int4{};
            for (int k = 0; k < 4; k++)
                sum += four[k].x ^ four[k].y ^ four[k].z ^ four[k].w;
        }
    }
    if (sum == 1)
        *out = sum;
}

// Returns the least nanoseconds that a launch takes.
template <typename Launch> static double measure(Launch launch)
{
    cudaEvent_t begin, end;
    float best = 0;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    for (int i = 0; i < LAUNCHES; i++) {
        float ms;
        check(cudaEventRecord(begin));
        launch();
        check(cudaEventRecord(end));
        check(cudaEventSynchronize(end));
        check(cudaEventElapsedTime(&ms, begin, end));
        best = i == 0 || ms < best ? ms : best;
    }
    return best * 1e6;
}

int main()
{
    cudaDeviceProp gpu;
    int *out;
    int4 *in;
    const size_t large = (size_t)2 << 30, small = (size_t)16 << 20;
    check(cudaGetDeviceProperties(&gpu, 0));
    check(cudaMalloc(&out, sizeof(*out)));
    check(cudaMalloc(&in, large));
    check(cudaMemset(in, 0, large));
    const int blocks = gpu.multiProcessorCount;
    const double all = (double)ROUNDS * THREADS / 32 * CONFLICTS;
    const double shared_ns = measure([&] { conflicts<<<blocks, THREADS>>>(out); });
    const double cached_ns = measure([&] { read<<<2 * blocks, THREADS>>>(in, small / 16, 64, out); });
    const double memory_ns = measure([&] { read<<<2 * blocks, THREADS>>>(in, large / 16, 1, out); });
    printf("gpu %s, %d multiprocessors\n", gpu.name, blocks);
    printf("wavefronts of shared memory, each multiprocessor: %.3f/ns\n", all / shared_ns);
    printf("bytes from L2, each multiprocessor: %.1f/ns\n", 64.0 * (double)small / blocks / cached_ns);
    printf("bytes from device memory: %.0f/ns\n", (double)large / memory_ns);
    return 0;
}
