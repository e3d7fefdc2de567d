// SPDX-License-Identifier: Apache-2.0
// Shares memory with other processes and interfaces. "shared mappings" uses the virtual
// memory interface and runs on the simulated GPU. "shared handles" uses all other
// interfaces and runs on fake_driver.c.
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

static void mappings(void)
{
    CUdeviceptr reserved;
    CUmemGenericAllocationHandle handle, imported, other;
    size_t bytes;
    int file;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CHECK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&reserved, 3 * bytes, 0, 0, 0));
    CHECK(cuMemCreate(&handle, bytes, &prop, 0));
    CHECK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(cuMemMap(reserved, bytes, 0, handle, 0));
    close(file);
    CHECK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)file, // NOLINT
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    CHECK(cuMemMap(reserved + bytes, bytes, 0, imported, 0)); // counts as imported
    CHECK(cuMemCreate(&other, bytes, &prop, 0));
    CHECK(cuMemMap(reserved + 2 * bytes, bytes, 0, other, 0)); // not imported
    CHECK(cuMemUnmap(reserved, bytes));
    // The mapping has ended, so no object is exported.
    CHECK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(file);
    // Another allocation is mapped at this address now.
    CHECK(cuMemMap(reserved, bytes, 0, other, 0));
    CHECK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(file);
    CHECK(cuMemRelease(imported));
    CHECK(cuMemUnmap(reserved, 3 * bytes));
    CHECK(cuMemRelease(handle));
    CHECK(cuMemRelease(other));
    if (cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)-1, // NOLINT
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_SUCCESS)
        exit(3);
}

// Kernels may use the memory of tensor maps.
static void map_tensor(CUdeviceptr address)
{
    CUtensorMap map;
    const cuuint64_t dim[] = {16}, strides[] = {64};
    const cuuint32_t one[] = {1};
    CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1,
                                 (void *)(uintptr_t)address, dim, strides, one, one, // NOLINT
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

static void handles(void)
{
    CUdeviceptr a, b, again;
    CUipcMemHandle handle, wrong;
    CHECK(cuMemAlloc_v2(&a, 1000));
    map_tensor(a);
    CHECK(cuIpcGetMemHandle(&handle, a + 10));
    if (cuIpcGetMemHandle(&handle, 5) == CUDA_SUCCESS)
        exit(3);
    memset(&wrong, 1, sizeof(wrong));
    const unsigned flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    if (cuIpcOpenMemHandle_v2(&b, wrong, flags) == CUDA_SUCCESS)
        exit(3);
    CHECK(cuIpcOpenMemHandle_v2(&b, handle, flags));
    CHECK(cuIpcOpenMemHandle_v2(&again, handle, flags)); // the same object, until both are closed
    CHECK(cuIpcCloseMemHandle(b));
    if (cuIpcCloseMemHandle(b + 1) == CUDA_SUCCESS)
        exit(3);
    CHECK(cuIpcCloseMemHandle(again));
    CHECK(cuIpcOpenMemHandle_v2(&b, handle, flags)); // a new object
    CHECK(cuIpcCloseMemHandle(b));

    int file;
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CHECK(
        cuMemPoolExportToShareableHandle(&file, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(cuMemPoolImportFromShareableHandle(&pool, &file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                             0));
    CHECK(cuMemPoolExportPointer(&data, a));
    CHECK(cuMemPoolImportPointer(&b, pool, &data)); // up to the end of the exported allocation
    CHECK(cuMemFreeAsync(b, NULL));
    CHECK(cuMemGetHandleForAddressRange(&file, a, 1000, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));

    CUexternalMemory memory;
    CUmipmappedArray array;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory_of = {
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle = {.fd = 3}, .size = 8192};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC first = {.offset = 0, .size = 4096};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC second = {.offset = 4096, .size = 100};
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC array_of = {
        .arrayDesc = {8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0}, .numLevels = 2};
    CHECK(cuImportExternalMemory(&memory, &memory_of));
    CHECK(cuExternalMemoryGetMappedBuffer(&a, memory, &first));
    CHECK(cuExternalMemoryGetMappedBuffer(&b, memory, &second));
    CHECK(cuExternalMemoryGetMappedMipmappedArray(&array, memory, &array_of)); // 64 + 16 elements
    CHECK(cuMemFree_v2(a));
    CHECK(cuMipmappedArrayDestroy(array));
    CHECK(cuDestroyExternalMemory(memory)); // the second buffer outlives it
    CHECK(cuMemFree_v2(b));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    start_thread();
    if (strcmp(argv[1], "mappings") == 0)
        mappings();
    else
        handles();
    return 0;
}
