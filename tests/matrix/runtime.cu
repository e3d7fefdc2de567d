// SPDX-License-Identifier: Apache-2.0
// A program of the CUDA runtime for the matrix of recorded programs: runtime MODE... runs
// each mode and prints a checksum of its results, which is the same on every GPU and in
// every possible order of completion. Exit status: 0; in mode "fail" 37; 1 after an error.
// Mode "abort" ends by a signal.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call) check((call), #call)

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "runtime: %s: %s\n", what, cudaGetErrorName(error));
    exit(1);
}

enum { COUNT = 1000, BYTES = COUNT * sizeof(unsigned), BLOCK = 128, BLOCKS = (COUNT + BLOCK - 1) / BLOCK };

__constant__ unsigned factor;
__device__ unsigned rounds;

__global__ void fill(unsigned *data, unsigned first)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT)
        data[i] = first + i;
}

__global__ void mix(unsigned *data, unsigned by)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT)
        data[i] = data[i] * 1664525u + by;
    if (i == 0)
        rounds++;
}

__global__ void scale(unsigned *data)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT)
        data[i] *= factor;
}

static uint64_t checksum(const unsigned *data, size_t count) // FNV-1a over words
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ data[i]) * 0x100000001b3u;
    return sum;
}

static void tell(const char *mode, const unsigned *data)
{
    printf("%s: %016llx\n", mode, (unsigned long long)checksum(data, COUNT));
}

// --- Modes ---------------------------------------------------------------------------------------

// Memory of the usual kinds, copies, symbols, events, and harmless errors.
static void plain(void)
{
    unsigned host[COUNT], by = 7, made = 0, zero = 0;
    unsigned *data, *pinned, *pitched;
    size_t pitch;
    float milliseconds = -1;
    cudaEvent_t before, after;
    CHECK(cudaMalloc(&data, BYTES));
    CHECK(cudaMallocHost(&pinned, BYTES));
    CHECK(cudaMallocPitch(&pitched, &pitch, 100 * sizeof(unsigned), 10));
    CHECK(cudaMemcpyToSymbol(factor, &by, sizeof(by)));
    CHECK(cudaMemcpyToSymbol(rounds, &zero, sizeof(zero)));
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    for (unsigned i = 0; i < COUNT; i++)
        host[i] = i * i;
    CHECK(cudaMemcpy(data, host, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaEventRecord(before));
    mix<<<BLOCKS, BLOCK>>>(data, 3);
    scale<<<BLOCKS, BLOCK>>>(data);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(after));
    CHECK(cudaEventSynchronize(after));
    CHECK(cudaEventElapsedTime(&milliseconds, before, after));
    CHECK(cudaMemcpyFromSymbol(&made, rounds, sizeof(made)));
    CHECK(cudaMemcpy(pinned, data, BYTES, cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(data, 0x11, BYTES / 2));
    CHECK(cudaMemcpy2D(pitched, pitch, data, 100 * sizeof(unsigned), 100 * sizeof(unsigned), 10,
                       cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2D(host, 100 * sizeof(unsigned), pitched, pitch, 100 * sizeof(unsigned), 10,
                       cudaMemcpyDeviceToHost));
    tell("plain", pinned);
    tell("plain, pitched", host);
    printf("plain: %u rounds, %s\n", made, milliseconds >= 0 ? "timed" : "not timed");
    // The last error stays until the program reads it.
    void *much = NULL;
    const cudaError_t errors[] = {cudaMalloc(&much, (size_t)1 << 60), cudaPeekAtLastError(),
                                  cudaGetLastError(), cudaGetLastError()};
    for (int i = 0; i < 4; i++)
        printf("plain: %s\n", cudaGetErrorName(errors[i]));
    CHECK(cudaEventDestroy(before));
    CHECK(cudaEventDestroy(after));
    CHECK(cudaFree(pitched));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(data));
}

// A graph from a capture, and one built from nodes.
static void graphs(void)
{
    unsigned *data, host[COUNT];
    cudaStream_t stream;
    cudaGraph_t captured, made;
    cudaGraphExec_t ready;
    CHECK(cudaMalloc(&data, BYTES));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    fill<<<BLOCKS, BLOCK, 0, stream>>>(data, 11);
    mix<<<BLOCKS, BLOCK, 0, stream>>>(data, 5);
    CHECK(cudaMemcpyAsync(host, data, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&ready, captured, 0));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
    tell("graphs, captured", host);
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(captured));

    unsigned by = 9;
    void *arguments[] = {&data, &by};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)mix;
    kernel.gridDim = dim3(BLOCKS);
    kernel.blockDim = dim3(BLOCK);
    kernel.kernelParams = arguments;
    cudaMemsetParams set = {};
    set.dst = data;
    set.elementSize = 4;
    set.value = 77;
    set.width = COUNT;
    set.height = 1;
    cudaGraphNode_t first, second;
    CHECK(cudaGraphCreate(&made, 0));
    CHECK(cudaGraphAddMemsetNode(&first, made, NULL, 0, &set));
    CHECK(cudaGraphAddKernelNode(&second, made, &first, 1, &kernel));
    CHECK(cudaGraphInstantiate(&ready, made, 0));
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, data, BYTES, cudaMemcpyDeviceToHost));
    tell("graphs, made", host);
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(made));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
}

// Stream-ordered memory: a stream may get the memory that another stream has freed.
static void pools(void)
{
    unsigned host[COUNT], sums[COUNT] = {0};
    cudaStream_t streams[2];
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], i ? cudaStreamNonBlocking : cudaStreamDefault));
    for (unsigned round = 0; round < 8; round++) {
        cudaStream_t stream = streams[round % 2];
        unsigned *part, *other;
        CHECK(cudaMallocAsync(&part, BYTES, stream));
        CHECK(cudaMallocAsync(&other, BYTES * round + 1, stream));
        fill<<<BLOCKS, BLOCK, 0, stream>>>(part, round);
        mix<<<BLOCKS, BLOCK, 0, stream>>>(part, round);
        CHECK(cudaMemcpyAsync(host, part, BYTES, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(other, stream));
        CHECK(cudaFreeAsync(part, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (unsigned i = 0; i < COUNT; i++)
            sums[i] += host[i];
    }
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamDestroy(streams[i]));
    tell("pools", sums);
}

// Managed memory that both CPU and GPU write.
static void managed(void)
{
    unsigned *data;
    CHECK(cudaMallocManaged(&data, BYTES));
    for (unsigned i = 0; i < COUNT; i++)
        data[i] = COUNT - i;
    mix<<<BLOCKS, BLOCK>>>(data, 1);
    CHECK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < COUNT; i += 2)
        data[i]++;
    mix<<<BLOCKS, BLOCK>>>(data, 2);
    CHECK(cudaDeviceSynchronize());
    tell("managed", data);
    CHECK(cudaFree(data));
}

struct worker {
    pthread_t thread;
    unsigned number;
    unsigned host[COUNT];
};

// Every second thread has its own stream; the others use the default stream.
static void *work(void *user)
{
    struct worker *worker = (struct worker *)user;
    cudaStream_t stream = 0;
    if (worker->number % 2)
        CHECK(cudaStreamCreate(&stream));
    for (unsigned round = 0; round < 20; round++) {
        unsigned *data;
        CHECK(cudaMalloc(&data, BYTES));
        fill<<<BLOCKS, BLOCK, 0, stream>>>(data, worker->number);
        for (unsigned i = 0; i < 3; i++)
            mix<<<BLOCKS, BLOCK, 0, stream>>>(data, worker->number + round);
        CHECK(cudaMemcpyAsync(worker->host, data, BYTES, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaFree(data));
    }
    if (worker->number % 2)
        CHECK(cudaStreamDestroy(stream));
    return NULL;
}

static void threads(void)
{
    static struct worker workers[8];
    for (unsigned i = 0; i < 8; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            exit(1);
    }
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(workers[i].thread, NULL);
        tell("threads", workers[i].host);
    }
}

// One child uses CUDA, another does not. Then the parent uses CUDA for the first time.
static void forks(void)
{
    int statuses[2];
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            if (i == 0)
                managed();
            exit(5 + i);
        }
        if (child < 0 || waitpid(child, &statuses[i], 0) != child)
            exit(1);
    }
    printf("fork: the children left with %d and %d\n", WEXITSTATUS(statuses[0]),
           WEXITSTATUS(statuses[1]));
    managed();
}

static volatile sig_atomic_t signals_seen;

static void on_signal(int number)
{
    signals_seen += number == SIGUSR1;
}

// The program's signal handler stays installed and is called.
static void signals(void)
{
    struct sigaction mine = {}, then;
    mine.sa_handler = on_signal;
    sigaction(SIGUSR1, &mine, NULL);
    managed();
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &then);
    printf("signals: %d seen, %s\n", (int)signals_seen,
           then.sa_handler == on_signal ? "the handler is the same" : "another handler");
}

static void fail(void)
{
    mix<<<1, 4096>>>(NULL, 1); // more threads than a block can have
    cudaError_t error = cudaGetLastError();
    fprintf(stderr, "fail: %s\n", cudaGetErrorName(error));
    exit(37);
}

static void die(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    managed();
    fflush(stdout);
    abort();
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"plain", plain},     {"graphs", graphs}, {"pools", pools},     {"managed", managed},
    {"threads", threads}, {"fork", forks},    {"signals", signals}, {"fail", fail},
    {"abort", die},
};

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t mode = 0, count = sizeof(modes) / sizeof(modes[0]);
        while (mode < count && strcmp(argv[i], modes[mode].name) != 0)
            mode++;
        if (mode == count) {
            fprintf(stderr, "runtime: no mode '%s'\n", argv[i]);
            return 2;
        }
        modes[mode].run();
    }
    return 0;
}
