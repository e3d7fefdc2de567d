// SPDX-License-Identifier: Apache-2.0
// Loops whose index has 32 bits and makes the address of an element of more than 4 GiB, so that the
// index may wrap round within the loop while all that is touched is there:
//   unsigned  from the end of 32 bits to 0, in every lane
//   signed    from 2^31 - 1 to -2^31
//   lanes     in the upper half of the lanes
//   visits    in the first visit of the loop, not in the second
//   below     the same loops, none of which wraps
// wraps MODE... does those.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t error_ = (call);                                                       \
        if (error_ != cudaSuccess) {                                                       \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));    \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (0)

enum { STEP = 64 };

__global__ void by_unsigned(unsigned char *bytes, unsigned first, unsigned rounds)
{
    unsigned i = first + threadIdx.x;
    for (unsigned k = 0; k < rounds; k++, i += STEP)
        bytes[i] = (unsigned char)k;
}

__global__ void by_signed(unsigned char *middle, unsigned first, unsigned rounds)
{
    unsigned i = first + threadIdx.x;
#pragma unroll 1
    for (unsigned k = 0; k < rounds; k++, i += STEP)
        middle[(int)i] = (unsigned char)k;
}

__global__ void by_lanes(unsigned char *bytes, unsigned first, unsigned rounds)
{
    unsigned i = first + threadIdx.x * (STEP / 2);
#pragma unroll 1
    for (unsigned k = 0; k < rounds; k++, i += STEP)
        bytes[i] = (unsigned char)threadIdx.x;
}

__global__ void by_visits(unsigned char *bytes, unsigned first, unsigned second, unsigned rounds)
{
    for (unsigned visit = 0; visit < 2; visit++) {
        unsigned i = (visit ? second : first) + threadIdx.x;
#pragma unroll 1
        for (unsigned k = 0; k < rounds; k++, i += STEP)
            bytes[i] = (unsigned char)k;
    }
}

int main(int argc, char **argv)
{
    const size_t half = (size_t)1 << 31;
    unsigned char *bytes, ends[2];
    CHECK(cudaMalloc(&bytes, 2 * half + 4096));
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "unsigned") == 0)
            by_unsigned<<<1, 32>>>(bytes, 0u - 32 * STEP, 64);
        if (std::strcmp(argv[i], "signed") == 0)
            by_signed<<<1, 32>>>(bytes + half, 0x80000000u - 20 * STEP, 64);
        if (std::strcmp(argv[i], "lanes") == 0)
            by_lanes<<<1, 32>>>(bytes, 0u - 16 * STEP, 9);
        if (std::strcmp(argv[i], "visits") == 0)
            by_visits<<<1, 32>>>(bytes, 0u - 5 * STEP, 0u - 40 * STEP, 10);
        if (std::strcmp(argv[i], "below") == 0) {
            by_unsigned<<<1, 32>>>(bytes, 0u - 64 * STEP, 64);
            by_signed<<<1, 32>>>(bytes + half, 0x80000000u - 64 * STEP, 64);
            by_signed<<<1, 32>>>(bytes + half, 0u - 20 * STEP, 64);
            by_lanes<<<1, 32>>>(bytes, 0u - 24 * STEP, 9);
            by_visits<<<1, 32>>>(bytes, 0u - 10 * STEP, 0u - 40 * STEP, 10);
        }
    }
    CHECK(cudaMemcpy(&ends[0], bytes, 1, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&ends[1], bytes + 2 * half - STEP, 1, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(bytes));
    std::printf("%u %u\n", ends[0], ends[1]);
    return 0;
}
