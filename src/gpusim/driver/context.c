// SPDX-License-Identifier: Apache-2.0
// Contexts: the primary contexts of devices and those that a program creates, which one is current
// in a thread, their limits, and the release of everything that belongs to one. After a kernel
// fault all contexts return its error and no context can be created, as on an H200.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "capture.h"
#include "context.h"
#include "driver.h"
#include "event.h"
#include "memory.h"
#include "module.h"
#include "pool.h"
#include "stream.h"

#define CONTEXT_MAGIC UINT64_C(0x676c696e74637478)

enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

bool driver_context_valid(const struct driver_context *context)
{
    for (struct driver_context *at = driver.contexts; at; at = at->next)
        if (at == context)
            return true;
    return false;
}

static bool is_alive(const struct driver_context *context)
{
    return context->magic == CONTEXT_MAGIC;
}

// Returns the current context, alive or destroyed, or NULL.
static struct driver_context *top(void)
{
    return (struct driver_context *)driver_thread()->current;
}

// Updates `current` after the stack of contexts has changed.
static void settle(struct driver_thread *thread)
{
    thread->current = thread->depth ? (CUcontext)thread->stack[thread->depth - 1] : NULL;
}

CUresult driver_current_any(struct driver_context **context)
{
    *context = top();
    DRIVER_REJECT(!*context, CUDA_ERROR_INVALID_CONTEXT);
    DRIVER_REJECT(!is_alive(*context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}

CUresult driver_current(struct driver_context **context)
{
    DRIVER_TRY(driver_current_any(context));
    CUresult error = (CUresult)driver.error;
    if (error != CUDA_SUCCESS)
        driver_flush_output(); // what kernels printed before the error: the call ends here
    return error;
}

static void set_default_limits(struct driver_context *context)
{
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 8650752;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    context->limits[CU_LIMIT_SHMEM_SIZE] = context->device->preset->shared_per_block_optin;
    context->limits[CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = context->device->preset->l2_bytes / 16 * 3;
}

// Contexts are never freed: a destroyed one may still be current in a thread, whose calls must then
// fail.
CUresult driver_context_create(struct driver_device *device, bool primary, unsigned flags,
                               struct driver_context **made)
{
    DRIVER_TRY((CUresult)driver.error);
    struct driver_context *context = calloc(1, sizeof *context);
    DRIVER_REJECT(!context, CUDA_ERROR_OUT_OF_MEMORY);
    context->magic = CONTEXT_MAGIC;
    context->device = device;
    context->is_primary = primary;
    context->flags = flags;
    context->api_version = 3020;
    set_default_limits(context);
    driver_lock();
    context->id = ++driver.next_id;
    context->legacy = driver_stream_create(context, CU_STREAM_DEFAULT, LEAST_PRIORITY);
    if (context->legacy) {
        context->next = driver.contexts;
        driver.contexts = context;
    }
    driver_unlock();
    if (!context->legacy) {
        free(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = context;
    return CUDA_SUCCESS;
}

static void free_memory_of(struct driver_context *context)
{
    struct base_interval *it = base_intervals_after(&driver.memory, 0);
    while (it) {
        uint64_t start = it->start;
        struct driver_allocation *allocation = (void *)(uintptr_t)it->value;
        bool its = allocation->context == context;
        if (its && allocation->array)
            driver_array_end(allocation->array);
        else if (its && allocation->kind == DRIVER_MEMORY_POOL)
            driver_pool_discard(allocation);
        else if (its && allocation->kind != DRIVER_MEMORY_MAPPED) // no context owns mapped memory
            driver_memory_remove(allocation);
        it = base_intervals_after(&driver.memory, start);
    }
}

void driver_context_clear(struct driver_context *context)
{
    driver_captures_abandon(context);
    driver_lock();
    driver_wait_context(context);
    driver_peers_forget(context);
    free_memory_of(context);
    struct driver_module *modules = context->modules;
    context->modules = NULL;
    for (struct driver_event *event = context->events; event; event = event->next) {
        driver_release(event->recorded);
        event->recorded = NULL;
        event->gone = true;
    }
    while (context->streams) {
        struct driver_stream *stream = context->streams;
        context->streams = stream->next;
        stream->destroyed = true;
        stream->magic = 0;
        driver_release(stream->last);
        stream->last = NULL;
        if (--stream->references == 0)
            free(stream);
    }
    context->legacy = NULL;
    driver_unlock();
    while (modules) {
        struct driver_module *next = modules->next;
        driver_module_free(modules);
        modules = next;
    }
    driver_flush_output();
}

static void unlink_context(struct driver_context *context)
{
    driver_lock();
    struct driver_context **at = &driver.contexts;
    while (*at && *at != context)
        at = &(*at)->next;
    if (*at)
        *at = context->next;
    context->magic = 0;
    context->next = driver.dead_contexts;
    driver.dead_contexts = context;
    driver_unlock();
}

// --- The primary context -------------------------------------------------------------------------

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pctx, CUDA_ERROR_INVALID_VALUE);
    struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    CUresult result = CUDA_SUCCESS;
    gpusim_lock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    if (!device->primary)
        result = driver_context_create(device, true, device->primary_flags, &device->primary);
    else if (!is_alive(device->primary))
        result = (CUresult)driver.error;
    if (result == CUDA_SUCCESS) {
        device->primary->magic = CONTEXT_MAGIC;
        device->primary->retained++;
        *pctx = (CUcontext)device->primary;
    }
    gpusim_unlock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    return result;
}

// As with NVIDIA's driver, the handle and its retain count survive a reset. Memory, streams,
// modules and the state of libraries do not. Until the context is retained again it counts as
// destroyed, although it may be current in threads. The caller holds primary_lock.
static CUresult reset_primary(struct driver_device *device)
{
    struct driver_context *context = device->primary;
    if (!context)
        return CUDA_SUCCESS;
    context->magic = 0;
    driver_context_clear(context);
    driver_libraries_reset(device);
    sim_device_clear_heap(device->machine);
    context->per_thread = NULL;
    set_default_limits(context);
    sim_device_set_heap(device->machine, context->limits[CU_LIMIT_MALLOC_HEAP_SIZE]);
    sim_device_set_slots(device->machine,
                         context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT]);
    driver_lock();
    driver_pools_reset(device);
    context->legacy = driver_stream_create(context, CU_STREAM_DEFAULT, LEAST_PRIORITY);
    driver_unlock();
    return context->legacy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    DRIVER_BEGIN();
    struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    CUresult result = CUDA_SUCCESS;
    gpusim_lock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    if (!device->primary || !device->primary->retained)
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (--device->primary->retained == 0)
        result = reset_primary(device);
    gpusim_unlock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    DRIVER_BEGIN();
    struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    gpusim_lock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    CUresult result = reset_primary(device);
    gpusim_unlock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    return result;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    return cuDevicePrimaryCtxReset_v2(dev);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    DRIVER_BEGIN();
    struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    gpusim_lock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    device->primary_flags = flags;
    if (device->primary)
        device->primary->flags = flags;
    gpusim_unlock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    DRIVER_BEGIN();
    struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    DRIVER_REJECT(!flags || !active, CUDA_ERROR_INVALID_VALUE);
    gpusim_lock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    *flags = device->primary_flags;
    *active = device->primary && is_alive(device->primary);
    gpusim_unlock(&driver.primary_lock, GPUSIM_RANK_PRIMARY);
    return CUDA_SUCCESS;
}

// --- Creation, destruction, the current context --------------------------------------------------

static CUresult push(struct driver_context *context)
{
    struct driver_thread *thread = driver_thread();
    if (!is_alive(context) && !context->is_primary)
        driver_end_if_strict("context");
    DRIVER_REJECT(thread->depth == DRIVER_CONTEXT_STACK, CUDA_ERROR_OUT_OF_MEMORY);
    thread->stack[thread->depth++] = context;
    settle(thread);
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *pctx, unsigned flags, CUdevice dev, unsigned api_version)
{
    DRIVER_REJECT(!pctx, CUDA_ERROR_INVALID_VALUE);
    struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    struct driver_context *context;
    DRIVER_TRY(driver_context_create(device, false, flags, &context));
    context->api_version = api_version;
    DRIVER_TRY(push(context));
    *pctx = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    DRIVER_BEGIN();
    return create(pctx, flags, dev, 3010);
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    DRIVER_BEGIN();
    return create(pctx, flags, dev, 3020);
}

CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                        unsigned int flags, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(paramsArray && numParams, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    return create(pctx, flags, dev, 3020);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
                        CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(ctxCreateParams && ctxCreateParams->numExecAffinityParams,
                  CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    return create(pctx, flags, dev, 3020);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    DRIVER_BEGIN();
    struct driver_context *context = (struct driver_context *)ctx;
    driver_lock();
    bool valid = driver_context_valid(context);
    driver_unlock();
    DRIVER_REJECT(!valid, CUDA_ERROR_INVALID_CONTEXT);
    DRIVER_REJECT(context->is_primary, CUDA_ERROR_INVALID_CONTEXT);
    struct driver_thread *thread = driver_thread();
    if (thread->depth && thread->stack[thread->depth - 1] == context)
        thread->depth--;
    settle(thread);
    driver_context_clear(context);
    unlink_context(context);
    // In strict mode, other threads get time to use the destroyed context, which is then reported.
    if (driver.strict) {
        const struct timespec a_while = {.tv_nsec = 3000000};
        nanosleep(&a_while, NULL);
    }
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
    return cuCtxDestroy_v2(ctx);
}

CUresult cuCtxDetach(CUcontext ctx)
{
    return cuCtxDestroy_v2(ctx);
}

CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    (void)flags;
    return cuCtxGetCurrent(pctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!ctx, CUDA_ERROR_INVALID_CONTEXT);
    return push((struct driver_context *)ctx);
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
    return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
    DRIVER_BEGIN();
    struct driver_thread *thread = driver_thread();
    DRIVER_REJECT(!thread->depth, CUDA_ERROR_INVALID_CONTEXT);
    thread->depth--;
    settle(thread);
    if (pctx)
        *pctx = (CUcontext)thread->stack[thread->depth];
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *pctx)
{
    return cuCtxPopCurrent_v2(pctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
    DRIVER_BEGIN();
    struct driver_thread *thread = driver_thread();
    if (thread->depth)
        thread->depth--;
    settle(thread);
    return ctx ? push((struct driver_context *)ctx) : CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pctx, CUDA_ERROR_INVALID_VALUE);
    *pctx = (CUcontext)top();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    DRIVER_BEGIN();
    // A primary context keeps its device after a reset.
    const struct driver_context *context = top();
    DRIVER_REJECT(!context, CUDA_ERROR_INVALID_CONTEXT);
    DRIVER_REJECT(!is_alive(context) && !context->is_primary, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_VALUE);
    *device = driver_ordinal(context->device);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    if (!ctx)
        return cuCtxGetDevice(device);
    DRIVER_BEGIN();
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_VALUE);
    *device = driver_ordinal(((const struct driver_context *)ctx)->device);
    return CUDA_SUCCESS;
}

// --- Properties ----------------------------------------------------------------------------------

CUresult cuCtxGetFlags(unsigned int *flags)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_TRY(driver_current_any(&context));
    DRIVER_REJECT(!flags, CUDA_ERROR_INVALID_VALUE);
    *flags = context->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_TRY(driver_current_any(&context));
    context->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!ctxId, CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context = (struct driver_context *)ctx;
    if (!context)
        DRIVER_TRY(driver_current_any(&context));
    *ctxId = context->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!version, CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context = (struct driver_context *)ctx;
    if (!context)
        DRIVER_TRY(driver_current_any(&context));
    *version = context->api_version;
    return CUDA_SUCCESS;
}

static CUresult synchronize(struct driver_context *context)
{
    DRIVER_TRY(driver_unsafe_in_capture());
    driver_lock();
    driver_wait_context(context);
    driver_pools_trim(context->device);
    driver_unlock();
    driver_flush_output();
    return (CUresult)driver.error;
}

CUresult cuCtxSynchronize(void)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    return synchronize(context);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    if (!ctx)
        return cuCtxSynchronize();
    DRIVER_BEGIN();
    return synchronize((struct driver_context *)ctx);
}

// A real H200 supports the same limits.
static bool limit_supported(CUlimit limit)
{
    return limit != CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH && limit != CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT((unsigned)limit >= CU_LIMIT_MAX, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!limit_supported(limit) || limit >= CU_LIMIT_SHMEM_SIZE,
                  CUDA_ERROR_UNSUPPORTED_LIMIT);
    DRIVER_REJECT(limit == CU_LIMIT_STACK_SIZE && value > 512 * 1024, CUDA_ERROR_INVALID_VALUE);
    if (limit == CU_LIMIT_STACK_SIZE)
        value = (value + 15) & ~(size_t)15;
    context->limits[limit] = value;
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE)
        sim_device_set_heap(context->device->machine, value);
    if (limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)
        sim_device_set_slots(context->device->machine, value);
    if (limit == CU_LIMIT_STACK_SIZE)
        sim_device_set_stack(context->device->machine, value);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!pvalue || (unsigned)limit >= CU_LIMIT_MAX, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!limit_supported(limit), CUDA_ERROR_UNSUPPORTED_LIMIT);
    *pvalue = context->limits[limit];
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!pconfig, CUDA_ERROR_INVALID_VALUE);
    *pconfig = context->cache_config;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    context->cache_config = config;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!pConfig, CUDA_ERROR_INVALID_VALUE);
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    if (leastPriority)
        *leastPriority = LEAST_PRIORITY;
    if (greatestPriority)
        *greatestPriority = GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    return CUDA_SUCCESS;
}
