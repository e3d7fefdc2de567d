// SPDX-License-Identifier: Apache-2.0
// The reduction of counts. It is a separate module because it takes the driver longer to compile
// and needs more registers and shared memory, which programs without counts need not pay for.
#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(DEVICE_THREADS, DEVICE_COUNTS_BLOCKS)
    glint_reduce(const __grid_constant__ struct device_reduction about)
{
    reduce<true>(about);
}
