// SPDX-License-Identifier: Apache-2.0
// The simulated devices have the properties of the real ones. A process has one device for its
// lifetime, so each device is tested in a child.
#include "driver_testing.h"

// Properties from deviceQuery and the vendor's tables.
static const struct device {
    const char *key, *name;
    size_t memory_bytes;
    int major, minor, processors, threads, blocks, shared, shared_most, l2_bytes;
    int clock_khz, memory_khz, bus_bits, ecc, engines, double_ratio, reserved;
} devices[] = {
    {"h200", "NVIDIA H200", 150109880320, 9, 0, 132, 2048, 32, 233472, 232448, 62914560, 1980000,
     3201000, 6016, 1, 3, 2, 1024},
    {"a100", "NVIDIA A100-SXM4-40GB", 42298834944, 8, 0, 108, 2048, 32, 167936, 166912, 41943040,
     1410000, 1215000, 5120, 1, 3, 2, 1024},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 25447170048, 8, 6, 82, 1536, 16, 102400, 101376, 6291456,
     1695000, 9751000, 384, 0, 2, 64, 1024},
    {"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", 11554717696, 7, 5, 68, 1024, 16, 65536, 65536,
     5767168, 1545000, 7000000, 352, 0, 3, 32, 0},
};

static CUresult load_static_shared(int bytes, CUmodule *module)
{
    char text[200];
    snprintf(text, sizeof text,
             ".version 6.4\n.target sm_70\n.address_size 64\n"
             ".visible .entry k() { .shared .align 4 .b8 a[%d]; ret; }\n",
             bytes);
    return cuModuleLoadData(module, text);
}

static int attribute(CUdevice_attribute which)
{
    int value = -1;
    return cuDeviceGetAttribute(&value, which, 0) == CUDA_SUCCESS ? value : -1;
}

// Returns the number of the first wrong property; 0: none.
static int look(const struct device *is)
{
    const struct {
        CUdevice_attribute which;
        int value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, is->major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, is->minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, is->processors},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, is->threads},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, is->blocks},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, is->shared},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, is->shared_most},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, is->reserved},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, is->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, is->clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, is->memory_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, is->bus_bits},
        {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, is->ecc},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, is->engines},
        {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, is->double_ratio},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 65536},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
        {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, is->major >= 9},
    };
    char name[64];
    size_t bytes, free_bytes, total;
    int value, blocks;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    if (cuInit(0) || cuDeviceGetName(name, sizeof name, 0) || strcmp(name, is->name) != 0)
        return 1;
    if (cuDeviceTotalMem_v2(&bytes, 0) || bytes != is->memory_bytes)
        return 2;
    for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++) // every attribute has a value
        if (cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0))
            return 3;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (attribute(wanted[i].which) != wanted[i].value)
            return 10 + (int)i;
    // Limits are the device's: full blocks per multiprocessor, and opt-in shared memory.
    if (cuCtxCreate_v4(&context, NULL, 0, 0) || cuModuleLoadData(&module, kernels) ||
        cuModuleGetFunction(&function, module, "nothing"))
        return 4;
    if (cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 512, 0) ||
        blocks != is->threads / 512)
        return 5;
    CUfunction_attribute limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    if (cuFuncSetAttribute(function, limit, is->shared_most) ||
        cuFuncSetAttribute(function, limit, is->shared_most + 1) != CUDA_ERROR_INVALID_VALUE)
        return 6;
    if (load_static_shared(is->shared_most, &module) ||
        cuModuleGetFunction(&function, module, "k") ||
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) || cuCtxSynchronize() ||
        load_static_shared(is->shared_most + 4, &module) != CUDA_ERROR_INVALID_PTX)
        return 8;
    if (cuMemGetInfo_v2(&free_bytes, &total) || total != is->memory_bytes || free_bytes >= total)
        return 7;
    return 0;
}

static int in_child(const char *key, const struct device *device)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("GLINT_SIM_DEVICE", key, 1);
        _exit(device ? look(device) : (int)cuInit(0));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void devices_report_what_the_real_ones_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        assert_int_equal(in_child(devices[i].key, &devices[i]), 0);
}

static void there_is_no_other_device(void **state)
{
    (void)state;
    assert_int_equal(in_child("rtx9999", NULL), CUDA_ERROR_NO_DEVICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_report_what_the_real_ones_do),
        cmocka_unit_test(there_is_no_other_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
