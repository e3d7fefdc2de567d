// SPDX-License-Identifier: Apache-2.0
// What makes contents unknown: see known.h.
#include "known.h"

#include "inject/core/tail.h"
#include "memory.h"

// --- Several streams -----------------------------------------------------------------------------

bool shadow_is_concurrent(const struct shadow_contents *contents, const struct core_stream *stream)
{
    return !shadow_users_are_before(&contents->streams, stream);
}

// Both may write what is kept about the object, so that nothing is known until both have ended.
static void disturb(struct shadow_contents *contents)
{
    atomic_store(&contents->disturbed, contents->scans + 1);
    contents->epoch = UINT64_MAX;
}

void shadow_known_meet(struct shadow_contents *contents, const struct core_stream *stream,
                       uint64_t work)
{
    if (shadow_is_concurrent(contents, stream))
        disturb(contents);
    shadow_users_add(&contents->streams, stream, work);
}

// The preparation is counted first, and then the work.
void shadow_known_writes(struct shadow_contents *contents, const struct core_stream *stream)
{
    shadow_known_meet(contents, stream, atomic_load(&stream->enqueued) + 2);
}

struct device_values_job shadow_known_job(const struct shadow_contents *contents,
                                          const struct core_stream *stream)
{
    const bool crowded = shadow_is_concurrent(contents, stream);
    struct device_values_job job =
        shadow_contents_job(contents, crowded ? DEVICE_RANGE : DEVICE_MARKED);
    if (crowded) {
        job.from = job.first;
        job.to = job.end;
        job.describes = job.field_count = 0;
    }
    return job;
}

// --- Work that is not seen -----------------------------------------------------------------------

bool shadow_known_refresh(struct shadow *shadow, struct shadow_contents *contents,
                          struct core_stream *stream)
{
    const bool flying = !shadow_users_are_before(&shadow->unseen, stream);
    if (contents->epoch == shadow->unseen_work && !flying)
        return true;
    if (flying) // what it may still write is unknown, also after a scan
        disturb(contents);
    else
        contents->epoch = shadow->unseen_work;
    if (shadow_is_concurrent(contents, stream)) { // the memory is in use
        disturb(contents);
        return true;
    }
    contents->unseen = contents->undescribed = contents->known = false;
    struct shadow_block memory;
    shadow_contents_clearing(contents, &memory);
    core_tail_begin(stream);
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result = REAL(cuMemsetD8Async)(memory.address, 0, memory.bytes, stream->handle);
    shadow_restore(mode);
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "to clear memory", result);
    return result == CUDA_SUCCESS;
}

void shadow_known_unseen(struct shadow *shadow, const struct core_stream *stream)
{
    shadow->unseen_work++;
    if (!stream)
        return;
    shadow_users_add(&shadow->unseen, stream, atomic_load(&stream->enqueued));
    // It may come before scans of other streams that are in flight.
    for (size_t i = 0; shadow->lane_of.live > 1 && i < shadow->contents.count; i++) {
        const struct base_map_entry *entry = &shadow->contents.entries[i];
        struct shadow_contents *contents =
            (struct shadow_contents *)(uintptr_t)entry->value; // NOLINT
        if (!entry->removed && shadow_is_concurrent(contents, stream) &&
            atomic_load(&contents->disturbed) < contents->scans)
            atomic_store(&contents->disturbed, contents->scans);
    }
}

static void unseen_in(struct core_context *context, const struct core_stream *stream)
{
    struct shadow *shadow = context ? atomic_load(&context->shadow) : NULL;
    if (!shadow)
        return;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_known_unseen(shadow, stream);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

void shadow_unseen_anywhere(const struct core_stream *stream)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.contexts.count; i++)
        unseen_in(core_context_at(i), stream);
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

void shadow_unseen_others(const struct core_stream *stream)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.contexts.count; i++) {
        struct core_context *context = core_context_at(i);
        if (context != stream->context)
            unseen_in(context, stream);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

void shadow_unseen_work(struct core_context *context, const struct core_stream *stream)
{
    if (atomic_load_explicit(&core_state.peers, memory_order_relaxed))
        shadow_unseen_anywhere(stream);
    else
        unseen_in(context, stream);
}
