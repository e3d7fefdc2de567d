// SPDX-License-Identifier: Apache-2.0
// Fences: events behind the work that may still use what was freed.
#include "fence.h"

#include <stdlib.h>

#include "inject/core/call.h"

void fence_leave(struct fences *fences, struct block_fence *fence)
{
    if (--fence->users)
        return;
    CUevent *spare = base_array_push(&fences->spare);
    if (spare)
        *spare = fence->event;
    else
        REAL(cuEventDestroy_v2)(fence->event);
    struct block_fence *moved = fences->live.items[--fences->live.count];
    fences->live.items[fence->place] = moved;
    moved->place = fence->place;
    if (fences->recent[fence->stream % FENCES_RECENT] == fence)
        fences->recent[fence->stream % FENCES_RECENT] = NULL;
    free(fence);
}

CUresult fence_ask(struct block_fence *fence)
{
    if (fence->done)
        return CUDA_SUCCESS;
    const CUresult result = REAL(cuEventQuery)(fence->event);
    fence->done = result == CUDA_SUCCESS;
    return result;
}

void fence_wait(struct block_fence *fence)
{
    if (!fence->done)
        REAL(cuEventSynchronize)(fence->event);
    fence->done = true; // or there is no work on this device any more
}

// Behind all that the stream was given; NULL: it cannot be. The context is the thread's. One that
// is there already serves, where nothing has come since.
static struct block_fence *fence_put(struct fences *fences, const struct stream *stream)
{
    const uint64_t work = atomic_load(&stream->enqueued);
    struct block_fence **recent = &fences->recent[stream->number % FENCES_RECENT];
    if (*recent && (*recent)->stream == stream->number && (*recent)->work == work) {
        (*recent)->users++;
        return *recent;
    }
    struct block_fence *fence = calloc(1, sizeof(*fence));
    struct block_fence **place = fence ? base_array_push(&fences->live) : NULL;
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
    *fence = (struct block_fence){.event = event,
                                  .stream = stream->number,
                                  .work = work,
                                  .users = 1,
                                  .place = fences->live.count - 1};
    *place = fence;
    *recent = fence;
    return fence;
}

void fences_leave(struct fences *fences, struct block *block)
{
    while (block->fence_count)
        fence_leave(fences, block->fences[--block->fence_count]);
}

// Takes over the caller's use of the fence. False: there is no room for it.
static bool add_fence(struct fences *fences, struct block *block, struct block_fence *fence)
{
    for (unsigned i = 0; i < block->fence_count; i++) {
        if (block->fences[i] == fence) {
            fence_leave(fences, fence);
            return true;
        }
    }
    if (block->fence_count == BLOCK_MOST_FENCES) {
        fence_leave(fences, fence);
        return false;
    }
    block->fences[block->fence_count++] = fence;
    return true;
}

// --- What is pending -----------------------------------------------------------------------------

// Puts a fence behind what is pending on the stream. False: that cannot be known.
static bool fence_stream(struct fences *fences, struct block *block, struct stream *stream)
{
    const uint64_t enqueued = atomic_load(&stream->enqueued);
    if (enqueued == atomic_load(&stream->idle))
        return true;
    if (!stream_can_name(stream, NULL, fences->context))
        return false;
    const CUresult result = REAL(cuStreamQuery)(stream->handle);
    if (result == CUDA_SUCCESS)
        atomic_store(&stream->idle, enqueued);
    if (result != CUDA_ERROR_NOT_READY)
        return result == CUDA_SUCCESS;
    struct block_fence *fence = fence_put(fences, stream);
    return fence && add_fence(fences, block, fence);
}

// The fences of streams that are gone.
static bool fence_orphans(struct fences *fences, struct block *block)
{
    for (size_t i = fences->orphans.count; i-- > 0;) {
        struct block_fence *fence = fences->orphans.items[i];
        const CUresult result = fence_ask(fence);
        if (result == CUDA_SUCCESS) {
            fences->orphans.items[i] = fences->orphans.items[--fences->orphans.count];
            fence_leave(fences, fence);
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

bool fences_put(struct fences *fences, struct block *block)
{
    struct stream *streams[CALL_MOST_STREAMS];
    const size_t count = streams_of(fences->context, false, streams, CALL_MOST_STREAMS);
    bool good = count < CALL_MOST_STREAMS && fence_orphans(fences, block);
    for (size_t i = 0; i < count && good; i++)
        good = fence_stream(fences, block, streams[i]);
    if (!good)
        fences_leave(fences, block);
    return good;
}

void fences_orphan(struct fences *fences, struct stream *stream, const struct context *current)
{
    if (atomic_load(&stream->enqueued) == atomic_load(&stream->idle))
        return;
    struct block_fence *fence = stream->context == current && stream_can_name(stream, NULL, current)
                                    ? fence_put(fences, stream)
                                    : NULL;
    struct block_fence **place = fence ? base_array_push(&fences->orphans) : NULL;
    if (place)
        *place = fence;
    else if (fence)
        fence_leave(fences, fence);
    fences->unsure |= !place;
}

void fences_end(struct fences *fences)
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
