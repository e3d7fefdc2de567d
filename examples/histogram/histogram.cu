// SPDX-License-Identifier: Apache-2.0
// histogram: how often each byte value occurs, counted in shared memory and then added up.
//
// Three of four bytes are zero, so a profiler should find a frequent value in data, and most atomic
// operations on one bin. The bins are 64 bits wide although no count needs more than 32: a heavy
// type.
#include "../example.h"

#include <vector>

static const int bin_count = 256;

__global__ void histogram(const uchar4 *data, int quads, unsigned long long *bins)
{
    __shared__ unsigned int counts[bin_count];
    for (int bin = threadIdx.x; bin < bin_count; bin += blockDim.x)
        counts[bin] = 0;
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        uchar4 bytes = data[i];
        atomicAdd(&counts[bytes.x], 1u);
        atomicAdd(&counts[bytes.y], 1u);
        atomicAdd(&counts[bytes.z], 1u);
        atomicAdd(&counts[bytes.w], 1u);
    }
    __syncthreads();

    for (int bin = threadIdx.x; bin < bin_count; bin += blockDim.x) {
        if (counts[bin] != 0)
            atomicAdd(&bins[bin], (unsigned long long)counts[bin]);
    }
}

int main(int argc, char **argv)
{
    const int quads = example_blocks(example_size(argc, argv, 1 << 17), 4);
    const size_t bytes = quads * sizeof(uchar4);

    uint32_t seed = 5;
    std::vector<unsigned char> data(bytes);
    for (unsigned char &byte : data)
        byte = example_random(&seed, 4) == 0 ? (unsigned char)example_random(&seed, 256) : 0;

    uchar4 *data_gpu;
    unsigned long long *bins_gpu;
    CHECK(cudaMalloc(&data_gpu, bytes));
    CHECK(cudaMemcpy(data_gpu, data.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&bins_gpu, bin_count * sizeof(*bins_gpu)));
    CHECK(cudaMemset(bins_gpu, 0, bin_count * sizeof(*bins_gpu)));
    histogram<<<16, 256>>>(data_gpu, quads, bins_gpu);
    CHECK(cudaGetLastError());

    std::vector<unsigned long long> bins(bin_count), expected(bin_count);
    CHECK(cudaMemcpy(bins.data(), bins_gpu, bin_count * sizeof(*bins_gpu), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(data_gpu));
    CHECK(cudaFree(bins_gpu));

    for (unsigned char byte : data)
        ++expected[byte];
    return example_end("histogram", bins == expected);
}
