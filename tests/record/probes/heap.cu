// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate, in ways that make it hard to attribute accesses to blocks:
//   churn      the same memory is allocated again and again within one launch
//   keep       blocks outlive launches; some are freed, some reallocated, some never freed
//   given      blocks that kernels receive as parameters, and that kernels free
//   kinds      new, delete, alignment, functions that allocate, sizes of 0 and too many bytes
//   streams    allocated on one stream, used on another
//   overtaken  the first launch runs last, and gets memory that was used and freed meanwhile
//   graph      allocated, used and freed by the nodes of a graph that is launched several times
//   threads    several threads launch such kernels at the same time
// heap MODE... [reset] runs these modes; each prints what it computed. With reset, the program
// resets the device at the end, which ends all blocks that were not freed.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <thread>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t error_ = (call);                                                       \
        if (error_ != cudaSuccess) {                                                       \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));    \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (0)

// --- churn ---------------------------------------------------------------------------------------

__global__ void churn(unsigned rounds, unsigned *sums)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned bytes = (i * 7 + round * 13) % 300; // some sizes are 0
        unsigned char *block = (unsigned char *)malloc(bytes);
        if (!block)
            continue;
        for (unsigned k = 0; k < bytes; k += 1 + round)
            block[k] = (unsigned char)(k + i);
        if (round % 2)
            sum += block[(bytes - 1) / (1 + round) * (1 + round)];
        free(block);
    }
    sums[i] = sum;
}

// --- keep ----------------------------------------------------------------------------------------

struct node {
    node *next;
    float4 values;
    unsigned hits;
};

__global__ void build(node **lists, unsigned length)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    node *list = nullptr;
    for (unsigned k = 0; k < length; k++) {
        node *one = new node;
        one->next = list;
        one->values = make_float4(i, k, i + k, 1);
        one->hits = 0;
        list = one;
    }
    lists[i] = list;
}

// Each thread walks another thread's list, so several threads touch every block.
__global__ void walk(node **lists, unsigned count, unsigned far, float *sums)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (node *one = lists[(i + far) % count]; one; one = one->next) {
        const float4 values = one->values;
        sum += values.x + values.z;
        if (i % 3)
            atomicAdd(&one->hits, 1u);
    }
    sums[i] = sum;
}

__global__ void prune(node **lists, unsigned each)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % each)
        return;
    node *one = lists[i];
    while (one) {
        node *next = one->next;
        delete one;
        one = next;
    }
    lists[i] = nullptr;
}

// --- given ---------------------------------------------------------------------------------------

__global__ void reserve(float **blocks, unsigned count, unsigned elements)
{
    if (threadIdx.x < count)
        blocks[threadIdx.x] = (float *)malloc(elements * sizeof(float));
}

__global__ void fill(float *block, unsigned elements)
{
    for (unsigned k = threadIdx.x; k < elements; k += blockDim.x)
        block[k] = k;
}

// The pointer one past the end is only compared, never accessed.
__global__ void add(const float *from, float *to, unsigned elements)
{
    const float *end = from + elements;
    for (const float *at = from + threadIdx.x; at < end; at += blockDim.x)
        to[at - from] += *at;
}

__global__ void set_one(float *block)
{
    *block = 3;
}

// Reads and frees the given block, and allocates its memory again.
__global__ void renew(float *block, unsigned elements, float **kept, float *sum)
{
    if (threadIdx.x)
        return;
    float before = 0;
    for (unsigned k = 0; k < elements; k++)
        before += block[k];
    free(block);
    float *again = (float *)malloc(elements * sizeof(float));
    again[0] = before;
    again[elements - 1] = before;
    *sum = again[0];
    *kept = again;
}

// --- kinds ---------------------------------------------------------------------------------------

struct alignas(64) line {
    unsigned words[16];
};

__device__ __noinline__ unsigned *allocate(unsigned depth)
{
    unsigned *block = (unsigned *)malloc(16 + depth);
    if (block && depth) {
        unsigned *inner = allocate(depth - 1);
        block[0] = inner ? inner[0] + 1 : 0;
        free(inner);
    } else if (block) {
        block[0] = 1;
    }
    return block;
}

__global__ void kinds(unsigned *results)
{
    const unsigned i = threadIdx.x;
    unsigned *words = new unsigned[i + 1];
    words[i] = i;
    line *aligned = new line;
    aligned->words[i % 16] = i;
    unsigned *deep = allocate(i % 5);
    void *nothing = malloc(0), *much = malloc((size_t)1 << 40);
    results[i] = words[i] + aligned->words[i % 16] + deep[0] +
                 ((uintptr_t)aligned % 64 ? 1000 : 0) + (much ? 2000 : 0);
    free(nothing);
    free(nullptr);
    delete[] words;
    delete aligned;
    if (i % 2)
        free(deep); // the other threads leak theirs
}

// Touches single bytes, including the last of a block whose size is not a multiple of an element.
__global__ void bytes(unsigned char **kept)
{
    unsigned char *block = (unsigned char *)malloc(5);
    block[4] = 1;
    block[1] = block[4];
    kept[threadIdx.x] = block;
}

// ---

static unsigned sum_of(const unsigned *from, unsigned count)
{
    unsigned *host = (unsigned *)std::malloc(count * sizeof(*host));
    unsigned sum = 0;
    CHECK(cudaMemcpy(host, from, count * sizeof(*host), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < count; i++)
        sum += host[i];
    std::free(host);
    return sum;
}

static void do_churn(unsigned *room)
{
    churn<<<3, 64>>>(6, room);
    churn<<<2, 96>>>(3, room);
    std::printf("churn: %u\n", sum_of(room, 192));
}

static void do_keep(unsigned *room)
{
    const unsigned count = 64;
    node **lists;
    CHECK(cudaMalloc(&lists, count * sizeof(*lists)));
    build<<<2, 32>>>(lists, 5);
    walk<<<2, 32>>>(lists, count, 1, (float *)room);
    walk<<<2, 32>>>(lists, count, 17, (float *)room);
    prune<<<2, 32>>>(lists, 2);
    build<<<1, 16>>>(lists, 2); // overwrites some lists, whose blocks leak
    walk<<<2, 32>>>(lists, count, 40, (float *)room);
    prune<<<2, 32>>>(lists, 3);
    std::printf("keep: %u\n", sum_of(room, count));
    CHECK(cudaFree(lists));
}

static void do_given(unsigned *room)
{
    const unsigned elements = 1000;
    float **blocks, *host[3], *sum = (float *)room;
    CHECK(cudaMalloc(&blocks, sizeof(host)));
    reserve<<<1, 32>>>(blocks, 3, elements);
    CHECK(cudaMemcpy(host, blocks, sizeof(host), cudaMemcpyDeviceToHost));
    fill<<<1, 64>>>(host[0], elements);
    fill<<<1, 32>>>(host[1], elements);
    add<<<1, 64>>>(host[0], host[1], elements);
    set_one<<<1, 1>>>(host[2] + 10);
    renew<<<1, 32>>>(host[1], elements, blocks + 1, sum);
    CHECK(cudaMemcpy(host, blocks, sizeof(host), cudaMemcpyDeviceToHost));
    set_one<<<1, 1>>>(host[1]);
    std::printf("given: %u\n", sum_of(room, 1));
    CHECK(cudaFree(blocks));
}

static void do_kinds(unsigned *room)
{
    unsigned char **kept;
    CHECK(cudaMalloc(&kept, 8 * sizeof(*kept)));
    kinds<<<1, 48>>>(room);
    bytes<<<1, 8>>>(kept);
    std::printf("kinds: %u\n", sum_of(room, 48));
    CHECK(cudaFree(kept));
}

static void do_streams(unsigned *room)
{
    const unsigned count = 64;
    cudaStream_t one, other;
    cudaEvent_t ready;
    node **lists;
    CHECK(cudaMalloc(&lists, count * sizeof(*lists)));
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&ready));
    for (unsigned round = 0; round < 3; round++) {
        build<<<2, 32, 0, one>>>(lists, 3);
        CHECK(cudaEventRecord(ready, one));
        CHECK(cudaStreamWaitEvent(other, ready, 0));
        walk<<<2, 32, 0, other>>>(lists, count, round, (float *)room);
        prune<<<2, 32, 0, other>>>(lists, 1);
        CHECK(cudaEventRecord(ready, other));
        CHECK(cudaStreamWaitEvent(one, ready, 0));
    }
    CHECK(cudaDeviceSynchronize());
    std::printf("streams: %u\n", sum_of(room, count));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaFree(lists));
}

static void CUDART_CB wait_for(void *released)
{
    while (!((std::atomic<bool> *)released)->load())
        std::this_thread::yield();
}

static void do_overtaken(unsigned *room)
{
    const unsigned count = 32;
    std::atomic<bool> released(false);
    cudaStream_t held, other;
    node **lists, **others;
    CHECK(cudaMalloc(&lists, count * sizeof(*lists)));
    CHECK(cudaMalloc(&others, count * sizeof(*others)));
    CHECK(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaLaunchHostFunc(held, wait_for, &released));
    build<<<1, count, 0, held>>>(lists, 2);
    prune<<<1, count, 0, held>>>(lists, 2); // the other lists are never freed
    build<<<1, count, 0, other>>>(others, 3);
    walk<<<1, count, 0, other>>>(others, count, 3, (float *)room);
    prune<<<1, count, 0, other>>>(others, 1);
    CHECK(cudaStreamSynchronize(other));
    released = true;
    CHECK(cudaStreamSynchronize(held));
    walk<<<1, count, 0, held>>>(lists, count, 1, (float *)room + count);
    CHECK(cudaStreamSynchronize(held));
    std::printf("overtaken: %u\n", sum_of(room, 2 * count));
    CHECK(cudaStreamDestroy(held));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaFree(lists));
    CHECK(cudaFree(others));
}

static void do_graph(unsigned *room)
{
    const unsigned count = 64;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    node **lists;
    CHECK(cudaMalloc(&lists, count * sizeof(*lists)));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    build<<<2, 32, 0, stream>>>(lists, 2);
    walk<<<2, 32, 0, stream>>>(lists, count, 5, (float *)room);
    prune<<<2, 32, 0, stream>>>(lists, 4);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (unsigned round = 0; round < 3; round++)
        CHECK(cudaGraphLaunch(exec, stream));
    walk<<<2, 32, 0, stream>>>(lists, count, 7, (float *)room);
    CHECK(cudaStreamSynchronize(stream));
    std::printf("graph: %u\n", sum_of(room, count));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(lists));
}

static void work(unsigned rounds, float *sums)
{
    const unsigned count = 32;
    cudaStream_t stream;
    node **lists;
    CHECK(cudaMalloc(&lists, count * sizeof(*lists)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (unsigned round = 0; round < rounds; round++) {
        build<<<1, 32, 0, stream>>>(lists, 2);
        walk<<<1, 32, 0, stream>>>(lists, count, round, sums);
        churn<<<1, 32, 0, stream>>>(2, (unsigned *)sums);
        prune<<<1, 32, 0, stream>>>(lists, 1 + round % 2);
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(lists));
}

static void do_threads(unsigned *room)
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back(work, 5, (float *)room + 32 * i);
    for (auto &thread : threads)
        thread.join();
    std::printf("threads: %u\n", sum_of(room, 128));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned *room);
    } modes[] = {{"churn", do_churn}, {"keep", do_keep},       {"given", do_given},
                 {"kinds", do_kinds}, {"streams", do_streams}, {"graph", do_graph},
                 {"overtaken", do_overtaken}, {"threads", do_threads}};
    // The simulated GPU's heap is that of the process. With one arena for all threads, memory that
    // one launch has freed is reused in the next, whichever thread runs it.
    mallopt(M_ARENA_MAX, 1);
    unsigned *room;
    CHECK(cudaMalloc(&room, 256 * sizeof(*room)));
    CHECK(cudaMemset(room, 0, 256 * sizeof(*room)));
    CHECK(cudaDeviceSynchronize()); // non-blocking streams do not wait for the memset
    for (int i = 1; i < argc; i++) {
        for (const auto &mode : modes) {
            if (std::strcmp(argv[i], mode.name) == 0)
                mode.run(room);
        }
    }
    CHECK(cudaFree(room));
    if (std::strcmp(argv[argc - 1], "reset") == 0)
        CHECK(cudaDeviceReset());
    return 0;
}
