// SPDX-License-Identifier: Apache-2.0
// A reset of the primary context destroys it, with memory of every kind, captures and attributes,
// until it is retained again. Libraries stay loaded, and their variables are initialized again.
#include "driver_testing.h"

static CUcontext primary;

static int open_primary(void **state)
{
    (void)state;
    unsetenv("GLINT_SIM_DEVICE");
    assert_ok(cuInit(0));
    assert_ok(cuDevicePrimaryCtxRetain(&primary, 0));
    assert_ok(cuCtxPushCurrent_v2(primary));
    return 0;
}

static int close_primary(void **state)
{
    (void)state;
    CUcontext popped;
    assert_ok(cuCtxPopCurrent_v2(&popped));
    assert_ok(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

// Resets the context and retains it again.
static void reset(void)
{
    CUcontext again;
    assert_ok(cuDevicePrimaryCtxReset_v2(0));
    assert_ok(cuDevicePrimaryCtxRetain(&again, 0));
    assert_ptr_equal(again, primary);
    assert_ok(cuDevicePrimaryCtxRelease_v2(0)); // balances the retain above
}

static void it_is_destroyed_until_it_is_retained_anew(void **state)
{
    (void)state;
    CUcontext context;
    CUdeviceptr p, q;
    CUdevice device = 1;
    unsigned flags;
    int active;
    assert_ok(cuMemAlloc_v2(&p, 64));
    for (int i = 0; i < 2; i++) { // the second reset finds no context
        assert_ok(cuDevicePrimaryCtxReset_v2(0));
        assert_ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
        assert_int_equal(active, 0);
        assert_ok(cuCtxGetCurrent(&context));
        assert_ptr_equal(context, primary);
        assert_ok(cuCtxGetDevice(&device));
        assert_int_equal(device, 0);
        assert_is(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_is(cuMemAlloc_v2(&q, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_is(cuMemFree_v2(p), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_is(cuStreamQuery(NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    assert_ok(cuDevicePrimaryCtxRetain(&context, 0));
    assert_ptr_equal(context, primary);
    assert_ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 1);
    assert_is(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemAlloc_v2(&q, 64));
    assert_ok(cuMemFree_v2(q));
    assert_ok(cuDevicePrimaryCtxRelease_v2(0)); // balances the retain above
    assert_ok(cuCtxSynchronize());
}

static void variables_of_libraries_start_anew_and_kernels_stay(void **state)
{
    (void)state;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUdeviceptr answer;
    size_t bytes;
    int limit;
    assert_ok(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    assert_ok(cuLibraryGetKernel(&kernel, library, "scale"));
    assert_ok(cuLibraryGetGlobal(&answer, &bytes, library, "answer"));
    assert_ok(cuMemsetD32_v2(answer, 7, 1));
    assert_ok(cuKernelGetFunction(&function, kernel));
    CUfunction_attribute dynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    assert_ok(cuFuncSetAttribute(function, dynamic, 100000));
    assert_int_equal(testing_read(answer), 7);

    reset();
    assert_ok(cuLibraryGetGlobal(&answer, &bytes, library, "answer"));
    assert_int_equal(testing_read(answer), 42);
    assert_ok(cuFuncGetAttribute(&limit, dynamic, (CUfunction)kernel));
    assert_int_equal(limit, 49152);
    uint32_t one = 1;
    void *params[] = {&answer, &one, &one, &one};
    assert_ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_int_equal(testing_read(answer), 43);
    assert_ok(cuLibraryUnload(library));
}

static void memory_of_every_kind_comes_back(void **state)
{
    (void)state;
    size_t before, after, total;
    CUdeviceptr p, pooled, managed;
    void *pinned;
    CUarray array;
    CUmipmappedArray mipmap;
    CUmemoryPool pool;
    uint64_t keep = UINT64_MAX;
    CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    assert_ok(cuMemGetInfo_v2(&before, &total));
    assert_ok(cuMemAlloc_v2(&p, 1 << 20));
    assert_ok(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    assert_ok(cuMemHostAlloc(&pinned, 100, 0));
    assert_ok(cuArray3DCreate_v2(&array, &desc));
    assert_ok(cuMipmappedArrayCreate(&mipmap, &desc, 3));
    assert_ok(cuDeviceGetDefaultMemPool(&pool, 0));
    assert_ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    assert_ok(cuMemAllocAsync(&pooled, 1 << 20, NULL));
    assert_ok(cuMemAllocAsync(&p, 1 << 20, NULL));
    assert_ok(cuMemFreeAsync(p, NULL)); // the pool keeps the memory
    assert_ok(cuCtxSynchronize());
    assert_ok(cuMemGetInfo_v2(&after, &total));
    assert_true(after < before);

    reset();
    assert_ok(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(after, before);
    assert_ok(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    assert_int_equal(keep, 0);
    assert_is(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    assert_is(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
    assert_is(cuMemFree_v2(managed), CUDA_ERROR_INVALID_VALUE);
}

static void a_capture_does_not_outlive_its_stream(void **state)
{
    (void)state;
    CUstream stream;
    assert_ok(cuStreamCreate(&stream, 0));
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_is(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_ok(cuStreamDestroy_v2(stream));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuStreamCreate(&stream, 0));
    assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    reset();
    assert_ok(cuCtxSynchronize());
}

static void limits_start_anew_and_flags_stay(void **state)
{
    (void)state;
    size_t heap;
    unsigned flags;
    int active;
    assert_ok(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 << 20));
    assert_ok(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
    reset();
    assert_ok(cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_int_equal(heap, 8 << 20);
    assert_ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(flags, CU_CTX_SCHED_YIELD);
    assert_int_equal(active, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_destroyed_until_it_is_retained_anew),
        cmocka_unit_test(variables_of_libraries_start_anew_and_kernels_stay),
        cmocka_unit_test(memory_of_every_kind_comes_back),
        cmocka_unit_test(a_capture_does_not_outlive_its_stream),
        cmocka_unit_test(limits_start_anew_and_flags_stay),
    };
    return cmocka_run_group_tests(tests, open_primary, close_primary);
}
