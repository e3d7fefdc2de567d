// SPDX-License-Identifier: Apache-2.0
// reduction: the dot product of two vectors of half-precision numbers, by shuffles within a warp,
// through shared memory within a block, and by whichever block finishes last for the whole; and a
// count of the numbers that are not zero, by ballots.
//
// partial has a slot for every thread where one for every block would do: a profiler should find it
// overallocated.
#include "../example.h"

#include <cuda_fp16.h>
#include <vector>

static const unsigned int all_lanes = 0xffffffffu;
static const int block_size = 256;
static const int warp_size = 32;

__device__ unsigned int blocks_done;

template <typename number> __device__ number warp_sum(number value)
{
    for (int offset = warp_size / 2; offset > 0; offset /= 2)
        value += __shfl_down_sync(all_lanes, value, offset);
    return value;
}

__global__ void dot(const __half2 *a, const __half2 *b, int pairs, volatile float *partial,
                    double *result)
{
    __shared__ float warp_sums[block_size / warp_size];
    __shared__ bool is_last;
    int lane = threadIdx.x % warp_size;
    int warp = threadIdx.x / warp_size;

    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
        __half2 product = __hmul2(a[i], b[i]);
        __half2 doubled = __hfma2(a[i], b[i], product);
        sum += __low2float(doubled) + __high2float(doubled);
    }
    sum = warp_sum(sum);
    if (lane == 0)
        warp_sums[warp] = sum;
    __syncthreads();

    if (threadIdx.x == 0) {
        for (int i = 1; i < block_size / warp_size; ++i)
            sum += warp_sums[i];
        partial[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();

    if (is_last && warp == 0) {
        double total = 0.0;
        for (unsigned int i = lane; i < gridDim.x; i += warp_size)
            total += partial[i];
        total = warp_sum(total);
        if (lane == 0)
            *result = total;
    }
}

__global__ void count_nonzero(const __half *values, int count, unsigned int *result)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool nonzero = i < count && __hne(values[i], __float2half(0.0f));
    unsigned int ballot = __ballot_sync(all_lanes, nonzero);
    if (threadIdx.x % warp_size == 0 && ballot != 0)
        atomicAdd(result, (unsigned int)__popc(ballot));
}

int main(int argc, char **argv)
{
    const int pairs = example_blocks(example_size(argc, argv, 1 << 15), 2);
    const int count = 2 * pairs;
    const int blocks = 24;

    // Small whole numbers, so that sums are exact in every precision that occurs.
    uint32_t seed = 6;
    std::vector<__half> a(count), b(count);
    double expected = 0.0;
    unsigned int expected_nonzero = 0;
    for (int i = 0; i < count; ++i) {
        uint32_t a_value = example_random(&seed, 4), b_value = example_random(&seed, 4);
        a[i] = __float2half((float)a_value);
        b[i] = __float2half((float)b_value);
        expected += 2.0 * a_value * b_value;
        expected_nonzero += a_value != 0;
    }

    __half *a_gpu, *b_gpu;
    float *partial_gpu;
    double *result_gpu;
    unsigned int *nonzero_gpu;
    CHECK(cudaMalloc(&a_gpu, count * sizeof(__half)));
    CHECK(cudaMemcpy(a_gpu, a.data(), count * sizeof(__half), cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&b_gpu, count * sizeof(__half)));
    CHECK(cudaMemcpy(b_gpu, b.data(), count * sizeof(__half), cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&partial_gpu, blocks * block_size * sizeof(float)));
    CHECK(cudaMalloc(&result_gpu, sizeof(double)));
    dot<<<blocks, block_size>>>((const __half2 *)a_gpu, (const __half2 *)b_gpu, pairs, partial_gpu,
                                result_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(b_gpu));
    CHECK(cudaFree(partial_gpu));

    CHECK(cudaMalloc(&nonzero_gpu, sizeof(unsigned int)));
    CHECK(cudaMemset(nonzero_gpu, 0, sizeof(unsigned int)));
    count_nonzero<<<example_blocks(count, block_size), block_size>>>(a_gpu, count, nonzero_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(a_gpu));

    double result;
    unsigned int nonzero;
    CHECK(cudaMemcpy(&result, result_gpu, sizeof(result), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&nonzero, nonzero_gpu, sizeof(nonzero), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(result_gpu));
    CHECK(cudaFree(nonzero_gpu));
    return example_end("reduction", result == expected && nonzero == expected_nonzero);
}
