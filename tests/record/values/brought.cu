// SPDX-License-Identifier: Apache-2.0
// Copies bring values that no kernel has given a type yet: a table that a kernel overwrites in part
// without reading it, and tables of 64 and of 63 indices that it reads.
#include <cstdio>
#include <vector>

static const int COUNT = 4096, SHORT = 64;

__global__ void overwrite(int *table, const int *next, const int *few)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    table[i] = next[i % SHORT] + few[i % (SHORT - 1)];
}

int main()
{
    std::vector<int> zeros(COUNT), indices(SHORT);
    int *table = nullptr, *next = nullptr, *few = nullptr;
    for (int i = 0; i < SHORT; i++)
        indices[i] = i + 1;
    cudaMalloc(&table, COUNT * sizeof(int));
    cudaMalloc(&next, SHORT * sizeof(int));
    cudaMalloc(&few, (SHORT - 1) * sizeof(int));
    cudaMemcpy(table, zeros.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(next, indices.data(), SHORT * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(few, indices.data(), (SHORT - 1) * sizeof(int), cudaMemcpyHostToDevice);
    overwrite<<<COUNT / 2 / 256, 256>>>(table, next, few);
    cudaMemcpy(zeros.data(), table, COUNT * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", zeros[1]);
    cudaFree(table);
    cudaFree(next);
    cudaFree(few);
    return 0;
}
