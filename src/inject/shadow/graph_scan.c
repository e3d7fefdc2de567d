// SPDX-License-Identifier: Apache-2.0
// Scans of contents around launches of graphs. The probes of a node set marks whose address became
// part of the graph when the node was made. If another object of the same size lies at the same
// address by now, its marks get what the probes have marked. If it is anything else, or if a node
// is not watched, writes may have been missed: then nothing is recorded, and all contents are
// unknown. Copies and sets mark what they write like probes do, so that an object has one row,
// whichever nodes wrote it.
#include "graph_scan.h"

#include "inject/core/names.h"
#include "inject/core/tail.h"
#include "lane.h"
#include "memory.h"
#include "tell.h"

// --- Nodes ---------------------------------------------------------------------------------------

void shadow_graph_scan_bind(struct shadow *shadow, struct shadow_ticket *ticket,
                            struct instrument_pieces *pieces)
{
    struct shadow_node *node = ticket->memory;
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        if (!(shadow_scan_ways(ticket->kernel, i) & EVENT_ACCESS_WRITTEN))
            continue;
        struct shadow_contents *contents = shadow_contents_holding(shadow, node->roots[i]);
        node->marked[i] = contents;
        if (!contents)
            continue;
        shadow_contents_hold(contents);
        pieces[i] = shadow_contents_pieces(contents);
    }
}

void shadow_graph_scan_unbind(struct shadow *shadow, struct shadow_node *node)
{
    for (uint32_t i = 0; i < node->root_count; i++) {
        if (node->marked[i])
            shadow_contents_drop(shadow, node->marked[i]);
        node->marked[i] = NULL;
    }
}

// --- Before the launch ---------------------------------------------------------------------------

// Adds an object to what the launch may write. With shadow->lock held.
static void add_written(struct shadow_graph_scan *scan, struct shadow_contents *contents,
                        const struct core_stream *stream)
{
    shadow_known_writes(contents, stream);
    for (size_t i = 0; i < scan->written.count; i++) {
        if (scan->written.items[i] == contents)
            return;
    }
    struct shadow_contents **place = base_array_push(&scan->written);
    if (place) {
        *place = contents;
        shadow_contents_hold(contents);
    } else {
        core_no_memory();
        scan->unseen = true;
    }
}

// Returns whether the marks that the node's probes set for one object fit the other, which lies
// there now. With shadow->lock held.
static bool fits(struct shadow_lane *lane, struct shadow_contents *then,
                 const struct shadow_contents *now)
{
    if (then == now)
        return true;
    // Marks of work that was not seen may be left. Those that another scan may be reading stay.
    return then && now && then->start == now->start && then->bytes == now->bytes &&
           !shadow_is_concurrent(then, lane->stream) &&
           shadow_known_refresh(lane->shadow, then, lane->stream);
}

// Lists what the node may write, in its ticket and in the scan, and sets the layouts of all that it
// uses. Returns false if it may write memory that it does not mark. With shadow->lock held.
static bool prepare_node(struct shadow_lane *lane, struct shadow_graph_scan *scan,
                         struct shadow_ticket *ticket)
{
    struct shadow *shadow = lane->shadow;
    const struct instrument_kernel *kernel = ticket->kernel;
    const struct shadow_node *node = ticket->memory;
    bool good = shadow_scan_sees(kernel) && !(ticket->doubts & 1u << EVENT_DOUBT_LEFT);
    if (!shadow_scan_make_written(ticket))
        return false;
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        const uint32_t ways = shadow_scan_ways(kernel, i);
        struct shadow_contents *contents =
            ways ? shadow_contents_holding(shadow, node->roots[i]) : NULL;
        if (ways & EVENT_ACCESS_WRITTEN)
            shadow_contents_written_from(shadow->context, node->roots[i]);
        if (ways & EVENT_ACCESS_WRITTEN && !fits(lane, node->marked[i], contents)) {
            good = false;
            continue;
        }
        if (!contents || !shadow_known_refresh(shadow, contents, lane->stream))
            continue;
        shadow_contents_shape(contents, &kernel->roots[i].layout, node->roots[i]);
        if (ways & EVENT_ACCESS_WRITTEN) {
            shadow_scan_add_written(ticket, contents);
            add_written(scan, contents, lane->stream);
        }
    }
    for (uint32_t i = 0; shadow_scan_looks_up(ticket) && i < ticket->table->count; i++) {
        struct shadow_contents *contents =
            shadow_contents_of(shadow, ticket->table->pieces[i].object.number);
        if (!contents || !shadow_known_refresh(shadow, contents, lane->stream))
            continue;
        shadow_scan_add_written(ticket, contents);
        add_written(scan, contents, lane->stream);
    }
    return good;
}

// Adds scans of what the node may read. All layouts are set by now, so that an object is looked at
// once. With shadow->lock held.
static void find_read(struct shadow_lane *lane, const struct shadow_ticket *ticket,
                      struct shadow_scan_list *list)
{
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        if (!(shadow_scan_ways(ticket->kernel, i) & EVENT_ACCESS_READ))
            continue;
        struct shadow_contents *contents =
            shadow_contents_holding(lane->shadow, ticket->memory->roots[i]);
        if (contents)
            shadow_scan_add_found(list, contents, true, lane->stream);
    }
}

// Lists the object that a copy or set writes. Returns false if it writes something else, too.
static bool prepare_range(struct shadow_lane *lane, struct shadow_graph_scan *scan,
                          const struct shadow_range *range)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_contents *contents = shadow_contents_holding(shadow, range->from);
    if (!shadow_contents_is_one(range->from, range->to))
        return false;
    if (!contents)
        return true; // it is not looked at
    if (shadow_known_refresh(shadow, contents, lane->stream))
        add_written(scan, contents, lane->stream);
    return true;
}

void shadow_graph_scan_before(struct shadow_lane *lane, struct shadow_graph_scan *scan,
                              struct shadow_ticket *const *made, size_t count,
                              const struct shadow_graph_work *work)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_scan_list list = {.kind = EVENT_CONTENTS_FOUND};
    scan->work = work;
    scan->unseen |= work->unseen;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    for (size_t i = 0; i < count; i++)
        scan->unseen |= !made[i] || !prepare_node(lane, scan, made[i]);
    for (size_t i = 0; i < work->ranges.count; i++)
        scan->unseen |= !prepare_range(lane, scan, &work->ranges.items[i]);
    for (size_t i = 0; i < count; i++) {
        if (made[i])
            find_read(lane, made[i], &list);
    }
    scan->unseen |= !shadow_own_wait(shadow, lane->stream); // contents may be new
    struct shadow_batch *batch = shadow_scan_start_batch(lane, list.first);
    scan->found = batch ? batch->scans : NULL;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    shadow_scan_fly(lane, batch, 0); // the call has no number yet
}

// --- After the launch ----------------------------------------------------------------------------

// Gives the marks that the node's probes have set to the objects that lie there now.
static bool join_marks(struct shadow_lane *lane, const struct shadow_ticket *ticket)
{
    const struct shadow_node *node = ticket->memory;
    bool good = true;
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        const struct shadow_contents *then = node->marked[i];
        const struct shadow_contents *now =
            then && then->ended ? shadow_contents_holding(lane->shadow, node->roots[i]) : NULL;
        if (!now)
            continue;
        const struct device_marking marking = {.marks = shadow_contents_marks(now).address,
                                               .other = shadow_contents_marks(then).address,
                                               .mask = now->mask};
        good &= shadow_scan_mark(lane, &marking);
    }
    return good;
}

static bool mark_range(struct shadow_lane *lane, const struct shadow_range *range)
{
    const struct shadow_contents *contents = shadow_contents_holding(lane->shadow, range->from);
    if (!shadow_contents_is_one(range->from, range->to))
        return false; // another object has come meanwhile
    if (!contents)
        return true;
    const uint64_t first = (range->from - contents->base) >> DEVICE_PIECE_SHIFT;
    const uint64_t last = (range->to - 1 - contents->base) >> DEVICE_PIECE_SHIFT;
    const struct device_marking marking = {.marks = shadow_contents_marks(contents).address,
                                           .mask = contents->mask,
                                           .first = (uint32_t)first,
                                           .count = (uint32_t)(last - first + 1)};
    return shadow_scan_mark(lane, &marking);
}

// Lists scans of all that the launch has written. With shadow->lock held.
static struct shadow_scan *list_written(struct shadow_lane *lane, struct shadow_graph_scan *scan)
{
    struct shadow_scan_list list = {.kind = EVENT_CONTENTS_WRITTEN};
    for (size_t i = 0; i < scan->written.count; i++) {
        struct shadow_contents *contents = scan->written.items[i];
        const struct device_values_job job = shadow_known_job(contents, lane->stream);
        contents->unseen |= !job.describes;
        shadow_scan_add(&list, contents, &job, lane->stream);
    }
    return list.first;
}

void shadow_graph_scan_after(struct shadow_lane *lane, struct shadow_graph_scan *scan,
                             struct shadow_ticket *const *made, size_t count, uint64_t call,
                             bool launched)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_batch *batch = NULL;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    for (size_t i = 0; launched && !scan->unseen && i < count; i++)
        scan->unseen |= !join_marks(lane, made[i]);
    for (size_t i = 0; launched && !scan->unseen && i < scan->work->ranges.count; i++)
        scan->unseen |= !mark_range(lane, &scan->work->ranges.items[i]);
    if (launched && scan->unseen) {
        shadow_known_unseen(shadow, lane->stream);
    } else if (launched) {
        batch = shadow_scan_start_batch(lane, list_written(lane, scan));
    } else {
        shadow_scan_unfind(scan->found);
    }
    if (launched)
        shadow_scan_set_call(scan->found, call);
    for (size_t i = 0; i < scan->written.count; i++)
        shadow_contents_drop(shadow, scan->written.items[i]);
    scan->written.count = 0;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    shadow_scan_fly(lane, batch, call);
    for (size_t i = 0; launched && i < count; i++) {
        if (made[i])
            shadow_scan_peers(made[i], !scan->unseen, lane->stream);
    }
    if (launched && scan->unseen)
        shadow_put_told(call, 0, 1u << EVENT_DOUBT_WORK);
}
