// SPDX-License-Identifier: Apache-2.0
// Hooks of contexts. With a context all ends that was in it: objects, streams, modules.
#include "call.h"
#include "probe.h"

// A new context's number is announced at once, with its device.
static void made(struct call *call, const CUcontext *context, CUdevice device)
{
    if (call->result == CUDA_SUCCESS && context && *context)
        call->context = context_of(*context, device);
}

#define MADE(symbol, params, args) \
    HOOKED(symbol, params, args, NO_STREAM, {}, { made(&call, pctx, dev); })

MADE(cuCtxCreate, (CUcontext * pctx, unsigned flags, CUdevice dev), (pctx, flags, dev))
MADE(cuCtxCreate_v2, (CUcontext * pctx, unsigned flags, CUdevice dev), (pctx, flags, dev))
MADE(cuCtxCreate_v3,
     (CUcontext * pctx, CUexecAffinityParam *params, int count, unsigned flags, CUdevice dev),
     (pctx, params, count, flags, dev))
MADE(cuCtxCreate_v4, (CUcontext * pctx, CUctxCreateParams *params, unsigned flags, CUdevice dev),
     (pctx, params, flags, dev))

HOOKED(cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), (pctx, dev), NO_STREAM, {}, {
    made(&call, pctx, dev);
    if (result == CUDA_SUCCESS && call.context)
        call.context->primary = true;
})

// What the context is known as; it cannot be asked when it is gone.
static void ends(struct call *call, struct context *context)
{
    if (context)
        call->context = context;
    if (state.probes && context && context == call->current)
        shadow_context_end(context);
    if (state.timestamps && context)
        gpu_time_collect_context(context);
}

#define ENDED(symbol)                                              \
    HOOKED(                                                        \
        symbol, (CUcontext ctx), (ctx), NO_STREAM,                 \
        { ends(&call, ctx ? context_known(ctx) : call.context); }, \
        {                                                          \
            if (result == CUDA_SUCCESS && call.context)            \
                context_end(call.context, call.number);            \
        })

ENDED(cuCtxDestroy)
ENDED(cuCtxDestroy_v2)

// Gives back what cuCtxAttach took; the last one destroys, and only the current context can be it.
HOOKED(
    cuCtxDetach, (CUcontext ctx), (ctx), NO_STREAM,
    { ends(&call, ctx ? context_known(ctx) : call.context); },
    {
        struct context *now = context_current();
        if (result == CUDA_SUCCESS && call.context && now != call.context)
            context_end(call.context, call.number);
    })

static struct context *primary_of(CUdevice device)
{
    struct context *found = NULL;
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < state.contexts.count && !found; i++) {
        const struct base_map_entry *entry = &state.contexts.entries[i];
        struct context *context = (struct context *)(uintptr_t)entry->value; // NOLINT
        if (!entry->removed && context->primary && context->device == (uint32_t)device + 1)
            found = context;
    }
    pthread_mutex_unlock(&state.lock);
    return found;
}

// Resetting ends all that is in the context, however many still hold it.
static void primary_reset(struct call *call, struct context *context, CUdevice device)
{
    (void)device;
    if (call->result == CUDA_SUCCESS && context)
        context_end(context, call->number);
}

// It is gone when it is no longer active.
static void primary_released(struct call *call, struct context *context, CUdevice device)
{
    unsigned flags;
    int active = 1;
    if (REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) == CUDA_SUCCESS && !active)
        primary_reset(call, context, device);
}

#define GIVEN_UP(symbol, ended)                                                            \
    HOOKED(symbol, (CUdevice dev), (dev), NO_STREAM, struct context *of = primary_of(dev); \
           ends(&call, of), { ended(&call, of, dev); })

GIVEN_UP(cuDevicePrimaryCtxRelease, primary_released)
GIVEN_UP(cuDevicePrimaryCtxRelease_v2, primary_released)
GIVEN_UP(cuDevicePrimaryCtxReset, primary_reset)
GIVEN_UP(cuDevicePrimaryCtxReset_v2, primary_reset)
