// SPDX-License-Identifier: Apache-2.0
// Fences: events behind the work that may still use freed memory.
#include "fence.h"

#include <stdlib.h>

#include "inject/core/call.h"

void correct_fence_leave(struct correct_fences *fences, struct correct_fence *fence)
{
    if (--fence->users)
        return;
    CUevent *spare = base_array_push(&fences->spare);
    if (spare)
        *spare = fence->event;
    else
        REAL(cuEventDestroy_v2)(fence->event);
    struct correct_fence *moved = fences->live.items[--fences->live.count];
    fences->live.items[fence->place] = moved;
    moved->place = fence->place;
    if (fences->recent[fence->stream % CORRECT_FENCES_RECENT] == fence)
        fences->recent[fence->stream % CORRECT_FENCES_RECENT] = NULL;
    free(fence);
}

CUresult correct_fence_ask(struct correct_fence *fence)
{
    if (fence->done)
        return CUDA_SUCCESS;
    const CUresult result = REAL(cuEventQuery)(fence->event);
    fence->done = result == CUDA_SUCCESS;
    return result;
}

void correct_fence_wait(struct correct_fence *fence)
{
    if (!fence->done)
        REAL(cuEventSynchronize)(fence->event);
    fence->done = true; // or the device has no work any more
}

// Returns a fence behind all work of the stream; NULL: failed. The context must be current. Reuses
// the last fence if nothing was enqueued since.
static struct correct_fence *fence_put(struct correct_fences *fences,
                                       const struct core_stream *stream)
{
    const uint64_t work = atomic_load(&stream->enqueued);
    struct correct_fence **recent = &fences->recent[stream->number % CORRECT_FENCES_RECENT];
    if (*recent && (*recent)->stream == stream->number && (*recent)->work == work) {
        (*recent)->users++;
        return *recent;
    }
    struct correct_fence *fence = calloc(1, sizeof(*fence));
    struct correct_fence **place = fence ? base_array_push(&fences->live) : NULL;
    CUevent event = fences->spare.count ? fences->spare.items[--fences->spare.count] : NULL;
    if (place && !event && REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        event = NULL;
    if (!place || !event || REAL(cuEventRecord)(event, stream->handle) != CUDA_SUCCESS) {
        CUevent *spare = event ? base_array_push(&fences->spare) : NULL;
        if (spare)
            *spare = event;
        else if (event)
            REAL(cuEventDestroy_v2)(event);
        fences->live.count -= place != NULL;
        free(fence);
        return NULL;
    }
    *fence = (struct correct_fence){.event = event,
                                    .stream = stream->number,
                                    .work = work,
                                    .users = 1,
                                    .place = fences->live.count - 1};
    *place = fence;
    *recent = fence;
    return fence;
}

void correct_fences_leave(struct correct_fences *fences, struct correct_block *block)
{
    while (block->fence_count)
        correct_fence_leave(fences, block->fences[--block->fence_count]);
}

// Takes over the caller's reference to the fence. Returns false if there is no room for it.
static bool add_fence(struct correct_fences *fences, struct correct_block *block,
                      struct correct_fence *fence)
{
    for (unsigned i = 0; i < block->fence_count; i++) {
        if (block->fences[i] == fence) {
            correct_fence_leave(fences, fence);
            return true;
        }
    }
    if (block->fence_count == CORRECT_BLOCK_MOST_FENCES) {
        correct_fence_leave(fences, fence);
        return false;
    }
    block->fences[block->fence_count++] = fence;
    return true;
}

// --- What is pending -----------------------------------------------------------------------------

// Puts a fence behind pending work of the stream. Returns false if it is unknown what is pending.
static bool fence_stream(struct correct_fences *fences, struct correct_block *block,
                         struct core_stream *stream)
{
    const uint64_t enqueued = atomic_load(&stream->enqueued);
    if (enqueued == atomic_load(&stream->idle))
        return true;
    if (!core_stream_can_name(stream, NULL, fences->context))
        return false;
    const CUresult result = REAL(cuStreamQuery)(stream->handle);
    if (result == CUDA_SUCCESS)
        atomic_store(&stream->idle, enqueued);
    if (result != CUDA_ERROR_NOT_READY)
        return result == CUDA_SUCCESS;
    struct correct_fence *fence = fence_put(fences, stream);
    return fence && add_fence(fences, block, fence);
}

// Adds the fences of destroyed streams.
static bool fence_orphans(struct correct_fences *fences, struct correct_block *block)
{
    for (size_t i = fences->orphans.count; i-- > 0;) {
        struct correct_fence *fence = fences->orphans.items[i];
        const CUresult result = correct_fence_ask(fence);
        if (result == CUDA_SUCCESS) {
            fences->orphans.items[i] = fences->orphans.items[--fences->orphans.count];
            correct_fence_leave(fences, fence);
            continue;
        }
        if (result != CUDA_ERROR_NOT_READY)
            return false;
        fence->users++;
        if (!add_fence(fences, block, fence))
            return false;
    }
    return !fences->unsure;
}

bool correct_fences_put(struct correct_fences *fences, struct correct_block *block)
{
    struct core_stream *streams[CALL_MOST_STREAMS];
    const size_t count = core_streams_of(fences->context, false, streams, CALL_MOST_STREAMS);
    bool good = count < CALL_MOST_STREAMS && fence_orphans(fences, block);
    for (size_t i = 0; i < count && good; i++)
        good = fence_stream(fences, block, streams[i]);
    if (!good)
        correct_fences_leave(fences, block);
    return good;
}

void correct_fences_orphan(struct correct_fences *fences, struct core_stream *stream,
                           const struct core_context *current)
{
    if (atomic_load(&stream->enqueued) == atomic_load(&stream->idle))
        return;
    struct correct_fence *fence =
        stream->context == current && core_stream_can_name(stream, NULL, current)
            ? fence_put(fences, stream)
            : NULL;
    struct correct_fence **place = fence ? base_array_push(&fences->orphans) : NULL;
    if (place)
        *place = fence;
    else if (fence)
        correct_fence_leave(fences, fence);
    fences->unsure |= !place;
}

void correct_fences_end(struct correct_fences *fences)
{
    for (size_t i = 0; i < fences->live.count; i++) {
        REAL(cuEventDestroy_v2)(fences->live.items[i]->event);
        free(fences->live.items[i]);
    }
    for (size_t i = 0; i < fences->spare.count; i++)
        REAL(cuEventDestroy_v2)(fences->spare.items[i]);
    base_array_fini(&fences->live);
    base_array_fini(&fences->orphans);
    base_array_fini(&fences->spare);
}
