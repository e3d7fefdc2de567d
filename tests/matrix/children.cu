// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels (dynamic parallelism): children MODE... runs each mode and prints
// what is the same on every GPU and in every possible order. Modes:
//   sort      a recursive quicksort: each call launches two, in streams of its own
//   fan       every thread fires and forgets a child, and every child another one
//   tails     tail launches that follow each other, and a kernel that launches itself again
//   order     children in the default stream of a block, in streams, and behind events
//   copies    copies by kernels, with one, two and three dimensions
//   fills     fills likewise, which an H200 did not show (tests/gpusim/runtime/device_runtime.cu)
//   memory    memory that a kernel allocates and a tail launch frees
//   queries   what kernels ask the device runtime for
//   errors    launches that CUDA refuses, and the last errors of threads
//   fault     a child writes to no memory: the program prints the error and ends with status 37
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                     \
    do {                                                                \
        cudaError_t error = (call);                                     \
        if (error != cudaSuccess) {                                     \
            printf("line %d: %s\n", __LINE__, cudaGetErrorName(error)); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

// A kernel's call must succeed.
#define MUST(call)                                                      \
    do {                                                                \
        cudaError_t must = (call);                                      \
        if (must != cudaSuccess)                                        \
            printf("kernel, line %d: error %d\n", __LINE__, (int)must); \
    } while (0)

enum { COUNT = 4096 };

static int *device_numbers(int count)
{
    int *memory;
    CHECK(cudaMalloc(&memory, count * sizeof(int)));
    CHECK(cudaMemset(memory, 0, count * sizeof(int)));
    return memory;
}

static unsigned sum_of(const int *memory, int count)
{
    int *host = (int *)malloc(count * sizeof(int));
    unsigned sum = 2166136261u;
    CHECK(cudaMemcpy(host, memory, count * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        sum = (sum ^ (unsigned)host[i]) * 16777619u;
    free(host);
    return sum;
}

// --- sort ----------------------------------------------------------------------------------------

enum { SMALL = 32, DEEPEST = 12 };

__global__ void selection_sort(int *data, int count)
{
    for (int i = 0; i < count; i++) {
        int least = i;
        for (int k = i + 1; k < count; k++)
            least = data[k] < data[least] ? k : least;
        int value = data[i];
        data[i] = data[least];
        data[least] = value;
    }
}

__global__ void quicksort(int *data, int count, int depth)
{
    if (count <= SMALL || depth == DEEPEST) {
        selection_sort<<<1, 1>>>(data, count);
        return;
    }
    const int pivot = data[count / 2];
    int left = 0, right = count - 1;
    while (left <= right) {
        while (data[left] < pivot)
            left++;
        while (data[right] > pivot)
            right--;
        if (left <= right) {
            int value = data[left];
            data[left++] = data[right];
            data[right--] = value;
        }
    }
    cudaStream_t stream;
    if (right > 0) {
        MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        quicksort<<<1, 1, 0, stream>>>(data, right + 1, depth + 1);
        MUST(cudaStreamDestroy(stream));
    }
    if (left < count - 1) {
        MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        quicksort<<<1, 1, 0, stream>>>(data + left, count - left, depth + 1);
        MUST(cudaStreamDestroy(stream));
    }
    MUST(cudaGetLastError());
}

static void sort()
{
    enum { MANY = 2000 };
    int host[MANY];
    unsigned state = 1;
    for (int i = 0; i < MANY; i++) {
        state = state * 1664525u + 1013904223u;
        host[i] = (int)(state >> 12);
    }
    int *data = device_numbers(MANY);
    CHECK(cudaMemcpy(data, host, sizeof(host), cudaMemcpyHostToDevice));
    quicksort<<<1, 1>>>(data, MANY, 0);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 1; i < MANY; i++)
        wrong += host[i - 1] > host[i];
    printf("sort: %d wrong, %u\n", wrong, sum_of(data, MANY));
    CHECK(cudaFree(data));
}

// --- fan -----------------------------------------------------------------------------------------

__global__ void leaf(int *data, int at)
{
    atomicAdd(&data[(at + threadIdx.x) % COUNT], 1 + at % 7);
}

__global__ void branch(int *data, int at)
{
    if (threadIdx.x == 0)
        leaf<<<2, 16, 0, cudaStreamFireAndForget>>>(data, at * 3);
    atomicAdd(&data[at % COUNT], 5);
}

__global__ void fan_out(int *data)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    branch<<<1, 4, 0, cudaStreamFireAndForget>>>(data, at);
    MUST(cudaGetLastError());
}

static void fan()
{
    int *data = device_numbers(COUNT);
    fan_out<<<4, 64>>>(data);
    CHECK(cudaDeviceSynchronize());
    printf("fan: %u\n", sum_of(data, COUNT));
    CHECK(cudaFree(data));
}

// --- tails ---------------------------------------------------------------------------------------

__global__ void append(int *log, int what)
{
    int at = atomicAdd(&log[0], 1);
    log[1 + at] = what;
}

__global__ void append_and_follow(int *log, int what)
{
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(log, what + 2); // before later tails of the parent
    append<<<1, 1>>>(log, what + 1);
    int at = atomicAdd(&log[0], 1);
    log[1 + at] = what;
}

__global__ void tail_chain(int *log)
{
    append_and_follow<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 20);
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 30);
    append<<<1, 1>>>(log, 10); // before all tails
    log[1 + atomicAdd(&log[0], 1)] = 1;
}

__global__ void again(int *counter, int rounds)
{
    counter[0]++;
    if (rounds > 1)
        again<<<1, 1, 0, cudaStreamTailLaunch>>>(counter, rounds - 1);
}

static void tails()
{
    int host[16];
    int *log = device_numbers(16);
    tail_chain<<<1, 1>>>(log);
    append<<<1, 1>>>(log, 40); // after everything
    CHECK(cudaMemcpy(host, log, sizeof(host), cudaMemcpyDeviceToHost));
    // The parent and its child run at the same time.
    printf("tails: %d of %d %d:", host[0], host[1] < host[2] ? host[1] : host[2],
           host[1] < host[2] ? host[2] : host[1]);
    int first = host[3] < host[4] ? host[3] : host[4], second = host[3] + host[4] - first;
    printf(" %d %d", first, second);
    for (int i = 5; i <= host[0]; i++)
        printf(" %d", host[i]);
    CHECK(cudaMemset(log, 0, sizeof(int)));
    again<<<1, 1>>>(log, 20);
    CHECK(cudaMemcpy(host, log, sizeof(int), cudaMemcpyDeviceToHost));
    printf("; again %d times\n", host[0]);
    CHECK(cudaFree(log));
}

// --- order ---------------------------------------------------------------------------------------

__global__ void fold(int *data, int by) // not commutative, so the order shows
{
    *data = *data * 31 + by;
}

__global__ void orders(int *data)
{
    // Each thread's launches in the default stream of its block are in order, whoever makes them.
    int *own = data + blockIdx.x;
    for (int turn = 0; turn < (int)blockDim.x; turn++) {
        if (turn == (int)threadIdx.x)
            fold<<<1, 1>>>(own, turn);
        __syncthreads();
    }
    if (threadIdx.x)
        return;
    cudaStream_t one, other;
    cudaEvent_t event;
    int *third = data + gridDim.x + blockIdx.x;
    MUST(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int round = 0; round < 4; round++) {
        fold<<<1, 1, 0, one>>>(third, 2 * round);
        MUST(cudaEventRecord(event, one));
        MUST(cudaStreamWaitEvent(other, event, 0));
        fold<<<1, 1, 0, other>>>(third, 2 * round + 1);
        MUST(cudaEventRecord(event, other));
        MUST(cudaStreamWaitEvent(one, event, 0));
    }
    MUST(cudaEventDestroy(event));
    MUST(cudaStreamDestroy(one));
    MUST(cudaStreamDestroy(other));
    MUST(cudaGetLastError());
}

static void order()
{
    enum { BLOCKS = 8 };
    int *data = device_numbers(2 * BLOCKS);
    orders<<<BLOCKS, 33>>>(data);
    CHECK(cudaDeviceSynchronize());
    printf("order: %u\n", sum_of(data, 2 * BLOCKS));
    CHECK(cudaFree(data));
}

// --- copies --------------------------------------------------------------------------------------

__global__ void number(int *data, int count)
{
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        data[i] = i * i;
}

__global__ void copying(int *to, int *from)
{
    number<<<1, 64>>>(from, COUNT);
    MUST(cudaMemcpyAsync(to, from + 1, 400 * sizeof(int), cudaMemcpyDeviceToDevice, 0));
    MUST(cudaMemcpy2DAsync(to + 512, 64, from, 128, 48, 10, cudaMemcpyDeviceToDevice, 0));
    cudaMemcpy3DParms box;
    memset(&box, 0, sizeof(box));
    box.srcPtr = cudaPitchedPtr{from, 64, 64, 8};
    box.dstPtr = cudaPitchedPtr{to + 2048, 32, 32, 4};
    box.srcPos = cudaPos{8, 2, 1};
    box.extent = cudaExtent{24, 3, 2};
    box.kind = cudaMemcpyDeviceToDevice;
    MUST(cudaMemcpy3DAsync(&box, 0));
    MUST(cudaGetLastError());
}

__global__ void filling(int *to)
{
    MUST(cudaMemsetAsync(to + 1024, 7, 100, 0));
    MUST(cudaMemset2DAsync(to + 1536, 32, 3, 20, 6, 0));
    MUST(cudaMemset3DAsync(cudaPitchedPtr{to + 3072, 16, 16, 5}, 9, cudaExtent{12, 4, 3}, 0));
    MUST(cudaGetLastError());
}

static void copies()
{
    int *to = device_numbers(COUNT), *from = device_numbers(COUNT);
    copying<<<1, 1>>>(to, from);
    CHECK(cudaDeviceSynchronize());
    printf("copies: %u %u\n", sum_of(to, COUNT), sum_of(from, COUNT));
    CHECK(cudaFree(to));
    CHECK(cudaFree(from));
}

static void fills()
{
    int *to = device_numbers(COUNT);
    filling<<<1, 1>>>(to);
    CHECK(cudaDeviceSynchronize());
    printf("fills: %u\n", sum_of(to, COUNT));
    CHECK(cudaFree(to));
}

// --- memory --------------------------------------------------------------------------------------

__device__ int *block_memory;

__global__ void sum_up(int *result)
{
    int sum = 0;
    for (int i = 0; i < 64; i++)
        sum += block_memory[i];
    *result = sum;
}

__global__ void release()
{
    MUST(cudaFree(block_memory));
}

__global__ void allocating(int *result)
{
    int *memory;
    MUST(cudaMalloc((void **)&memory, 64 * sizeof(int)));
    block_memory = memory;
    number<<<1, 32>>>(memory, 64);
    sum_up<<<1, 1>>>(result);
    release<<<1, 1, 0, cudaStreamTailLaunch>>>();
    MUST(cudaGetLastError());
}

static void memory()
{
    int *result = device_numbers(1);
    allocating<<<1, 1>>>(result);
    CHECK(cudaDeviceSynchronize());
    printf("memory: %u\n", sum_of(result, 1));
    CHECK(cudaFree(result));
}

// --- queries -------------------------------------------------------------------------------------

__global__ void __launch_bounds__(256) bounded()
{
    __shared__ int cells[100];
    volatile int *at = cells;
    at[threadIdx.x % 100] = 0;
}

__global__ void asking(int *answers)
{
    int value = 0, *at = answers;
    size_t limit = 0;
    cudaFuncAttributes attributes;
    MUST(cudaGetDevice(&value));
    *at++ = value == 0;
    MUST(cudaGetDeviceCount(&value));
    *at++ = value >= 1;
    MUST(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    *at++ = value;
    MUST(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    *at++ = value;
    MUST(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    *at++ = (int)limit;
    MUST(cudaFuncGetAttributes(&attributes, bounded));
    *at++ = attributes.maxThreadsPerBlock;
    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, bounded, 256, 0));
    *at++ = value > 0;
    printf("queries: %s, %s\n", cudaGetErrorName(cudaErrorInvalidValue),
           cudaGetErrorString(cudaErrorInvalidValue));
}

static void queries()
{
    enum { ANSWERS = 7 };
    int host[ANSWERS];
    int *answers = device_numbers(ANSWERS);
    asking<<<1, 1>>>(answers);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, answers, sizeof(host), cudaMemcpyDeviceToHost));
    printf("queries:");
    for (int i = 0; i < ANSWERS; i++)
        printf(" %d", host[i]);
    printf("\n");
    CHECK(cudaFree(answers));
}

// --- errors --------------------------------------------------------------------------------------

__global__ void nothing() {}

__global__ void failing(int *seen)
{
    int lane = threadIdx.x;
    cudaStream_t stream;
    if (lane == 1)
        nothing<<<1, 2000>>>(); // too many threads
    if (lane == 2)
        nothing<<<0, 1>>>(); // no blocks
    seen[lane] = cudaPeekAtLastError() != cudaSuccess;
    seen[32 + lane] = cudaGetLastError() != cudaSuccess;
    seen[64 + lane] = cudaGetLastError();
    if (lane == 3)
        seen[96] = cudaStreamCreateWithFlags(&stream, 2) != cudaSuccess;
}

static void errors()
{
    int *seen = device_numbers(128);
    failing<<<1, 32>>>(seen);
    CHECK(cudaDeviceSynchronize());
    printf("errors: %u\n", sum_of(seen, 128));
    CHECK(cudaFree(seen));
}

// --- fault ---------------------------------------------------------------------------------------

__global__ void poke(int *nowhere)
{
    *nowhere = 1;
}

__global__ void parent_of_poke(int *nowhere)
{
    poke<<<1, 1>>>(nowhere);
}

static void fault()
{
    parent_of_poke<<<1, 1>>>((int *)16);
    printf("fault: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    fflush(stdout);
    _Exit(37);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } modes[] = {{"sort", sort},     {"fan", fan},     {"tails", tails},   {"order", order},
                 {"copies", copies}, {"fills", fills}, {"memory", memory}, {"queries", queries},
                 {"errors", errors}, {"fault", fault}};
    for (int i = 1; i < argc; i++) {
        for (const auto &mode : modes) {
            if (strcmp(argv[i], mode.name) == 0)
                mode.run();
        }
    }
    return 0;
}
