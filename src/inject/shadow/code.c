// SPDX-License-Identifier: Apache-2.0
// Modules of device code, and their memory: see code.h.
#include "code.h"

#include "base/base.h"
#include "device/device.h"
#include "lane.h"
#include "memory.h"

enum { MOST_KERNELS = 4 }; // of one module

static CUresult load_kernel(CUfunction *function, CUmodule module,
                            const struct shadow_code_kernel *kernel)
{
    const CUresult result = REAL(cuModuleGetFunction)(function, module, kernel->name);
    if (result != CUDA_SUCCESS || !kernel->shared)
        return result;
    return REAL(cuFuncSetAttribute)(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    kernel->shared);
}

static CUresult load_module(CUmodule *module, const char *ptx)
{
    int version = 0;
    if (REAL(cuDriverGetVersion)(&version) != CUDA_SUCCESS || version >= DEVICE_DRIVER)
        return REAL(cuModuleLoadData)(module, ptx);
    struct base_buf older = {0};
    device_for_older(ptx, &older);
    const CUresult result =
        older.failed ? CUDA_ERROR_OUT_OF_MEMORY : REAL(cuModuleLoadData)(module, older.text);
    base_buf_fini(&older);
    return result;
}

bool shadow_code_load(struct shadow *shadow, const char *ptx,
                      const struct shadow_code_kernel *kernels, size_t count, const char *what)
{
    CUmodule module = NULL;
    CUfunction functions[MOST_KERNELS] = {NULL};
    int processors = 1;
    if (*kernels[0].function)
        return true;
    const CUstreamCaptureMode mode = shadow_relax();
    CUresult result = load_module(&module, ptx);
    for (size_t i = 0; i < count && i < MOST_KERNELS && result == CUDA_SUCCESS; i++)
        result = load_kernel(&functions[i], module, &kernels[i]);
    REAL(cuDeviceGetAttribute)
    (&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, (int)shadow->context->device - 1);
    CUmodule *place = result == CUDA_SUCCESS ? base_array_push(&shadow->modules) : NULL;
    if (place)
        *place = module;
    shadow_restore(mode);
    if (result != CUDA_SUCCESS) {
        shadow_fail(shadow, what, result);
        return false;
    }
    shadow->processors = (uint32_t)processors;
    for (size_t i = 0; i < count && i < MOST_KERNELS; i++)
        *kernels[i].function = functions[i];
    return true;
}

void shadow_code_unload(struct shadow *shadow)
{
    const CUstreamCaptureMode mode = shadow_relax();
    for (size_t i = 0; i < shadow->modules.count; i++)
        REAL(cuModuleUnload)(shadow->modules.items[i]);
    shadow_restore(mode);
    base_array_fini(&shadow->modules);
    shadow->reduce[0] = shadow->reduce[1] = shadow->reduce_many = NULL;
    shadow->scans[0] = shadow->scans[1] = shadow->mark = NULL;
    shadow->weigh_choose = shadow->weigh_count = NULL;
}

bool shadow_code_work(struct shadow_lane *lane, struct shadow_block *work, uint64_t bytes)
{
    struct shadow *shadow = lane->shadow;
    bytes += SHADOW_CODE_WORK_AT;
    if (work->bytes >= bytes)
        return true;
    shadow_lane_give(lane, work);
    return shadow_take(shadow, &shadow->device, bytes, work) && shadow_own_clear(shadow, *work) &&
           shadow_own_wait(shadow, lane->stream);
}

bool shadow_code_land(struct shadow *shadow, uint64_t bytes, struct shadow_block *landing)
{
    if (!shadow_take(shadow, &shadow->pinned, SHADOW_CODE_RESULTS_AT + bytes, landing))
        return false;
    *(volatile uint32_t *)shadow_host(*landing) = 0;
    return true;
}

bool shadow_code_landed(struct shadow_block landing)
{
    return *(const volatile uint32_t *)shadow_host(landing) != 0;
}
