// SPDX-License-Identifier: Apache-2.0
// saxpy: y = a * x + y over two vectors, a minimal CUDA program.
//
// Buffers live only as long as they are needed, accesses are coalesced, and every computed value is
// read: a profiler should find nothing here.
#include "../example.h"

#include <math.h>
#include <vector>

__global__ void saxpy(int count, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 1 << 16);
    const size_t bytes = count * sizeof(float);
    const float a = 2.5f;

    uint32_t seed = 1;
    std::vector<float> x(count), y(count), result(count);
    for (int i = 0; i < count; ++i) {
        x[i] = example_random(&seed, 1000) * 0.125f;
        y[i] = example_random(&seed, 1000) * 0.25f;
    }

    float *x_gpu, *y_gpu;
    CHECK(cudaMalloc(&x_gpu, bytes));
    CHECK(cudaMemcpy(x_gpu, x.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&y_gpu, bytes));
    CHECK(cudaMemcpy(y_gpu, y.data(), bytes, cudaMemcpyHostToDevice));

    saxpy<<<example_blocks(count, 256), 256>>>(count, a, x_gpu, y_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(x_gpu));
    CHECK(cudaMemcpy(result.data(), y_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(y_gpu));

    bool ok = true;
    for (int i = 0; i < count; ++i)
        ok = ok && result[i] == fmaf(a, x[i], y[i]);
    return example_end("saxpy", ok);
}
