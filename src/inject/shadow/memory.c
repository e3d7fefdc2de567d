// SPDX-License-Identifier: Apache-2.0
// Memory for shadows: slabs from the driver, cut into blocks that are reused, and the stream on
// which blocks are prepared. The user can limit how much device memory this takes.
//
// When a block is given back, nothing in flight may use it. It is cleared when it is next taken, on
// glint's stream, so that the program's streams do not come to depend on one another: each waits
// only for glint's stream, which does no other work.
#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/core/tail.h"
#include "inject/util/settings.h"

enum {
    DEVICE_SLAB = 2 << 20, // sizes are multiples of it, as the driver's pages are
    PINNED_SLAB = 512 << 10,
    PINNED_LIMIT = 64 << 20,
    FREE_FRACTION = 4, // of the device's free memory, if the user gives no limit
};

// --- Initialization ------------------------------------------------------------------------------

static uint64_t limit_of_device(void)
{
    const char *text = util_setting(EVENT_MAX_SHADOW_VARIABLE);
    char *end;
    const uint64_t wanted = text ? strtoull(text, &end, 10) : 0;
    if (text && *text && !*end)
        return wanted;
    size_t free_bytes = 0, total;
    if (REAL(cuMemGetInfo_v2)(&free_bytes, &total) != CUDA_SUCCESS)
        return 0;
    return free_bytes / FREE_FRACTION;
}

struct shadow *shadow_of(struct core_context *context)
{
    struct shadow *shadow = atomic_load(&context->shadow);
    if (shadow)
        return shadow;
    struct shadow *made = calloc(1, sizeof(*made));
    if (!made) {
        core_no_memory();
        return NULL;
    }
    made->context = context;
    pthread_mutex_init(&made->lock, NULL);
    made->settled_last = &made->settled;
    const char *maps = util_setting(EVENT_MAPS_VARIABLE);
    made->wants_maps = maps && strcmp(maps, "1") == 0;
    made->pinned.pinned = true;
    made->pinned.limit_bytes = PINNED_LIMIT;
    const CUstreamCaptureMode mode = shadow_relax();
    made->device.limit_bytes = limit_of_device();
    shadow_restore(mode);
    if (atomic_compare_exchange_strong(&context->shadow, &shadow, made)) {
        atomic_fetch_add(&core_state.shadows, 1);
        return made;
    }
    free(made);
    return shadow;
}

void shadow_fail(struct shadow *shadow, const char *what, CUresult result)
{
    char text[160];
    if (atomic_exchange(&shadow->failed, true))
        return;
    snprintf(text, sizeof(text),
             "what kernels touch is unknown from here on: the driver refuses %s (error %d)", what,
             (int)result);
    core_note(EVENT_WARNING, text);
}

struct shadow_kernel *shadow_kernel(struct shadow *shadow, uint32_t number,
                                    const struct instrument_kernel *kernel)
{
    bool added;
    uint64_t *place = base_map_put(&shadow->kernels, number, &added);
    if (place && added)
        *place = (uint64_t)(uintptr_t)calloc(1, sizeof(struct shadow_kernel));
    struct shadow_kernel *about =
        place ? (struct shadow_kernel *)(uintptr_t)*place : NULL; // NOLINT
    if (about)
        about->name = kernel->name;
    return about;
}

// --- Blocks --------------------------------------------------------------------------------------

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

// First fit: there are few free blocks, because neighbors are joined.
static bool take_free(struct shadow_heap *heap, uint64_t bytes, struct shadow_block *block)
{
    for (size_t i = 0; i < heap->free.count; i++) {
        struct shadow_block *from = &heap->free.items[i];
        if (from->bytes < bytes)
            continue;
        *block = (struct shadow_block){from->address, bytes};
        from->address += bytes;
        from->bytes -= bytes;
        if (!from->bytes) {
            memmove(from, from + 1, (heap->free.count - i - 1) * sizeof(*from));
            heap->free.count--;
        }
        return true;
    }
    return false;
}

void shadow_give(struct shadow_heap *heap, struct shadow_block *block)
{
    const struct shadow_block gone = *block;
    *block = (struct shadow_block){0};
    if (!gone.address)
        return;
    struct shadow_block *items = heap->free.items;
    const size_t low = base_search(0, heap->free.count, i, items[i].address < gone.address);
    const bool below = low && items[low - 1].address + items[low - 1].bytes == gone.address;
    const bool above = low < heap->free.count && gone.address + gone.bytes == items[low].address;
    if (below) {
        items[low - 1].bytes += gone.bytes;
        if (above) {
            items[low - 1].bytes += items[low].bytes;
            memmove(&items[low], &items[low + 1], (heap->free.count - low - 1) * sizeof(*items));
            heap->free.count--;
        }
    } else if (above) {
        items[low].address = gone.address;
        items[low].bytes += gone.bytes;
    } else if (base_array_push(&heap->free)) {
        items = heap->free.items;
        memmove(&items[low + 1], &items[low], (heap->free.count - low - 1) * sizeof(*items));
        items[low] = gone;
    } // otherwise it is lost until the context's end
}

static uint64_t slab_for(const struct shadow_heap *heap, uint64_t bytes)
{
    return round_up(bytes, heap->pinned ? PINNED_SLAB : DEVICE_SLAB);
}

// The last unit of each slab stays unused, so that blocks of adjacent slabs are never joined.
static bool add_slab(struct shadow *shadow, struct shadow_heap *heap, uint64_t bytes)
{
    bytes += SHADOW_ALIGN;
    uint64_t want = slab_for(heap, bytes);
    if (want > heap->limit_bytes - heap->slab_bytes)
        want = bytes; // the rest may still be enough
    if (want > heap->limit_bytes - heap->slab_bytes)
        return false;
    struct shadow_block slab = {0, want}, *place = base_array_push(&heap->slabs);
    if (!place) {
        core_no_memory();
        return false;
    }
    void *host = NULL;
    CUdeviceptr device = 0;
    const CUstreamCaptureMode mode = shadow_relax();
    // The driver may place the program's pinned allocations beside these, and then reports the same
    // flags for them (H200, driver 580). So the flags are those that the program gets by default.
    // With unified addresses, the memory is portable without the flag.
    const CUresult result = heap->pinned
                                ? REAL(cuMemHostAlloc)(&host, want, CU_MEMHOSTALLOC_DEVICEMAP)
                                : REAL(cuMemAlloc_v2)(&device, want);
    slab.address = heap->pinned ? (uint64_t)(uintptr_t)host : device;
    shadow_restore(mode);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        heap->limit_bytes = heap->slab_bytes; // the rest is left to the program
    else if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "memory for it", result);
    if (result != CUDA_SUCCESS) {
        heap->slabs.count--;
        return false;
    }
    *place = slab;
    heap->slab_bytes += want;
    slab.bytes -= SHADOW_ALIGN;
    shadow_give(heap, &slab);
    return true;
}

bool shadow_take(struct shadow *shadow, struct shadow_heap *heap, uint64_t bytes,
                 struct shadow_block *block)
{
    if (bytes > UINT64_MAX / 2 || (!heap->pinned && atomic_load(&shadow->ending)))
        return false;
    bytes = round_up(bytes, SHADOW_ALIGN);
    return take_free(heap, bytes, block) ||
           (add_slab(shadow, heap, bytes) && take_free(heap, bytes, block));
}

// Returns the index of the free block that is all of the slab; the number of blocks: there is none.
static size_t whole_of(const struct shadow_heap *heap, struct shadow_block slab)
{
    size_t i = 0;
    while (i < heap->free.count && (heap->free.items[i].address != slab.address ||
                                    heap->free.items[i].bytes != slab.bytes - SHADOW_ALIGN))
        i++;
    return i;
}

static void take_slab(struct shadow_heap *heap, size_t index, struct shadow_slabs *taken)
{
    struct shadow_block *place = base_array_push(taken), *slab = &heap->slabs.items[index];
    if (!place)
        return; // it stays as it is
    *place = *slab;
    *slab = heap->slabs.items[--heap->slabs.count];
}

void shadow_take_unused(struct shadow_heap *heap, struct shadow_slabs *taken)
{
    for (size_t i = heap->slabs.count; i-- > 0;) {
        const size_t whole = whole_of(heap, heap->slabs.items[i]);
        const size_t before = taken->count;
        if (whole == heap->free.count)
            continue;
        take_slab(heap, i, taken);
        if (taken->count > before)
            memmove(&heap->free.items[whole], &heap->free.items[whole + 1],
                    (--heap->free.count - whole) * sizeof(heap->free.items[0]));
    }
}

void shadow_take_all(struct shadow_heap *heap, struct shadow_slabs *taken)
{
    heap->free.count = 0;
    for (size_t i = heap->slabs.count; i-- > 0;)
        take_slab(heap, i, taken);
}

bool shadow_free_slabs(struct shadow *shadow, struct shadow_heap *heap, struct shadow_slabs *slabs)
{
    uint64_t bytes = 0;
    const CUstreamCaptureMode mode = shadow_relax();
    for (size_t i = 0; i < slabs->count; i++) {
        if (REAL(cuMemFree_v2)(slabs->items[i].address) == CUDA_SUCCESS)
            bytes += slabs->items[i].bytes;
    }
    shadow_restore(mode);
    base_array_fini(slabs);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    heap->slab_bytes -= bytes;
    heap->limit_bytes = heap->slab_bytes; // the rest is left to the program
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    return bytes != 0;
}

void *shadow_host(struct shadow_block block)
{
    return (void *)(uintptr_t)block.address; // NOLINT(performance-no-int-to-ptr)
}

// --- glint's stream ------------------------------------------------------------------------------

static bool own_ready(struct shadow *shadow)
{
    if (shadow->own_event)
        return true;
    CUresult result =
        shadow->own ? CUDA_SUCCESS : REAL(cuStreamCreate)(&shadow->own, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        result = REAL(cuEventCreate)(&shadow->own_event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "a stream for it", result);
    return result == CUDA_SUCCESS;
}

static bool own_enqueued(struct shadow *shadow, CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        result = REAL(cuEventRecord)(shadow->own_event, shadow->own);
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, what, result);
    shadow->own_pending = true;
    return result == CUDA_SUCCESS;
}

bool shadow_own_clear(struct shadow *shadow, struct shadow_block block)
{
    const CUstreamCaptureMode mode = shadow_relax();
    const bool good =
        own_ready(shadow) &&
        own_enqueued(shadow, REAL(cuMemsetD8Async)(block.address, 0, block.bytes, shadow->own),
                     "to clear memory");
    shadow_restore(mode);
    return good;
}

bool shadow_own_copy(struct shadow *shadow, uint64_t to, struct shadow_block *staging,
                     uint64_t bytes)
{
    const CUstreamCaptureMode mode = shadow_relax();
    const bool good =
        own_ready(shadow) &&
        own_enqueued(shadow,
                     REAL(cuMemcpyHtoDAsync_v2)(to, shadow_host(*staging), bytes, shadow->own),
                     "a copy to the device");
    shadow_restore(mode);
    struct shadow_block *place = base_array_push(&shadow->staging);
    if (place)
        *place = *staging;
    *staging = (struct shadow_block){0};
    return good;
}

bool shadow_own_fetch(struct shadow *shadow, void *to, uint64_t from, uint64_t bytes, CUevent event)
{
    const CUstreamCaptureMode mode = shadow_relax();
    CUresult result = own_ready(shadow) ? REAL(cuMemcpyDtoHAsync_v2)(to, from, bytes, shadow->own)
                                        : CUDA_ERROR_UNKNOWN;
    if (result == CUDA_SUCCESS)
        result = REAL(cuEventRecord)(event, shadow->own);
    shadow_restore(mode);
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "read-back of maps", result);
    return result == CUDA_SUCCESS;
}

bool shadow_own_wait(struct shadow *shadow, struct core_stream *stream)
{
    if (!shadow->own_pending)
        return true;
    const CUstreamCaptureMode mode = shadow_relax();
    CUresult result = REAL(cuEventQuery)(shadow->own_event);
    if (result == CUDA_SUCCESS) {
        shadow->own_pending = false;
        for (size_t i = 0; i < shadow->staging.count; i++)
            shadow_give(&shadow->pinned, &shadow->staging.items[i]);
        shadow->staging.count = 0;
    } else if (result == CUDA_ERROR_NOT_READY) {
        core_tail_begin(stream);
        result = REAL(cuStreamWaitEvent)(stream->handle, shadow->own_event, 0);
    }
    shadow_restore(mode);
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "to wait for its own work", result);
    return result == CUDA_SUCCESS;
}

CUevent shadow_event_take(struct shadow *shadow)
{
    CUevent event = NULL;
    if (shadow->events.count)
        return shadow->events.items[--shadow->events.count];
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result = REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);
    shadow_restore(mode);
    if (result != CUDA_SUCCESS) {
        shadow_fail(shadow, "an event", result);
        return NULL;
    }
    return event;
}

void shadow_event_give(struct shadow *shadow, CUevent event)
{
    CUevent *place = event ? base_array_push(&shadow->events) : NULL;
    if (place)
        *place = event;
}
