// SPDX-License-Identifier: Apache-2.0
// Hooks of contexts. Objects, streams and modules end with their context.
#include "inject/collectives/collectives.h"
#include "inject/probe/probe.h"
#include "inject/shadow/shadow.h"

// Announces a new context's number at once, with its device.
static void made(struct core_call *call, const CUcontext *context, CUdevice device)
{
    if (call->result == CUDA_SUCCESS && context && *context)
        call->context = core_context_of(*context, device);
    collectives_look();
}

#define MADE(symbol, params, args)                                                    \
    HOOKED(                                                                           \
        symbol, params, args, NO_STREAM, { call.wanted_device = (uint32_t)dev + 1; }, \
        { made(&call, pctx, dev); })

MADE(cuCtxCreate, (CUcontext * pctx, unsigned flags, CUdevice dev), (pctx, flags, dev))
MADE(cuCtxCreate_v2, (CUcontext * pctx, unsigned flags, CUdevice dev), (pctx, flags, dev))
MADE(cuCtxCreate_v3,
     (CUcontext * pctx, CUexecAffinityParam *params, int count, unsigned flags, CUdevice dev),
     (pctx, params, count, flags, dev))
MADE(cuCtxCreate_v4, (CUcontext * pctx, CUctxCreateParams *params, unsigned flags, CUdevice dev),
     (pctx, params, flags, dev))

HOOKED(
    cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), (pctx, dev), NO_STREAM,
    { call.wanted_device = (uint32_t)dev + 1; },
    {
        made(&call, pctx, dev);
        if (result == CUDA_SUCCESS && call.context)
            call.context->primary = true;
    })

// Announces the end of the context to other threads, which stop using it. context: as known before
// the call, because it cannot be queried afterwards; NULL: unknown.
static void ends(struct core_call *call, struct core_context *context)
{
    call->context = context;
    if (probe_state && context && context == call->current)
        shadow_context_end(context);
    if (core_state.timestamps && context)
        core_gpu_time_collect_context(context);
    if (context) {
        atomic_store(&context->ending, true);
        core_await_asking();
    }
}

static void ended(const struct core_call *call)
{
    if (!call->context)
        return;
    if (call->result == CUDA_SUCCESS && core_call_ends_context(call))
        core_context_end(call->context, call->number);
    else
        atomic_store(&call->context->ending, false);
}

#define ENDED(symbol)                              \
    HOOKED(                                        \
        symbol, (CUcontext ctx), (ctx), NO_STREAM, \
        { ends(&call, ctx ? core_context_known(ctx) : call.context); }, { ended(&call); })

ENDED(cuCtxDestroy)
ENDED(cuCtxDestroy_v2)
ENDED(cuCtxDetach) // drops the reference that cuCtxAttach took

// Heaps and stacks of kernels take memory, so glint may have to give some back (CALLED_WITH).
HOOKED(cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value), NO_STREAM, {}, {})

static struct core_context *primary_of(CUdevice device)
{
    struct core_context *found = NULL;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.contexts.count && !found; i++) {
        struct core_context *context = core_context_at(i);
        if (context && context->primary && context->device == (uint32_t)device + 1)
            found = context;
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return found;
}

#define GIVEN_UP(symbol)                                                             \
    HOOKED(                                                                          \
        symbol, (CUdevice dev), (dev), NO_STREAM, { ends(&call, primary_of(dev)); }, \
        { ended(&call); })

GIVEN_UP(cuDevicePrimaryCtxRelease)
GIVEN_UP(cuDevicePrimaryCtxRelease_v2)
GIVEN_UP(cuDevicePrimaryCtxReset)
GIVEN_UP(cuDevicePrimaryCtxReset_v2)
