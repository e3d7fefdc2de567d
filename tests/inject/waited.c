// SPDX-License-Identifier: Apache-2.0
// Makes calls after a kernel that takes long. Some of them wait for it and some do not, as on an
// H200 (tests/gpusim/runtime/waits.expected).
#include "program.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry slow()\n{\n"
    "    .reg .b64 %rd<3>;\n    .reg .pred %p<2>;\n"
    "    mov.u64 %rd1, %globaltimer;\n"
    "again:\n    mov.u64 %rd2, %globaltimer;\n    sub.u64 %rd2, %rd2, %rd1;\n"
    "    setp.lt.u64 %p1, %rd2, 60000000;\n    @%p1 bra again;\n    ret;\n}\n";

static CUfunction slow;

static void behind(CUstream stream)
{
    CHECK(cuCtxSynchronize());
    CHECK(cuLaunchKernel(slow, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

int main(void)
{
    static char host[4096], registered[4096];
    CUmodule module, other;
    CUstream aside;
    CUdeviceptr a, b, managed, pool, reserved;
    CUarray array;
    CUmemGenericAllocationHandle handle;
    void *pinned, *pinned2;
    size_t bytes;
    CUDA_ARRAY_DESCRIPTOR array_of = {4, 0, CU_AD_FORMAT_FLOAT, 1};
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleLoadData(&other, ptx));
    CHECK(cuModuleGetFunction(&slow, module, "slow"));
    CHECK(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&a, 4096));
    CHECK(cuMemAlloc_v2(&b, 4096));
    CHECK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocHost_v2(&pinned, 4096));
    CHECK(cuMemAllocHost_v2(&pinned2, 4096));
    CHECK(cuMemHostRegister_v2(registered, sizeof(registered), 0));
    CHECK(cuArrayCreate_v2(&array, &array_of));
    CHECK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&reserved, bytes, 0, 0, 0));
    CHECK(cuMemCreate(&handle, bytes, &prop, 0));
    CHECK(cuMemMap(reserved, bytes, 0, handle, 0));

    // Fills, and copies within the device, do not wait.
    behind(NULL);
    CHECK(cuMemsetD8_v2(a, 1, 4096));
    CHECK(cuMemcpyDtoD_v2(b, a, 4096));
    CHECK(cuMemcpy(b, a, 4096));
    CHECK(cuMemcpyDtoH_v2(host, a, 0));
    CHECK(cuMemAllocAsync(&pool, 4096, NULL));
    CHECK(cuMemFree_v2(pool));
    CHECK(cuMemcpyHtoDAsync_v2(a, host, 4096, NULL));
    CHECK(cuMemcpyDtoHAsync_v2(pinned, a, 4096, NULL));

    // Fills of memory that the host can access do wait.
    behind(NULL);
    CHECK(cuMemsetD8_v2(managed, 1, 4096));
    behind(NULL);
    CHECK(cuMemsetD8_v2((CUdeviceptr)(uintptr_t)pinned, 1, 4096));

    behind(NULL);
    CHECK(cuMemcpyHtoD_v2(a, host, 4096));
    behind(NULL);
    CHECK(cuMemcpyHtoD_v2(a, pinned, 4096));
    behind(NULL);
    CHECK(cuMemcpyDtoH_v2(host, a, 4096));
    behind(NULL);
    CHECK(cuMemcpyDtoHAsync_v2(host, a, 4096, NULL));

    // Calls that free memory wait for all streams.
    behind(aside);
    CHECK(cuMemcpyDtoH_v2(host, a, 4096)); // does not wait for this stream
    CHECK(cuMemFree_v2(a));
    behind(aside);
    CHECK(cuMemFreeHost(pinned));
    behind(aside);
    CHECK(cuMemFree_v2(managed));
    behind(aside);
    CHECK(cuMemHostUnregister(registered));
    behind(aside);
    CHECK(cuArrayDestroy(array));
    behind(aside);
    CHECK(cuModuleUnload(other));
    behind(aside);
    CHECK(cuMemUnmap(reserved, bytes)); // does not wait on a GPU

    // No work is pending, so nothing waits.
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree_v2(b));
    CHECK(cuMemFreeHost(pinned2));

    // glint measures calls that wait only sometimes. Here neither loading a module waits, nor
    // releasing a context that is still retained.
    CUcontext again;
    CHECK(cuDevicePrimaryCtxRetain(&again, 0));
    behind(aside);
    CHECK(cuModuleLoadData(&other, ptx));
    CHECK(cuDevicePrimaryCtxRelease_v2(0));
    CHECK(cuDevicePrimaryCtxReset_v2(0));
    return 0;
}
