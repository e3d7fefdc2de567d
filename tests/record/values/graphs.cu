// SPDX-License-Identifier: Apache-2.0
// Launches graphs whose kernels, copies and sets write the same and different objects: several
// times, with other contents, with nodes that are changed or disabled, and after memory was
// allocated again, with the same and with another size. Some graphs do work that the recorder does
// not see. What each part computes is printed.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "check.h"

enum { COUNT = 9000 };

__device__ float table[COUNT];

__global__ void scale(float *out, const float *in, int count, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i] * by;
}

__global__ void put(int *out, int count, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = i % 4 ? value : i;
}

__global__ void through(float **places, int count, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        places[i % 2][i] = value;
}

__global__ void to_table(const float *in, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        table[i] += in[i];
}

__global__ void square(float *out, const half *in)
{
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a;
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::row_major> b;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
    nvcuda::wmma::load_matrix_sync(a, in, 16);
    nvcuda::wmma::load_matrix_sync(b, in, 16);
    nvcuda::wmma::fill_fragment(sum, 1.0f);
    nvcuda::wmma::mma_sync(sum, a, b, sum);
    nvcuda::wmma::store_matrix_sync(out, sum, 16, nvcuda::wmma::mem_row_major);
}

static int blocks(int count)
{
    return (count + 127) / 128;
}

static float host[COUNT];
static cudaStream_t stream;

template <typename T> static T *make(size_t count)
{
    T *made;
    CHECK(cudaMalloc(&made, count * sizeof(T)));
    CHECK(cudaMemset(made, 0, count * sizeof(T)));
    return made;
}

static void fill(float *to, float first)
{
    for (int i = 0; i < COUNT; i++)
        host[i] = first + (float)(i % 100);
    CHECK(cudaMemcpy(to, host, sizeof(host), cudaMemcpyHostToDevice));
}

template <typename T> static void print(const char *what, const T *from, size_t count)
{
    T *got = (T *)malloc(count * sizeof(T));
    double sum = 0;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got, from, count * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++)
        sum += (double)got[i] * (double)(i % 7 + 1);
    printf("%s: %.0f\n", what, sum);
    free(got);
}

static void begin()
{
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

static cudaGraph_t end()
{
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t made;
    CHECK(cudaGraphInstantiate(&made, graph, 0));
    return made;
}

static void launch(cudaGraphExec_t exec)
{
    CHECK(cudaGraphLaunch(exec, stream));
}

static cudaGraphExec_t once(cudaGraph_t graph)
{
    cudaGraphExec_t made = instantiate(graph);
    CHECK(cudaGraphDestroy(graph));
    return made;
}

static void drop(cudaGraphExec_t exec)
{
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
}

// A kernel, a copy and a set write parts of one object, and the graph starts with the copy.
static void mixed_nodes()
{
    float *a = make<float>(COUNT), *b = make<float>(COUNT);
    fill(a, 1);
    begin();
    CHECK(cudaMemcpyAsync(b + 4000, a, 1500 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
    scale<<<blocks(3000), 128, 0, stream>>>(b, a, 3000, 2);
    CHECK(cudaMemsetAsync(b + 6000, 7, 100, stream));
    CHECK(cudaMemset2DAsync(b + 7000, 6000, 1, 8, 1, stream));
    cudaGraphExec_t exec = once(end());
    launch(exec);
    launch(exec); // changes nothing
    print("mixed nodes", b, COUNT);
    fill(a, 3);
    launch(exec);
    scale<<<blocks(COUNT), 128, 0, stream>>>(a, b, COUNT, 1); // reads what the graph wrote
    launch(exec);
    print("mixed nodes", b, COUNT);
    drop(exec);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
}

// A node reads what another has written, and what it held before.
static void chain()
{
    float *a = make<float>(COUNT), *b = make<float>(COUNT), *c = make<float>(COUNT);
    fill(a, 1);
    fill(b, 5);
    begin();
    scale<<<blocks(COUNT), 128, 0, stream>>>(c, b, COUNT, 1);
    scale<<<blocks(COUNT), 128, 0, stream>>>(b, a, COUNT / 2, 3);
    scale<<<blocks(COUNT), 128, 0, stream>>>(a, b, COUNT, 1);
    to_table<<<blocks(COUNT), 128, 0, stream>>>(a, COUNT - 100);
    cudaGraphExec_t exec = once(end());
    for (int i = 0; i < 3; i++)
        launch(exec);
    print("chain", a, COUNT);
    print("chain", c, COUNT);
    drop(exec);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

// The executable is updated as a whole, and node by node; nodes are disabled.
static void updates()
{
    int *a = make<int>(COUNT), *b = make<int>(COUNT);
    cudaGraph_t graph, other;
    cudaGraphNode_t set, put_a, put_b;
    int count = COUNT, half = COUNT / 2, five = 5, six = 6;
    void *to_a[] = {&a, &count, &five}, *to_b[] = {&b, &half, &six}, *more[] = {&b, &count, &five};
    cudaKernelNodeParams params = {};
    cudaMemsetParams zero = {};
    params.func = (void *)put;
    params.gridDim = dim3(blocks(COUNT));
    params.blockDim = dim3(128);
    zero.dst = a;
    zero.elementSize = 4;
    zero.width = 2000;
    zero.height = 1;
    CHECK(cudaGraphCreate(&graph, 0));
    params.kernelParams = to_a;
    CHECK(cudaGraphAddKernelNode(&put_a, graph, NULL, 0, &params));
    params.kernelParams = to_b;
    CHECK(cudaGraphAddKernelNode(&put_b, graph, &put_a, 1, &params));
    CHECK(cudaGraphAddMemsetNode(&set, graph, &put_b, 1, &zero));
    cudaGraphExec_t exec = instantiate(graph);
    launch(exec);
    params.kernelParams = more;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, put_b, &params));
    launch(exec);
    print("updates", b, COUNT);
    zero.dst = b + 1;
    zero.value = 9;
    CHECK(cudaGraphExecMemsetNodeSetParams(exec, set, &zero));
    launch(exec);
    print("updates", b, COUNT);
    CHECK(cudaGraphNodeSetEnabled(exec, put_a, 0));
    CHECK(cudaMemset(a, 0, COUNT * sizeof(int)));
    launch(exec);
    CHECK(cudaGraphNodeSetEnabled(exec, put_a, 1));
    CHECK(cudaGraphNodeSetEnabled(exec, set, 0));
    launch(exec);
    print("updates", a, COUNT);
    CHECK(cudaGraphClone(&other, graph));
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, other, &info));
    launch(exec);
    launch(exec);
    print("updates", a, COUNT);
    drop(exec);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(other));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
}

// Memory of the same size is allocated again, at the same address on the simulated GPU, while the
// graph still refers to it.
static void allocated_again()
{
    float *in = make<float>(COUNT), *out = make<float>(COUNT);
    fill(in, 2);
    begin();
    scale<<<blocks(COUNT), 128, 0, stream>>>(out, in, COUNT / 3, 2);
    CHECK(cudaMemcpyAsync(out + 8000, in, 100, cudaMemcpyDeviceToDevice, stream));
    cudaGraphExec_t exec = once(end());
    launch(exec);
    print("allocated again", out, COUNT);
    float *const before = out;
    for (int i = 0; i < 3; i++) {
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaFree(out));
        out = make<float>(COUNT);
        if (out != before)
            break;
        fill(in, (float)i);
        launch(exec);
        launch(exec);
        scale<<<blocks(COUNT), 128, 0, stream>>>(in, out, COUNT, 1);
        print("allocated again", out, COUNT);
    }
    drop(exec);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

static void must(CUresult result, int line)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "line %d: error %d\n", line, (int)result);
    exit(1);
}
#define MUST(call) must((call), __LINE__)

static void map(CUdeviceptr at, size_t bytes, const CUmemAllocationProp *properties)
{
    CUmemGenericAllocationHandle memory;
    CUmemAccessDesc access = {};
    access.location = properties->location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    MUST(cuMemCreate(&memory, bytes, properties, 0));
    MUST(cuMemMap(at, bytes, 0, memory, 0));
    MUST(cuMemSetAccess(at, bytes, &access, 1));
    MUST(cuMemRelease(memory));
    MUST(cuMemsetD8(at, 0, bytes));
}

// The same with other sizes: the graph's probes do not know the object.
static void mapped_again()
{
    CUmemAllocationProp properties = {};
    CUdeviceptr at;
    size_t unit;
    float *in = make<float>(COUNT);
    fill(in, 2);
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    MUST(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    MUST(cuMemAddressReserve(&at, 2 * unit, 0, 0, 0));
    map(at, unit, &properties);
    float *out = (float *)at;
    begin();
    scale<<<blocks(COUNT), 128, 0, stream>>>(out + 5, in, COUNT, 2);
    cudaGraphExec_t exec = once(end());
    for (int i = 0; i < 3; i++) {
        const size_t old = i == 2 ? 2 * unit : unit, bytes = i == 1 ? 2 * unit : unit;
        launch(exec);
        scale<<<blocks(COUNT), 128, 0, stream>>>(in, out, COUNT, 1);
        print("mapped again", out, COUNT);
        CHECK(cudaStreamSynchronize(stream));
        MUST(cuMemUnmap(at, old));
        map(at, bytes, &properties);
        fill(in, (float)i);
        launch(exec);
        CHECK(cudaMemcpy(in, out, sizeof(host), cudaMemcpyDeviceToDevice));
    }
    drop(exec);
    MUST(cuMemUnmap(at, unit));
    MUST(cuMemAddressFree(at, 2 * unit));
    CHECK(cudaFree(in));
}

// Addresses that are looked up, of objects that come and go between the launches.
static void looked_up()
{
    float *a = make<float>(COUNT), *b = make<float>(COUNT), **places = make<float *>(2);
    float *both[2] = {a, b};
    CHECK(cudaMemcpy(places, both, sizeof(both), cudaMemcpyHostToDevice));
    begin();
    through<<<blocks(COUNT), 128, 0, stream>>>(places, COUNT, 4);
    cudaGraphExec_t exec = once(end());
    launch(exec);
    float *more = make<float>(COUNT);
    launch(exec);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(b));
    both[1] = more;
    CHECK(cudaMemcpy(places, both, sizeof(both), cudaMemcpyHostToDevice));
    launch(exec);
    print("looked up", more, COUNT);
    drop(exec);
    CHECK(cudaFree(a));
    CHECK(cudaFree(more));
    CHECK(cudaFree(places));
}

// A graph within a graph, memory of the graph, copies from and to the host, and work without any
// kernel.
static void children()
{
    float *a = make<float>(COUNT), *b = make<float>(COUNT), *own;
    begin();
    scale<<<blocks(COUNT), 128, 0, stream>>>(b, a, COUNT, 4);
    CHECK(cudaMemsetAsync(a + 10, 0, 40, stream));
    cudaGraph_t child = end(), graph;
    cudaGraphNode_t copy, inner, back;
    CHECK(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 10);
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, a, host, sizeof(host) / 2,
                                   cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddChildGraphNode(&inner, graph, &copy, 1, child));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &inner, 1, host, b, 4000, cudaMemcpyDeviceToHost));
    cudaGraphExec_t exec = instantiate(graph);
    launch(exec);
    CHECK(cudaStreamSynchronize(stream));
    launch(exec);
    print("children", b, COUNT);
    drop(exec);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(child));

    begin();
    CHECK(cudaMallocAsync(&own, (COUNT + 500) * sizeof(float), stream));
    scale<<<blocks(COUNT), 128, 0, stream>>>(own, b, COUNT, 2);
    scale<<<blocks(COUNT), 128, 0, stream>>>(a, own, COUNT, 2);
    CHECK(cudaFreeAsync(own, stream));
    exec = once(end());
    launch(exec);
    launch(exec);
    print("memory of the graph", a, COUNT);
    drop(exec);

    begin();
    CHECK(cudaMemcpyAsync(b, a, COUNT, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemsetAsync(a, 0, COUNT, stream));
    exec = once(end());
    launch(exec);
    launch(exec);
    print("no kernel", b, COUNT);
    drop(exec);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
}

// One kernel writes in a way that probes do not see, so nothing is known after the graph.
static void unseen()
{
    half *a = make<half>(256);
    float *b = make<float>(COUNT), *c = make<float>(COUNT);
    fill(b, 6);
    begin();
    scale<<<blocks(COUNT), 128, 0, stream>>>(c, b, COUNT, 1);
    square<<<1, 32, 0, stream>>>(b + 64, a);
    cudaGraphExec_t exec = once(end());
    launch(exec);
    launch(exec);
    CHECK(cudaMemcpy(b, host, sizeof(host), cudaMemcpyHostToDevice));
    scale<<<blocks(COUNT), 128, 0, stream>>>(c, b, COUNT, 1);
    print("unseen", c, COUNT);
    drop(exec);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

int main(void)
{
    CHECK(cudaStreamCreate(&stream));
    mixed_nodes();
    chain();
    updates();
    allocated_again();
    mapped_again();
    looked_up();
    children();
    unseen();
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
