// SPDX-License-Identifier: Apache-2.0
// The same work on arrays that are allocations ("apart") or parts of one allocation ("parts"), which
// is set as a whole before and after.
#include <cstdio>
#include <cstring>
#include <vector>

#include "../../../include/glint/glint.h"

static const int COUNT = 10000, FEW = 5000, CHUNK = 1 << 18;

__global__ void scale(const float *from, float *to, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = 2 * from[i];
}

__global__ void number(int *to, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = i / 2;
}

__global__ void halve(double *to, const int *from, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = 0.5 * from[i % 100];
}

static char *chunk;

static void *take(const char *name, size_t bytes, size_t place)
{
    void *array = chunk + place;
    if (chunk)
        glint_suballoc(array, bytes);
    else
        cudaMalloc(&array, bytes);
    glint_name(array, name);
    return array;
}

static void give(void *array)
{
    if (chunk)
        glint_subfree(array);
    else
        cudaFree(array);
}

int main(int argc, char **argv)
{
    std::vector<float> host(COUNT);
    if (argc > 1 && strcmp(argv[1], "parts") == 0) {
        cudaMalloc(&chunk, CHUNK);
        glint_name(chunk, "chunk");
        cudaMemset(chunk, 0, CHUNK);
    }
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 7);
    float *first = (float *)take("first", COUNT * sizeof(float), 0);
    float *second = (float *)take("second", COUNT * sizeof(float), 40960 + 512);
    int *numbers = (int *)take("numbers", FEW * sizeof(int), 131072 + 1024);
    cudaMemcpy(first, host.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(second, 0, COUNT * sizeof(float));
    scale<<<(COUNT + 255) / 256, 256>>>(first, second, COUNT / 2);
    scale<<<(COUNT + 255) / 256, 256>>>(first, second, COUNT / 2 + 100);
    number<<<(FEW + 255) / 256, 256>>>(numbers, FEW);
    cudaMemcpy(second + 3000, first + 1000, 4000 * sizeof(float), cudaMemcpyDeviceToDevice);
    double *halves = (double *)take("halves", FEW * sizeof(double), 196608);
    halve<<<(FEW + 255) / 256, 256>>>(halves, numbers, FEW);
    give(numbers);
    int *others = (int *)take("others", 2 * FEW * sizeof(int), 131072);
    number<<<(2 * FEW + 255) / 256, 256>>>(others, 2 * FEW);
    cudaMemset(halves, 0, 1000 * sizeof(double));
    cudaMemcpy(host.data(), second, COUNT * sizeof(float), cudaMemcpyDeviceToHost);
    give(first);
    give(second);
    give(halves);
    give(others);
    if (chunk) {
        cudaMemset(chunk, 0, CHUNK);
        cudaFree(chunk);
    }
    printf("%g\n", host[4000]);
    return 0;
}
