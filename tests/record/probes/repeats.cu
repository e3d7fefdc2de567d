// SPDX-License-Identifier: Apache-2.0
// Launches that repeat earlier ones, and such that only seem to. Each kernel is launched several times with the same
// parameters, and the host waits in between. What kernels named same_... touch follows from their parameters; what
// those named other_... touch does not, and changes between launches, with what the host writes or by itself.
//
// In `ways` every kernel runs alone; in `between` something happens between launches that are the same.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define MUST(call)                                                                                 \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            printf("%s: %s\n", #call, cudaGetErrorString(error_));                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { N = 1000, ROUNDS = 7 };

__constant__ int shift;
__device__ int offset;
__device__ float variable[256];

// --- Kernels whose parameters say all ------------------------------------------------------------

__global__ void same_stencil(float *to, const float *from, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 1 && i < n - 1)
        to[i] = from[i - 1] + from[i] + from[i + 1];
}

__global__ void same_backwards(float *to, const float *from, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[n - 1 - i] = from[3 * i % n];
}

__global__ void same_wrapped(float *to, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[(i - 5) % n] = 1;
}

__global__ void same_loop(float *to, const float *from, int rows, int n)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int row = 0; row < rows; row++)
        sum += from[row * n + column];
    to[column] = sum;
}

__global__ void same_shared(float *to, const float *from)
{
    __shared__ float tile[128];
    tile[threadIdx.x] = from[blockIdx.x * 128 + threadIdx.x];
    __syncthreads();
    to[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x];
}

__global__ void same_variable(float *to)
{
    to[threadIdx.x] = variable[threadIdx.x] + 1;
}

__global__ void same_sum(float *to, const float *from)
{
    atomicAdd(to, from[threadIdx.x]);
}

// --- Kernels of which they do not ----------------------------------------------------------------

__global__ void other_gather(float *to, const float *from, const int *indices)
{
    to[threadIdx.x] = from[indices[threadIdx.x]];
}

__global__ void other_guard(float *to, const int *indices)
{
    if (indices[threadIdx.x] & 1)
        to[threadIdx.x] = 1;
}

__global__ void other_select(float *to, float *or_to, const int *indices)
{
    (indices[0] & 1 ? to : or_to)[threadIdx.x] = 1;
}

__global__ void other_rounds(float *to, const int *indices)
{
    const int rounds = indices[0];
    for (int i = 0; i < rounds; i++)
        to[32 * i + threadIdx.x] = 1;
}

__global__ void other_constant(float *to)
{
    to[threadIdx.x + shift] = 1;
}

__global__ void other_offset(float *to)
{
    to[threadIdx.x + offset] = 1;
}

__global__ void other_ticket(float *to, int *tickets)
{
    if (threadIdx.x == 0)
        to[atomicAdd(tickets, 1)] = 1;
}

__global__ void other_shuffle(float *to, const int *indices)
{
    to[__shfl_xor_sync(~0u, indices[threadIdx.x], 1)] = 1;
}

__global__ void other_vote(float *to, const int *indices)
{
    if (__any_sync(~0u, indices[threadIdx.x] & 1))
        to[threadIdx.x] = 1;
}

__global__ void other_shared(float *to, const int *indices)
{
    __shared__ int all[32];
    all[threadIdx.x] = indices[threadIdx.x];
    __syncthreads();
    to[all[31 - threadIdx.x]] = 1;
}

__device__ __noinline__ int looked_up(const int *indices)
{
    return indices[threadIdx.x];
}

__global__ void other_call(float *to, const int *indices)
{
    to[looked_up(indices)] = 1;
}

__global__ void other_grid(float *to)
{
    unsigned long long number;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(number));
    to[threadIdx.x + number % 64] = 1;
}

__global__ void other_table(float *const *rows)
{
    rows[blockIdx.x][threadIdx.x] = 1;
}

// Reaches the object behind its own.
__global__ void other_beyond(float *to, long distance)
{
    to[threadIdx.x] = 1;
    to[distance + threadIdx.x] = 1;
}

// --- The host ------------------------------------------------------------------------------------

static float *a, *b, *matrix;
static float **rows;
static int *indices, *tickets;

static float *floats(int count)
{
    float *made;
    MUST(cudaMalloc(&made, count * sizeof(*made)));
    MUST(cudaMemset(made, 0, count * sizeof(*made)));
    return made;
}

// Writes what kernels load: other numbers in each round.
static void renew(int round)
{
    int host[128];
    float *const host_rows[] = {round & 1 ? a : b, matrix + 32 * round};
    const int by = 10 * round;
    for (int i = 0; i < 128; i++)
        host[i] = (i * 7 + round * 13) % 128 / (1 + round % 3);
    host[0] = 2 + round;
    MUST(cudaMemcpy(indices, host, sizeof(host), cudaMemcpyHostToDevice));
    MUST(cudaMemcpyToSymbol(shift, &by, sizeof(by)));
    MUST(cudaMemcpyToSymbol(offset, &by, sizeof(by)));
    MUST(cudaMemcpy(rows, host_rows, sizeof(host_rows), cudaMemcpyHostToDevice));
}

static void ways(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        renew(round);
        same_stencil<<<4, 256>>>(b, a, N);
        same_stencil<<<4, 256>>>(b, a, N / 2);
        same_stencil<<<2, 256>>>(b + 5, a + 9, 77); // ends inside of a word
        same_backwards<<<4, 256>>>(b, a, N);
        same_wrapped<<<1, 32>>>(a, 1u << 4);
        same_loop<<<1, 64>>>(b, matrix, 20, 64);
        same_shared<<<3, 128>>>(b, a);
        same_variable<<<1, 256>>>(b);
        same_sum<<<1, 64>>>(b, a);
        MUST(cudaDeviceSynchronize());
        other_gather<<<1, 64>>>(b, a, indices);
        other_guard<<<1, 64>>>(b, indices);
        other_select<<<1, 64>>>(a, b, indices);
        other_rounds<<<1, 32>>>(b, indices);
        other_constant<<<1, 32>>>(b);
        other_offset<<<1, 32>>>(b);
        other_ticket<<<1, 32>>>(b, tickets);
        other_shuffle<<<1, 32>>>(b, indices);
        other_vote<<<1, 32>>>(b, indices);
        other_shared<<<1, 32>>>(b, indices);
        other_call<<<1, 32>>>(b, indices);
        other_table<<<2, 32>>>(rows);
        other_beyond<<<1, 32>>>(a, b - a);
        MUST(cudaDeviceSynchronize());
    }
}

// How the launch's number gets into its addresses is up to the driver, so nothing is compared.
static void grid(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        other_grid<<<1, 32>>>(b);
        MUST(cudaDeviceSynchronize());
    }
}

static void launch_same(cudaStream_t stream, float *to, const float *from)
{
    same_stencil<<<4, 256, 0, stream>>>(to, from, N);
    MUST(cudaStreamSynchronize(stream));
}

static void between(void)
{
    cudaStream_t streams[2];
    for (int i = 0; i < 2; i++)
        MUST(cudaStreamCreate(&streams[i]));
    // Two streams, one of which learns what the other one touches.
    for (int round = 0; round < ROUNDS; round++)
        launch_same(streams[round % 2], b, a);
    for (int round = 0; round < ROUNDS; round++) {
        same_stencil<<<4, 256, 0, streams[0]>>>(b, a, N - 1);
        same_stencil<<<4, 256, 0, streams[1]>>>(b, a, N - 1);
        if (round % 3 == 2)
            MUST(cudaDeviceSynchronize());
    }
    // Other sizes of the grid, with the same parameters.
    for (int round = 0; round < ROUNDS; round++) {
        same_stencil<<<1 + round % 4, 64>>>(b, a, N);
        same_stencil<<<4, 64 + 32 * (round % 3)>>>(b, a, N);
        MUST(cudaDeviceSynchronize());
    }
    // An object that ends, and others at its place, of the same size and of another one.
    for (int round = 0; round < ROUNDS; round++) {
        float *short_lived = floats(round == 5 ? 2 * N : N);
        for (int i = 0; i < 1 + round; i++)
            launch_same(0, short_lived, a);
        MUST(cudaFree(short_lived));
    }
    // Replays of a graph, whose nodes are like launches.
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    MUST(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    same_stencil<<<4, 256, 0, streams[0]>>>(b, a, N);
    same_backwards<<<4, 256, 0, streams[0]>>>(a, b, N);
    MUST(cudaStreamEndCapture(streams[0], &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < ROUNDS; round++) {
        MUST(cudaGraphLaunch(exec, streams[0]));
        launch_same(streams[0], b, a);
        same_backwards<<<4, 256, 0, streams[0]>>>(b, a, N);
    }
    MUST(cudaDeviceSynchronize());
    MUST(cudaGraphExecDestroy(exec));
    MUST(cudaGraphDestroy(graph));
    for (int i = 0; i < 2; i++)
        MUST(cudaStreamDestroy(streams[i]));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "ways";
    a = floats(N);
    b = floats(N);
    matrix = floats(64 * 64);
    MUST(cudaMalloc(&rows, 2 * sizeof(*rows)));
    MUST(cudaMalloc(&indices, 128 * sizeof(*indices)));
    MUST(cudaMalloc(&tickets, sizeof(*tickets)));
    MUST(cudaMemset(tickets, 0, sizeof(*tickets)));
    if (strcmp(mode, "ways") == 0)
        ways();
    else if (strcmp(mode, "grid") == 0)
        grid();
    else
        between();
    float host[N], sum = 0;
    MUST(cudaMemcpy(host, b, sizeof(host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        sum += host[i];
    printf("%s %g\n", mode, strcmp(mode, "grid") == 0 ? 0 : sum);
    return 0;
}
