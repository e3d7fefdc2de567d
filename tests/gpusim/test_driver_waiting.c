// SPDX-License-Identifier: Apache-2.0
// For each call, whether it returns while a kernel runs. The kernel ends only when the host says
// so, so a call that returned before did not wait. test_driver_sync.c tests plain copies and frees.
#include "driver_testing.h"

enum { BYTES = 4096 };

static CUdeviceptr p, q;
static void *pinned;
static char pageable[BYTES];
static CUarray array;
static CUstream other;
static CUevent event;

static int setup(void **state)
{
    testing_setup(state);
    CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = 32, .Height = 32, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    assert_ok(cuMemAlloc_v2(&p, BYTES));
    assert_ok(cuMemAlloc_v2(&q, BYTES));
    assert_ok(cuMemHostAlloc(&pinned, BYTES, 0));
    assert_ok(cuArray3DCreate_v2(&array, &desc));
    assert_ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    assert_ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return 0;
}

// A copy of 32 rows of 64 bytes.
static CUDA_MEMCPY2D rows(CUmemorytype to, const void *to_host, CUmemorytype from,
                          const void *from_host)
{
    return (CUDA_MEMCPY2D){.dstMemoryType = to,
                           .dstHost = (void *)(uintptr_t)to_host,
                           .dstDevice = p,
                           .dstPitch = 128,
                           .srcMemoryType = from,
                           .srcHost = from_host,
                           .srcDevice = q,
                           .srcPitch = 64,
                           .WidthInBytes = 64,
                           .Height = 32};
}

static CUDA_MEMCPY3D slices(CUmemorytype to, void *to_host, CUmemorytype from,
                            const void *from_host)
{
    return (CUDA_MEMCPY3D){.dstMemoryType = to,
                           .dstHost = to_host,
                           .dstDevice = p,
                           .dstPitch = 64,
                           .dstHeight = 4,
                           .srcMemoryType = from,
                           .srcHost = from_host,
                           .srcDevice = q,
                           .srcPitch = 64,
                           .srcHeight = 4,
                           .WidthInBytes = 64,
                           .Height = 4,
                           .Depth = 4};
}

static const CUmemorytype HOST = CU_MEMORYTYPE_HOST, DEVICE = CU_MEMORYTYPE_DEVICE;

static void copies_of_rows_and_slices_wait_as_plain_ones(void **state)
{
    (void)state;
    CUDA_MEMCPY2D down = rows(HOST, pageable, DEVICE, NULL), up = rows(DEVICE, NULL, HOST, pinned),
                  across = rows(DEVICE, NULL, DEVICE, NULL),
                  down_pinned = rows(HOST, pinned, DEVICE, NULL),
                  up_pageable = rows(DEVICE, NULL, HOST, pageable);
    assert_waits(NULL, cuMemcpy2D_v2(&down));
    assert_waits(NULL, cuMemcpy2DUnaligned_v2(&up));
    assert_waits(NULL, cuMemcpy2DAsync_v2(&down, NULL));
    assert_does_not_wait(NULL, cuMemcpy2D_v2(&across));
    assert_does_not_wait(NULL, cuMemcpy2DAsync_v2(&down_pinned, NULL));
    assert_does_not_wait(NULL, cuMemcpy2DAsync_v2(&up_pageable, NULL));
    CUDA_MEMCPY3D box_down = slices(HOST, pageable, DEVICE, NULL),
                  box_across = slices(DEVICE, NULL, DEVICE, NULL),
                  box_pinned = slices(HOST, pinned, DEVICE, NULL);
    assert_waits(NULL, cuMemcpy3D_v2(&box_down));
    assert_does_not_wait(NULL, cuMemcpy3D_v2(&box_across));
    assert_does_not_wait(NULL, cuMemcpy3DAsync_v2(&box_pinned, NULL));
}

static void copies_of_arrays_wait_as_plain_ones(void **state)
{
    (void)state;
    assert_waits(NULL, cuMemcpyHtoA_v2(array, 0, pageable, BYTES));
    assert_waits(NULL, cuMemcpyAtoH_v2(pinned, array, 0, BYTES));
    assert_waits(NULL, cuMemcpyAtoHAsync_v2(pageable, array, 0, BYTES, NULL));
    assert_does_not_wait(NULL, cuMemcpyHtoAAsync_v2(array, 0, pageable, BYTES, NULL));
    assert_does_not_wait(NULL, cuMemcpyAtoHAsync_v2(pinned, array, 0, BYTES, NULL));
    assert_does_not_wait(NULL, cuMemcpyDtoA_v2(array, 0, p, BYTES));
    CUarray second;
    CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = 8, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    assert_does_not_wait(NULL, cuArray3DCreate_v2(&second, &desc));
    assert_waits(NULL, cuArrayDestroy(second));
}

static void fills_do_not_wait(void **state)
{
    (void)state;
    assert_does_not_wait(NULL, cuMemsetD32_v2(p, 1, BYTES / 4));
    assert_does_not_wait(NULL, cuMemsetD2D8_v2(p, 128, 1, 64, 32));
    assert_does_not_wait(NULL, cuMemsetD16Async(p, 1, BYTES / 2, NULL));
    assert_does_not_wait(NULL, cuMemsetD2D32Async(p, 128, 1, 16, 32, NULL));
}

static void *of_others(void *unused)
{
    (void)unused;
    return (void *)(uintptr_t)(cuCtxSetCurrent(t.context) || cuStreamSynchronize(other));
}

static void synchronisation_waits_for_its_own_and_no_more(void **state)
{
    (void)state;
    assert_waits(NULL, cuCtxSynchronize());
    assert_waits(NULL, cuStreamSynchronize(NULL));
    assert_waits(other, cuStreamSynchronize(other));
    assert_waits(other, cuCtxSynchronize());
    assert_does_not_wait(other, cuStreamSynchronize(NULL));
    assert_does_not_wait(NULL, cuStreamSynchronize(other));
    testing_hold(other);
    assert_ok(cuEventRecord(event, other));
    testing_end_later();
    assert_ok(cuEventSynchronize(event));
    assert_true(testing_released());
    pthread_join(t.setter, NULL);
    assert_does_not_wait(other, cuEventSynchronize(event)); // recorded before the kernel
    // A thread that waits does not block other threads.
    pthread_t waiter;
    void *failed;
    testing_hold(other);
    assert_int_equal(pthread_create(&waiter, NULL, of_others, NULL), 0);
    assert_ok(cuMemcpyHtoD_v2(p, pageable, BYTES));
    assert_false(testing_released());
    testing_let_go();
    pthread_join(waiter, &failed);
    assert_null(failed);
}

static void questions_do_not_wait(void **state)
{
    (void)state;
    int value;
    size_t free_bytes, total;
    CUmemorytype type;
    CUdeviceptr base;
    assert_does_not_wait(NULL, cuMemGetInfo_v2(&free_bytes, &total));
    assert_does_not_wait(NULL, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    assert_does_not_wait(NULL, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, t.scale));
    assert_does_not_wait(NULL, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    assert_does_not_wait(NULL, cuMemGetAddressRange_v2(&base, &total, p));
    assert_does_not_wait(NULL,
                         cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, t.scale, 128, 0) ||
                             cuStreamQuery(NULL) != CUDA_ERROR_NOT_READY);
}

static void nothing(void *unused)
{
    (void)unused;
}

static void submissions_do_not_wait(void **state)
{
    (void)state;
    CUevent fresh;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr managed;
    CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    assert_does_not_wait(NULL, cuEventCreate(&fresh, 0));
    assert_does_not_wait(NULL, cuEventRecord(fresh, NULL));
    assert_does_not_wait(NULL, cuStreamWaitEvent(other, fresh, 0));
    assert_does_not_wait(NULL, cuEventRecord(fresh, NULL) || cuEventDestroy_v2(fresh));
    assert_does_not_wait(NULL, cuLaunchHostFunc(NULL, nothing, NULL));
    assert_ok(cuGraphCreate(&graph, 0));
    assert_does_not_wait(NULL, cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_does_not_wait(NULL, cuGraphLaunch(exec, NULL));
    assert_ok(cuGraphExecDestroy(exec));
    assert_ok(cuGraphDestroy(graph));
    assert_ok(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    assert_does_not_wait(NULL, cuMemPrefetchAsync_v2(managed, BYTES, device, 0, NULL));
    assert_ok(cuMemFree_v2(managed));
    assert_does_not_wait(NULL, cuStreamWriteValue32_v2(NULL, p, 1, 0));
}

static void unloading_code_waits(void **state)
{
    (void)state;
    CUmodule module;
    assert_ok(cuModuleLoadData(&module, kernels));
    assert_waits(NULL, cuModuleUnload(module));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_rows_and_slices_wait_as_plain_ones),
        cmocka_unit_test(copies_of_arrays_wait_as_plain_ones),
        cmocka_unit_test(fills_do_not_wait),
        cmocka_unit_test(synchronisation_waits_for_its_own_and_no_more),
        cmocka_unit_test(questions_do_not_wait),
        cmocka_unit_test(submissions_do_not_wait),
        cmocka_unit_test(unloading_code_waits),
    };
    return cmocka_run_group_tests(tests, setup, testing_teardown);
}
