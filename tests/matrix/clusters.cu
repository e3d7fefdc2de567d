// SPDX-License-Identifier: Apache-2.0
// Clusters of blocks in CUDA C++: blocks exchange data through each other's shared memory, and all
// results are compared with the CPU's.
//
//   clusters MODE...   launches: with __cluster_dims__ and with attributes of the launch
//                      graphs: captured, and changed in the executable graph
//                      errors: sizes that are not possible, and what the launches after them do
#include <cooperative_groups.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace groups = cooperative_groups;

enum { THREADS = 128, BINS = 64, WORDS = 4096 };

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorName(error));
    exit(1);
}
#define CHECK(call) check((call), #call)

// Each cluster counts its part of the input in a histogram whose bins are spread over its blocks.
__device__ void histogram_of(const unsigned *input, unsigned count, unsigned *bins)
{
    extern __shared__ unsigned own[];
    const groups::cluster_group cluster = groups::this_cluster();
    const unsigned blocks = cluster.num_blocks(), each = BINS / blocks;
    for (unsigned i = threadIdx.x; i < each; i += blockDim.x)
        own[i] = 0;
    cluster.sync();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        const unsigned bin = input[i] % BINS;
        atomicAdd(cluster.map_shared_rank(own, bin / each) + bin % each, 1);
    }
    cluster.sync();
    for (unsigned i = threadIdx.x; i < each; i += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * each + i], own[i]);
}

__global__ void histogram(const unsigned *input, unsigned count, unsigned *bins)
{
    histogram_of(input, count, bins);
}

__global__ void __cluster_dims__(4, 1, 1)
    histogram_of_four(const unsigned *input, unsigned count, unsigned *bins)
{
    histogram_of(input, count, bins);
}

// Passes rows around the ring of blocks of a cluster, one block at a time, with the barrier between
// arrival and wait. After as many rounds as there are blocks, each row is back.
__global__ void ring(unsigned *data)
{
    __shared__ unsigned rows[2][THREADS];
    const groups::cluster_group cluster = groups::this_cluster();
    const unsigned blocks = cluster.num_blocks(), rank = cluster.block_rank();
    const unsigned at = blockIdx.x * THREADS + threadIdx.x;
    rows[0][threadIdx.x] = data[at];
    unsigned sum = 0;
    for (unsigned round = 0; round < blocks; round++) {
        auto token = cluster.barrier_arrive();
        sum += rows[round % 2][threadIdx.x] * (round + 1);
        cluster.barrier_wait(std::move(token));
        unsigned *next = cluster.map_shared_rank(&rows[(round + 1) % 2][0], (rank + 1) % blocks);
        next[threadIdx.x] = rows[round % 2][threadIdx.x];
        cluster.sync();
    }
    data[at] = rows[blocks % 2][threadIdx.x] + sum;
}

static cudaLaunchConfig_t config_of(unsigned blocks, unsigned shared,
                                    cudaLaunchAttribute *attribute, unsigned size)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = shared;
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = size;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    config.attrs = attribute;
    config.numAttrs = size != 0;
    return config;
}

struct memory {
    std::vector<unsigned> host;
    unsigned *input, *bins;
};

static memory prepare()
{
    memory all;
    for (unsigned i = 0; i < WORDS; i++)
        all.host.push_back(i * 2654435761u >> 7);
    CHECK(cudaMalloc(&all.input, WORDS * sizeof(unsigned)));
    CHECK(cudaMalloc(&all.bins, BINS * sizeof(unsigned)));
    CHECK(cudaMemcpy(all.input, all.host.data(), WORDS * sizeof(unsigned), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(all.bins, 0, BINS * sizeof(unsigned)));
    return all;
}

static void release(memory &all)
{
    CHECK(cudaFree(all.input));
    CHECK(cudaFree(all.bins));
}

// Compares the histogram of so many runs, and clears it.
static void compare(const char *what, memory &all, unsigned runs)
{
    std::vector<unsigned> is(BINS), wanted(BINS);
    for (unsigned word : all.host)
        wanted[word % BINS] += runs;
    CHECK(cudaMemcpy(is.data(), all.bins, BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(all.bins, 0, BINS * sizeof(unsigned)));
    printf("%s: %s\n", what, is == wanted ? "ok" : "wrong");
}

static void compare_ring(memory &all, unsigned size)
{
    std::vector<unsigned> is(WORDS);
    unsigned wrong = 0;
    CHECK(cudaMemcpy(is.data(), all.input, WORDS * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < WORDS; i++) {
        const unsigned block = i / THREADS, first = block / size * size;
        unsigned wanted = all.host[i];
        for (unsigned round = 0; round < size; round++) {
            const unsigned from = first + (block - first + size - round) % size;
            wanted += all.host[from * THREADS + i % THREADS] * (round + 1);
        }
        wrong += is[i] != wanted;
    }
    printf("ring of %u: %u wrong\n", size, wrong);
    CHECK(cudaMemcpy(all.input, all.host.data(), WORDS * sizeof(unsigned), cudaMemcpyHostToDevice));
}

static void launches()
{
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    printf("clusters: %d\n", properties.clusterLaunch);
    memory all = prepare();
    cudaLaunchAttribute attribute;
    histogram_of_four<<<8, THREADS, BINS / 4 * sizeof(unsigned)>>>(all.input, WORDS, all.bins);
    CHECK(cudaGetLastError());
    compare("required", all, 1);
    for (unsigned size = 1; size <= 8; size *= 2) {
        cudaLaunchConfig_t config = config_of(16, BINS / size * sizeof(unsigned), &attribute, size);
        CHECK(cudaLaunchKernelEx(&config, histogram, (const unsigned *)all.input, (unsigned)WORDS,
                                 all.bins));
        compare("asked for", all, 1);
        config = config_of(WORDS / THREADS, 0, &attribute, size);
        CHECK(cudaLaunchKernelEx(&config, ring, all.input));
        compare_ring(all, size);
    }
    CHECK(cudaFuncSetAttribute(ring, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    cudaLaunchConfig_t config = config_of(WORDS / THREADS, 0, &attribute, 16);
    int clusters = 0, size = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, ring, &config));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, ring, &config));
    printf("16 blocks: %s, at most %d\n", clusters > 0 ? "possible" : "impossible", size);
    CHECK(cudaLaunchKernelEx(&config, ring, all.input));
    compare_ring(all, 16);
    CHECK(cudaFuncSetAttribute(ring, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
    release(all);
}

static void graphs()
{
    memory all = prepare();
    cudaLaunchAttribute attribute;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaLaunchConfig_t config = config_of(16, BINS / 2 * sizeof(unsigned), &attribute, 2);
    config.stream = stream;
    CHECK(cudaLaunchKernelEx(&config, histogram, (const unsigned *)all.input, (unsigned)WORDS,
                             all.bins));
    histogram_of_four<<<8, THREADS, BINS / 4 * sizeof(unsigned), stream>>>(all.input, WORDS,
                                                                           all.bins);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    compare("three launches of two", all, 6);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    release(all);
}

static void errors()
{
    memory all = prepare();
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = config_of(32, 0, &attribute, 16);
    printf("16 blocks: %s\n", cudaGetErrorName(cudaLaunchKernelEx(&config, ring, all.input)));
    config = config_of(31, 0, &attribute, 2);
    printf("31 blocks by 2: %s\n", cudaGetErrorName(cudaLaunchKernelEx(&config, ring, all.input)));
    printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
    config = config_of(32, 0, &attribute, 4);
    CHECK(cudaLaunchKernelEx(&config, ring, all.input));
    compare_ring(all, 4);
    release(all);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "launches") == 0)
            launches();
        else if (strcmp(argv[i], "graphs") == 0)
            graphs();
        else if (strcmp(argv[i], "errors") == 0)
            errors();
        else
            return 2;
    }
    return 0;
}
