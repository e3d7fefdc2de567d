// SPDX-License-Identifier: Apache-2.0
// Watched kernel nodes of graphs. A node has its own pad, whose addresses are part of the graph.
// Each replay is a launch with its own ticket in its stream's lane, and is reduced behind the
// graph. The objects that roots point into are looked up again at each replay, because another
// object may be at the same address by then.
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "graph_scan.h"
#include "inject/core/names.h"
#include "inject/core/tail.h"
#include "lane.h"
#include "malloc.h"
#include "memory.h"
#include "reduce.h"
#include "table.h"
#include "words.h"

// The launch of a graph, between shadow_replay and shadow_replayed.
struct shadow_replay {
    uint32_t thread;
    struct shadow_batch *batch;
    struct shadow_block list; // pinned and on the device: struct device_reduction for each ticket
    struct shadow_block device_list;
    BASE_ARRAY(struct shadow_ticket *) tickets; // by node; NULL: it is not watched this time
    struct shadow_graph_scan scan;
};

static void node_free(struct shadow *shadow, struct shadow_node *node)
{
    shadow_pad_fini(shadow, &node->pad);
    shadow_give(&shadow->device, &node->head);
    shadow_give(&shadow->device, &node->nowhere);
    shadow_give(&shadow->device, &node->unknown);
    shadow_graph_scan_unbind(shadow, node);
    free(node->roots);
    free(node->pieces);
    free(node->marked);
    free(node->keys);
    free(node->word_places);
    free(node);
    shadow->nodes--;
}

void shadow_node_told(struct shadow *shadow, struct shadow_node *node)
{
    node->flying--;
    if (!node->flying && node->released)
        node_free(shadow, node);
}

// --- Nodes ---------------------------------------------------------------------------------------

// Makes room on the device for the largest record that is possible now.
static bool make_nowhere(struct shadow *shadow, struct shadow_node *node,
                         const struct shadow_ticket *ticket, struct shadow_block *old)
{
    struct device_reduction about;
    const uint64_t bytes = shadow_reduce_describe(ticket, &about);
    if (bytes <= node->nowhere.bytes)
        return true;
    *old = node->nowhere;
    node->nowhere = (struct shadow_block){0};
    return shadow_take(shadow, &shadow->device, bytes, &node->nowhere);
}

static bool has_memory(const struct shadow_ticket *ticket)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    return ticket->facts & INSTRUMENT_ELEMENTS || kernel->flag_count || kernel->tally_count ||
           kernel->accessed_count || kernel->needs_table || shadow_words_wanted(ticket);
}

// With shadow->lock held.
static bool prepare(struct shadow *shadow, struct shadow_ticket *ticket,
                    struct instrument_slot *slots)
{
    struct shadow_node *node = ticket->memory;
    struct shadow_block staging = {0}, old[2] = {{0}}, none = {0};
    if (!shadow_reduce_load(shadow, ticket->facts & INSTRUMENT_COUNTS) ||
        !shadow_take(shadow, &shadow->device, shadow_small_of(ticket->kernel).bytes,
                     &node->pad.small) ||
        !shadow_own_clear(shadow, node->pad.small))
        return false;
    if (ticket->facts & INSTRUMENT_ELEMENTS &&
        (!shadow_reduce_roots(&node->pad, ticket, node->roots, slots) ||
         ticket->job_count > DEVICE_JOBS))
        return false;
    for (uint32_t i = 0; i < ticket->job_count; i++)
        node->keys[i] = ticket->jobs[i].object;
    if (!ticket->kernel->needs_table)
        return make_nowhere(shadow, node, ticket, &none);
    ticket->table = shadow_table_hold(shadow);
    const bool good =
        ticket->table && shadow_pad_table(shadow, &node->pad, ticket->table, ticket->facts, old) &&
        make_nowhere(shadow, node, ticket, &none) &&
        shadow_take(shadow, &shadow->device, sizeof(struct instrument_table), &node->head) &&
        shadow_take(shadow, &shadow->pinned, sizeof(struct instrument_table), &staging);
    if (!good)
        return false;
    memcpy(shadow_host(staging), &node->pad.says, sizeof(node->pad.says));
    return shadow_own_copy(shadow, node->head.address, &staging, sizeof(node->pad.says));
}

static struct shadow_node *node_make(const struct shadow_launch *launch)
{
    const uint32_t count = launch->kernel->root_count;
    struct shadow_node *node = calloc(1, sizeof(*node));
    if (!node)
        return NULL;
    node->roots = calloc(count + 1, sizeof(*node->roots));
    node->pieces = calloc(count + 1, sizeof(*node->pieces));
    node->marked = calloc(count + 1, sizeof(*node->marked));
    node->keys = calloc(count + 1, sizeof(*node->keys));
    if (!node->roots || !node->pieces || !node->marked || !node->keys) {
        free(node->roots);
        free(node->pieces);
        free(node->marked);
        free(node->keys);
        free(node);
        return NULL;
    }
    node->root_count = count;
    for (uint32_t i = 0; i < count; i++) {
        node->roots[i] = launch->roots[i];
        if (node->roots[i])
            core_objects_find_piece(&core_state.objects, node->roots[i], &node->pieces[i]);
    }
    return node;
}

struct shadow_ticket *shadow_begin_node(const struct shadow_launch *launch, void *context)
{
    const struct instrument_kernel *kernel = launch->kernel;
    struct shadow *shadow = shadow_of(launch->stream->context);
    if (!shadow || !shadow_watches(shadow))
        return NULL;
    struct shadow_ticket *ticket = shadow_ticket_make(shadow, launch);
    const bool values = launch->facts & INSTRUMENT_VALUES;
    struct instrument_slot *slots = calloc(kernel->root_count + 1, sizeof(*slots));
    struct instrument_pieces *pieces = calloc(kernel->root_count + 1, sizeof(*pieces));
    struct shadow_node *node = ticket && slots && pieces ? node_make(launch) : NULL;
    struct shadow_block none = {0}; // a new pad has no counters
    bool good = false;
    if (node) {
        ticket->memory = node;
        // What the clones' registers combine is not collected for nodes, but they combine it.
        ticket->facts &= ~(uint32_t)INSTRUMENT_ACCESSED;
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        shadow->nodes++;
        good = !has_memory(ticket) || prepare(shadow, ticket, slots);
        if (good)
            shadow_words_enter(shadow, &node->pad, ticket, &none);
        if (good && values)
            shadow_graph_scan_bind(shadow, ticket, pieces);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    } else {
        core_no_memory();
    }
    if (good) {
        const struct shadow_small small = shadow_small_of(kernel);
        struct instrument_context about = {
            .flags = kernel->flag_count ? node->pad.small.address + small.flags : 0,
            .tallies = kernel->tally_count ? node->pad.small.address + small.tallies : 0,
            .accessed = kernel->accessed_count ? node->pad.small.address + small.accessed : 0,
            .table = node->head.address,
        };
        const struct instrument_launch says = shadow_says(launch);
        shadow_words_find(ticket, &says);
        shadow_words_point(&node->pad, ticket, &about);
        node->word_places = ticket->word_places;
        shadow_context_fill(launch, ticket, &about, slots, values ? pieces : NULL, context);
    } else {
        if (node)
            shadow_release(ticket);
        else
            free(ticket);
        ticket = NULL;
        shadow_count_unwatched(shadow, launch->kernel_number, kernel);
    }
    free(slots);
    free(pieces);
    return ticket;
}

void shadow_release(struct shadow_ticket *ticket)
{
    if (!ticket)
        return;
    struct shadow *shadow = ticket->shadow;
    struct shadow_node *node = ticket->memory;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_table_drop(shadow, ticket->table);
    node->released = true;
    if (!node->flying)
        node_free(shadow, node);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    free(ticket->jobs);
    free(ticket);
}

// --- Before the launch ---------------------------------------------------------------------------

// Assigns the job's marks in the pad to another object.
static void rename_marks(struct shadow_node *node, uint32_t job, uint64_t number)
{
    const uint64_t *place = base_map_get(&node->pad.marks, node->keys[job]);
    if (!place || node->keys[job] == number)
        return;
    const uint64_t marks = *place;
    uint64_t *other = base_map_put(&node->pad.marks, number, NULL);
    if (!other)
        return;
    *other = marks;
    base_map_remove(&node->pad.marks, node->keys[job]);
    node->keys[job] = number;
}

// Looks up what the root points into now. If its layout is as when the graph was made, the job
// reports the present object. False: the layout differs.
static bool resolve(struct shadow *shadow, const struct shadow_ticket *model,
                    struct shadow_ticket *ticket, uint32_t root)
{
    struct shadow_node *node = model->memory;
    const struct core_objects_piece *then = &node->pieces[root];
    const uint32_t job = model->roots[root].job;
    const struct device_job *shape = &model->jobs[job].job;
    struct core_objects_piece now;
    if (!core_objects_find_piece(&core_state.objects, node->roots[root], &now) ||
        now.start != then->start || now.bytes != then->bytes ||
        now.object.start != then->object.start || now.object.bytes != then->object.bytes)
        return false;
    const bool counts = model->facts & INSTRUMENT_COUNTS;
    const uint64_t was = node->keys[job];
    rename_marks(node, job, now.object.number);
    const struct shadow_object *object = shadow_object_at(
        shadow, &node->pad, &now.object, 1u << model->jobs[job].grain.shift, counts);
    if (!object || object->words != shape->words || object->first != shape->first ||
        object->grain.shift != model->jobs[job].grain.shift) {
        rename_marks(node, job, was);
        return false;
    }
    ticket->roots[root] = (struct shadow_root){
        .object = object->number, .job = job, .aimed = model->roots[root].aimed};
    ticket->jobs[job].object = object->number;
    ticket->jobs[job].grain = object->grain;
    shadow_job_know(&ticket->jobs[job].job, object);
    return true;
}

// Jobs whose object has ended clear their marks and report nothing.
static bool lead_nowhere(struct shadow *shadow, struct shadow_node *node,
                         struct shadow_ticket *ticket)
{
    for (uint32_t i = 0; i < ticket->job_count; i++) {
        struct device_job *job = &ticket->jobs[i].job;
        const uint64_t bytes = job->words * sizeof(uint32_t);
        if (ticket->jobs[i].object)
            continue;
        if (node->unknown.bytes < 2 * bytes) {
            if (node->flying) // a replay may be using it
                return false;
            shadow_give(&shadow->device, &node->unknown);
            if (!shadow_take(shadow, &shadow->device, 2 * bytes, &node->unknown))
                return false;
        }
        job->any = node->unknown.address;
        job->multi = node->unknown.address + bytes;
        job->full = 0;
    }
    return true;
}

static struct shadow_ticket *copy_of(const struct shadow_ticket *model)
{
    const size_t bytes = sizeof(*model) + model->root_count * sizeof(model->roots[0]);
    struct shadow_ticket *ticket = malloc(bytes);
    struct shadow_job *jobs = calloc(model->root_count + 1, sizeof(*jobs));
    if (!ticket || !jobs) {
        free(ticket);
        free(jobs);
        core_no_memory();
        return NULL;
    }
    memcpy(ticket, model, bytes);
    ticket->memory = NULL;
    ticket->table = NULL;
    ticket->jobs = jobs;
    if (model->jobs)
        memcpy(jobs, model->jobs, model->job_count * sizeof(*jobs));
    return ticket;
}

// Looks up the objects of the replay's roots and jobs.
static bool resolve_all(struct shadow *shadow, const struct shadow_ticket *model,
                        struct shadow_ticket *ticket)
{
    struct shadow_node *node = model->memory;
    bool whole = true;
    for (uint32_t i = 0; i < ticket->job_count; i++)
        ticket->jobs[i].object = 0;
    ticket->strangers = false;
    ticket->doubts = model->kernel->textures && atomic_load(&core_state.linear_textures)
                         ? 1u << EVENT_DOUBT_TEXTURE
                         : 0;
    if (model->kernel->tensors && atomic_load(&core_state.wide_tensors))
        ticket->doubts |= 1u << EVENT_DOUBT_LEFT;
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        const uint64_t then = model->roots[i].object;
        struct core_objects_piece now;
        ticket->roots[i].object = 0;
        if (ticket->facts & INSTRUMENT_ELEMENTS)
            whole &= !then || resolve(shadow, model, ticket, i);
        else if (node->roots[i] &&
                 core_objects_find_piece(&core_state.objects, node->roots[i], &now)) {
            ticket->roots[i] =
                (struct shadow_root){.object = now.object.number, .aimed = model->roots[i].aimed};
            // The probes check accesses against the bounds that are part of the graph.
            if (now.start != node->pieces[i].start || now.bytes != node->pieces[i].bytes)
                ticket->doubts |= 1u << EVENT_DOUBT_LEFT;
        } else
            ticket->roots[i].address = node->roots[i];
        ticket->strangers |= ticket->roots[i].address != 0;
    }
    if (!whole) {
        ticket->doubts |= 1u << EVENT_DOUBT_LEFT;
        struct shadow_kernel *about = shadow_kernel(shadow, model->kernel_number, model->kernel);
        if (about)
            about->unwatched++;
    }
    return lead_nowhere(shadow, node, ticket);
}

// Installs the current table. The batch frees what the pad had before.
static CUresult renew_table(struct shadow *shadow, const struct shadow_ticket *model,
                            struct shadow_ticket *ticket, struct shadow_batch *batch,
                            CUstream stream)
{
    struct shadow_node *node = model->memory;
    struct shadow_block old[3] = {{0}}, staging = {0};
    ticket->table = shadow_table_hold(shadow);
    if (!ticket->table)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (node->pad.table == ticket->table)
        return CUDA_SUCCESS;
    const bool good = shadow_pad_table(shadow, &node->pad, ticket->table, ticket->facts, old) &&
                      make_nowhere(shadow, node, ticket, &old[2]) &&
                      shadow_take(shadow, &shadow->pinned, sizeof(node->pad.says), &staging);
    for (int i = 0; i < 3; i++)
        shadow_batch_give(batch, &old[i]);
    if (!good)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(shadow_host(staging), &node->pad.says, sizeof(node->pad.says));
    const CUresult result = REAL(cuMemcpyHtoDAsync_v2)(node->head.address, shadow_host(staging),
                                                       sizeof(node->pad.says), stream);
    struct shadow_block *place = base_array_push(&batch->staging);
    if (place)
        *place = staging;
    return result;
}

// Returns a ticket for the node's replay; NULL: it is no longer watched.
static struct shadow_ticket *ready(struct shadow *shadow, struct shadow_ticket *model,
                                   struct shadow_batch *batch, CUstream stream)
{
    struct shadow_node *node = model->memory;
    struct shadow_ticket *ticket = node->broken ? NULL : copy_of(model);
    if (!ticket)
        return NULL;
    CUresult result = resolve_all(shadow, model, ticket) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    shadow_malloc_enter(shadow, ticket);
    if (result == CUDA_SUCCESS && model->kernel->needs_table)
        result = renew_table(shadow, model, ticket, batch, stream);
    if (result == CUDA_SUCCESS) {
        ticket->memory = node;
        node->flying++;
        shadow_element_begun(shadow, ticket);
        return ticket;
    }
    shadow_table_drop(shadow, ticket->table);
    shadow_malloc_told(ticket);
    free(ticket->jobs);
    free(ticket);
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        shadow_fail(shadow, "a copy to the device", result);
    return NULL;
}

static void replay_free(struct shadow_replay *replay)
{
    base_array_fini(&replay->tickets);
    base_array_fini(&replay->scan.written);
    free(replay);
}

void shadow_replay(struct core_stream *stream, struct shadow_ticket *const *tickets, size_t count,
                   const struct shadow_graph_work *work)
{
    struct shadow *shadow = shadow_of(stream->context);
    struct shadow_replay *replay = shadow ? calloc(1, sizeof(*replay)) : NULL;
    struct shadow_lane *lane = replay ? shadow_lane_take(shadow, stream) : NULL;
    if (!lane) {
        free(replay);
        return;
    }
    replay->thread = core_thread_number();
    lane->replay = replay;
    core_tail_begin(stream);
    shadow_lane_tell(lane);
    const CUstreamCaptureMode mode = shadow_relax();
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    replay->batch = shadow_batch_make(shadow, SHADOW_ALIGN, false);
    shadow_own_wait(shadow, stream); // tables are written when nodes are made
    for (size_t i = 0; i < count; i++) {
        struct shadow_ticket **place = base_array_push(&replay->tickets);
        const bool usable =
            place && replay->batch && tickets[i]->shadow == shadow && !atomic_load(&shadow->failed);
        if (usable)
            *place = ready(shadow, tickets[i], replay->batch, stream->handle);
        if (!place || !*place) {
            tickets[i]->memory->broken |= has_memory(tickets[i]);
            shadow_malloc_skipped(tickets[i]);
        }
    }
    shadow_own_wait(shadow, stream);
    struct shadow_ticket *const *made = replay->tickets.items;
    for (size_t i = 0; i < count; i++) {
        const uint64_t table = tickets[i]->memory->head.address;
        const struct shadow_ticket *ticket = made && i < replay->tickets.count ? made[i] : NULL;
        if (table && tickets[i]->shadow == shadow)
            shadow_malloc_point(shadow, ticket, table, stream);
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    shadow_restore(mode);
    replay->scan.unseen = replay->tickets.count < count;
    if (work)
        shadow_graph_scan_before(lane, &replay->scan, made, replay->tickets.count, work);
}

// --- After the launch ----------------------------------------------------------------------------

static uint64_t words_of(const struct shadow_ticket *ticket)
{
    uint64_t words = ticket->table ? ticket->memory->pad.table_words : 0;
    for (uint32_t i = 0; i < ticket->job_count; i++)
        words += ticket->jobs[i].job.words;
    return words;
}

static void describe(const struct shadow_ticket *ticket, struct device_reduction *about)
{
    shadow_reduce_describe(ticket, about);
    shadow_reduce_place(&ticket->memory->pad, ticket, about);
    about->sequence = 1;
    about->job_count = ticket->job_count;
    for (uint32_t i = 0; i < ticket->job_count; i++)
        about->jobs[i] = ticket->jobs[i].job;
}

// Allocates room for all records and, if one kernel serves all, reductions. With shadow->lock held.
static bool make_room(struct shadow *shadow, struct shadow_replay *replay, size_t count,
                      uint64_t record_bytes)
{
    const uint64_t list_bytes = count * sizeof(struct device_reduction);
    shadow_give(&shadow->pinned, &replay->batch->landing);
    return shadow_take(shadow, &shadow->pinned, record_bytes, &replay->batch->landing) &&
           (replay->batch->first->facts & INSTRUMENT_ELEMENTS ||
            (shadow_take(shadow, &shadow->pinned, list_bytes, &replay->list) &&
             shadow_take(shadow, &shadow->device, list_bytes, &replay->device_list)));
}

static void give_records(struct shadow_batch *batch)
{
    unsigned char *record = shadow_host(batch->landing);
    for (struct shadow_ticket *ticket = batch->first; ticket; ticket = ticket->next) {
        struct device_reduction about;
        ticket->result = (struct device_result *)(void *)record;
        ticket->result->sequence = 0;
        ticket->words_at = shadow_reduce_describe(ticket, &about);
        record += ticket->words_at + ticket->word_bytes;
    }
}

// Reduces the nodes in order. This is necessary at element level, where it is recorded which node
// touched an element first.
static CUresult reduce_each(struct shadow *shadow, const struct shadow_batch *batch,
                            CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (struct shadow_ticket *ticket = batch->first; ticket && result == CUDA_SUCCESS;
         ticket = ticket->next) {
        struct device_reduction about;
        describe(ticket, &about);
        result = shadow_reduce_enqueue(shadow, &about, words_of(ticket),
                                       ticket->facts & INSTRUMENT_COUNTS, stream);
    }
    return result;
}

// Reduces all nodes with one kernel, at object level.
static CUresult reduce_all(struct shadow *shadow, const struct shadow_replay *replay,
                           CUstream stream)
{
    struct device_reduction *list = shadow_host(replay->list);
    uint32_t count = 0;
    for (struct shadow_ticket *ticket = replay->batch->first; ticket; ticket = ticket->next)
        describe(ticket, &list[count++]);
    uint64_t device_list = replay->device_list.address;
    void *params[] = {&device_list};
    const CUresult result =
        REAL(cuMemcpyHtoDAsync_v2)(device_list, list, count * sizeof(*list), stream);
    if (result != CUDA_SUCCESS)
        return result;
    return REAL(cuLaunchKernel)(shadow->reduce_many, 1, count, 1,
                                shadow_reduce_threads(shadow, false), 1, 1, 0, stream, params,
                                NULL);
}

// Clears the marks with one kernel per node, and discards its record, because there is no room for
// records.
static CUresult clear_all(struct shadow *shadow, struct shadow_batch *batch, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (struct shadow_ticket *ticket = batch->first; ticket && result == CUDA_SUCCESS;
         ticket = ticket->next) {
        struct device_reduction about;
        describe(ticket, &about);
        about.small.result = ticket->memory->nowhere.address;
        result = shadow_reduce_enqueue(shadow, &about, words_of(ticket),
                                       ticket->facts & INSTRUMENT_COUNTS, stream);
        shadow_count_unwatched(shadow, ticket->kernel_number, ticket->kernel);
    }
    return result;
}

// Returns NULL if there are no tickets or memory runs out: the launch then stays untold.
static struct shadow_whole *begin_whole(const struct shadow_replay *replay)
{
    uint32_t count = 0;
    for (size_t i = 0; i < replay->tickets.count; i++)
        count += replay->tickets.items[i] != NULL;
    struct shadow_whole *whole = count ? calloc(1, sizeof(*whole)) : NULL;
    if (whole) {
        atomic_store(&whole->tickets, count);
        atomic_store(&whole->untold, count);
    }
    return whole;
}

// Moves the replay's tickets into the batch. A ticket without device memory is recorded with the
// next results.
static uint64_t gather(struct shadow *shadow, struct shadow_replay *replay, const uint32_t *nodes,
                       uint64_t call, CUstream stream, size_t *count)
{
    uint64_t bytes = 0;
    struct shadow_whole *whole = begin_whole(replay);
    *count = 0;
    for (size_t i = 0; i < replay->tickets.count; i++) {
        struct shadow_ticket *ticket = replay->tickets.items[i];
        struct device_reduction about;
        if (!ticket)
            continue;
        ticket->call = call;
        ticket->node = nodes[i];
        ticket->whole = whole;
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        shadow_malloc_launched(ticket, stream, true);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
        if (!has_memory(ticket)) {
            shadow_settle(shadow, ticket);
            continue;
        }
        bytes += shadow_reduce_describe(ticket, &about) + ticket->word_bytes;
        shadow_batch_add(replay->batch, ticket);
        ++*count;
    }
    return bytes;
}

// Counters of shared memory come first, because what reduces a node completes its record.
static CUresult fetch_words(const struct shadow_batch *batch, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (struct shadow_ticket *ticket = batch->first; ticket && result == CUDA_SUCCESS;
         ticket = ticket->next)
        result = shadow_words_fetch(&ticket->memory->pad, ticket, stream);
    return result;
}

static void finish(struct shadow_lane *lane, struct shadow_replay *replay, const uint32_t *nodes,
                   uint64_t call)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_batch *batch = replay->batch;
    size_t count;
    const CUstream stream = lane->stream->handle;
    const uint64_t bytes = gather(shadow, replay, nodes, call, stream, &count);
    if (!count) {
        shadow_batch_free(shadow, batch);
        return;
    }
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    const bool room = make_room(shadow, replay, count, bytes);
    if (!room)
        batch->event = shadow_event_take(shadow);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    const CUstreamCaptureMode mode = shadow_relax();
    if (room)
        give_records(batch);
    CUresult result = fetch_words(batch, stream);
    if (result == CUDA_SUCCESS)
        result = !room                ? clear_all(shadow, batch, stream)
                 : replay->list.bytes ? reduce_all(shadow, replay, stream)
                                      : reduce_each(shadow, batch, stream);
    if (!room && batch->event && result == CUDA_SUCCESS)
        result = REAL(cuEventRecord)(batch->event, stream);
    shadow_restore(mode);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_batch_give(batch, &replay->device_list);
    struct shadow_block *place = replay->list.address ? base_array_push(&batch->staging) : NULL;
    if (place)
        *place = replay->list;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    batch->untold = !room;
    if (result == CUDA_SUCCESS) {
        shadow_lane_fly(lane, batch);
        return;
    }
    shadow_fail(shadow, "to sum up", result);
    shadow_batch_free(shadow, batch);
}

// The graph was not launched, but copies for it were enqueued, so the batch is kept until they are
// done.
static void abandon(struct shadow_lane *lane, struct shadow_batch *batch)
{
    struct shadow *shadow = lane->shadow;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    batch->event = shadow_event_take(shadow);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result =
        batch->event ? REAL(cuEventRecord)(batch->event, lane->stream->handle) : CUDA_ERROR_UNKNOWN;
    shadow_restore(mode);
    batch->untold = true;
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "an event", result); // no more launches are watched
    shadow_lane_fly(lane, batch);
}

void shadow_replayed(struct core_stream *stream, struct shadow_ticket *const *tickets,
                     const uint32_t *nodes, size_t count, uint64_t call, bool launched)
{
    struct shadow *shadow = atomic_load(&stream->context->shadow);
    struct shadow_lane *lane = shadow ? shadow_lane_held(shadow, stream) : NULL;
    struct shadow_replay *replay = lane ? lane->replay : NULL;
    (void)tickets;
    if (!replay || replay->thread != core_thread_number() || replay->tickets.count > count) {
        shadow_unseen_work(stream->context, stream);
        return;
    }
    lane->replay = NULL;
    core_tail_begin(stream);
    if (replay->scan.work)
        shadow_graph_scan_after(lane, &replay->scan, replay->tickets.items, replay->tickets.count,
                                call, launched);
    if (launched && replay->batch) {
        finish(lane, replay, nodes, call);
    } else {
        for (size_t i = 0; i < replay->tickets.count; i++) {
            if (replay->tickets.items[i])
                shadow_ticket_free(replay->tickets.items[i]);
        }
        if (replay->batch)
            abandon(lane, replay->batch);
    }
    replay_free(replay);
    shadow_lane_leave(lane);
}
