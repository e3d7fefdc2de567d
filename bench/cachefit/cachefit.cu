// SPDX-License-Identifier: Apache-2.0
// Measures the caches of a GPU: what a preset of src/cache/presets.c needs.
//
//   nvcc -O3 -arch=native -o cachefit bench/cachefit/cachefit.cu && ./cachefit
//
// One thread follows links through memory, each of which is the next load's address, and counts how many
// loads take about as long as a hit in L1, a hit in L2, or a load from memory. So it needs no counters of
// the vendor, and any GPU from sm_70 on can run it. What is found:
//   line, sector   which bytes come with a load, and how far apart loads are that take a line each
//   capacity       how many lines can be loaded again as L1 or L2 hits, for each carve-out of shared memory
//   policy         how many of a loop over too many lines hit
//   stores         whether a load behind a store of the same thread hits
//   fills          how many sectors L2 reads at once
//   partitions     whether multiprocessors differ in how long L2 takes for the same line
// The GPU must be idle. Each measurement is the most frequent of several.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <map>
#include <random>
#include <vector>

enum { LINE = 128, SECTOR = 32, TRIES = 5 };

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "cachefit: %s\n", cudaGetErrorString(error));
    exit(1);
}

// --- On the GPU ----------------------------------------------------------------------------------

// Clocks up to which a load counts as a hit in L1, and in L2.
struct limits {
    unsigned l1, l2;
};

struct counts {
    unsigned l1, l2, memory, last; // `last`: clocks of the last load
};

__device__ unsigned load(const unsigned *at, bool past_l1)
{
    unsigned value;
    if (past_l1)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    else
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

// Waits until a value is there; none is that one. Shared memory would wait, too, but take its part of L1.
__device__ void wait_for(unsigned value)
{
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 0xfedcba98; @p trap; }" ::"r"(value) : "memory");
}

// Follows `warm` links, and then `count` links that are timed. Only the block on the wanted
// multiprocessor does; -1: the first block.
__global__ void chase(const unsigned *memory, unsigned from, unsigned warm, unsigned count, bool past_l1,
                      struct limits limits, int processor, struct counts *result)
{
    unsigned at = from, self;
    struct counts counts = {0, 0, 0, 0};
    asm volatile("mov.u32 %0, %%smid;" : "=r"(self));
    if (processor >= 0 ? (int)self != processor : blockIdx.x != 0)
        return;
    for (unsigned i = 0; i < warm; i++)
        at = load(memory + at, past_l1);
    for (unsigned i = 0; i < count; i++) {
        const long long start = clock64();
        at = load(memory + at, past_l1);
        wait_for(at);
        const unsigned taken = (unsigned)(clock64() - start);
        counts.l1 += taken <= limits.l1;
        counts.l2 += taken > limits.l1 && taken <= limits.l2;
        counts.memory += taken > limits.l2;
        counts.last = taken;
    }
    *result = counts;
}

// Stores to a line, and then times a load from it.
__global__ void store_and_load(unsigned *memory, struct counts *result)
{
    asm volatile("st.global.u32 [%0], %1;" ::"l"(memory), "r"(7u) : "memory");
    __threadfence_block();
    for (int i = 0; i < 1000; i++)
        __nanosleep(10);
    const long long start = clock64();
    const unsigned value = load(memory, false);
    wait_for(value);
    const unsigned taken = (unsigned)(clock64() - start);
    result->last = value == 7 ? taken : ~0u;
}

// Times an atomic operation, on the wanted multiprocessor.
__global__ void change(unsigned *memory, int processor, struct counts *result)
{
    unsigned self;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(self));
    if ((int)self != processor)
        return;
    for (int i = 0; i < 8; i++) {
        const long long start = clock64();
        wait_for(atomicAdd(memory, 1u));
        result->last = (unsigned)(clock64() - start);
    }
}

__global__ void fill(unsigned *memory, size_t count)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        memory[i] = 1;
}

// --- Measurements --------------------------------------------------------------------------------

static unsigned *memory, *other;
static struct counts *result;
static struct limits limits;
static int processors;
static const size_t room = (size_t)512 << 20, flushed = (size_t)256 << 20;

// Has nothing of the memory in L2.
static void flush()
{
    fill<<<4 * processors, 256>>>(other, flushed / 4);
    check(cudaDeviceSynchronize());
}

static struct counts run(unsigned from, unsigned warm, unsigned count, bool past_l1, int processor = -1)
{
    chase<<<processor >= 0 ? 8 * processors : 1, 1>>>(memory, from, warm, count, past_l1, limits, processor, result);
    check(cudaDeviceSynchronize());
    return *result;
}

// Links `count` places, so many bytes apart, in random order or one after the other.
static void link(size_t count, size_t stride, bool random)
{
    std::vector<unsigned> order(count);
    std::vector<unsigned> words(std::max<size_t>(count * stride / 4, 1));
    std::mt19937 generator(1);
    for (size_t i = 0; i < count; i++)
        order[i] = (unsigned)(i * stride / 4);
    if (random)
        std::shuffle(order.begin() + 1, order.end(), generator);
    for (size_t i = 0; i < count; i++)
        words[order[i]] = order[(i + 1) % count];
    check(cudaMemcpy(memory, words.data(), words.size() * 4, cudaMemcpyHostToDevice));
}

template <typename Measure> static unsigned most_frequent(Measure measure)
{
    std::map<unsigned, int> times;
    for (int i = 0; i < TRIES; i++)
        times[measure()]++;
    return std::max_element(times.begin(), times.end(), [](auto &a, auto &b) { return a.second < b.second; })->first;
}

// Finds how long the three kinds of loads take, and sets limits between them.
static void find_limits()
{
    link(8, LINE, false);
    const unsigned l1 = most_frequent([] { return run(0, 64, 64, false).last; });
    const unsigned l2 = most_frequent([] { return run(0, 64, 64, true).last; });
    link(1 << 15, 4096, true);
    std::vector<unsigned> cold;
    for (int i = 0; i < 16; i++) {
        flush();
        cold.push_back(run((unsigned)i * 4096 * 100 / 4, 0, 1, true).last);
    }
    std::sort(cold.begin(), cold.end());
    const unsigned far = cold[cold.size() / 2];
    limits = {(l1 + l2) / 2, l2 + (far - l2) * 2 / 3};
    printf("clocks: L1 %u, L2 %u, memory %u; limits %u and %u\n", l1, l2, far, limits.l1, limits.l2);
}

// How many of the lines, each loaded twice, hit in L1 (or L2) the second time, in percent.
static double share_of_hits(size_t lines, size_t stride, bool past_l1)
{
    link(lines, stride, true);
    const struct counts counts = run(0, (unsigned)lines * 2, (unsigned)lines, past_l1);
    return 100.0 * (past_l1 ? counts.l1 + counts.l2 : counts.l1) / (double)lines;
}

// The most lines of which nearly all hit.
static size_t find_capacity(size_t stride, bool past_l1, size_t least, size_t most)
{
    while (most - least > least / 256 + 1) {
        const size_t middle = (least + most) / 2;
        if (share_of_hits(middle, stride, past_l1) >= 97)
            least = middle;
        else
            most = middle;
    }
    return least;
}

// Loads the first word of a line, and then another one. Returns how long that takes. Other lines are loaded
// before, so that the code is in the cache of instructions: what is not there takes longer than memory.
static unsigned clocks_of_second(unsigned bytes, bool past_l1)
{
    enum { BEFORE = 4, APART = 64 * LINE };
    std::vector<unsigned> words((BEFORE + 1) * APART / 4, 0);
    for (int i = 0; i < BEFORE; i++)
        words[(size_t)i * APART / 4] = (unsigned)(i + 1) * APART / 4;
    words[BEFORE * APART / 4] = (BEFORE * APART + bytes) / 4;
    check(cudaMemcpy(memory, words.data(), words.size() * 4, cudaMemcpyHostToDevice));
    flush();
    return run(0, 0, BEFORE + 2, past_l1).last;
}

static void measure_line()
{
    unsigned sector = 0, fills = 0;
    for (unsigned bytes = 4; bytes < LINE; bytes += 4) {
        if (clocks_of_second(bytes, false) <= limits.l1)
            sector = std::max(sector, bytes + 4);
        if (clocks_of_second(bytes, true) <= limits.l2)
            fills = std::max(fills, bytes + 4);
    }
    printf("with the first word, %u bytes come to L1, and %u to L2\n", sector, fills);
    size_t before = 0;
    for (size_t stride = SECTOR; stride <= 4 * LINE; stride *= 2) {
        const size_t lines = find_capacity(stride, false, 64, 16384);
        printf("loads %zu bytes apart: %zu hit in L1%s\n", stride, lines,
               before && lines * 10 > before * 9 && lines * 9 < before * 10 ? ", as many as before" : "");
        before = lines;
    }
}

static void measure_carve_outs()
{
    for (int percent : {0, 25, 50, 75, 100}) {
        check(cudaFuncSetAttribute(chase, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
        share_of_hits(64, LINE, false); // the first launch changes it
        const size_t lines = find_capacity(LINE, false, 64, 8192);
        printf("carve-out of %d %%: L1 holds %zu lines, %.1f KiB\n", percent, lines, (double)lines * LINE / 1024);
    }
    check(cudaFuncSetAttribute(chase, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
}

static void measure_policy()
{
    const size_t lines = find_capacity(LINE, false, 64, 8192);
    for (double more : {1.02, 1.05, 1.1, 1.25, 1.5, 2.0}) {
        const size_t count = (size_t)((double)lines * more);
        link(count, LINE, false);
        const struct counts counts = run(0, (unsigned)count * 3, (unsigned)count, false);
        printf("loop over %.2f of L1: %.1f %% hit\n", more, 100.0 * counts.l1 / (double)count);
    }
}

static void measure_stores()
{
    flush();
    store_and_load<<<1, 1>>>(memory + 1024, result);
    check(cudaDeviceSynchronize());
    printf("a load behind a store takes %u clocks: %s\n", result->last,
           result->last <= limits.l1 ? "stores allocate in L1" : "stores do not allocate in L1");
}

static void measure_l2()
{
    for (size_t mib : {8, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 96}) {
        if ((mib << 20) > room)
            break;
        const size_t lines = (mib << 20) / LINE;
        printf("%3zu MiB, loaded again by one multiprocessor: %.1f %% hit in L2\n", mib,
               share_of_hits(lines, LINE, true));
    }
}

// How long L2 takes for an atomic operation on one line from each multiprocessor: near and far partitions. Loads do
// not tell: the near partition keeps a copy.
static void measure_partitions()
{
    check(cudaMemset(memory, 0, LINE));
    std::vector<unsigned> clocks;
    for (int i = 0; i < processors; i++)
        clocks.push_back(most_frequent([i] {
            change<<<8 * processors, 1>>>(memory, i, result);
            check(cudaDeviceSynchronize());
            return result->last;
        }));
    std::vector<unsigned> sorted = clocks;
    std::sort(sorted.begin(), sorted.end());
    size_t gap = 0;
    for (size_t i = 1; i + 1 < sorted.size(); i++) {
        if (sorted[i + 1] - sorted[i] > sorted[gap + 1] - sorted[gap])
            gap = i;
    }
    printf("L2 to one line: %u to %u clocks for %zu multiprocessors, %u to %u for %zu\n", sorted[0], sorted[gap],
           gap + 1, sorted[gap + 1], sorted.back(), sorted.size() - gap - 1);
}

int main()
{
    cudaDeviceProp gpu;
    check(cudaGetDeviceProperties(&gpu, 0));
    processors = gpu.multiProcessorCount;
    check(cudaMalloc(&memory, room));
    check(cudaMalloc(&other, flushed));
    check(cudaMallocManaged(&result, sizeof(*result)));
    check(cudaFuncSetAttribute(chase, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
    printf("%s, %d multiprocessors, %.1f MiB of L2 cache according to the driver\n", gpu.name, processors,
           (double)gpu.l2CacheSize / (1 << 20));
    find_limits();
    measure_line();
    measure_carve_outs();
    measure_policy();
    measure_stores();
    measure_l2();
    measure_partitions();
    return 0;
}
