// SPDX-License-Identifier: Apache-2.0
// A program of two parts that are linked when they are loaded (-rdc=true, PTX only): a kernel that
// calls a function of the other part, one that does not, and one of the other part.
#include <cstdio>

extern __device__ float twice(float);
extern __global__ void other(float *p);

namespace inner {
template <class T> __global__ void plain(T *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += 1;
}
}

__global__ void calls(float *p, const float *q)
{
    p[threadIdx.x] = twice(q[threadIdx.x]);
}

int main()
{
    float *p, *q, host[64];
    cudaMalloc(&p, sizeof(host));
    cudaMalloc(&q, sizeof(host));
    cudaMemset(p, 0, sizeof(host));
    cudaMemset(q, 0, sizeof(host));
    inner::plain<<<2, 64>>>(q, 64);
    calls<<<1, 64>>>(p, q);
    other<<<1, 1>>>(q);
    cudaMemcpy(host, p, sizeof(host), cudaMemcpyDeviceToHost);
    printf("%g %g\n", host[0], host[63]);
    cudaMemcpy(host, q, sizeof(host), cudaMemcpyDeviceToHost);
    printf("%g %g\n", host[0], host[63]);
    return cudaGetLastError();
}
