// SPDX-License-Identifier: Apache-2.0
// Memory of the simulated GPU's driver: allocations and their limits, copies of all shapes and
// their checks, pools, the virtual memory API, arrays, and the attributes of pointers.
#include "driver_testing.h"

static void allocations_are_aligned_counted_and_limited(void **state)
{
    (void)state;
    CUdeviceptr p, q, big;
    size_t free_before, free_after, total, size, pitch;
    assert_ok(cuMemGetInfo_v2(&free_before, &total));
    assert_is(cuMemAlloc_v2(&p, 0), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemAlloc_v2(&p, 1000));
    assert_ok(cuMemAlloc_v2(&q, 1000));
    assert_int_equal(p % 512, 0);
    assert_int_equal(q % 512, 0);
    assert_ok(cuMemGetInfo_v2(&free_after, &total));
    assert_int_equal(free_before - free_after, 2048);
    assert_ok(cuMemGetAddressRange_v2(&big, &size, p + 5));
    assert_int_equal(big, p);
    assert_int_equal(size, 1000);
    CUdeviceptr more;
#ifndef __SANITIZE_THREAD__ // the thread sanitizer leaves too few addresses
    // Most of the device's memory, which may be more than this machine has.
    assert_ok(cuMemAlloc_v2(&big, free_after - (1 << 20)));
    assert_ok(cuMemsetD8_v2(big + (free_after >> 1), 7, 4096));
    assert_is(cuMemAlloc_v2(&more, 2 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    assert_ok(cuMemFree_v2(big));
#endif
    assert_is(cuMemAlloc_v2(&more, total), CUDA_ERROR_OUT_OF_MEMORY);
    assert_ok(cuMemAllocPitch_v2(&big, &pitch, 100, 10, 4));
    assert_int_equal(pitch, 512);
    assert_ok(cuMemFree_v2(big));
    assert_is(cuMemFree_v2(p + 8), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemFree_v2(p));
    assert_is(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemFree_v2(q));
    assert_ok(cuMemFree_v2(0));
    assert_ok(cuMemGetInfo_v2(&free_after, &total));
    assert_int_equal(free_before, free_after);
}

static void many_small_allocations_are_distinct_and_come_back(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static CUdeviceptr p[COUNT];
    size_t before, after, total;
    assert_ok(cuMemGetInfo_v2(&before, &total));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            assert_ok(cuMemAlloc_v2(&p[i], 4 + (size_t)(i % 7) * 700));
            assert_ok(cuMemsetD32_v2(p[i], (unsigned)i, 1));
        }
        assert_ok(cuCtxSynchronize());
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(*(uint32_t *)(uintptr_t)p[i], i);
        for (int i = 0; i < COUNT; i++)
            assert_ok(cuMemFree_v2(p[(i * 7) % COUNT]));
    }
    assert_ok(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(before, after);
}

static void a_copy_outside_its_object_is_refused(void **state)
{
    (void)state;
    static char host[4096];
    CUdeviceptr p;
    assert_ok(cuMemAlloc_v2(&p, 1000));
    assert_ok(cuMemcpyHtoD_v2(p, host, 1000));
    assert_is(cuMemcpyHtoD_v2(p, host, 1001), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuMemcpyDtoH_v2(host, p + 500, 501), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuMemcpyHtoD_v2(p + 4096, host, 10), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuMemcpyDtoD_v2(p, p + 999, 2), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuMemsetD8_v2(p, 0, 1001), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuMemsetD32_v2(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)host, host + 10, 4),
              CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemcpyHtoD_v2(p, host, 0));
    assert_ok(cuMemFree_v2(p));
}

static void rows_and_slices_are_copied(void **state)
{
    (void)state;
    enum { WIDTH = 24, HEIGHT = 5, DEPTH = 3 };
    static uint8_t from[DEPTH][HEIGHT][WIDTH], to[DEPTH][HEIGHT][WIDTH];
    for (int i = 0; i < DEPTH * HEIGHT * WIDTH; i++)
        ((uint8_t *)from)[i] = (uint8_t)(i * 7);
    CUdeviceptr p;
    size_t pitch;
    assert_ok(cuMemAllocPitch_v2(&p, &pitch, WIDTH, HEIGHT * DEPTH, 4));
    CUDA_MEMCPY3D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = from,
                        .srcPitch = WIDTH,
                        .srcHeight = HEIGHT,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = p,
                        .dstPitch = pitch,
                        .dstHeight = HEIGHT,
                        .WidthInBytes = WIDTH,
                        .Height = HEIGHT,
                        .Depth = DEPTH};
    assert_ok(cuMemcpy3D_v2(&up));
    CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = p,
                          .srcPitch = pitch,
                          .srcXInBytes = 4,
                          .srcY = HEIGHT + 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to,
                          .dstPitch = WIDTH,
                          .WidthInBytes = 8,
                          .Height = 2};
    assert_ok(cuMemcpy2D_v2(&down));
    assert_memory_equal(to[0][0], &from[1][1][4], 8);
    assert_memory_equal(to[0][1], &from[1][2][4], 8);
    assert_int_equal(to[0][0][8], 0);
    up.Depth = DEPTH + 1;
    assert_is(cuMemcpy3D_v2(&up), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemsetD2D16_v2(p, pitch, 0xABCD, 4, 2));
    uint16_t row[6];
    assert_ok(cuMemcpyDtoH_v2(row, p + pitch, sizeof row));
    assert_int_equal(row[3], 0xABCD);
    assert_memory_equal(&row[4], &from[0][1][8], 4);
    assert_ok(cuMemFree_v2(p));
}

static void arrays_hold_what_was_copied_into_them(void **state)
{
    (void)state;
    enum { WIDTH = 10, HEIGHT = 6 };
    static float from[HEIGHT][WIDTH], to[HEIGHT][WIDTH];
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        ((float *)from)[i] = (float)i;
    CUDA_ARRAY_DESCRIPTOR desc = {
        .Width = WIDTH, .Height = HEIGHT, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array;
    assert_ok(cuArrayCreate_v2(&array, &desc));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = from,
                          .srcPitch = sizeof from[0],
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = sizeof from[0],
                          .Height = HEIGHT};
    assert_ok(cuMemcpy2D_v2(&copy));
    assert_ok(cuMemcpyAtoH_v2(to, array, 0, sizeof to));
    assert_memory_equal(from, to, sizeof to);
    copy.dstXInBytes = 4;
    assert_is(cuMemcpy2D_v2(&copy), CUDA_ERROR_INVALID_VALUE);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC sampling = {.filterMode = CU_TR_FILTER_MODE_LINEAR};
    CUtexObject texture;
    assert_ok(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
    CUDA_RESOURCE_DESC said;
    assert_ok(cuTexObjectGetResourceDesc(&said, texture));
    assert_ptr_equal(said.res.array.hArray, array);
    assert_ok(cuTexObjectDestroy(texture));
    // A view of the whole resource equals the texture itself; other views are rejected, not
    // ignored.
    CUDA_RESOURCE_VIEW_DESC view = {
        .format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = WIDTH, .height = HEIGHT};
    assert_ok(cuTexObjectCreate(&texture, &resource, &sampling, &view));
    assert_ok(cuTexObjectDestroy(texture));
    view.format = CU_RES_VIEW_FORMAT_SINT_1X32;
    assert_is(cuTexObjectCreate(&texture, &resource, &sampling, &view), CUDA_ERROR_NOT_SUPPORTED);
    assert_ok(cuArrayDestroy(array));
    CUDA_ARRAY3D_DESCRIPTOR wide = {
        .Width = 8, .Height = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4};
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_ARRAY_DESCRIPTOR level_desc;
    assert_ok(cuMipmappedArrayCreate(&mipmap, &wide, 10));
    assert_ok(cuMipmappedArrayGetLevel(&level, mipmap, 2));
    assert_ok(cuArrayGetDescriptor_v2(&level_desc, level));
    assert_int_equal(level_desc.Width, 2);
    assert_is(cuMipmappedArrayGetLevel(&level, mipmap, 4), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMipmappedArrayDestroy(mipmap));
}

static void a_pool_gives_a_freed_block_to_its_stream_again(void **state)
{
    (void)state;
    CUstream stream, other;
    CUmemoryPool pool;
    CUdeviceptr p, q, r;
    cuuint64_t keep = 1 << 30, used, reserved;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    assert_ok(cuDeviceGetDefaultMemPool(&pool, 0));
    assert_ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    assert_ok(cuMemAllocAsync(&p, 100000, stream));
    assert_ok(cuMemsetD32Async(p, 6, 1, stream));
    testing_hold(stream);
    assert_ok(cuMemFreeAsync(p, stream));
    assert_is(cuMemFreeAsync(p, stream), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemAllocAsync(&q, 100000, other)); // the block is not free for other streams yet
    assert_true(q != p);
    assert_ok(cuMemAllocAsync(&r, 100000, stream));
    assert_int_equal(r, p);
    testing_scale(r, 1, 2, 1, stream);
    testing_let_go();
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(testing_read(r), 13);
    assert_ok(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_true(used >= 200000 && used < 202000);
    assert_ok(cuMemFreeAsync(q, other));
    assert_ok(cuMemFree_v2(r));
    keep = 0;
    assert_ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    assert_int_equal(reserved, 0);
    assert_ok(cuStreamDestroy_v2(stream));
    assert_ok(cuStreamDestroy_v2(other));
}

static void mapped_memory_is_there_once_access_is_set(void **state)
{
    (void)state;
    enum { PIECE = 2 << 20 };
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    size_t granularity;
    CUdeviceptr range;
    CUdeviceptr huge __attribute__((unused));
    CUmemGenericAllocationHandle a, b;
    assert_ok(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(granularity, PIECE);
#ifndef __SANITIZE_THREAD__
    assert_ok(cuMemAddressReserve(&huge, (size_t)1 << 42, 0, 0, 0));
    assert_ok(cuMemAddressFree(huge, (size_t)1 << 42));
#endif
    assert_ok(cuMemAddressReserve(&range, 4 * (size_t)PIECE, 0, 0, 0));
    assert_is(cuMemCreate(&a, 1000, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemCreate(&a, PIECE, &prop, 0));
    assert_ok(cuMemCreate(&b, PIECE, &prop, 0));
    assert_ok(cuMemMap(range, PIECE, 0, a, 0));
    assert_ok(cuMemMap(range + PIECE, PIECE, 0, b, 0));
    assert_ok(cuMemMap(range + 2 * (size_t)PIECE, PIECE, 0, a, 0)); // maps the first piece again
    assert_is(cuMemMap(range, PIECE, 0, b, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuMemsetD8_v2(range, 1, 4), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemSetAccess(range, 3 * (size_t)PIECE, &access, 1));
    assert_ok(cuMemsetD8_v2(range, 0, 3 * (size_t)PIECE));
    assert_is(cuMemsetD8_v2(range, 0, 3 * (size_t)PIECE + 1), CUDA_ERROR_INVALID_VALUE);
    testing_scale(range + PIECE - 4, 2, 1, 9, NULL); // crosses the border of two mappings
    assert_int_equal(testing_read(range + PIECE), 9);
    assert_int_equal(testing_read(range + 3 * (size_t)PIECE - 4), 9);
    assert_ok(cuMemRelease(a));
    assert_ok(cuMemRelease(b));
    assert_is(cuMemAddressFree(range, 4 * (size_t)PIECE), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemUnmap(range, 3 * (size_t)PIECE));
    assert_is(cuMemsetD8_v2(range, 1, 4), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemAddressFree(range, 4 * (size_t)PIECE));
}

static void memory_of_the_host_is_mapped_and_none_of_the_devices(void **state)
{
    (void)state;
    enum { PIECE = 2 << 20 };
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}};
    CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr range;
    size_t before, now, total;
    int able = 0;
    assert_ok(cuDeviceGetAttribute(
        &able, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    assert_int_equal(able, 1);
    assert_ok(cuMemGetInfo_v2(&before, &total));
    assert_ok(cuMemCreate(&handle, PIECE, &prop, 0));
    assert_ok(cuMemGetInfo_v2(&now, &total));
    assert_int_equal(now, before);
    assert_ok(cuMemAddressReserve(&range, PIECE, 0, 0, 0));
    assert_ok(cuMemMap(range, PIECE, 0, handle, 0));
    assert_ok(cuMemSetAccess(range, PIECE, &access, 1));
    testing_scale(range, 2, 1, 9, NULL);
    assert_int_equal(testing_read(range + 4), 9);
    assert_ok(cuMemUnmap(range, PIECE));
    assert_ok(cuMemRelease(handle));
    assert_ok(cuMemAddressFree(range, PIECE));
    assert_ok(cuMemGetInfo_v2(&now, &total));
    assert_int_equal(now, before);
}

static void shared_physical_memory_is_the_same_memory(void **state)
{
    (void)state;
    enum { PIECE = 2 << 20 };
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle own, imported;
    CUdeviceptr range;
    int fd = -1;
    assert_ok(cuMemCreate(&own, PIECE, &prop, 0));
    assert_ok(cuMemExportToShareableHandle(&fd, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    assert_ok(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    assert_ok(cuMemAddressReserve(&range, 2 * (size_t)PIECE, 0, 0, 0));
    assert_ok(cuMemMap(range, PIECE, 0, own, 0));
    assert_ok(cuMemMap(range + PIECE, PIECE, 0, imported, 0));
    assert_ok(cuMemSetAccess(range, 2 * (size_t)PIECE, &access, 1));
    assert_ok(cuMemsetD32_v2(range + 64, 77, 1));
    assert_int_equal(testing_read(range + PIECE + 64), 77);
    assert_ok(cuMemUnmap(range, 2 * (size_t)PIECE));
    assert_ok(cuMemAddressFree(range, 2 * (size_t)PIECE));
    assert_ok(cuMemRelease(own));
    assert_ok(cuMemRelease(imported));
}

static void pointers_are_what_they_are(void **state)
{
    (void)state;
    CUdeviceptr device, managed, start;
    void *pinned, *back;
    static int plain[1024];
    unsigned type, is_managed, flags;
    assert_ok(cuMemAlloc_v2(&device, 100));
    assert_ok(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    assert_ok(cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_PORTABLE));
    assert_ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 3));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_ok(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 3));
    assert_int_equal(start, device);
    assert_ok(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
    assert_int_equal(is_managed, 1);
    CUdeviceptr p = (CUdeviceptr)(uintptr_t)pinned, q = (CUdeviceptr)(uintptr_t)plain;
    assert_ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    assert_is(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, q),
              CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemHostGetFlags(&flags, pinned));
    assert_true(flags & CU_MEMHOSTALLOC_PORTABLE);
    assert_ok(cuMemHostRegister_v2(plain, sizeof plain, 0));
    assert_is(cuMemHostRegister_v2(plain + 8, 64, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    assert_ok(cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_HOST_POINTER, q + 8));
    assert_ptr_equal(back, plain + 2);
    assert_ok(cuMemHostGetDevicePointer_v2(&start, plain, 0));
    plain[0] = 4;
    testing_scale(start, 1, 5, 0, NULL);
    assert_ok(cuCtxSynchronize());
    assert_int_equal(plain[0], 20);
    assert_ok(cuMemHostUnregister(plain));
    assert_is(cuMemHostUnregister(plain), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    assert_ok(cuMemPrefetchAsync(managed, 100, 0, NULL));
    assert_ok(cuMemAdvise(managed, 100, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    assert_ok(cuMemFree_v2(device));
    assert_ok(cuMemFree_v2(managed));
    assert_ok(cuMemFreeHost(pinned));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_counted_and_limited),
        cmocka_unit_test(many_small_allocations_are_distinct_and_come_back),
        cmocka_unit_test(a_copy_outside_its_object_is_refused),
        cmocka_unit_test(rows_and_slices_are_copied),
        cmocka_unit_test(arrays_hold_what_was_copied_into_them),
        cmocka_unit_test(a_pool_gives_a_freed_block_to_its_stream_again),
        cmocka_unit_test(mapped_memory_is_there_once_access_is_set),
        cmocka_unit_test(memory_of_the_host_is_mapped_and_none_of_the_devices),
        cmocka_unit_test(shared_physical_memory_is_the_same_memory),
        cmocka_unit_test(pointers_are_what_they_are),
    };
    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
