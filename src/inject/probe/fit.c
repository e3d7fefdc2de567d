// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks all run at once on the GPU, but would not with the clone, which may need
// more registers or shared memory. A program may rely on that, however it launches: blocks that
// wait for each other through memory wait forever if some cannot start before others have ended.
// Such a launch runs the original kernel. A kernel whose code shows that its blocks do not wait for
// each other always runs as its clone, unless the launch is cooperative or has clusters, which the
// driver only accepts if they fit.
//
// Kernels on several streams may wait for each other, too. Where the program has several streams, a
// kernel that may wait runs as its clone only if that leaves as much room for others as the
// original does, or half of the GPU; and once there was such a kernel, so do all others, which it
// may wait for.
//
// glint asks the driver once for each shape how many blocks fit, and keeps the answer with the
// clone.
#include "fit.h"

#include <stdlib.h>
#include <string.h>

#include "inject/core/kernels.h"

enum { KEPT_MOST = 64 }; // answers kept for a clone; for other shapes the driver is asked each time

// How many blocks run at once with either function, for one combination of what that depends on.
struct probe_fit {
    struct probe_fit *next;
    uint32_t threads, shared_bytes, cluster[3];
    uint32_t settings;        // of the kernel, when the driver was asked
    uint64_t original, clone; // blocks; UINT64_MAX: the driver does not report it
};

static uint64_t volume(const unsigned size[3])
{
    return (uint64_t)size[0] * size[1] * size[2];
}

// Returns the multiprocessors of the context, which may have only a part of the GPU.
static uint64_t processors_of(const struct core_context *context)
{
    CUdevResource resource;
    int count = 0;
    if (!core_state.simulated && REAL(cuCtxGetDevResource)(context->handle, &resource,
                                                           CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS)
        return resource.sm.smCount;
    REAL(cuDeviceGetAttribute)
    (&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, (CUdevice)context->device - 1);
    return (uint64_t)count;
}

static uint64_t clusters_of(CUfunction function, const struct probe_shape *shape)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {.gridDimX = shape->grid[0],
                             .gridDimY = shape->grid[1],
                             .gridDimZ = shape->grid[2],
                             .blockDimX = shape->block[0],
                             .blockDimY = shape->block[1],
                             .blockDimZ = shape->block[2],
                             .sharedMemBytes = shape->shared_bytes,
                             .attrs = &attribute,
                             .numAttrs = 1};
    int clusters = 0;
    attribute.value.clusterDim.x = shape->cluster[0];
    attribute.value.clusterDim.y = shape->cluster[1];
    attribute.value.clusterDim.z = shape->cluster[2];
    return REAL(cuOccupancyMaxActiveClusters)(&clusters, function, &config) == CUDA_SUCCESS
               ? (uint64_t)clusters * volume(shape->cluster)
               : UINT64_MAX;
}

uint64_t probe_fit_blocks(CUfunction function, const struct core_context *context,
                          const struct probe_shape *shape)
{
    int blocks = 0;
    if (volume(shape->cluster) > 1)
        return clusters_of(function, shape);
    return REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(
               &blocks, function, (int)volume(shape->block), shape->shared_bytes) == CUDA_SUCCESS
               ? (uint64_t)blocks * processors_of(context)
               : UINT64_MAX;
}

static void ask(struct probe_fit *fit, const struct probe_clone *clone,
                const struct core_context *context, const struct probe_shape *shape)
{
    CUstreamCaptureMode mode;
    const bool relaxed = probe_relax(&mode);
    fit->original = probe_fit_blocks(clone->original, context, shape);
    fit->clone = probe_fit_blocks(clone->function, context, shape);
    probe_unrelax(relaxed, &mode);
}

static bool is_of(const struct probe_fit *fit, const struct probe_fit *wanted)
{
    return fit->threads == wanted->threads && fit->shared_bytes == wanted->shared_bytes &&
           fit->settings == wanted->settings &&
           memcmp(fit->cluster, wanted->cluster, sizeof(fit->cluster)) == 0;
}

// If two threads add the same shape, a search returns the newer entry.
static void keep(struct probe_clone *clone, const struct probe_fit *fit)
{
    struct probe_fit *kept = malloc(sizeof(*kept));
    if (!kept)
        return;
    *kept = *fit;
    kept->next = atomic_load(&clone->fits);
    while (!atomic_compare_exchange_weak(&clone->fits, &kept->next, kept))
        ;
}

struct probe_shape probe_fit_shape(const struct core_call *call)
{
    const struct event_launch *launch = &call->detail.launch;
    return (struct probe_shape){
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .shared_bytes = launch->dynamic_shared_bytes,
        .cluster = {call->cluster[0], call->cluster[1], call->cluster[2]},
        .partly = call->stream->green,
        .cooperative = launch->flags & EVENT_LAUNCH_COOPERATIVE,
    };
}

bool probe_fit_is_refused(const struct probe_clone *clone, const struct probe_shape *shape)
{
    return !core_kernel_has_shape(shape->grid, shape->block, clone->most_threads) ||
           shape->shared_bytes > atomic_load(&clone->limit);
}

bool probe_fit_matters(const struct probe_kernel *kernel, const struct probe_shape *shape)
{
    return kernel->about->may_wait || shape->cooperative || volume(shape->cluster) > 1;
}

// Returns whether kernels of the context may run beside each other: it has two streams beside the
// legacy one.
static bool has_streams(const struct core_context *context)
{
    return atomic_load_explicit(&context->stream_count, memory_order_relaxed) > 2;
}

static bool is_lost(const struct probe_fit *fit, const struct probe_shape *shape, bool beside)
{
    const uint64_t blocks = volume(shape->grid);
    // The driver itself refuses a launch that does not fit, with either kernel.
    if (blocks > fit->original)
        return false;
    return fit->clone == UINT64_MAX || blocks > fit->clone ||
           (fit->clone < fit->original && (shape->partly || (beside && blocks > fit->clone / 2)));
}

bool probe_fit_is_lost(const struct probe_kernel *kernel, struct probe_clone *clone,
                       const struct core_context *context, const struct probe_shape *shape)
{
    const bool waits = probe_fit_matters(kernel, shape), beside = has_streams(context);
    if (waits)
        atomic_store_explicit(&probe_state->waits, true, memory_order_relaxed);
    else if (!beside || !atomic_load_explicit(&probe_state->waits, memory_order_relaxed))
        return false;
    struct probe_fit fit = {
        .threads = (uint32_t)volume(shape->block),
        .shared_bytes = shape->shared_bytes,
        .cluster = {shape->cluster[0], shape->cluster[1], shape->cluster[2]},
        .settings = atomic_load_explicit(&kernel->settings, memory_order_relaxed),
    };
    const struct probe_fit *known = atomic_load_explicit(&clone->fits, memory_order_acquire);
    unsigned count = 0;
    for (; known && !is_of(known, &fit); known = known->next)
        count++;
    if (!known) {
        ask(&fit, clone, context, shape);
        if (count < KEPT_MOST && fit.original != UINT64_MAX && fit.clone != UINT64_MAX)
            keep(clone, &fit);
        known = &fit;
    }
    if (known->original == UINT64_MAX || !known->clone)
        return false;
    return waits ? is_lost(known, shape, beside) : known->clone < known->original;
}

void probe_fit_free(struct probe_clone *clone)
{
    for (struct probe_fit *fit = atomic_load(&clone->fits); fit;) {
        struct probe_fit *next = fit->next;
        free(fit);
        fit = next;
    }
}
