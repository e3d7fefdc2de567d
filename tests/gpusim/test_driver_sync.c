// SPDX-License-Identifier: Apache-2.0
// Which calls of the simulated GPU's driver wait for the device, as observed on an H200. Also, in
// what order streams, events and the default streams start work.
#include "driver_testing.h"

enum { BYTES = 1 << 16 };

static void frees_and_synchronous_copies_wait(void **state)
{
    (void)state;
    CUdeviceptr p, managed;
    void *pinned, *other;
    static char pageable[BYTES];
    assert_ok(cuMemAlloc_v2(&p, BYTES));
    assert_ok(cuMemHostAlloc(&pinned, BYTES, 0));
    assert_waits(NULL, cuMemcpyHtoD_v2(p, pageable, BYTES));
    assert_waits(NULL, cuMemcpyHtoD_v2(p, pinned, BYTES));
    assert_waits(NULL, cuMemcpyDtoH_v2(pageable, p, BYTES));
    assert_waits(NULL, cuMemcpyDtoH_v2(pinned, p, BYTES));
    assert_waits(NULL, cuMemcpyDtoHAsync_v2(pageable, p, BYTES, NULL));
    assert_ok(cuMemHostAlloc(&other, BYTES, 0));
    assert_waits(NULL, cuMemFreeHost(other));
    assert_ok(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    assert_waits(NULL, cuMemsetD8_v2(managed, 1, BYTES));
    assert_waits(NULL, cuMemFree_v2(managed));
    assert_waits(NULL, cuMemFree_v2(p));
    assert_ok(cuMemFreeHost(pinned));
}

static void allocations_fills_and_asynchronous_copies_do_not_wait(void **state)
{
    (void)state;
    CUdeviceptr p, q;
    void *pinned;
    static char pageable[BYTES];
    CUstream stream;
    assert_ok(cuMemAlloc_v2(&p, BYTES));
    assert_ok(cuMemHostAlloc(&pinned, BYTES, 0));
    assert_does_not_wait(NULL, cuMemAlloc_v2(&q, BYTES));
    assert_does_not_wait(NULL, cuMemsetD8_v2(p, 1, BYTES));
    assert_does_not_wait(NULL, cuMemcpyHtoDAsync_v2(p, pageable, BYTES, NULL));
    assert_does_not_wait(NULL, cuMemcpyDtoHAsync_v2(pinned, p, BYTES, NULL));
    assert_does_not_wait(NULL, cuMemcpyDtoD_v2(p, q, BYTES));
    assert_ok(cuMemFree_v2(q));
    assert_does_not_wait(NULL, cuMemAllocManaged(&q, BYTES, CU_MEM_ATTACH_GLOBAL));
    assert_ok(cuMemFree_v2(q));
    assert_does_not_wait(NULL, cuStreamCreate(&stream, 0));
    assert_does_not_wait(NULL, cuMemAllocAsync(&q, BYTES, NULL));
    assert_does_not_wait(NULL, cuMemFreeAsync(q, NULL));
    assert_ok(cuMemAllocAsync(&q, BYTES, NULL));
    assert_does_not_wait(NULL, cuMemFree_v2(q));
    assert_does_not_wait(stream, cuStreamDestroy_v2(stream));
    assert_ok(cuMemFree_v2(p));
    assert_ok(cuMemFreeHost(pinned));
}

static void a_pageable_source_is_read_before_the_call_returns(void **state)
{
    (void)state;
    CUdeviceptr p;
    uint32_t value = 7;
    assert_ok(cuMemAlloc_v2(&p, 4));
    testing_hold(NULL);
    assert_ok(cuMemcpyHtoDAsync_v2(p, &value, 4, NULL));
    value = 9;
    testing_let_go();
    assert_int_equal(testing_read(p), 7);
    assert_ok(cuMemFree_v2(p));
}

static void parameters_are_read_before_the_launch_returns(void **state)
{
    (void)state;
    CUdeviceptr p;
    assert_ok(cuMemAlloc_v2(&p, 4));
    assert_ok(cuMemsetD32_v2(p, 5, 1));
    testing_hold(NULL);
    uint32_t count = 1, factor = 2, summand = 3;
    void *params[] = {&p, &count, &factor, &summand};
    assert_ok(cuLaunchKernel(t.scale, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    factor = summand = 100;
    testing_let_go();
    assert_int_equal(testing_read(p), 13);
    assert_ok(cuMemFree_v2(p));
}

static void streams_that_do_not_block_run_beside_each_other(void **state)
{
    (void)state;
    CUstream a, b;
    CUdeviceptr p;
    assert_ok(cuMemAlloc_v2(&p, 4));
    assert_ok(cuMemsetD32_v2(p, 1, 1));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    assert_ok(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    testing_hold(a);
    testing_scale(p, 1, 3, 0, b);
    assert_ok(cuStreamSynchronize(b));
    assert_is(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    assert_false(testing_released());
    testing_let_go();
    assert_ok(cuStreamSynchronize(a));
    assert_ok(cuStreamQuery(a));
    assert_int_equal(testing_read(p), 3);
    assert_ok(cuStreamDestroy_v2(a));
    assert_ok(cuStreamDestroy_v2(b));
    assert_ok(cuMemFree_v2(p));
}

static void the_legacy_stream_waits_for_blocking_streams_and_they_for_it(void **state)
{
    (void)state;
    CUstream blocking, free_running;
    assert_ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    assert_ok(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    void *none[] = {NULL};

    testing_hold(blocking);
    assert_ok(cuLaunchKernel(t.nothing, 1, 1, 1, 1, 1, 1, 0, NULL, none, NULL));
    usleep(5000);
    assert_is(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    assert_ok(cuLaunchKernel(t.nothing, 1, 1, 1, 1, 1, 1, 0, free_running, none, NULL));
    assert_ok(cuStreamSynchronize(free_running));
    testing_let_go();
    assert_ok(cuStreamSynchronize(NULL));

    testing_hold(NULL);
    assert_ok(cuLaunchKernel(t.nothing, 1, 1, 1, 1, 1, 1, 0, blocking, none, NULL));
    usleep(5000);
    assert_is(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    assert_ok(cuLaunchKernel(t.nothing, 1, 1, 1, 1, 1, 1, 0, free_running, none, NULL));
    assert_ok(cuStreamSynchronize(free_running));
    assert_false(testing_released());
    testing_let_go();
    assert_ok(cuStreamSynchronize(blocking));
    assert_ok(cuStreamDestroy_v2(blocking));
    assert_ok(cuStreamDestroy_v2(free_running));
}

static void the_per_thread_stream_is_not_the_legacy_one(void **state)
{
    (void)state;
    CUdeviceptr p;
    CUstream other;
    unsigned long long legacy, own;
    assert_ok(cuStreamGetId(NULL, &legacy));
    assert_ok(cuStreamGetId_ptsz(NULL, &own));
    assert_true(legacy != own);
    assert_ok(cuMemAlloc_v2(&p, 4));
    assert_ok(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    // Both streams block on the legacy stream, not on each other.
    testing_hold(other);
    assert_ok(cuMemsetD32_v2_ptds(p, 4, 1));
    uint32_t value = 0;
    assert_ok(cuMemcpyDtoH_v2_ptds(&value, p, 4));
    assert_int_equal(value, 4);
    assert_false(testing_released());
    testing_let_go();
    assert_ok(cuCtxSynchronize());
    assert_ok(cuStreamDestroy_v2(other));
    assert_ok(cuMemFree_v2(p));
}

static void an_event_orders_streams(void **state)
{
    (void)state;
    CUstream a, b;
    CUevent event;
    CUdeviceptr p;
    assert_ok(cuMemAlloc_v2(&p, 4));
    assert_ok(cuMemsetD32_v2(p, 1, 1));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    assert_ok(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    assert_ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    assert_ok(cuEventQuery(event)); // never recorded, so complete
    testing_hold(a);
    testing_scale(p, 1, 1, 10, a);
    assert_ok(cuEventRecord(event, a));
    assert_ok(cuStreamWaitEvent(b, event, 0));
    testing_scale(p, 1, 2, 0, b);
    assert_is(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    usleep(5000);
    assert_is(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    testing_let_go();
    assert_ok(cuStreamSynchronize(b));
    assert_ok(cuEventSynchronize(event));
    assert_int_equal(testing_read(p), 22);
    assert_ok(cuEventDestroy_v2(event));
    assert_ok(cuStreamDestroy_v2(a));
    assert_ok(cuStreamDestroy_v2(b));
    assert_ok(cuMemFree_v2(p));
}

static void elapsed_time_is_of_the_simulated_clock(void **state)
{
    (void)state;
    CUevent start, middle, end;
    CUdeviceptr p;
    float first, second, both;
    assert_ok(cuMemAlloc_v2(&p, 64 << 20));
    assert_ok(cuEventCreate(&start, 0));
    assert_ok(cuEventCreate(&middle, 0));
    assert_ok(cuEventCreate(&end, 0));
    assert_is(cuEventElapsedTime_v2(&first, start, end), CUDA_ERROR_INVALID_HANDLE);
    assert_ok(cuEventRecord(start, NULL));
    assert_ok(cuMemsetD8_v2(p, 0, 1 << 20));
    assert_ok(cuEventRecord(middle, NULL));
    assert_ok(cuMemsetD8_v2(p, 0, 64 << 20));
    assert_ok(cuEventRecord(end, NULL));
    assert_ok(cuEventSynchronize(end));
    assert_ok(cuEventElapsedTime_v2(&first, start, middle));
    assert_ok(cuEventElapsedTime_v2(&second, middle, end));
    assert_ok(cuEventElapsedTime_v2(&both, start, end));
    assert_true(first > 0 && second > 4 * first); // 64 times the bytes, plus fixed costs
    assert_true(both > 0.999f * (first + second) && both < 1.001f * (first + second));
    assert_ok(cuEventDestroy_v2(start));
    assert_ok(cuEventDestroy_v2(middle));
    assert_ok(cuEventDestroy_v2(end));
    assert_ok(cuMemFree_v2(p));
}

static int calls;

static void count_call(void *user)
{
    int device;
    if (cuDeviceGetCount(&device) == CUDA_ERROR_NOT_PERMITTED)
        calls += *(int *)user;
}

static void count_callback(CUstream stream, CUresult status, void *user)
{
    (void)stream;
    if (status == CUDA_SUCCESS)
        calls = calls * 10 + *(int *)user;
}

static void host_functions_run_in_order_and_may_not_call_the_driver(void **state)
{
    (void)state;
    int one = 1, two = 2;
    calls = 0;
    testing_hold(NULL);
    assert_ok(cuLaunchHostFunc(NULL, count_call, &one));
    assert_ok(cuStreamAddCallback(NULL, count_callback, &two, 0));
    assert_int_equal(calls, 0);
    testing_let_go();
    assert_ok(cuCtxSynchronize());
    assert_int_equal(calls, 12);
}

static void a_stream_waits_for_a_value_in_memory(void **state)
{
    (void)state;
    CUstream stream;
    CUdeviceptr word = (CUdeviceptr)(uintptr_t)(t.flag + 1);
    t.flag[1] = 0;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_ok(cuStreamWaitValue32_v2(stream, word, 3, CU_STREAM_WAIT_VALUE_GEQ));
    usleep(2000);
    assert_is(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    assert_ok(cuStreamWriteValue32_v2(NULL, word, 5, 0));
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(t.flag[1], 5);
    assert_ok(cuStreamDestroy_v2(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frees_and_synchronous_copies_wait),
        cmocka_unit_test(allocations_fills_and_asynchronous_copies_do_not_wait),
        cmocka_unit_test(a_pageable_source_is_read_before_the_call_returns),
        cmocka_unit_test(parameters_are_read_before_the_launch_returns),
        cmocka_unit_test(streams_that_do_not_block_run_beside_each_other),
        cmocka_unit_test(the_legacy_stream_waits_for_blocking_streams_and_they_for_it),
        cmocka_unit_test(the_per_thread_stream_is_not_the_legacy_one),
        cmocka_unit_test(an_event_orders_streams),
        cmocka_unit_test(elapsed_time_is_of_the_simulated_clock),
        cmocka_unit_test(host_functions_run_in_order_and_may_not_call_the_driver),
        cmocka_unit_test(a_stream_waits_for_a_value_in_memory),
    };
    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
