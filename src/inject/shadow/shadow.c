// SPDX-License-Identifier: Apache-2.0
// Watched launches from their start to their records, and the ends of streams, contexts and the
// process. lane.c and reduce.c manage what a launch needs on the GPU.
#include "shadow.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contents.h"
#include "element.h"
#include "graph.h"
#include "inject/core/names.h"
#include "inject/core/tail.h"
#include "lane.h"
#include "malloc.h"
#include "map.h"
#include "memory.h"
#include "reduce.h"
#include "reuse.h"
#include "scan.h"
#include "shapes.h"
#include "table.h"
#include "tell.h"
#include "weigh.h"
#include "words.h"

enum {
    SETTLED_MOST = 64,        // launches without results that may wait to be recorded
    CLOSE_AFTER_NS = 1000000, // read-back is enqueued this often while shadow_collect is called
    // At the end, glint stops waiting for work in flight after this time without results: the
    // program has finished with the GPU, or left it work whose results are not recorded.
    FINISH_NS = 1000000000,
    FINISH_SIMULATED_S = 60, // the simulated GPU may be slow
};

// --- Before the launch ---------------------------------------------------------------------------

struct shadow_ticket *shadow_ticket_make(struct shadow *shadow, const struct shadow_launch *launch)
{
    const struct instrument_kernel *kernel = launch->kernel;
    struct shadow_ticket *ticket =
        calloc(1, sizeof(*ticket) + kernel->root_count * sizeof(ticket->roots[0]));
    if (!ticket) {
        core_no_memory();
        return NULL;
    }
    ticket->shadow = shadow;
    ticket->stream = launch->stream;
    ticket->kernel = kernel;
    ticket->kernel_number = launch->kernel_number;
    ticket->facts = launch->facts;
    ticket->root_count = kernel->root_count;
    ticket->threads = ticket->blocks = 1;
    ticket->dynamic_bytes = launch->dynamic_bytes;
    ticket->tags = launch->tags;
    ticket->turn = launch->turn;
    for (int i = 0; i < 3; i++) {
        ticket->threads *= (uint64_t)launch->grid[i] * launch->block[i];
        ticket->blocks *= launch->grid[i];
        ticket->block[i] = launch->block[i];
    }
    for (uint32_t i = 0; i < kernel->root_count; i++) {
        struct core_objects_piece piece;
        if (launch->roots[i] &&
            core_objects_find_piece(&core_state.objects, launch->roots[i], &piece))
            ticket->roots[i] = (struct shadow_root){.object = piece.object.number,
                                                    .first = piece.start,
                                                    .bytes = piece.bytes,
                                                    .offset = launch->roots[i] - piece.start};
        else
            ticket->roots[i].address = launch->roots[i];
        ticket->strangers |= ticket->roots[i].address != 0;
    }
    if (kernel->textures && atomic_load(&core_state.linear_textures))
        ticket->doubts = 1u << EVENT_DOUBT_TEXTURE;
    return ticket;
}

void shadow_ticket_free(struct shadow_ticket *ticket)
{
    struct shadow *shadow = ticket->shadow;
    if (ticket->table || ticket->begun || ticket->memory || ticket->mallocs || ticket->written ||
        ticket->shape) {
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        shadow_shape_drop(ticket->shape);
        shadow_scan_leave(ticket);
        shadow_table_drop(shadow, ticket->table);
        if (ticket->begun)
            shadow_element_told(shadow, ticket);
        if (ticket->memory)
            shadow_node_told(shadow, ticket->memory);
        shadow_malloc_told(ticket);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    }
    free(ticket->written);
    free(ticket->jobs);
    free(ticket->looked);
    if (!ticket->memory)
        free(ticket->word_places);
    free(ticket);
}

void shadow_count_unwatched(struct shadow *shadow, uint32_t kernel_number,
                            const struct instrument_kernel *kernel)
{
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_kernel *about = shadow_kernel(shadow, kernel_number, kernel);
    if (about)
        about->unwatched++;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

static bool has_rows(const struct shadow_launch *launch, const struct instrument_slot *slots)
{
    bool small = true;
    for (uint32_t i = 0; launch->facts & INSTRUMENT_ELEMENTS && i < launch->kernel->root_count; i++)
        small &= slots[i].bytes < UINT64_C(1) << 32;
    return small && instrument_are_rows(launch->block);
}

void shadow_context_fill(const struct shadow_launch *launch, const struct shadow_ticket *ticket,
                         struct instrument_context *about, const struct instrument_slot *slots,
                         const struct instrument_pieces *pieces, void *context)
{
    const struct instrument_kernel *kernel = launch->kernel;
    const bool elements = launch->facts & INSTRUMENT_ELEMENTS;
    about->options = has_rows(launch, slots) ? INSTRUMENT_ROWS : 0;
    if (launch->spare_word && about->words && (!about->known || kernel->counts_rest))
        instrument_set_spare(kernel, launch->dynamic_bytes, launch->spare_word, about);
    memset(context, 0, kernel->context_bytes);
    memcpy(context, about, sizeof(*about));
    for (uint32_t i = 0; elements && i < kernel->root_count; i++) {
        const struct instrument_view view =
            instrument_view_of(&slots[i], kernel->roots[i].element_bytes);
        memcpy((char *)context + sizeof(*about) + i * sizeof(view), &view, sizeof(view));
    }
    for (uint32_t i = 0; !elements && i < kernel->root_count; i++) {
        const struct shadow_root *root = &ticket->roots[i];
        const struct instrument_bounds bounds =
            instrument_bounds_of(root->first, root->bytes, kernel->roots[i].reach);
        memcpy((char *)context + sizeof(*about) + i * sizeof(bounds), &bounds, sizeof(bounds));
    }
    if (pieces && kernel->root_count) {
        const size_t bytes = kernel->root_count * sizeof(*pieces);
        memcpy((char *)context + kernel->context_bytes - bytes, pieces, bytes);
    }
}

enum { FEW_ROOTS = 16 };
// What the roots of a launch need, in arrays by root.
struct root_arrays {
    struct instrument_slot *slots, few_slots[FEW_ROOTS];
    struct instrument_pieces *pieces, few_pieces[FEW_ROOTS];
};

static bool is_reduced(uint32_t facts)
{
    return facts &
           (INSTRUMENT_ELEMENTS | INSTRUMENT_VALUES | INSTRUMENT_REQUESTS | INSTRUMENT_SHARED);
}

static bool enter(struct shadow_ticket *ticket, const struct shadow_launch *launch,
                  struct instrument_context *about, struct root_arrays *arrays)
{
    struct shadow_lane *lane = shadow_lane_take(ticket->shadow, launch->stream);
    if (!lane)
        return false;
    if (!is_reduced(launch->facts)
            ? shadow_lane_enter(lane, ticket, about)
            : shadow_reduce_enter(lane, ticket, launch, about, arrays->slots, arrays->pieces)) {
        ticket->lane = lane;
        return true;
    }
    shadow_lane_leave(lane);
    return false;
}

static bool make_arrays(struct root_arrays *arrays, const struct shadow_launch *launch)
{
    const uint32_t count = launch->kernel->root_count;
    memset(arrays, 0, sizeof(*arrays));
    arrays->slots = arrays->few_slots;
    arrays->pieces = arrays->few_pieces;
    if (count <= FEW_ROOTS || !is_reduced(launch->facts))
        return true;
    arrays->slots = calloc(count, sizeof(*arrays->slots));
    arrays->pieces = calloc(count, sizeof(*arrays->pieces));
    return arrays->slots && arrays->pieces;
}

static void free_arrays(struct root_arrays *arrays)
{
    if (arrays->slots != arrays->few_slots)
        free(arrays->slots);
    if (arrays->pieces != arrays->few_pieces)
        free(arrays->pieces);
}

static struct instrument_launch saying(const struct shadow_launch *launch)
{
    return (struct instrument_launch){
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .params = launch->params,
        .roots = launch->roots,
    };
}

bool shadow_is_light(const struct shadow_ticket *ticket)
{
    return ticket->light;
}

// Finds the launch's shape, if there are requests, and which clone it runs.
static void find_shape(struct shadow_ticket *ticket, const struct shadow_launch *launch,
                       const struct instrument_launch *says)
{
    struct shadow *shadow = ticket->shadow;
    if (launch->facts & INSTRUMENT_REQUESTS)
        ticket->shape = shadow_shape_take(shadow, launch, says);
    shadow_words_find(ticket, says);
    if (!launch->may_light)
        return;
    if (!launch->kernel->by_masks) {
        ticket->light = !launch->turn && (ticket->word_places || !launch->kernel->word_site_count);
        return;
    }
    if (!ticket->shape || !ticket->shape->regular)
        return;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    const struct shadow_kernel *about =
        shadow_kernel(shadow, launch->kernel_number, launch->kernel);
    ticket->light = ticket->regular = about && !about->irregular;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

// Finds out what need not be counted, because the launch knows it.
static void find_known(struct shadow_ticket *ticket, struct instrument_context *about)
{
    if (ticket->shape)
        instrument_set_whole(ticket->shape->block, ticket->shape->whole, about);
    for (int i = 0; i < 2; i++)
        ticket->counted[i] = instrument_counted_by(about, i);
    if (ticket->lane)
        shadow_words_point(&ticket->lane->pad, ticket, about);
}

struct shadow_ticket *shadow_begin(const struct shadow_launch *launch, void *context)
{
    const struct instrument_kernel *kernel = launch->kernel;
    struct shadow *shadow = shadow_of(launch->stream->context);
    if (!shadow || atomic_load(&shadow->failed))
        return NULL;
    struct instrument_context about = {0};
    struct root_arrays arrays;
    struct shadow_ticket *ticket =
        make_arrays(&arrays, launch) ? shadow_ticket_make(shadow, launch) : NULL;
    const bool comes_back = is_reduced(launch->facts) || kernel->flag_count || kernel->needs_table;
    const struct instrument_launch says = saying(launch);
    if (ticket)
        find_shape(ticket, launch, &says);
    if (ticket && comes_back && !enter(ticket, launch, &about, &arrays)) {
        shadow_ticket_free(ticket);
        ticket = NULL;
    } else if (ticket && !comes_back && (ticket->strangers || kernel->outside)) {
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        shadow_malloc_enter(shadow, ticket);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    }
    if (ticket)
        find_known(ticket, &about);
    if (ticket)
        shadow_context_fill(launch, ticket, &about, arrays.slots,
                            launch->facts & INSTRUMENT_VALUES ? arrays.pieces : NULL, context);
    else
        shadow_count_unwatched(shadow, launch->kernel_number, kernel);
    free_arrays(&arrays);
    return ticket;
}

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
            shadow_tell(ticket, NULL, NULL);
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
    if (lane && launched && (ticket->result || ticket->mallocs))
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
        if (ticket->stream->foreign) // glint does not see when it is destroyed
            shadow_lane_close(lane, lane->stream->handle);
    } else {
        shadow_ticket_free(ticket);
    }
    shadow_lane_leave(lane);
}

// --- Collecting ----------------------------------------------------------------------------------

enum how { GENTLY, ALL };

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

// Returns false if results of the lane are still in flight.
static bool collect_lane(struct shadow_lane *lane, enum how how)
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
    const bool due = how == ALL || core_now_ns() - lane->closed_ns >= CLOSE_AFTER_NS;
    const bool wanted = lane->open && due && !atomic_load(&lane->shadow->failed);
    // A thread that destroys the stream sets `ended` before it takes the lane.
    const CUstream stream =
        wanted && !atomic_load(&lane->stream->ended) ? nameable(lane, how) : NULL;
    if (stream)
        shadow_lane_close(lane, stream);
    const bool done = shadow_lane_tell(lane);
    shadow_lane_leave(lane);
    return done;
}

static bool collect(struct shadow *shadow, enum how how)
{
    bool done = true;
    const bool current = core_context_current() == shadow->context; // queried without the lock
    tell_settled(shadow);
    for (struct shadow_lane *lane = atomic_load(&shadow->lanes); lane; lane = lane->next)
        done &= collect_lane(lane, how);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_element_trim(shadow);
    if (current) {
        done &= shadow_malloc_step(shadow);
        done &= shadow_map_step(shadow);
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    return done;
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
        collect(shadow, GENTLY);
}

void shadow_stream_leave(struct core_stream *stream)
{
    struct shadow *shadow = atomic_load(&stream->context->shadow);
    if (!shadow)
        return;
    struct shadow_lane *lane = shadow_lane_take(shadow, stream);
    if (!lane)
        return;
    const CUstream handle = nameable(lane, GENTLY);
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
    while (!collect(shadow, ALL) && core_now_ns() < until) {
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
        if (!entry->removed)
            shadow_map_add(shadow, (struct shadow_object *)(uintptr_t)entry->value, // NOLINT
                           false);
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
    if (!shadow)
        return;
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
    shadow_element_forget(shadow);
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
    base_array_fini(&shadow->device.free);
    base_array_fini(&shadow->pinned.free);
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
