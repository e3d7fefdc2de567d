// SPDX-License-Identifier: Apache-2.0
// For the test of names: calls each function of the CUDA runtime in a separate function, so that
// call paths can be checked without line numbers; and launches kernels with long names.
#include <cstdio>
#include <cstdlib>

#define KEPT __attribute__((noinline))

enum { COUNT = 1024 };

__device__ float scale[16];

namespace outer {
namespace a_namespace_with_a_long_name {
template <class T, int N> struct policy {};
template <class P, class T, class F> __global__ void transform(T *data, int count, F function)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        data[i] = function(data[i]);
}
} // namespace a_namespace_with_a_long_name
} // namespace outer

using namespace outer::a_namespace_with_a_long_name;

struct add_one {
    __device__ float operator()(float x) const { return x + scale[0]; }
};

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

KEPT float *in_malloc(size_t bytes)
{
    float *data = nullptr;
    check(cudaMalloc(&data, bytes)); // line of cudaMalloc
    return data;
}

KEPT void in_symbol(const float *from)
{
    check(cudaMemcpyToSymbol(scale, from, 16 * sizeof(float)));
}

KEPT void in_memset(float *data, size_t bytes)
{
    check(cudaMemset(data, 0, bytes));
}

KEPT void in_copy(float *to, const float *from, size_t bytes)
{
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

KEPT void in_launch(float *data)
{
    transform<policy<float, 4>><<<4, 256>>>(data, COUNT, add_one());
    transform<policy<float, 8>><<<4, 256>>>(data, COUNT, add_one());
    check(cudaGetLastError());
}

KEPT void in_wait()
{
    check(cudaDeviceSynchronize()); // line of cudaDeviceSynchronize
}

KEPT void in_free(float *data)
{
    check(cudaFree(data));
}

int main()
{
    static float host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = 1.0f;
    float *data = in_malloc(sizeof(host));
    in_symbol(host);
    in_memset(data, sizeof(host));
    in_copy(data, host, sizeof(host));
    in_launch(data);
    in_wait();
    in_launch(data);
    in_wait();
    in_copy(host, data, sizeof(host));
    in_free(data);
    printf("%g\n", host[COUNT - 1]);
    return host[COUNT - 1] == 5.0f ? 0 : 1;
}
