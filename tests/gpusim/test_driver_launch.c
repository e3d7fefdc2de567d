// SPDX-License-Identifier: Apache-2.0
// Launches through the simulated GPU's driver: modules, parameters, limits with an H200's error
// codes, occupancy, attributes, the last release of the primary context, and functions looked up by
// name.
#include "driver_testing.h"

static CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared)
{
    CUdeviceptr p = 0;
    uint32_t zero = 0;
    void *params[] = {&p, &zero, &zero, &zero};
    return cuLaunchKernel(function, grid_x, grid_y, 1, block_x, block_y, block_z, shared, NULL,
                          params, NULL);
}

static void sizes_beyond_the_limits_are_refused(void **state)
{
    (void)state;
    assert_is(launch(t.scale, 0, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(launch(t.scale, 1, 65536, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(launch(t.scale, 1, 1, 1025, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(launch(t.scale, 1, 1, 1024, 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(launch(t.scale, 1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(launch(t.scale, 1, 1, 0, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(launch(t.small, 1, 1, 256, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_ok(launch(t.small, 1, 1, 128, 1, 1, 0));
    assert_is(launch(t.exact, 1, 1, 32, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_ok(launch(t.exact, 1, 1, 64, 1, 1, 0));
    assert_ok(launch(t.scale, 1, 1, 1, 1, 1, 49152));
    assert_is(launch(t.scale, 1, 1, 1, 1, 1, 49153), CUDA_ERROR_INVALID_VALUE);
    CUfunction_attribute limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    assert_is(cuFuncSetAttribute(t.scale, limit, 232449), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuFuncSetAttribute(t.scale, limit, 232448));
    assert_ok(launch(t.scale, 1, 1, 1, 1, 1, 232448));
    assert_ok(cuFuncSetAttribute(t.scale, limit, 49152));
    CUdeviceptr p = 0;
    void *params[] = {&p};
    assert_is(cuLaunchCooperativeKernel(t.hold, 100000, 1, 1, 1024, 1, 1, 0, NULL, params),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    assert_is(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
              CUDA_ERROR_INVALID_HANDLE);
    assert_is(
        cuLaunchKernel(t.hold, 1, 1, 1, 1, 1, 1, 0, (CUstream)(uintptr_t)0x1234000, params, NULL),
        CUDA_ERROR_INVALID_HANDLE);
    assert_ok(cuCtxSynchronize());
}

static void parameters_come_packed_too(void **state)
{
    (void)state;
    CUdeviceptr p;
    assert_ok(cuMemAlloc_v2(&p, 400));
    assert_ok(cuMemsetD32_v2(p, 3, 100));
    struct {
        CUdeviceptr p;
        uint32_t count, factor, summand;
    } packed = {p, 100, 4, 1};
    size_t size = 20;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    assert_ok(cuLaunchKernel(t.scale, 2, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    assert_int_equal(testing_read(p + 396), 13);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    CUlaunchConfig config = {2, 1, 1, 64, 1, 1, 0, NULL, &attribute, 1};
    assert_ok(cuLaunchKernelEx(&config, t.scale, NULL, extra));
    assert_int_equal(testing_read(p + 396), 53);
    size_t offset, bytes;
    assert_ok(cuFuncGetParamInfo(t.scale, 2, &offset, &bytes));
    assert_int_equal(offset, 12);
    assert_int_equal(bytes, 4);
    assert_is(cuFuncGetParamInfo(t.scale, 4, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemFree_v2(p));
}

static void modules_have_functions_and_variables(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction function;
    CUdeviceptr address;
    size_t bytes;
    assert_is(cuModuleGetFunction(&function, t.module, "nowhere"), CUDA_ERROR_NOT_FOUND);
    assert_ok(cuModuleGetGlobal_v2(&address, &bytes, t.module, "answer"));
    assert_int_equal(bytes, 4);
    assert_int_equal(testing_read(address), 42);
    assert_ok(cuMemsetD32_v2(address, 43, 1));
    assert_int_equal(testing_read(address), 43);
    assert_is(cuModuleGetGlobal_v2(&address, &bytes, t.module, "nowhere"), CUDA_ERROR_NOT_FOUND);
    assert_is(cuModuleLoad(&module, "no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
    static const char broken[] =
        ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry x(";
    char log[200] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    assert_is(cuModuleLoadDataEx(&module, broken, 2, options, values), CUDA_ERROR_INVALID_PTX);
    assert_true(strlen(log) > 0);
    CUlibrary library;
    CUkernel kernel;
    assert_ok(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    assert_ok(cuLibraryGetKernel(&kernel, library, "nothing"));
    assert_ok(cuKernelGetFunction(&function, kernel));
    assert_ok(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuLibraryUnload(library));
}

static void linked_texts_find_each_other(void **state)
{
    (void)state;
    static char caller[] =
        ".version 8.0\n.target sm_70\n.address_size 64\n"
        ".extern .global .align 4 .u32 shared_word;\n"
        ".visible .entry put(.param .u32 v) { .reg .u32 %r0; ld.param.u32 %r0, [v];\n"
        " st.global.u32 [shared_word], %r0; ret; }\n";
    static char owner[] = ".version 8.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .align 4 .u32 shared_word;\n";
    CUlinkState link;
    CUmodule module;
    CUfunction put;
    CUdeviceptr word;
    void *image;
    size_t bytes;
    assert_ok(cuLinkCreate_v2(0, NULL, NULL, &link));
    assert_ok(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, caller, sizeof caller, "a", 0, NULL, NULL));
    assert_ok(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, owner, sizeof owner, "b", 0, NULL, NULL));
    assert_ok(cuLinkComplete(link, &image, &bytes));
    assert_ok(cuModuleLoadData(&module, image));
    assert_ok(cuLinkDestroy(link));
    assert_ok(cuModuleGetFunction(&put, module, "put"));
    assert_ok(cuModuleGetGlobal_v2(&word, &bytes, module, "shared_word"));
    uint32_t value = 31;
    void *params[] = {&value};
    assert_ok(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_int_equal(testing_read(word), 31);
    assert_ok(cuModuleUnload(module));
}

static void attributes_are_the_presets(void **state)
{
    (void)state;
    int value;
    char name[64];
    CUuuid uuid;
    assert_ok(cuDeviceGetName(name, sizeof name, 0));
    assert_string_equal(name, "NVIDIA H200");
    assert_ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    assert_int_equal(value, 132);
    assert_ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    assert_int_equal(value, 9);
    assert_ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    assert_int_equal(value, 32);
    assert_is(cuDeviceGetAttribute(&value, (CUdevice_attribute)500, 0), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1),
              CUDA_ERROR_INVALID_DEVICE);
    assert_ok(cuDeviceGetUuid_v2(&uuid, 0));
    size_t limit;
    assert_ok(cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_int_equal(limit, 8 << 20);
    assert_is(cuCtxGetLimit(&limit, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH), CUDA_ERROR_UNSUPPORTED_LIMIT);
    assert_ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, t.small));
    assert_int_equal(value, 128);
}

static void occupancy_follows_threads_blocks_and_shared_memory(void **state)
{
    (void)state;
    int blocks, grid, size;
    assert_ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, t.scale, 1024, 0));
    assert_int_equal(blocks, 2);
    assert_ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, t.scale, 32, 0));
    assert_int_equal(blocks, 32);
    assert_ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, t.scale, 32, 48 << 10));
    assert_int_equal(blocks, 4); // 233472 / (49152 + 1024)
    assert_ok(cuOccupancyMaxPotentialBlockSize(&grid, &size, t.scale, NULL, 0, 0));
    assert_int_equal(size, 1024);
    assert_int_equal(grid, 264);
}

static void functions_are_found_by_name_and_version(void **state)
{
    (void)state;
    void *function;
    CUdriverProcAddressQueryResult status;
    assert_ok(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &status));
    assert_true(function == (void *)cuMemAlloc_v2);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    assert_ok(cuGetProcAddress_v2("cuCtxCreate", &function, 11000, 0, &status));
    assert_true(function == (void *)cuCtxCreate_v2);
    assert_ok(cuGetProcAddress_v2("cuCtxCreate", &function, 13000, 0, &status));
    assert_true(function == (void *)cuCtxCreate_v4);
    assert_ok(cuGetProcAddress_v2("cuLaunchKernel", &function, 13000,
                                  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    assert_true(function == (void *)cuLaunchKernel_ptsz);
    assert_ok(cuGetProcAddress_v2("cuMemcpyHtoD", &function, 13000,
                                  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    assert_true(function == (void *)cuMemcpyHtoD_v2_ptds);
    assert_is(cuGetProcAddress_v2("cuLibraryLoadData", &function, 11000, 0, &status),
              CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_is(cuGetProcAddress_v2("cuNoSuchThing", &function, 13000, 0, &status),
              CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    const char *text;
    assert_ok(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    assert_string_equal(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_ok(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    assert_string_equal(text, "an illegal memory access was encountered");
    assert_is(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
}

// The last release destroys the context as a reset does. If it had no fault, it can be retained
// again.
static void a_primary_context_comes_back_after_its_last_release(void **state)
{
    (void)state;
    CUcontext primary;
    CUdeviceptr p;
    unsigned flags;
    int active;
    for (int i = 0; i < 2; i++) {
        assert_ok(cuDevicePrimaryCtxRetain(&primary, 0));
        assert_ok(cuCtxPushCurrent_v2(primary));
        assert_ok(cuMemAlloc_v2(&p, 64));
        assert_ok(cuDevicePrimaryCtxRelease_v2(0));
        assert_ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
        assert_int_equal(active, 0);
        assert_is(cuMemFree_v2(p), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_ok(cuCtxPopCurrent_v2(&primary));
    }
}

static void a_child_of_fork_has_no_driver(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int count;
        CUresult first = cuInit(0), second = cuDeviceGetCount(&count);
        _exit(first == CUDA_ERROR_NOT_INITIALIZED && second == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    int count;
    assert_ok(cuDeviceGetCount(&count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_beyond_the_limits_are_refused),
        cmocka_unit_test(parameters_come_packed_too),
        cmocka_unit_test(modules_have_functions_and_variables),
        cmocka_unit_test(linked_texts_find_each_other),
        cmocka_unit_test(attributes_are_the_presets),
        cmocka_unit_test(occupancy_follows_threads_blocks_and_shared_memory),
        cmocka_unit_test(functions_are_found_by_name_and_version),
        cmocka_unit_test(a_primary_context_comes_back_after_its_last_release),
        cmocka_unit_test(a_child_of_fork_has_no_driver),
    };
    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
