// SPDX-License-Identifier: Apache-2.0
// scan: running sums, by shuffles within a warp and shared memory within a block; the blocks' sums
// are scanned by one block and added in a third kernel.
//
// The scan is repeated several times with the same input. A profiler should find that sums is
// allocated and freed each time, and that output is overwritten with the values it already holds.
#include "../example.h"

#include <vector>

static const unsigned int all_lanes = 0xffffffffu;
static const int block_size = 256;
static const int warp_size = 32;

__device__ unsigned int warp_scan(unsigned int value)
{
    int lane = threadIdx.x % warp_size;
#pragma unroll
    for (int distance = 1; distance < warp_size; distance *= 2) {
        unsigned int before = __shfl_up_sync(all_lanes, value, distance);
        if (lane >= distance)
            value += before;
    }
    return value;
}

// The sum of value over this thread and all before it in the block. Every thread must call it.
__device__ unsigned int block_scan(unsigned int value)
{
    __shared__ unsigned int warp_sums[warp_size];
    int lane = threadIdx.x % warp_size;
    int warp = threadIdx.x / warp_size;

    value = warp_scan(value);
    __syncthreads(); // all threads have read warp_sums of an earlier call
    if (lane == warp_size - 1)
        warp_sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        unsigned int sum = lane < block_size / warp_size ? warp_sums[lane] : 0;
        warp_sums[lane] = warp_scan(sum);
    }
    __syncthreads();
    return warp > 0 ? value + warp_sums[warp - 1] : value;
}

__global__ void scan_blocks(int count, const unsigned int *in, unsigned int *out,
                            unsigned int *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int sum = block_scan(i < count ? in[i] : 0);
    if (i < count)
        out[i] = sum;
    if (threadIdx.x == blockDim.x - 1)
        sums[blockIdx.x] = sum;
}

// Scans any number of values in place, with one block.
__global__ void scan_sums(int count, unsigned int *sums)
{
    __shared__ unsigned int carry;
    if (threadIdx.x == 0)
        carry = 0;
    __syncthreads();
    for (int first = 0; first < count; first += block_size) {
        int i = first + threadIdx.x;
        unsigned int sum = carry + block_scan(i < count ? sums[i] : 0);
        if (i < count)
            sums[i] = sum;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1)
            carry = sum;
        __syncthreads();
    }
}

__global__ void add_sums(int count, const unsigned int *sums, unsigned int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < count)
        out[i] += sums[blockIdx.x - 1];
}

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 20000);
    const int blocks = example_blocks(count, block_size);
    const size_t bytes = count * sizeof(unsigned int);

    uint32_t seed = 8;
    std::vector<unsigned int> input(count), output(count);
    for (unsigned int &value : input)
        value = example_random(&seed, 1000);

    unsigned int *input_gpu, *output_gpu;
    CHECK(cudaMalloc(&input_gpu, bytes));
    CHECK(cudaMemcpy(input_gpu, input.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&output_gpu, bytes));
    for (int round = 0; round < 3; ++round) {
        unsigned int *sums_gpu;
        CHECK(cudaMalloc(&sums_gpu, blocks * sizeof(unsigned int)));
        scan_blocks<<<blocks, block_size>>>(count, input_gpu, output_gpu, sums_gpu);
        scan_sums<<<1, block_size>>>(blocks, sums_gpu);
        add_sums<<<blocks, block_size>>>(count, sums_gpu, output_gpu);
        CHECK(cudaGetLastError());
        CHECK(cudaFree(sums_gpu));
    }
    CHECK(cudaFree(input_gpu));
    CHECK(cudaMemcpy(output.data(), output_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(output_gpu));

    bool ok = true;
    unsigned int sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += input[i];
        ok = ok && output[i] == sum;
    }
    return example_end("scan", ok);
}
