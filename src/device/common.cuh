// SPDX-License-Identifier: Apache-2.0
// What all device code shares: addresses, lanes and warps, and fences.
#ifndef GLINT_DEVICE_COMMON_CUH
#define GLINT_DEVICE_COMMON_CUH

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long u64;

#define ALL 0xffffffffu

template <typename T> __device__ static T *at(uint64_t address)
{
    return (T *)address;
}

__device__ static unsigned lane_index()
{
    return threadIdx.x % 32;
}

__device__ static unsigned warp_index()
{
    return threadIdx.x / 32;
}

// Fences: whoever sees a later write also sees earlier ones, on this GPU and everywhere.
__device__ static void fence_gpu()
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

__device__ static void fence_system()
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

#endif
