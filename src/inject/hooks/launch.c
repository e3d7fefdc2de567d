// SPDX-License-Identifier: Apache-2.0
// Hooks of launches, in all the variants that the driver has had, and of host functions.
#include <string.h>

#include "inject/core/kernels.h"
#include "inject/correct/memory/uses.h"
#include "inject/correct/state.h"
#include "inject/probe/launch.h"
#include "inject/probe/passed.h"
#include "inject/sampled/sampled.h"

static void launches(struct core_call *call, CUfunction function, const unsigned grid[3],
                     const unsigned block[3], unsigned shared_bytes, uint32_t flags)
{
    call->early = false;
    memset(call->cluster, 0, sizeof(call->cluster));
    call->detail.launch = (struct event_launch){
        .grid = {grid[0], grid[1], grid[2]},
        .block = {block[0], block[1], block[2]},
        .dynamic_shared_bytes = shared_bytes,
        .flags = flags,
        .kernel = core_kernel_launched(
            function,
            call->stream && call->stream->context == call->current ? call->current : NULL),
    };
}

#define DIM(x, y, z) ((const unsigned[3]){x, y, z})

// Defines the hook of a launch of the function f with `args`, which `before` describes. `watched`
// launches the kernel's clone, probe.function with params->pointers and probe.shared_bytes, unless
// the driver refuses it. A sampled launch has another f and is the program's otherwise.
#define LAUNCHES(symbol, params, args, watched, stream, pointers, extra, before) \
    CUresult symbol params                                                       \
    {                                                                            \
        struct core_call call;                                                   \
        struct probe_launch probe = {.ticket = NULL};                            \
        struct sampled_launch sampled = {.ticket = NULL};                        \
        const CUfunction original = f;                                           \
        CUresult result, refused = CUDA_SUCCESS;                                 \
        if (!core_call_begin(&call, HOOK_##symbol, (stream), UNWIND_CALLER))     \
            return REAL(symbol) args;                                            \
        before;                                                                  \
        if (probe_state)                                                         \
            probe_launch_begin(&probe, &call, f, (pointers), (extra));           \
        if (correct_state.on)                                                    \
            correct_uses_launch(&call, f, (pointers), (extra));                  \
        if (!probe.ticket)                                                       \
            f = sampled_launch_begin(&sampled, &call, f, (pointers), (extra));   \
        const bool is_sampled = sampled.ticket;                                  \
        bool made = false;                                                       \
        core_call_start(&call);                                                  \
        if (probe.ticket) {                                                      \
            refused = result = REAL(symbol) watched;                             \
            made = refused == CUDA_SUCCESS;                                      \
            if (!made)                                                           \
                probe_launch_withdraw(&probe, &call);                            \
        } else if (is_sampled) {                                                 \
            result = REAL(symbol) args;                                          \
            f = original;                                                        \
            sampled_launch_made(&sampled, &call, result);                        \
            made = sampled.ticket;                                               \
        }                                                                        \
        if (!made)                                                               \
            CALLED_WITH(call, result, CALLED(symbol) args);                      \
        if (is_sampled && !made)                                                 \
            sampled_launch_refused(result);                                      \
        core_call_stop(&call, result);                                           \
        if (refused != CUDA_SUCCESS)                                             \
            probe_launch_refused(&probe, &call, refused, result);                \
        if (probe_state && !call.probe && result == CUDA_SUCCESS)                \
            probe_passed_launch(&call, f, (pointers), (extra));                  \
        return core_call_end(&call);                                             \
    }
#define LAUNCHES_BOTH(symbol, suffix, ...) \
    LAUNCHES(symbol, __VA_ARGS__)          \
    LAUNCHES(symbol##suffix, __VA_ARGS__)

LAUNCHES_BOTH(cuLaunchKernel, _ptsz,
              (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
               unsigned bz, unsigned shared, CUstream stream, void **params, void **extra),
              (f, gx, gy, gz, bx, by, bz, shared, stream, params, extra),
              (probe.function, gx, gy, gz, bx, by, bz, probe.shared_bytes, stream,
               probe.params->pointers, NULL),
              stream, params, extra,
              { launches(&call, f, DIM(gx, gy, gz), DIM(bx, by, bz), shared, 0); })
LAUNCHES_BOTH(
    cuLaunchCooperativeKernel, _ptsz,
    (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
     unsigned shared, CUstream stream, void **params),
    (f, gx, gy, gz, bx, by, bz, shared, stream, params),
    (probe.function, gx, gy, gz, bx, by, bz, probe.shared_bytes, stream, probe.params->pointers),
    stream, params, NULL,
    { launches(&call, f, DIM(gx, gy, gz), DIM(bx, by, bz), shared, EVENT_LAUNCH_COOPERATIVE); })

static void launches_by(struct core_call *call, CUfunction function, const CUlaunchConfig *config)
{
    uint32_t flags = 0;
    unsigned cluster[3] = {0};
    bool early = false;
    call->early = false;
    if (!config)
        return;
    for (unsigned i = 0; i < config->numAttrs && config->attrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute->value.cooperative)
            flags |= EVENT_LAUNCH_COOPERATIVE;
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            cluster[0] = attribute->value.clusterDim.x;
            cluster[1] = attribute->value.clusterDim.y;
            cluster[2] = attribute->value.clusterDim.z;
        }
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            core_order_recording(attribute->value.programmaticEvent.event, NULL);
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            core_order_recording(attribute->value.launchCompletionEvent.event, NULL);
        early |= attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                 attribute->value.programmaticStreamSerializationAllowed;
    }
    launches(call, function, DIM(config->gridDimX, config->gridDimY, config->gridDimZ),
             DIM(config->blockDimX, config->blockDimY, config->blockDimZ), config->sharedMemBytes,
             flags);
    call->early = early;
    memcpy(call->cluster, cluster, sizeof(cluster));
}

LAUNCHES_BOTH(cuLaunchKernelEx, _ptsz,
              (const CUlaunchConfig *config, CUfunction f, void **params, void **extra),
              (config, f, params, extra),
              (probe_launch_config(&probe, config), probe.function, probe.params->pointers, NULL),
              config ? config->hStream : NULL, params, extra, { launches_by(&call, f, config); })

// Writes one record for each device, all with the times of the call.
HOOKED(cuLaunchCooperativeKernelMultiDevice,
       (CUDA_LAUNCH_PARAMS * list, unsigned count, unsigned flags), (list, count, flags), NO_STREAM,
       {}, {
           for (unsigned i = 0; list && i < count; i++) {
               const CUDA_LAUNCH_PARAMS *one = &list[i];
               struct core_call next = call;
               if (i)
                   next.number = core_next_number(&core_state.calls);
               next.stream = core_stream_of(one->hStream, false, call.context);
               launches(&next, one->function, DIM(one->gridDimX, one->gridDimY, one->gridDimZ),
                        DIM(one->blockDimX, one->blockDimY, one->blockDimZ), one->sharedMemBytes,
                        EVENT_LAUNCH_COOPERATIVE);
               if (probe_state)
                   probe_launch_unwatched(one->function, next.detail.launch.kernel);
               if (next.stream && result == CUDA_SUCCESS)
                   core_stream_program_work(next.stream);
               core_call_put(&next);
           }
           call.quiet = list && count;
       })

// --- The way of before CUDA 4: what a launch needs is set on the function ------------------------

HOOKED(cuFuncSetBlockShape, (CUfunction f, int x, int y, int z), (f, x, y, z), NO_STREAM, {}, {
    if (result == CUDA_SUCCESS)
        core_kernel_set_shape(f, DIM((unsigned)x, (unsigned)y, (unsigned)z));
})
HOOKED(cuFuncSetSharedSize, (CUfunction f, unsigned bytes), (f, bytes), NO_STREAM, {}, {
    if (result == CUDA_SUCCESS)
        core_kernel_set_shared(f, bytes);
})

static void launches_old(struct core_call *call, CUfunction function, unsigned width,
                         unsigned height)
{
    unsigned block[3], shared_bytes;
    uint32_t kernel = core_kernel_of(function, false); // only a known kernel has a shape
    core_kernel_shape(function, block, &shared_bytes);
    launches(call, function, DIM(width, height, 1), block, shared_bytes, 0);
    call->detail.launch.kernel = kernel;
    if (probe_state)
        probe_launch_unwatched(function, kernel);
}

HOOKED(cuLaunch, (CUfunction f), (f), NULL, { launches_old(&call, f, 1, 1); }, {})
HOOKED(cuLaunchGrid, (CUfunction f, int width, int height), (f, width, height), NULL,
       { launches_old(&call, f, (unsigned)width, (unsigned)height); }, {})
HOOKED(cuLaunchGridAsync, (CUfunction f, int width, int height, CUstream stream),
       (f, width, height, stream), stream,
       { launches_old(&call, f, (unsigned)width, (unsigned)height); }, {})

// --- Host functions ------------------------------------------------------------------------------

HOOKED_BOTH(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void *user),
            (stream, function, user), stream, {}, {})
HOOKED_BOTH(cuStreamAddCallback, _ptsz,
            (CUstream stream, CUstreamCallback callback, void *user, unsigned flags),
            (stream, callback, user, flags), stream, {}, {})
