// SPDX-License-Identifier: Apache-2.0
// The scan of arrays of words, and the kernel that marks pieces. See values.h.
#define OF_WORDS true
#include "values_kernel.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    glint_values_mark(const __grid_constant__ struct device_marking about)
{
    const unsigned threads = gridDim.x * THREADS, self = blockIdx.x * THREADS + threadIdx.x;
    unsigned char *marks = at<unsigned char>(about.marks);
    unsigned char *other = at<unsigned char>(about.other);
    for (unsigned i = self; i < about.count; i += threads)
        marks[(about.first + i) * (unsigned)DEVICE_PIECE_STEP & about.mask] = 1;
    for (unsigned i = self; other && i <= about.mask; i += threads) {
        if (other[i]) {
            marks[i] = 1;
            other[i] = 0;
        }
    }
}
