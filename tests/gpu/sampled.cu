// SPDX-License-Identifier: Apache-2.0
// Kernels whose accesses are known, to be sampled. Compiled to machine code alone, so that they have no probes.
//
//   sampled [LAUNCHES]   launches each kernel so often (default 4), and prints sums of the results
//
// The name of a kernel says what it does to its arguments, in their order: r reads, w writes, b both, n nothing.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { COUNT = 1 << 22, THREADS = 256, BLOCKS = COUNT / THREADS, ARGUMENTS = 3 };

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void copy_rwn(const float *a, float *b, float *c)
{
    b[INDEX] = a[INDEX];
    if (INDEX > COUNT)
        c[INDEX] = 0;
}
__global__ void add_rrw(const float *a, const float *b, float *c) { c[INDEX] = a[INDEX] + b[INDEX]; }
__global__ void twice_bnn(float *a, float *, float *) { a[INDEX] = a[INDEX] * 0.5f; }
__global__ void count_rbn(const float *a, float *b, float *) { atomicAdd(&b[INDEX % 64], a[INDEX] > 2 ? 1.0f : 0.0f); }
__global__ void vector_rwn(const float *a, float *b, float *)
{
    const unsigned i = INDEX / 4;
    if (INDEX % 4 == 0)
        ((float4 *)b)[i] = ((const float4 *)a)[i];
}
__global__ void shared_rnw(const float *a, float *, float *c)
{
    __shared__ float room[THREADS];
    room[threadIdx.x] = a[INDEX];
    __syncthreads();
    c[INDEX] = room[THREADS - 1 - threadIdx.x];
}
// cp.async
__global__ void async_rnw(const float *a, float *, float *c)
{
    __shared__ float room[THREADS];
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&room[threadIdx.x])),
                 "l"(&a[INDEX]));
    asm volatile("cp.async.wait_all;");
#else
    room[threadIdx.x] = a[INDEX];
#endif
    __syncthreads();
    c[INDEX] = room[threadIdx.x];
}
__global__ void texture_path_rnw(const float *__restrict__ a, const float *, float *c) { c[INDEX] = __ldg(&a[INDEX]); }

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static float host[COUNT];
    const int launches = argc > 1 ? atoi(argv[1]) : 4;
    float *a[ARGUMENTS];
    for (int i = 0; i < ARGUMENTS; i++) {
        check(cudaMalloc(&a[i], sizeof(host)));
        for (int k = 0; k < COUNT; k++)
            host[k] = (float)((k + i) % 7);
        check(cudaMemcpy(a[i], host, sizeof(host), cudaMemcpyHostToDevice));
    }
#define RUN(kernel)                                        \
    for (int i = 0; i < launches; i++) {                   \
        kernel<<<BLOCKS, THREADS>>>(a[0], a[1], a[2]);     \
        check(cudaGetLastError());                         \
        if (i % 100 == 0)                                  \
            check(cudaDeviceSynchronize());                \
    }                                                      \
    check(cudaDeviceSynchronize())
    RUN(copy_rwn);
    RUN(add_rrw);
    RUN(count_rbn);
    RUN(vector_rwn);
    RUN(shared_rnw);
    RUN(async_rnw);
    RUN(texture_path_rnw);
    RUN(twice_bnn);
    for (int i = 0; i < ARGUMENTS; i++) {
        double sum = 0;
        check(cudaMemcpy(host, a[i], sizeof(host), cudaMemcpyDeviceToHost));
        for (int k = 0; k < COUNT; k++)
            sum += host[k] * (k % 5 + 1);
        printf("%.0f\n", sum);
    }
    return 0;
}
