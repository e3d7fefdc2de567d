// SPDX-License-Identifier: Apache-2.0
// Maps memory, writes it, shares it or not, and writes it again. Each part's mappings have as many
// granules as the part has. tests/record/values/shared has the answers.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

static void check(CUresult result, int line)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "line %d: error %d\n", line, (int)result);
        exit(1);
    }
}
#define CHECK(call) check((call), __LINE__)

static const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .requestedHandleTypes =
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static size_t bytes;
static CUmemGenericAllocationHandle handle;

static CUdeviceptr map(void)
{
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at;
    CHECK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CHECK(cuMemMap(at, bytes, 0, handle, 0));
    CHECK(cuMemSetAccess(at, bytes, &access, 1));
    return at;
}

static void unmap(CUdeviceptr at)
{
    CHECK(cuMemUnmap(at, bytes));
    CHECK(cuMemAddressFree(at, bytes));
}

static void set(CUdeviceptr at, unsigned char value)
{
    CHECK(cuMemsetD8_v2(at, value, 5000));
}

// The third set changes what the second wrote, through another address.
static void mapped_twice(void)
{
    const CUdeviceptr one = map();
    set(one, 1);
    const CUdeviceptr other = map();
    set(other, 2);
    set(one, 1);
    unmap(one);
    unmap(other);
}

// Only one mapping exists at a time.
static void mapped_again(void)
{
    const CUdeviceptr one = map();
    set(one, 1);
    set(one, 1);
    unmap(one);
    const CUdeviceptr other = map();
    set(other, 2);
    set(other, 2);
    unmap(other);
}

static void retained(void)
{
    CUmemGenericAllocationHandle again;
    const CUdeviceptr at = map();
    set(at, 1);
    CHECK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)at)); // NOLINT
    set(at, 1);
    CHECK(cuMemRelease(again));
    unmap(at);
}

static void for_a_network_card(void)
{
    const unsigned on = 1;
    const CUdeviceptr at = map();
    set(at, 1);
    CHECK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    set(at, 1);
    unmap(at);
}

static void exported(void)
{
    int file;
    const CUdeviceptr at = map();
    set(at, 1);
    CHECK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    set(at, 1);
    unmap(at);
    const CUdeviceptr other = map();
    set(other, 1);
    unmap(other);
    close(file);
}

int main(void)
{
    void (*const parts[])(void) = {mapped_twice, mapped_again, retained, for_a_network_card,
                                   exported};
    CUdevice device;
    CUcontext context;
    size_t granule;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        bytes = (i + 1) * granule;
        CHECK(cuMemCreate(&handle, bytes, &prop, 0));
        parts[i]();
        CHECK(cuMemRelease(handle));
    }
    printf("%zu\n", granule);
    return 0;
}
