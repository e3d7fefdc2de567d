// SPDX-License-Identifier: Apache-2.0
// The state of the runtime: whether the driver is initialized, which primary contexts are retained,
// and each thread's device and last error.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpusim/calls/calls.h"
#include "gpusim/calls/reasons.h"
#include "gpusim/locks.h"
#include "runtime.h"

struct runtime_process runtime = {.once = PTHREAD_ONCE_INIT,
                                  .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .registry_lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local struct runtime_thread runtime_thread;

static void start(void)
{
    runtime.started = cuInit(0);
    if (runtime.started == CUDA_SUCCESS)
        runtime.started = cuDeviceGetCount(&runtime.device_count);
    if (runtime.device_count > RUNTIME_DEVICES_MAX)
        runtime.device_count = RUNTIME_DEVICES_MAX;
}

cudaError_t runtime_init(void)
{
    pthread_once(&runtime.once, start);
    return runtime_code(runtime.started);
}

cudaError_t runtime_primary(int device, CUcontext *context)
{
    cudaError_t error = runtime_init();
    if (error)
        return error;
    if (device < 0 || device >= runtime.device_count)
        return cudaErrorInvalidDevice;
    CUresult result = CUDA_SUCCESS;
    gpusim_lock(&runtime.lock, GPUSIM_RANK_RUNTIME);
    if (!runtime.primary[device].held) {
        result = cuDevicePrimaryCtxRetain(context, device);
        if (result == CUDA_SUCCESS) {
            runtime.primary[device].handle = *context;
            runtime.primary[device].held = true;
        }
    }
    *context = runtime.primary[device].handle;
    gpusim_unlock(&runtime.lock, GPUSIM_RANK_RUNTIME);
    // After a kernel fault, cuDevicePrimaryCtxRetain returns the fault's error, but NVIDIA's
    // runtime returns cudaErrorDevicesUnavailable.
    return result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY
               ? runtime_code(result)
               : cudaErrorDevicesUnavailable;
}

cudaError_t runtime_begin(void)
{
    cudaError_t error = runtime_init();
    if (error)
        return error;
    CUcontext context = NULL;
    error = runtime_code(cuCtxGetCurrent(&context));
    // The thread's current context may be the primary context of its device, which any thread may
    // have reset since.
    if (error || (context && (context != runtime.primary[runtime_thread.device].handle ||
                              runtime.primary[runtime_thread.device].held)))
        return error;
    error = runtime_primary(runtime_thread.device, &context);
    return error ? error : runtime_code(cuCtxSetCurrent(context));
}

int runtime_device(void)
{
    CUdevice device;
    CUcontext context = NULL;
    if (runtime_init() == cudaSuccess && cuCtxGetCurrent(&context) == CUDA_SUCCESS && context &&
        cuCtxGetDevice(&device) == CUDA_SUCCESS)
        return device;
    return runtime_thread.device;
}

// --- Errors -------------------------------------------------------------------------------------

// cudaErrorNotReady is a status, not an error. The driver stores persistent errors, such as kernel
// faults, and returns them from every later call.
void runtime_record(cudaError_t error)
{
    if (error && error != cudaErrorNotReady)
        runtime_thread.last_error = error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = runtime_thread.last_error;
    runtime_thread.last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return runtime_thread.last_error;
}

cudaError_t runtime_missing(const char *name)
{
    bool added = true;
    gpusim_lock(&runtime.lock, GPUSIM_RANK_RUNTIME);
    base_map_put(&runtime.reported, base_hash(name, strlen(name)), &added);
    gpusim_unlock(&runtime.lock, GPUSIM_RANK_RUNTIME);
    if (added)
        fprintf(stderr, "glint: simulated GPU: %s is not implemented%s\n", name,
                calls_reason(name));
    return runtime_end(cudaErrorNotSupported);
}

cudaError_t runtime_refuse(const char *name)
{
    const struct calls_cancel cancel = calls_hold_cancel();
    struct calls_call call = {.to = calls_to()};
    if (call.to) {
        calls_begin(&call, name);
        calls_end(&call, cudaErrorNotSupported);
    }
    const cudaError_t result = runtime_missing(name);
    calls_let_cancel(cancel);
    return result;
}

// The driver owns the log. It is asked for the log only if the environment requests one, so that a
// library that interposes on the driver does not see a call that the program did not make.
const struct calls *calls_open(void)
{
    const char *path = getenv("GLINT_SIM_LOG");
    const void *table = NULL;
    if (!path || !*path || cuGetExportTable(&table, &calls_id) != CUDA_SUCCESS)
        return NULL;
    const struct calls *calls = table;
    return calls && calls->size_bytes >= sizeof *calls ? calls : NULL;
}

// --- The device of a thread ---------------------------------------------------------------------

cudaError_t cudaGetDevice(int *device)
{
    if (!device)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_init());
    *device = runtime_device();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    CUcontext context;
    RUNTIME_TRY(runtime_primary(device, &context));
    runtime_thread.device = device;
    return runtime_end(runtime_code(cuCtxSetCurrent(context)));
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    CUcontext context;
    RUNTIME_TRY(runtime_init());
    if (flags & cudaInitDeviceFlagsAreValid)
        RUNTIME_TRY(runtime_code(cuDevicePrimaryCtxSetFlags_v2(device, deviceFlags)));
    return runtime_end(runtime_primary(device, &context));
}

cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
    RUNTIME_TRY(runtime_init());
    if (len > 0 && !device_arr)
        return runtime_end(cudaErrorInvalidValue);
    for (int i = 0; i < len; i++)
        if (device_arr[i] < 0 || device_arr[i] >= runtime.device_count)
            return runtime_end(cudaErrorInvalidDevice);
    if (len > 0)
        runtime_thread.device = device_arr[0];
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (!count)
        return runtime_end(cudaErrorInvalidValue);
    *count = 0;
    RUNTIME_TRY(runtime_init());
    *count = runtime.device_count;
    return *count ? cudaSuccess : runtime_end(cudaErrorNoDevice);
}

cudaError_t cudaDeviceReset(void)
{
    RUNTIME_TRY(runtime_init());
    int device = runtime_device();
    gpusim_lock(&runtime.lock, GPUSIM_RANK_RUNTIME);
    CUresult result = CUDA_SUCCESS;
    if (device < RUNTIME_DEVICES_MAX && runtime.primary[device].held) {
        runtime.primary[device].held = false;
        result = cuDevicePrimaryCtxReset_v2(device);
    }
    gpusim_unlock(&runtime.lock, GPUSIM_RANK_RUNTIME);
    return runtime_end(runtime_code(result));
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return runtime_end(cudaErrorInvalidValue);
    return runtime_end(runtime_code(cuDriverGetVersion(driverVersion)));
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (!runtimeVersion)
        return runtime_end(cudaErrorInvalidValue);
    *runtimeVersion = runtime_version;
    return cudaSuccess;
}
