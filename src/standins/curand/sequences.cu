// SPDX-License-Identifier: Apache-2.0
// The kernel of cuRAND: a thread for each column that a call visits.
#include "sequences.h"

extern "C" __global__ void __launch_bounds__(CURAND_THREADS)
    curand_generate(const __grid_constant__ struct curand_request about)
{
    const unsigned index = blockIdx.x * CURAND_THREADS + threadIdx.x;
    if (index < about.visits_columns)
        curand_column(&about, index);
}
