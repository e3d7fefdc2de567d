// SPDX-License-Identifier: Apache-2.0
// The reduction of bits, and of launches without jobs.
#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, DEVICE_BLOCKS)
    glint_reduce(const __grid_constant__ struct device_reduction about)
{
    reduce<false>(about);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    glint_reduce_many(const struct device_reduction *list)
{
    const struct device_reduction &about = list[blockIdx.y];
    write_small<WARPS>(about.small);
    __syncthreads();
    write_entries<false>(&about);
    tell(about.small, about.sequence);
}
