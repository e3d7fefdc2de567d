// SPDX-License-Identifier: Apache-2.0
// Writes memory in many ways, so that every number about values occurs: rows with gaps, parts of
// pieces, structures, vectors, bytes, values that do not change, atomic operations without effect,
// variables of the module, memory that is reused, stores of several lanes to one place, and writes
// that the recorder does not see.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda.h>
#include <cuda_runtime.h>

#include "check.h"

enum { COUNT = 5000 };

struct particle {
    float position[3];
    int cell;
    double mass;
};

__device__ float table[COUNT] = {1, 2, 3};
__device__ int total;

__global__ void ramp(float *out, int count, float slope)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = slope * (float)i;
}

__global__ void move(particle *all, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    all[i].position[0] += 1;
    all[i].cell = i / 64;
    if (i % 3 == 0)
        all[i].mass = 1;
}

__global__ void vectors(float4 *out, const float *in, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count / 4)
        out[i] = make_float4(in[4 * i], 0, in[4 * i], 1);
}

__global__ void some_bytes(unsigned char *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && i % 2)
        out[i] = (unsigned char)(i % 4);
}

__global__ void most(int *out, const int *in, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicMax(&out[i % 16], in[i]);
    if (i < count && in[i] < 0)
        atomicAdd(&total, 1);
}

// The lanes of a warp store to one place; warps do not meet there.
__global__ void one_place(int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i / 32] = i % 7;
}

__global__ void scale_table(int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        table[i] *= 2;
}

__global__ void through(float **places, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        places[i % 2][i] = (float)(i % 5);
}

template <typename T> static T *make(size_t count)
{
    T *made;
    CHECK(cudaMalloc(&made, count * sizeof(T)));
    CHECK(cudaMemset(made, 0, count * sizeof(T)));
    return made;
}

static int blocks(int count)
{
    return (count + 127) / 128;
}

static void rows_with_gaps()
{
    char *memory;
    size_t pitch;
    static char host[64][300];
    memset(host, 3, sizeof(host));
    CHECK(cudaMallocPitch(&memory, &pitch, 300, 64));
    CHECK(cudaMemset2D(memory, pitch, 3, 300, 64));
    CHECK(cudaMemcpy2D(memory, pitch, host, 300, 300, 40, cudaMemcpyHostToDevice));
    host[20][5] = 4;
    CHECK(cudaMemcpy2D(memory, pitch, host, 300, 300, 40, cudaMemcpyHostToDevice));
    some_bytes<<<blocks(4000), 128>>>((unsigned char *)memory + 1, 4000);
    some_bytes<<<blocks(4100), 128>>>((unsigned char *)memory + 1, 4100);
    CHECK(cudaMemcpy(memory + 5000, memory, 3000, cudaMemcpyDeviceToDevice));
    CHECK(cudaFree(memory));
}

static void structures()
{
    particle *all = make<particle>(COUNT);
    for (int i = 0; i < 3; i++)
        move<<<blocks(COUNT), 128>>>(all, COUNT - 100 * i);
    CHECK(cudaFree(all));
}

static void floats()
{
    float *in = make<float>(COUNT), *out = make<float>(COUNT);
    for (int i = 0; i < 2; i++) {
        ramp<<<blocks(COUNT), 128>>>(in, COUNT, 0.5f);
        vectors<<<blocks(COUNT), 128>>>((float4 *)out, in, COUNT);
    }
    ramp<<<blocks(100), 128>>>(in + 1020, 100, 0);
    float *both[2] = {in, out}, **places = make<float *>(2);
    CHECK(cudaMemcpy(places, both, sizeof(both), cudaMemcpyHostToDevice));
    for (int i = 0; i < 2; i++)
        through<<<blocks(COUNT), 128>>>(places, COUNT);
    CHECK(cudaFree(places));
    CHECK(cudaFree(in));
    in = make<float>(COUNT); // probably the same address
    ramp<<<blocks(COUNT), 128>>>(in, COUNT, 2);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

static void integers()
{
    int *in = make<int>(COUNT), *out = make<int>(COUNT);
    static int host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = i % 10 ? 7 : -i;
    CHECK(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
    for (int i = 0; i < 2; i++) {
        most<<<blocks(COUNT), 128>>>(out, in, COUNT);
        one_place<<<blocks(COUNT), 128>>>(out + 32, COUNT);
    }
    CHECK(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
    if (cuStreamWriteValue32(NULL, (CUdeviceptr)(in + 3), 12, 0) != CUDA_SUCCESS)
        exit(1);
    most<<<blocks(COUNT), 128>>>(out, in, COUNT);
    host[3] = 12;
    CHECK(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

// Two copies of one batch write the same piece.
static void batches()
{
    int *in = make<int>(COUNT), *out = make<int>(COUNT), value = 5;
    CUdeviceptr to[2] = {(CUdeviceptr)out, (CUdeviceptr)(out + 10)};
    CUdeviceptr from[2] = {(CUdeviceptr)(in + 100), (CUdeviceptr)(in + 200)};
    size_t sizes[2] = {40, 40}, index = 0;
    CUmemcpyAttributes attributes = {};
    CUstream stream;
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    CHECK(cudaMemcpy(in + 205, &value, sizeof(value), cudaMemcpyHostToDevice));
    if (cuStreamCreate(&stream, 0) != CUDA_SUCCESS)
        exit(1);
#if CUDA_VERSION >= 13000
    if (cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, stream) != CUDA_SUCCESS)
        exit(1);
#elif CUDA_VERSION >= 12080
    size_t failed;
    if (cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, &failed, stream) !=
        CUDA_SUCCESS)
        exit(1);
#endif
    cuStreamSynchronize(stream);
    most<<<blocks(COUNT), 128>>>(in, out, COUNT);
    CHECK(cudaMemset(out, 0, COUNT * sizeof(int)));
    cuStreamDestroy(stream);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

static void variables()
{
    static float host[COUNT];
    scale_table<<<blocks(COUNT), 128>>>(COUNT);
    CHECK(cudaMemcpyToSymbol(table, host, sizeof(host) / 2));
    scale_table<<<blocks(COUNT), 128>>>(COUNT);
    CHECK(cudaMemcpyFromSymbol(host, table, sizeof(host)));
}

int main(void)
{
    rows_with_gaps();
    structures();
    floats();
    integers();
    batches();
    variables();
    int sum;
    CHECK(cudaMemcpyFromSymbol(&sum, total, sizeof(sum)));
    printf("mixed: %d\n", sum);
    return sum != 3 * (COUNT / 10 - 1);
}
