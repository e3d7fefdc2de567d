// SPDX-License-Identifier: Apache-2.0
// Watched launches from when they are enqueued to their records, and the ends of streams, contexts
// and the process. begin.c prepares them; lane.c and reduce.c manage what they need on the GPU.
#include "shadow.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contents.h"
#include "element.h"
#include "inject/core/call.h"
#include "inject/core/hook.h"
#include "inject/core/names.h"
#include "inject/core/tail.h"
#include "lane.h"
#include "malloc.h"
#include "map.h"
#include "memory.h"
#include "reduce.h"
#include "repeats.h"
#include "reuse.h"
#include "scan.h"
#include "shapes.h"
#include "table.h"
#include "tell.h"
#include "trace.h"
#include "weigh.h"
#include "words.h"

enum {
    SETTLED_MOST = 64,        // launches without results that may wait to be recorded
    CLOSE_AFTER_NS = 1000000, // read-back is enqueued this often
    // At the end, glint stops waiting for work in flight after this time without results: the
    // program has finished with the GPU, or left it work whose results are not recorded.
    FINISH_NS = 1000000000,
    FINISH_SIMULATED_S = 60, // the simulated GPU may be slow
};

// --- After the launch ----------------------------------------------------------------------------

static void tell_settled(struct shadow *shadow)
{
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_ticket *ticket = shadow->settled;
    shadow->settled = NULL;
    shadow->settled_last = &shadow->settled;
    shadow->settled_count = 0;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    while (ticket) {
        struct shadow_ticket *next = ticket->next;
        if (!atomic_load(&shadow->dead))
            shadow_tell(ticket, ticket->known_flags, NULL);
        shadow_ticket_free(ticket);
        ticket = next;
    }
}

// The record is written later, because the call's record must come first.
void shadow_settle(struct shadow *shadow, struct shadow_ticket *ticket)
{
    bool many;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    many = shadow->settled_count >= SETTLED_MOST;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    if (many)
        tell_settled(shadow);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    *shadow->settled_last = ticket;
    shadow->settled_last = &ticket->next;
    shadow->settled_count++;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

static void fetch_words(const struct shadow_lane *lane, struct shadow_ticket *ticket)
{
    const CUstreamCaptureMode mode = shadow_relax();
    CUresult result = shadow_words_fetch(&lane->pad, ticket, lane->stream->handle);
    if (result == CUDA_SUCCESS)
        result = shadow_reuse_fetch(&lane->pad, ticket, lane->stream->handle);
    shadow_restore(mode);
    if (result == CUDA_SUCCESS)
        return;
    shadow_fail(lane->shadow, "to read counters of shared memory", result);
    ticket->word_bytes = 0;
    free(ticket->looked);
    ticket->looked = NULL;
}

void shadow_launched(struct shadow_ticket *ticket, uint64_t call, bool launched)
{
    struct shadow_lane *lane = ticket->lane;
    ticket->call = call;
    if (lane && launched && ((ticket->result && !ticket->repeated) || ticket->mallocs))
        core_tail_begin(lane->stream);
    if (ticket->mallocs) {
        util_mutex_lock(&ticket->shadow->lock, RANK_SHADOW);
        shadow_malloc_launched(ticket, lane ? lane->stream->handle : NULL, launched);
        util_mutex_unlock(&ticket->shadow->lock, RANK_SHADOW);
    }
    if (!lane) {
        if (launched)
            shadow_settle(ticket->shadow, ticket);
        else
            shadow_ticket_free(ticket);
        return;
    }
    if (ticket->result) {
        if (launched) {
            fetch_words(lane, ticket);
            if (ticket->facts & INSTRUMENT_VALUES)
                shadow_scan_after(lane, ticket, lane->reduced);
            shadow_weigh_after(lane, ticket, lane->reduced);
            shadow_reduce_launched(lane, ticket);
        } else {
            shadow_scan_refused(ticket);
            shadow_batch_free(lane->shadow, lane->reduced);
            lane->reduced = NULL;
            shadow_ticket_free(ticket);
        }
    } else if (launched) {
        shadow_batch_add(lane->open, ticket);
        // glint does not see when a foreign stream is destroyed. The next sampled launch of the
        // kernel waits for the results of this one, and launches like it are watched until then.
        if (ticket->stream->foreign || ticket->flying || ticket->alike)
            shadow_lane_close(lane, lane->stream->handle);
    } else {
        shadow_ticket_free(ticket);
    }
    shadow_lane_leave(lane);
}

// --- Collecting ----------------------------------------------------------------------------------

enum how {
    CLOSE, // what is due
    BOTH,  // and record what has landed
    ALL,   // both, whether due or not
};

// Returns whether all work of the stream is done when the call returns. A call that waits for an
// event, or may not wait at all, leaves what is enqueued now.
static bool waits_for(const struct core_call *call, const struct core_stream *stream)
{
    const struct core_context *about = call->stream ? call->stream->context : call->context;
    if (call->event || call->how & HOOK_UNSURE || about != call->current)
        return false;
    return !call->stream || call->stream == stream ||
           (call->stream->flags & EVENT_STREAM_LEGACY &&
            !(stream->flags & EVENT_STREAM_NON_BLOCKING));
}

// Returns the stream on which this thread can close the lane's batch; NULL: none. The handle of a
// default stream is only valid in its context, and that of a per-thread one only in its thread. At
// an end the legacy stream, which is ordered with it, is used instead. Using that stream while
// another is being captured would end the capture.
static CUstream nameable(const struct shadow_lane *lane, enum how how)
{
    const struct core_stream *stream = lane->stream;
    if (stream->number != lane->stream_number || core_context_current() != lane->shadow->context)
        return NULL;
    CUstream handle = stream->handle;
    if (stream->flags & EVENT_STREAM_PER_THREAD && stream->thread != core_thread_number())
        handle = how == ALL ? CU_STREAM_LEGACY : NULL;
    return handle == CU_STREAM_LEGACY && atomic_load(&core_state.captures) ? NULL : handle;
}

// Returns false if results of the lane are still in flight. With a call that waits, closes the lane
// before the call if it waits for the lane's stream, and else behind it.
static bool collect_lane(struct shadow_lane *lane, enum how how, const struct core_call *call)
{
    util_mutex_lock(&lane->shadow->lock, RANK_SHADOW);
    const bool used = lane->stream_number;
    if (used)
        lane->users++;
    util_mutex_unlock(&lane->shadow->lock, RANK_SHADOW);
    if (!used)
        return true;
    if (util_mutex_trylock(&lane->lock, RANK_LANE)) { // another thread is launching on it
        util_mutex_lock(&lane->shadow->lock, RANK_SHADOW);
        lane->users--;
        util_mutex_unlock(&lane->shadow->lock, RANK_SHADOW);
        return false;
    }
    const bool due =
        lane->open && (how == ALL || core_now_ns() - lane->closed_ns >= CLOSE_AFTER_NS);
    const bool wanted = due && !atomic_load(&lane->shadow->failed) &&
                        (!call || waits_for(call, lane->stream) == (how == CLOSE));
    // A thread that destroys the stream sets `ended` before it takes the lane.
    const CUstream stream =
        wanted && !atomic_load(&lane->stream->ended) ? nameable(lane, how) : NULL;
    if (stream)
        shadow_lane_close(lane, stream);
    const bool done = how != CLOSE && shadow_lane_tell(lane);
    shadow_lane_leave(lane);
    return done;
}

static bool collect(struct shadow *shadow, enum how how, const struct core_call *call)
{
    bool done = true;
    const bool current = core_context_current() == shadow->context; // queried without the lock
    tell_settled(shadow);
    for (struct shadow_lane *lane = atomic_load(&shadow->lanes); lane; lane = lane->next)
        done &= collect_lane(lane, how, call);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_element_trim(shadow);
    if (current) {
        done &= shadow_malloc_step(shadow);
        done &= shadow_map_step(shadow);
        done &= shadow_trace_step(shadow);
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    return done;
}

bool shadow_collect_all(struct shadow *shadow)
{
    return collect(shadow, ALL, NULL);
}

// Returns whether a kernel of the context has failed, which the driver then reports for every call
// in the context. Results in flight never arrive then. Waiting for them would last forever, because
// results at element level have no event.
static bool ask_whether_dead(struct shadow *shadow)
{
    char text[120];
    if (!shadow->own || atomic_load(&shadow->dead))
        return atomic_load(&shadow->dead);
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result = REAL(cuStreamQuery)(shadow->own);
    shadow_restore(mode);
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)
        return false;
    if (!atomic_exchange(&shadow->dead, true) && !atomic_exchange(&shadow->failed, true)) {
        snprintf(text, sizeof(text),
                 "a kernel failed (error %d): what the last launches touched is unknown",
                 (int)result);
        core_note(EVENT_WARNING, text);
    }
    return true;
}

void shadow_call_failed(struct core_context *context)
{
    struct shadow *shadow = context ? atomic_load(&context->shadow) : NULL;
    if (shadow)
        ask_whether_dead(shadow);
}

void shadow_collect(struct core_context *context)
{
    struct shadow *shadow = context ? atomic_load(&context->shadow) : NULL;
    if (shadow)
        collect(shadow, BOTH, NULL);
}

void shadow_call_waits(const struct core_call *call)
{
    struct shadow *shadow = call->current ? atomic_load(&call->current->shadow) : NULL;
    struct shadow_lane *lane = shadow ? atomic_load(&shadow->lanes) : NULL;
    for (; lane; lane = lane->next)
        collect_lane(lane, CLOSE, call);
}

void shadow_call_waited(const struct core_call *call)
{
    struct shadow *shadow = call->current ? atomic_load(&call->current->shadow) : NULL;
    if (shadow)
        collect(shadow, BOTH, call);
}

void shadow_stream_leave(struct core_stream *stream)
{
    struct shadow *shadow = atomic_load(&stream->context->shadow);
    if (!shadow)
        return;
    struct shadow_lane *lane = shadow_lane_take(shadow, stream);
    if (!lane)
        return;
    const CUstream handle = nameable(lane, CLOSE);
    if (handle)
        shadow_lane_close(lane, handle);
    shadow_lane_leave(lane);
}

void shadow_object_ended(uint64_t object)
{
    if (!atomic_load_explicit(&core_state.shadows, memory_order_relaxed))
        return;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.contexts.count; i++) {
        struct core_context *context = core_context_at(i);
        struct shadow *shadow = context ? atomic_load(&context->shadow) : NULL;
        if (!shadow)
            continue;
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        shadow_element_ended(shadow, object);
        shadow_contents_ended(shadow, object);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

// --- Ends ----------------------------------------------------------------------------------------

static void collect_until_done(struct shadow *shadow)
{
    const uint64_t most_ns =
        core_state.simulated ? FINISH_SIMULATED_S * (uint64_t)1000000000 : FINISH_NS;
    uint64_t landed = atomic_load(&shadow->landed);
    uint64_t until = core_now_ns() + most_ns;
    while (!collect(shadow, ALL, NULL) && core_now_ns() < until) {
        if (ask_whether_dead(shadow))
            continue; // the next collect drops what is in flight
        sched_yield();
        if (atomic_load(&shadow->landed) == landed)
            continue;
        landed = atomic_load(&shadow->landed);
        until = core_now_ns() + most_ns;
    }
}

static void collect_all(struct shadow *shadow)
{
    collect_until_done(shadow);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    for (size_t i = 0; shadow->wants_maps && i < shadow->objects.count; i++) {
        const struct base_map_entry *entry = &shadow->objects.entries[i];
        struct shadow_object *object = (struct shadow_object *)(uintptr_t)entry->value; // NOLINT
        if (!entry->removed && !object->grain.foreign)
            shadow_map_add(shadow, object, false);
    }
    const bool blocks = shadow_malloc_end(shadow);
    const bool maps = shadow->maps;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    if (maps || blocks)
        collect_until_done(shadow);
    shadow_tell_notes(shadow);
}

void shadow_context_end(struct core_context *context)
{
    struct shadow *shadow = atomic_load(&context->shadow);
    if (!shadow || stack_is_small())
        return; // what is in flight stays unknown
    CUcontext popped;
    const bool push = core_context_current() != context &&
                      REAL(cuCtxPushCurrent_v2)(context->handle) == CUDA_SUCCESS;
    collect_all(shadow);
    if (push)
        REAL(cuCtxPopCurrent_v2)(&popped);
}

void shadow_finish(void)
{
    for (size_t i = 0; i < core_state.contexts.count; i++) {
        struct core_context *context = core_context_at(i);
        if (context)
            shadow_context_end(context);
    }
}

// Frees its host memory. The structures themselves stay, because a thread or a graph's node may
// still refer to one.
static void forget(struct shadow *shadow, uint64_t call)
{
    for (struct shadow_lane *lane = atomic_load(&shadow->lanes); lane; lane = lane->next) {
        util_mutex_lock(&lane->lock, RANK_LANE);
        shadow_lane_forget(lane);
        util_mutex_unlock(&lane->lock, RANK_LANE);
    }
    tell_settled(shadow);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_map_forget(shadow);
    shadow_trace_forget(shadow);
    shadow_element_forget(shadow);
    shadow_repeats_forget(shadow);
    shadow_contents_forget(shadow);
    shadow_malloc_forget(shadow, call);
    shadow_table_drop(shadow, shadow->table);
    shadow->table = NULL;
    for (size_t i = 0; i < shadow->kernels.count; i++) {
        struct shadow_kernel *about =
            (struct shadow_kernel *)(uintptr_t)shadow->kernels.entries[i].value; // NOLINT
        shadow_shape_drop(about ? about->shape : NULL);
        free(about);
    }
    base_map_fini(&shadow->kernels);
    base_map_fini(&shadow->shapes);
    base_map_fini(&shadow->lane_of);
    base_array_fini(&shadow->staging);
    base_array_fini(&shadow->events);
    base_array_fini(&shadow->modules);
    base_array_fini(&shadow->device.free);
    base_array_fini(&shadow->pinned.free);
    base_array_fini(&shadow->device.slabs);
    base_array_fini(&shadow->pinned.slabs);
    shadow->device.slab_bytes = shadow->pinned.slab_bytes = 0;
    shadow->device.limit_bytes = shadow->pinned.limit_bytes = 0;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

void shadow_context_gone(struct core_context *context, uint64_t call)
{
    struct shadow *shadow = atomic_exchange(&context->shadow, NULL);
    if (!shadow)
        return;
    atomic_store(&shadow->failed, true);
    atomic_fetch_sub(&core_state.shadows, 1);
    forget(shadow, call);
}
