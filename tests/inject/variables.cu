// SPDX-License-Identifier: Apache-2.0
// Variables of every kind that CUDA C++ has. The program looks up one of them.
#include <cstdio>

__device__ int counter = 3;
__constant__ float table[64];
static __device__ double own[10];
__managed__ int everywhere[4];
namespace inner {
__device__ char bytes[7];
}
template <int N> __device__ int sized[N];
__device__ int never_used[5];

__global__ void use(int *out)
{
    static __device__ int kept[2];
    out[0] = counter + (int)table[out[1]] + (int)own[out[1]] + everywhere[1] + inner::bytes[out[1]] +
             sized<9>[0];
    kept[0]++;
}

int main()
{
    int *out, value = 0;
    cudaMalloc(&out, 64);
    cudaMemset(out, 0, 64);
    use<<<1, 1>>>(out);
    cudaMemcpyFromSymbol(&value, counter, sizeof(value));
    cudaFree(out);
    printf("%d %d\n", value, (int)cudaGetLastError());
    return 0;
}
