// SPDX-License-Identifier: Apache-2.0
// Several GPUs in a process, as programs use them. Prints the same with any number of devices from
// two on. Modes:
//   switching  one thread that switches devices: kernels that read and write a peer's memory,
//   copies
//              and events across devices, variables, managed memory
//   threads    a thread for each device, with memory of pools
//   foreign    kernels get addresses that their device may not access, and do not access them;
//   copies
//              between devices that are no peers, also in a graph
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <vector>

#define CHECK(call)                                                     \
    do {                                                                \
        cudaError_t error = (call);                                     \
        if (error != cudaSuccess) {                                     \
            printf("line %d: %s\n", __LINE__, cudaGetErrorName(error)); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

enum { N = 4096 };
__device__ int total;
__managed__ int everywhere;

__global__ void fill(int *out, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value + i;
}

__global__ void add(const int *from, int *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] += from[i];
}

__global__ void sum(const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&total, from[i]);
    if (i == 0)
        atomicAdd(&everywhere, 1);
}

static long host_sum(const int *from)
{
    static thread_local std::vector<int> host(N);
    CHECK(cudaMemcpy(host.data(), from, N * sizeof(int), cudaMemcpyDefault));
    long all = 0;
    for (int value : host)
        all += value;
    return all;
}

static void switching()
{
    int *memory[2], *copy;
    cudaStream_t streams[2];
    cudaEvent_t done;
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&memory[d], N * sizeof(int)));
        CHECK(cudaStreamCreate(&streams[d]));
        fill<<<N / 256, 256, 0, streams[d]>>>(memory[d], d * 1000, N);
    }
    CHECK(cudaSetDevice(1));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CHECK(cudaEventRecord(done, streams[1]));
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaStreamWaitEvent(streams[0], done, 0));
    add<<<N / 256, 256, 0, streams[0]>>>(memory[1], memory[0], N);     // reads a peer's memory
    add<<<N / 256, 256, 0, streams[0]>>>(memory[0], memory[1], N / 2); // writes half of it
    CHECK(cudaStreamSynchronize(streams[0]));
    printf("kernels: %ld %ld\n", host_sum(memory[0]), host_sum(memory[1]));
    CHECK(cudaMalloc(&copy, N * sizeof(int)));
    CHECK(cudaMemcpyPeer(copy, 0, memory[1], 1, N * sizeof(int)));
    CHECK(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, N * sizeof(int) / 2, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    printf("copies: %ld %ld\n", host_sum(copy), host_sum(memory[1]));
    for (int d = 0; d < 2; d++) {
        int value = -1;
        CHECK(cudaSetDevice(d));
        sum<<<N / 256, 256>>>(d ? memory[1] : copy, N);
        CHECK(cudaMemcpyFromSymbol(&value, total, sizeof value));
        printf("device %d: total %d\n", d, value);
    }
    CHECK(cudaDeviceSynchronize());
    printf("everywhere %d\n", everywhere);
    add<<<1, 32, 0, streams[0]>>>(copy, copy, 32);
    printf("wrong stream: %s\n", cudaGetErrorName(cudaGetLastError()));
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceDisablePeerAccess(1));
    printf("again: %s\n", cudaGetErrorName(cudaDeviceDisablePeerAccess(1)));
    cudaGetLastError();
    CHECK(cudaFree(copy));
    for (int d = 0; d < 2; d++) {
        CHECK(cudaFree(memory[d]));
        CHECK(cudaStreamDestroy(streams[d]));
    }
    CHECK(cudaEventDestroy(done));
}

__global__ void choose(float *own, float *other, int use, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        own[i] += 1;
    if (use && i < n)
        other[i] += 1;
}

static void foreign()
{
    static float host[N];
    float *memory[2];
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&memory[d], N * sizeof(float)));
        CHECK(cudaMemcpy(memory[d], host, N * sizeof(float), cudaMemcpyHostToDevice));
    }
    for (int round = 0; round < 3; round++)
        for (int d = 0; d < 2; d++) {
            CHECK(cudaSetDevice(d));
            choose<<<N / 256, 256>>>(memory[d], memory[1 - d], 0, N);
            CHECK(cudaMemcpyPeer(memory[1 - d], 1 - d, memory[d], d, N * sizeof(float) / 2));
            CHECK(cudaDeviceSynchronize());
        }
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t stream;
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    choose<<<N / 256, 256, 0, stream>>>(memory[0], memory[1], 0, N);
    CHECK(cudaMemcpyAsync(memory[1], memory[0], N * sizeof(float), cudaMemcpyDefault, stream));
    choose<<<N / 256, 256, 0, stream>>>(memory[0], memory[1], 0, N);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int d = 0; d < 2; d++) {
        CHECK(cudaMemcpy(host, memory[d], sizeof host, cudaMemcpyDeviceToHost));
        printf("%g %g\n", host[0], host[N - 1]);
    }
    for (int d = 0; d < 2; d++)
        CHECK(cudaFree(memory[d]));
}

static long results[64];

static void *of_device(void *argument)
{
    const int d = (int)(long)argument;
    int *a, *b, seen = -1;
    cudaStream_t stream;
    CHECK(cudaSetDevice(d));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&a, N * sizeof(int)));
    CHECK(cudaMallocAsync(&b, N * sizeof(int), stream));
    for (int i = 0; i < 4; i++) {
        fill<<<N / 256, 256, 0, stream>>>(a, d + i, N);
        fill<<<N / 256, 256, 0, stream>>>(b, i, N);
        add<<<N / 256, 256, 0, stream>>>(a, b, N);
    }
    CHECK(cudaStreamSynchronize(stream));
    results[d] = host_sum(b);
    CHECK(cudaFreeAsync(b, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(a));
    CHECK(cudaGetDevice(&seen));
    if (seen != d)
        results[d] = -1;
    CHECK(cudaStreamDestroy(stream));
    return NULL;
}

static void threads()
{
    int count = 0;
    pthread_t made[64];
    CHECK(cudaGetDeviceCount(&count));
    for (long d = 0; d < count && d < 64; d++)
        pthread_create(&made[d], NULL, of_device, (void *)d);
    for (long d = 0; d < count && d < 64; d++)
        pthread_join(made[d], NULL);
    for (int d = 0; d < 2; d++)
        printf("thread of device %d: %ld\n", d, results[d]);
}

int main(int argc, char **argv)
{
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2) {
        printf("needs two GPUs\n");
        return 77;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "switching") == 0)
            switching();
        else if (strcmp(argv[i], "threads") == 0)
            threads();
        else if (strcmp(argv[i], "foreign") == 0)
            foreign();
        else
            return 2;
    }
    return 0;
}
