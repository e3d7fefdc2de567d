// SPDX-License-Identifier: Apache-2.0
// The reduction of counts. A module of its own: it takes the driver longer to compile, more
// registers and more shared memory, which programs that nobody counts need not pay for.
#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(DEVICE_THREADS, DEVICE_COUNTS_BLOCKS)
    glint_reduce(const __grid_constant__ struct device_reduction about)
{
    reduce<true>(about);
}
