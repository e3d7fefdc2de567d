// SPDX-License-Identifier: Apache-2.0
// The other part of parts.cu.
__device__ float twice(float x)
{
    return 2 * x;
}

__global__ void other(float *p)
{
    p[threadIdx.x] = 3;
}
