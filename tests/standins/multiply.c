// SPDX-License-Identifier: Apache-2.0
// Multiplies two matrices with cuBLAS, which it links as any program does, and prints their
// product. With an argument, it calls a function that the stand-in lacks.
#include <stdio.h>

#include "cudaabi/cudaabi.h"

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSgemm_v2(void *handle, int a_operation, int b_operation, int m, int n, int k,
                   const float *alpha, CUdeviceptr a, int lda, CUdeviceptr b, int ldb,
                   const float *beta, CUdeviceptr c, int ldc);
int cublasSgeqrfBatched(void *handle, int m, int n, void *a, int lda, void *tau, int *info,
                        int members);
const char *cublasGetStatusName(int status);

int main(int argc, char **argv)
{
    (void)argv;
    const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, one = 1, zero = 0;
    float c[4];
    CUdevice device;
    CUcontext context;
    CUdeviceptr on_device;
    void *handle;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cublasCreate_v2(&handle) ||
        cuMemAlloc_v2(&on_device, 3 * sizeof(a)))
        return 1;
    cuMemcpyHtoD_v2(on_device, a, sizeof(a));
    cuMemcpyHtoD_v2(on_device + sizeof(a), b, sizeof(b));
    if (argc > 1)
        printf("%s\n",
               cublasGetStatusName(cublasSgeqrfBatched(handle, 1, 1, NULL, 1, NULL, NULL, 1)));
    if (cublasSgemm_v2(handle, 0, 0, 2, 2, 2, &one, on_device, 2, on_device + sizeof(a), 2, &zero,
                       on_device + 2 * sizeof(a), 2))
        return 2;
    cuMemcpyDtoH_v2(c, on_device + 2 * sizeof(a), sizeof(c));
    printf("%g %g %g %g\n", (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
    cuMemFree_v2(on_device);
    return cublasDestroy_v2(handle);
}
