// SPDX-License-Identifier: Apache-2.0
// Answers what kernels ask for by functions of the device runtime that depends on CUDA's interface:
// attributes, limits, occupancy, and the names and texts of the runtime's errors. Workers of the
// machine call these functions while the driver's locks may be held by others; they take none.
#include "device_runtime.h"

#include <string.h>

#include "condition.h"
#include "context.h"
#include "launch.h"
#include "module.h"

#define ERROR(code, text) \
    {                     \
        code, #code, text \
    }

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
#include "gpusim/errors.def"
};

enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };
static const char unknown[] = "unrecognized error code";

static const char *error_name(int code)
{
    for (size_t i = 0; i < ERRORS; i++) {
        if ((int)errors[i].code == code)
            return errors[i].name;
    }
    return unknown;
}

static const char *error_text(int code)
{
    for (size_t i = 0; i < ERRORS; i++) {
        if ((int)errors[i].code == code)
            return errors[i].text;
    }
    return unknown;
}

// The codes of the driver's errors are those of the runtime's.
static int attribute(int device, int asked, int *value)
{
    return (int)driver_device_attribute(value, (CUdevice_attribute)asked, device);
}

static int limit(uint32_t device, int asked, uint64_t *value)
{
    const struct driver_context *context = driver.devices[device].primary;
    if (!context || asked < 0 || asked >= CU_LIMIT_MAX || asked == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)
        return cudaErrorUnsupportedLimit;
    *value = context->limits[asked];
    return cudaSuccess;
}

static int device_count(void)
{
    return (int)driver.device_count;
}

static uint32_t dynamic_shared(const void *owner)
{
    return ((const struct driver_function *)owner)->max_dynamic_shared;
}

static uint32_t blocks_per_sm(const void *owner, uint32_t threads, uint64_t dynamic_shared_bytes)
{
    return driver_blocks_per_sm(owner, threads, dynamic_shared_bytes);
}

static size_t function_attributes(const void *owner, void *out, size_t room)
{
    const struct driver_function *function = owner;
    const struct sim_kernel_info *info = function->info;
    const struct sim_preset *preset = function->module->device->preset;
    const struct cudaFuncAttributes attributes = {
        .sharedSizeBytes = info->static_shared_bytes,
        .constSizeBytes = info->const_bytes,
        .localSizeBytes = info->local_bytes,
        .maxThreadsPerBlock = (int)info->max_threads,
        .numRegs = (int)info->registers,
        .ptxVersion = (int)info->target,
        .binaryVersion = (int)(preset->major * 10 + preset->minor),
        .maxDynamicSharedSizeBytes = (int)function->max_dynamic_shared,
        .preferredShmemCarveout = function->carveout,
    };
    if (room < sizeof attributes)
        return 0;
    memcpy(out, &attributes, sizeof attributes);
    return sizeof attributes;
}

const struct sim_host driver_host = {
    .runtime_version = 6000, // as an H200 with CUDA 13.0
    .attribute = attribute,
    .limit = limit,
    .device_count = device_count,
    .error_name = error_name,
    .error_text = error_text,
    .dynamic_shared = dynamic_shared,
    .blocks_per_sm = blocks_per_sm,
    .function_attributes = function_attributes,
    .set_condition = driver_condition_set,
};
