// SPDX-License-Identifier: Apache-2.0
// Lanes: device memory for the launches of one stream at object level, and how its contents are
// read back.
//
// The memory of a lane is cleared between batches in the order of the stream, so one piece of it
// serves any number of queued launches. It is cleared before the next batch, not behind the copy:
// what copies is another part of the GPU than what clears and runs kernels, and if processes share
// the GPU in turn, each change to the other part may cost a turn. Each batch is copied to its own
// pinned memory. That is allocated before the batch begins, so that no launch is watched whose
// results cannot be read.
#include "lane.h"

#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "inject/core/tail.h"
#include "malloc.h"
#include "memory.h"
#include "reduce.h"
#include "scan.h"
#include "table.h"
#include "tell.h"
#include "trace.h"
#include "weigh.h"

enum {
    FLAGS_BYTES = 32 << 10, // of a lane
    FRAMES_BYTES = 16 << 10,
    MOST_FRAMES = 32,
    FRAME_ALIGN = 16,
};

// --- Lanes of streams ----------------------------------------------------------------------------

static struct shadow_lane *lane_at(struct shadow *shadow, uint32_t stream_number)
{
    const uint64_t *place = base_map_get(&shadow->lane_of, stream_number);
    return place ? (struct shadow_lane *)(uintptr_t)*place : NULL; // NOLINT
}

// Returns a lane that no stream uses, or a new one. With shadow->lock held.
static struct shadow_lane *lane_free(struct shadow *shadow)
{
    struct shadow_lane *lane = atomic_load(&shadow->lanes);
    while (lane && lane->stream_number)
        lane = lane->next;
    if (lane)
        return lane;
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NULL;
    lane->shadow = shadow;
    pthread_mutex_init(&lane->lock, NULL);
    lane->next = atomic_load(&shadow->lanes);
    atomic_store(&shadow->lanes, lane);
    return lane;
}

struct shadow_lane *shadow_lane_take(struct shadow *shadow, struct core_stream *stream)
{
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_lane *lane = lane_at(shadow, stream->number);
    if (!lane && !atomic_load(&shadow->ending)) {
        lane = lane_free(shadow);
        uint64_t *place = lane ? base_map_put(&shadow->lane_of, stream->number, NULL) : NULL;
        if (place) {
            *place = (uint64_t)(uintptr_t)lane;
            lane->stream_number = stream->number;
        } else {
            core_no_memory();
            lane = NULL;
        }
    }
    if (lane)
        lane->users++;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    if (lane) {
        util_mutex_lock(&lane->lock, RANK_LANE);
        lane->stream = stream;
    }
    return lane;
}

struct shadow_lane *shadow_lane_held(struct shadow *shadow, struct core_stream *stream)
{
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_lane *lane = lane_at(shadow, stream->number);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    return lane;
}

void shadow_lane_leave(struct shadow_lane *lane)
{
    struct shadow *shadow = lane->shadow;
    const bool idle = !lane->open && !lane->flying;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    if (--lane->users == 0 && idle) {
        base_map_remove(&shadow->lane_of, lane->stream_number);
        lane->stream_number = 0;
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    util_mutex_unlock(&lane->lock, RANK_LANE);
}

// --- Batches -------------------------------------------------------------------------------------

void shadow_batch_give(struct shadow_batch *batch, struct shadow_block *block)
{
    struct shadow_block *place = block->address ? base_array_push(&batch->leftovers) : NULL;
    if (place)
        *place = *block; // otherwise it is lost until the context's end
    *block = (struct shadow_block){0};
}

void shadow_lane_give(struct shadow_lane *lane, struct shadow_block *block)
{
    struct shadow_batch *last = lane->flying;
    while (last && last->next)
        last = last->next;
    if (last)
        shadow_batch_give(last, block);
    else
        shadow_give(&lane->shadow->device, block);
}

void shadow_batch_free(struct shadow *shadow, struct shadow_batch *batch)
{
    while (batch->first) {
        struct shadow_ticket *ticket = batch->first;
        batch->first = ticket->next;
        shadow_ticket_free(ticket);
    }
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_scan_free(shadow, batch->scans);
    shadow_weigh_free(shadow, batch->weighing);
    shadow_event_give(shadow, batch->event);
    shadow_give(&shadow->pinned, &batch->landing);
    for (size_t i = 0; i < batch->leftovers.count; i++)
        shadow_give(&shadow->device, &batch->leftovers.items[i]);
    for (size_t i = 0; i < batch->staging.count; i++)
        shadow_give(&shadow->pinned, &batch->staging.items[i]);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    base_array_fini(&batch->leftovers);
    base_array_fini(&batch->staging);
    free(batch);
}

struct shadow_batch *shadow_batch_make(struct shadow *shadow, uint64_t bytes, bool event)
{
    struct shadow_batch *batch = calloc(1, sizeof(*batch));
    if (!batch)
        return NULL;
    batch->last = &batch->first;
    batch->event = event ? shadow_event_take(shadow) : NULL;
    if ((event && !batch->event) || !shadow_take(shadow, &shadow->pinned, bytes, &batch->landing)) {
        shadow_event_give(shadow, batch->event);
        free(batch);
        return NULL;
    }
    return batch;
}

void shadow_batch_add(struct shadow_batch *batch, struct shadow_ticket *ticket)
{
    *batch->last = ticket;
    batch->last = &ticket->next;
}

void shadow_lane_fly(struct shadow_lane *lane, struct shadow_batch *batch)
{
    struct shadow_batch **place = &lane->flying;
    while (*place)
        place = &(*place)->next;
    *place = batch;
}

// Copies the used part of an area to where it lands.
static CUresult fetch(uint64_t area, uint64_t bytes, unsigned char *to, CUstream stream)
{
    return bytes ? REAL(cuMemcpyDtoHAsync_v2)(to, area, bytes, stream) : CUDA_SUCCESS;
}

static CUresult clear(uint64_t area, uint64_t bytes, CUstream stream)
{
    return bytes ? REAL(cuMemsetD8Async)(area, 0, bytes, stream) : CUDA_SUCCESS;
}

static uint64_t frames_at(const struct shadow_lane *lane) // they follow the tables
{
    return lane->frames.bytes - lane->frame_count * lane->frame_bytes;
}

void shadow_lane_close(struct shadow_lane *lane, CUstream stream)
{
    struct shadow_batch *batch = lane->open;
    if (!batch)
        return;
    unsigned char *to = shadow_host(batch->landing);
    if (stream == lane->stream->handle)
        core_tail_begin(lane->stream);
    const CUstreamCaptureMode mode = shadow_relax();
    CUresult result = fetch(lane->flags.address, lane->flags_used, to, stream);
    if (result == CUDA_SUCCESS)
        result = fetch(lane->frames.address + frames_at(lane),
                       lane->frames_used * lane->frame_bytes, to + lane->flags.bytes, stream);
    if (result == CUDA_SUCCESS)
        result = REAL(cuEventRecord)(batch->event, stream);
    shadow_restore(mode);
    lane->open = NULL;
    lane->flags_dirty = lane->flags_used;
    lane->frames_dirty = lane->frames_used * lane->frame_bytes;
    lane->flags_used = 0;
    lane->frames_used = 0;
    lane->closed_ns = core_now_ns();
    if (result != CUDA_SUCCESS) {
        shadow_fail(lane->shadow, "read-back", result);
        shadow_batch_free(lane->shadow, batch);
        return;
    }
    shadow_lane_fly(lane, batch);
}

static void tell_batch(const struct shadow_batch *batch)
{
    const unsigned char *landed = shadow_host(batch->landing);
    for (struct shadow_ticket *ticket = batch->first; ticket; ticket = ticket->next) {
        if (ticket->result)
            shadow_tell_record(ticket);
        else
            shadow_tell(ticket, landed + ticket->flags_at, landed + ticket->frame_at);
        shadow_tell_trace(ticket);
    }
    shadow_scan_tell(batch->scans);
    shadow_weigh_tell(batch->weighing);
}

static CUresult has_landed(const struct shadow *shadow, const struct shadow_batch *batch)
{
    if (!batch->event)
        return shadow_reduce_landed(batch)  ? CUDA_SUCCESS
               : atomic_load(&shadow->dead) ? CUDA_ERROR_LAUNCH_FAILED
                                            : CUDA_ERROR_NOT_READY;
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result = REAL(cuEventQuery)(batch->event);
    shadow_restore(mode);
    return result;
}

bool shadow_lane_tell(struct shadow_lane *lane)
{
    while (lane->flying) {
        struct shadow_batch *batch = lane->flying;
        const CUresult result = has_landed(lane->shadow, batch);
        if (result == CUDA_ERROR_NOT_READY)
            return false;
        if (result == CUDA_SUCCESS && !batch->untold)
            tell_batch(batch);
        else if (result != CUDA_SUCCESS)
            shadow_fail(lane->shadow, "read-back", result);
        atomic_fetch_add_explicit(&lane->shadow->landed, 1, memory_order_relaxed);
        lane->flying = batch->next;
        shadow_batch_free(lane->shadow, batch);
    }
    return true;
}

void shadow_lane_forget(struct shadow_lane *lane)
{
    struct shadow *shadow = lane->shadow;
    if (lane->open)
        shadow_batch_free(shadow, lane->open);
    lane->open = NULL;
    while (lane->flying) {
        struct shadow_batch *batch = lane->flying;
        lane->flying = batch->next;
        shadow_batch_free(shadow, batch);
    }
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_table_drop(shadow, lane->table);
    lane->table = NULL;
    shadow_pad_fini(shadow, &lane->pad);
    lane->flags = lane->frames = lane->scan_work = lane->weigh_work = (struct shadow_block){0};
    lane->frame_count = 0;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

// --- Room for a launch ---------------------------------------------------------------------------

// Needs shadow->lock, and no open batch.
static bool make_flags(struct shadow_lane *lane, uint64_t bytes)
{
    struct shadow *shadow = lane->shadow;
    shadow_lane_give(lane, &lane->flags);
    lane->flags_dirty = 0;
    return shadow_take(shadow, &shadow->device, bytes, &lane->flags) &&
           shadow_own_clear(shadow, lane->flags);
}

// Allocates frames for the table, which the lane then holds. Each frame begins with its strays.
// Needs shadow->lock, and no open batch.
static bool make_frames(struct shadow_lane *lane, struct shadow_table *table)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_block staging = {0};
    shadow_lane_give(lane, &lane->frames);
    lane->frames_dirty = 0;
    shadow_table_drop(shadow, lane->table);
    lane->table = NULL;
    lane->frame_bytes = (sizeof(struct instrument_strays) + table->count * 2u + FRAME_ALIGN - 1) /
                        FRAME_ALIGN * FRAME_ALIGN;
    const uint64_t fit = FRAMES_BYTES / lane->frame_bytes;
    lane->frame_count = fit < 1 ? 1 : fit > MOST_FRAMES ? MOST_FRAMES : (uint32_t)fit;
    const uint64_t table_bytes = lane->frame_count * sizeof(struct instrument_table);
    if (!shadow_take(shadow, &shadow->device, table_bytes + lane->frame_count * lane->frame_bytes,
                     &lane->frames) ||
        !shadow_take(shadow, &shadow->pinned, table_bytes, &staging)) {
        shadow_give(&shadow->device, &lane->frames);
        lane->frame_count = 0;
        return false;
    }
    struct instrument_table *tables = shadow_host(staging);
    for (uint32_t i = 0; i < lane->frame_count; i++) {
        const uint64_t frame = lane->frames.address + frames_at(lane) + i * lane->frame_bytes;
        tables[i] = (struct instrument_table){
            .count = table->count,
            .entries = table->entries.address,
            .touched = frame + sizeof(struct instrument_strays),
            .strays = frame,
        };
    }
    lane->table = table;
    table->holders++;
    return shadow_own_clear(shadow, lane->frames) &&
           shadow_own_copy(shadow, lane->frames.address, &staging, table_bytes);
}

static bool fits(const struct shadow_lane *lane, uint64_t flag_bytes,
                 const struct shadow_table *table)
{
    return lane->flags_used + flag_bytes <= lane->flags.bytes &&
           (!table || (lane->table == table && lane->frames_used < lane->frame_count));
}

// With shadow->lock held.
static bool make_room(struct shadow_lane *lane, uint64_t flag_bytes, struct shadow_table *table)
{
    if (flag_bytes > lane->flags.bytes &&
        !make_flags(lane, flag_bytes > FLAGS_BYTES ? flag_bytes : FLAGS_BYTES))
        return false;
    if (table && lane->table != table && !make_frames(lane, table))
        return false;
    if (!lane->open)
        lane->open = shadow_batch_make(
            lane->shadow, lane->flags.bytes + lane->frame_count * lane->frame_bytes, true);
    return lane->open;
}

// Clears what the last batch used.
static bool clear_used(struct shadow_lane *lane)
{
    CUstream stream = lane->stream->handle;
    const CUstreamCaptureMode mode = shadow_relax();
    CUresult result = clear(lane->flags.address, lane->flags_dirty, stream);
    if (result == CUDA_SUCCESS)
        result = clear(lane->frames.address + frames_at(lane), lane->frames_dirty, stream);
    shadow_restore(mode);
    lane->flags_dirty = 0;
    lane->frames_dirty = 0;
    if (result != CUDA_SUCCESS)
        shadow_fail(lane->shadow, "to clear memory", result);
    return result == CUDA_SUCCESS;
}

bool shadow_lane_enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                       struct instrument_context *context)
{
    struct shadow *shadow = lane->shadow;
    const struct instrument_kernel *kernel = ticket->kernel;
    const uint64_t flag_bytes =
        kernel->flag_count ? (uint64_t)kernel->flag_row_bytes * INSTRUMENT_FLAG_ROWS : 0;
    if (kernel->needs_table) {
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        ticket->table = shadow_table_hold(shadow);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
        if (!ticket->table)
            return false;
    }
    if (!fits(lane, flag_bytes, ticket->table)) {
        shadow_lane_close(lane, lane->stream->handle);
        shadow_lane_tell(lane);
    }
    if (!lane->open && !clear_used(lane))
        return false;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_malloc_enter(shadow, ticket);
    bool good = make_room(lane, flag_bytes, ticket->table) && shadow_own_wait(shadow, lane->stream);
    const uint64_t table =
        lane->frames.address + lane->frames_used * sizeof(struct instrument_table);
    if (good && ticket->table)
        good = shadow_malloc_point(shadow, ticket, table, lane->stream);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    if (!good)
        return false;
    if (flag_bytes) {
        ticket->flags_at = (uint32_t)lane->flags_used;
        context->flags = lane->flags.address + lane->flags_used;
        lane->flags_used += flag_bytes;
    }
    if (ticket->table) {
        ticket->frame_at = (uint32_t)(lane->flags.bytes + lane->frames_used * lane->frame_bytes);
        context->table = table;
        lane->frames_used++;
    }
    return true;
}
