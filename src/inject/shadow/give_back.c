// SPDX-License-Identifier: Apache-2.0
// Gives memory of the GPU back when the program finds none: first what nothing uses; if that is not
// enough, everything, and then nothing more is watched. Launches that are in flight write to it, so
// glint waits for them. CUDA lets an allocation wait for the GPU, but work that runs may wait for
// the thread that allocates; so glint waits for a bounded time in which nothing arrives, once.
#include <time.h>

#include "code.h"
#include "contents.h"
#include "element.h"
#include "lane.h"
#include "malloc.h"
#include "map.h"
#include "memory.h"
#include "repeats.h"
#include "shadow.h"
#include "table.h"

enum {
    MOST_CONTEXTS = 16, // of a device
    PATIENCE_S = 30,    // without results
    PAUSE_NS = 50000,
};

// Lists contexts of the device for which there is memory, and adds up how much.
static size_t list(uint32_t device, struct core_context *contexts[MOST_CONTEXTS], uint64_t *bytes)
{
    size_t count = 0;
    *bytes = 0;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.contexts.count && count < MOST_CONTEXTS; i++) {
        struct core_context *context = core_context_at(i);
        struct shadow *shadow = context ? atomic_load(&context->shadow) : NULL;
        if (!shadow || context->device != device || atomic_load(&context->ending))
            continue;
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        const uint64_t held = shadow->device.slab_bytes;
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
        if (held)
            contexts[count++] = context;
        *bytes += held;
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return count;
}

uint64_t shadow_held_bytes(uint32_t device)
{
    struct core_context *contexts[MOST_CONTEXTS];
    uint64_t bytes = 0;
    if (atomic_load_explicit(&core_state.shadows, memory_order_relaxed))
        list(device, contexts, &bytes);
    return bytes;
}

static bool enter(struct core_context *context, bool *pushed)
{
    *pushed = core_context_current() != context;
    return !*pushed || REAL(cuCtxPushCurrent_v2)(context->handle) == CUDA_SUCCESS;
}

static void leave(bool pushed)
{
    CUcontext popped;
    if (pushed)
        REAL(cuCtxPopCurrent_v2)(&popped);
}

bool shadow_trim(uint32_t device)
{
    struct core_context *contexts[MOST_CONTEXTS];
    bool any = false, pushed;
    uint64_t bytes;
    const size_t count = list(device, contexts, &bytes);
    for (size_t i = 0; i < count; i++) {
        struct shadow *shadow = atomic_load(&contexts[i]->shadow);
        if (!enter(contexts[i], &pushed))
            continue;
        shadow_collect_all(shadow);
        struct shadow_slabs unused = {0};
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        shadow_take_unused(&shadow->device, &unused);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
        if (unused.count)
            any |= shadow_free_slabs(shadow, &shadow->device, &unused);
        leave(pushed);
    }
    return any;
}

// Returns whether work on glint's stream may use device memory. With shadow->lock held.
static bool prepares(struct shadow *shadow)
{
    if (!shadow->own_pending)
        return false;
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result = REAL(cuEventQuery)(shadow->own_event);
    shadow_restore(mode);
    return result == CUDA_ERROR_NOT_READY;
}

// Forgets what lies in device memory, and frees that, if nothing uses it any more. Returns false if
// something does.
static bool free_all(struct shadow *shadow, bool *freed)
{
    struct shadow_slabs slabs = {0};
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    const bool used = shadow->lane_of.live || shadow->nodes || shadow->maps || shadow->traces ||
                      shadow->oldest || prepares(shadow) || !shadow_malloc_leave(shadow);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    if (used)
        return false;
    // No lane is made any more, so nothing can begin to use the memory.
    for (struct shadow_lane *lane = atomic_load(&shadow->lanes); lane; lane = lane->next) {
        util_mutex_lock(&lane->lock, RANK_LANE);
        shadow_lane_forget(lane);
        util_mutex_unlock(&lane->lock, RANK_LANE);
    }
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    atomic_store(&shadow->failed, true);
    shadow_element_forget(shadow);
    shadow_repeats_forget(shadow);
    shadow_contents_forget(shadow);
    shadow_table_drop(shadow, shadow->table);
    shadow->table = NULL;
    shadow_code_unload(shadow);
    shadow_take_all(&shadow->device, &slabs);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    *freed |= shadow_free_slabs(shadow, &shadow->device, &slabs);
    return true;
}

static bool end(struct core_context *context,
                void (*leave_nodes)(const struct core_context *context))
{
    const struct timespec pause = {0, PAUSE_NS};
    struct shadow *shadow = atomic_load(&context->shadow);
    bool pushed, freed = false;
    if (!enter(context, &pushed))
        return false;
    if (!atomic_exchange(&shadow->ending, true) && !atomic_load(&shadow->failed))
        core_note(EVENT_WARNING, "what kernels touch is unknown from here on: the program needs "
                                 "all memory of the GPU, so glint has given back its own");
    const uint64_t most_ns = shadow->impatient ? 0 : PATIENCE_S * (uint64_t)1000000000;
    uint64_t landed = atomic_load(&shadow->landed), until = core_now_ns() + most_ns;
    for (;;) {
        leave_nodes(context);
        const bool done = shadow_collect_all(shadow);
        if (done && free_all(shadow, &freed))
            break;
        if (core_now_ns() >= until) {
            shadow->impatient = true;
            break;
        }
        nanosleep(&pause, NULL);
        if (atomic_load(&shadow->landed) == landed)
            continue;
        landed = atomic_load(&shadow->landed);
        until = core_now_ns() + most_ns;
    }
    leave(pushed);
    return freed;
}

bool shadow_end(uint32_t device, void (*leave_nodes)(const struct core_context *context))
{
    struct core_context *contexts[MOST_CONTEXTS];
    bool any = false;
    uint64_t bytes;
    const size_t count = list(device, contexts, &bytes);
    for (size_t i = 0; i < count; i++)
        any |= end(contexts[i], leave_nodes);
    return any;
}
