// SPDX-License-Identifier: Apache-2.0
// A kernel that is launched while a stream is captured, and then by itself: the driver knows it by
// two handles.
#include <cstdio>

__global__ void add(float *to, int count, float more)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] += more;
}

int main()
{
    const int count = 1 << 14;
    float *numbers, last;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMalloc(&numbers, count * sizeof(float));
    cudaMemset(numbers, 0, count * sizeof(float));
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    add<<<count / 256, 256, 0, stream>>>(numbers, count, 1.5f);
    add<<<count / 256, 256, 0, stream>>>(numbers, count, 0.25f);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 3; i++)
        cudaGraphLaunch(exec, stream);
    add<<<count / 256, 256, 0, stream>>>(numbers, count, 1.0f);
    cudaMemcpyAsync(&last, numbers + count - 1, sizeof(last), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    printf("%g\n", last);
    return 0;
}
