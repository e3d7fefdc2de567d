// SPDX-License-Identifier: Apache-2.0
// Launches that write what is there already, and may do something else: print, allocate, free,
// trap, write a surface. Then graphs with a kernel that writes what is there already, and another
// node.
#include <cstdio>

#include "check.h"

enum { COUNT = 4096 };

__device__ void store(float *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1.5f;
}

__global__ void plain(float *out)
{
    store(out);
}

__global__ void prints(float *out, int never)
{
    store(out);
    if (threadIdx.x == never)
        printf("%d\n", never);
}

__global__ void allocates(float *out, int never)
{
    store(out);
    if (threadIdx.x == never)
        free(malloc(never));
}

__global__ void traps(float *out, int never)
{
    store(out);
    if (threadIdx.x == never)
        __trap();
}

__global__ void draws(float *out, cudaSurfaceObject_t surface)
{
    store(out);
    surf1Dwrite(1.5f, surface, (int)(threadIdx.x * sizeof(float)));
}

static void call(void *) {}

// Launches a graph of the kernel and of what add() adds behind it.
template <typename F> static void launch_graph(float *out, F add)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    void *params[] = {&out};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)plain;
    kernel.gridDim = dim3(COUNT / 256);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = params;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
    add(graph, node);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
}

int main()
{
    float *out, *host;
    cudaArray_t array;
    cudaEvent_t event;
    cudaSurfaceObject_t surface;
    cudaGraphNode_t added;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMalloc(&out, COUNT * sizeof(float)));
    CHECK(cudaMallocHost(&host, sizeof(float)));
    CHECK(cudaMallocArray(&array, &format, 256, 0, cudaArraySurfaceLoadStore));
    CHECK(cudaEventCreate(&event));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    plain<<<COUNT / 256, 256>>>(out);
    plain<<<COUNT / 256, 256>>>(out); // nothing
    prints<<<COUNT / 256, 256>>>(out, 1000);
    allocates<<<COUNT / 256, 256>>>(out, 1000);
    traps<<<COUNT / 256, 256>>>(out, 1000);
    draws<<<COUNT / 256, 256>>>(out, surface);
    CHECK(cudaDeviceSynchronize());
    launch_graph(out, [&](cudaGraph_t, cudaGraphNode_t) {}); // nothing
    launch_graph(out, [&](cudaGraph_t graph, cudaGraphNode_t node) {
        CHECK(cudaGraphAddEmptyNode(&added, graph, &node, 1)); // nothing
    });
    launch_graph(out, [&](cudaGraph_t graph, cudaGraphNode_t node) {
        cudaHostNodeParams params = {call, nullptr};
        CHECK(cudaGraphAddHostNode(&added, graph, &node, 1, &params));
    });
    launch_graph(out, [&](cudaGraph_t graph, cudaGraphNode_t node) {
        CHECK(cudaGraphAddEventRecordNode(&added, graph, &node, 1, event));
    });
    launch_graph(out, [&](cudaGraph_t graph, cudaGraphNode_t node) {
        CHECK(cudaGraphAddMemcpyNode1D(&added, graph, &node, 1, host, out, sizeof(float),
                                       cudaMemcpyDeviceToHost));
    });
    return 0;
}
