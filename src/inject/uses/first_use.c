// SPDX-License-Identifier: Apache-2.0
// Decides which data is watched for its first use, from the calls of the driver. Data that is
// copied to the host is pending until a call makes it safe, and is watched from then on.
#include "first_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_reads.h"
#include "hash.h"
#include "inject/core/graph_nodes.h"
#include "inject/guard/closing.h"
#include "inject/guard/libraries.h"
#include "inject/guard/memory.h"
#include "inject/guard/readers.h"
#include "inject/guard/signals.h"
#include "inject/guard/system.h"
#include "inject/guard/tell.h"
#include "inject/guard/worth.h"
#include "inject/util/settings.h"
#include "managed.h"
#include "plan/plan.h"
#include "state.h"

struct uses_state uses_state;

// --- Start and end of the layer ------------------------------------------------------------------

static bool start(const struct core_driver *driver)
{
    (void)driver;
    memset(&uses_state.watch, 0, sizeof(uses_state.watch));
    uses_managed_start();
    uses_hash_start();
    const char *plan = util_setting(PLAN_VARIABLE); // a plan closes pages for its own purposes
    uses_state.on = guard_is_asked() && !(plan && *plan);
    core_state.host_ends = uses_state.on;
    if (uses_state.on)
        uses_clock_start();
    return uses_state.on;
}

// Data that is unused at the end of the process will not be used.
static void ended(void)
{
    if (!uses_state.on)
        return;
    guard_lock();
    uses_state.on = false;
    guard_forget(0, UINT64_MAX, false);
    if (guard_state.table.left_out)
        core_note(EVENT_INFO, "first uses of some data were not watched: closing its pages would "
                              "have taken too long");
    guard_unlock();
}

bool uses_is_possible(void)
{
    const char *why = NULL;
    if (uses_state.watch.off)
        return false;
    if (!uses_state.watch.taken) {
        uses_state.watch.taken = true;
        guard_memory_start();
        uses_state.watch.pageable_access =
            core_driver_devices_have(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
        uses_state.watch.host_tables = core_driver_devices_have(
            CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
        guard_state.table.since_ns = core_now_ns();
        why = guard_find_obstacle();
        if (!why && !guard_take_signal())
            why = "SIGSEGV is blocked";
    } else if (!guard_has_signal()) {
        why = "the program has replaced glint's SIGSEGV handler";
    } else {
        why = guard_given_up();
        if (!why)
            why = guard_readers_find();
    }
    if (!why)
        return true;
    char text[512];
    snprintf(text, sizeof(text), "first uses are not watched: %s", why);
    core_note(EVENT_WARNING, text);
    uses_state.watch.off = true;
    guard_forget(0, UINT64_MAX, true);
    return false;
}

// --- Data ----------------------------------------------------------------------------------------

static uint8_t kind_of(uint64_t address)
{
    struct core_object object;
    core_objects_find(&core_state.objects, OBJECTS_MEMORY, address, &object);
    return object.number ? object.kind : 0;
}

static bool is_of_host(uint8_t kind)
{
    return kind == EVENT_OBJECT_PINNED || kind == EVENT_OBJECT_REGISTERED;
}

static bool is_host(uint8_t memory)
{
    return memory == EVENT_MEMORY_PAGEABLE || memory == EVENT_MEMORY_PINNED;
}

static uint64_t end_of(uint64_t start, uint64_t pitch, uint64_t slice,
                       const struct event_copy *copy)
{
    if ((copy->height <= 1 && copy->depth <= 1) || !pitch)
        return start + copy->bytes;
    return start + (copy->depth ? copy->depth - 1 : 0) * slice + (copy->height - 1) * pitch +
           copy->width_bytes;
}

static uint64_t source_end(const struct event_copy *copy)
{
    return end_of(copy->from, copy->from_pitch, copy->from_slice, copy);
}

static uint64_t target_end(const struct event_copy *copy)
{
    return end_of(copy->to, copy->to_pitch, copy->to_slice, copy);
}

// Makes the destination of a copy to the host pending. Data that was there is overwritten.
static void begin(const struct core_call *call, const struct event_copy *copy, uint32_t node)
{
    struct guard_range *range = guard_new();
    const bool flat = copy->depth <= 1;
    range->start = copy->to;
    range->rows = flat && copy->height > 1 && copy->to_pitch ? copy->height : 1;
    range->width = range->rows > 1 ? copy->width_bytes : copy->bytes;
    range->pitch = range->rows > 1 ? copy->to_pitch : range->width;
    range->about = (struct event_use){
        .copy = call->number, .object = copy->to_object, .node = node, .bytes = copy->bytes};
    range->copy_path = call->stack;
    range->context = call->context ? call->context->number : 0;
    range->stream_count = call->stream != NULL;
    if (call->stream)
        range->streams[0] = (struct guard_place){
            call->stream, atomic_load_explicit(&call->stream->enqueued, memory_order_relaxed) + 1};
    range->boxes = !flat;
    if (!node)
        uses_hash_begin(range, copy);
    range->held = uses_state.watch.host_tables ||
                  (uses_state.watch.pageable_access && kind_of(copy->to) != EVENT_OBJECT_PINNED);
    // These pages are not closed while the copy is pending. Which pages can be closed is determined
    // when it has succeeded.
    range->low = copy->to & ~(guard_page_bytes() - 1);
    range->high = target_end(copy) + guard_page_bytes();
}

// Bytes between rows are not overwritten, so data ends only if it begins and ends with the rows.
static void overwrite(uint64_t low, uint64_t high, uint64_t bytes)
{
    uses_hash_disturb(low, high);
    if (high - low == bytes) {
        guard_flight_overwritten(low, high);
        guard_overwrite(low, high);
        return;
    }
    guard_replace(low, high, bytes);
    guard_lend(low, high);
}

static void copies(const struct core_call *call, const struct event_copy *copy, uint32_t node)
{
    if (!copy->bytes)
        return;
    if (is_host(copy->from_memory))
        guard_hand_over(copy->from, source_end(copy), call->stack);
    if (!is_host(copy->to_memory))
        return;
    overwrite(copy->to, target_end(copy), copy->bytes);
    if (copy->direction == EVENT_DEVICE_TO_HOST) {
        uses_is_possible();
        begin(call, copy, node);
    }
}

// --- Before the driver's function ----------------------------------------------------------------

// When the GPU gets work, memory that it may access by page tables is opened until the GPU is idle.
static void open_held(void)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || !range->held || range->open)
            continue;
        guard_tell_unknown(range, EVENT_USE_UNWATCHED);
        guard_open(range->low, range->high);
    }
}

// Returns whether the GPU accesses memory because of the call.
static bool is_work(const struct core_call *call)
{
    switch (call->kind) {
    case EVENT_CALL_SYNC:
    case EVENT_CALL_EVENT_RECORD:
    case EVENT_CALL_EVENT_WAIT:
    case EVENT_CALL_STREAM: return false;
    case EVENT_CALL_COPY:
    case EVENT_CALL_SET:
    case EVENT_CALL_LAUNCH:
    case EVENT_CALL_GRAPH_LAUNCH:
    case EVENT_CALL_MEMORY: return true;
    default: return call->how & HOOK_ASYNC;
    }
}

static bool has_held(void)
{
    return uses_has_managed() || uses_state.watch.pageable_access;
}

static void before(struct core_call *call)
{
    if (call->flags & EVENT_CALL_CAPTURED)
        return;
    guard_libraries_look();
    if (is_work(call) && has_held()) {
        call->submits = true;
        atomic_fetch_add(&guard_state.table.submitting, 1);
        atomic_fetch_add(&guard_state.table.submitted, 1);
        if (atomic_load(&guard_state.table.held)) {
            guard_lock();
            open_held();
            guard_unlock();
        }
    }
    const struct event_copy *copy = &call->detail.copy;
    const bool armed = atomic_load_explicit(&guard_state.table.armed, memory_order_relaxed);
    const bool busy =
        armed || atomic_load_explicit(&guard_state.table.pending, memory_order_relaxed);
    if (call->kind == EVENT_CALL_COPY) {
        const bool hashes = uses_hash_wants_before(call);
        if (is_host(copy->to_memory) || (armed && is_host(copy->from_memory))) {
            guard_lock();
            copies(call, copy, 0);
            guard_unlock();
        }
        if (hashes)
            uses_hash_before(call);
    } else if (call->kind == EVENT_CALL_SYNC) {
        uses_hash_sync(call);
    } else if (call->kind == EVENT_CALL_HOST) {
        uses_hash_host_work();
    } else if (call->kind == EVENT_CALL_SET) {
        const struct event_set *set = &call->detail.set;
        if (is_of_host(kind_of(set->address)))
            uses_hash_host_work();
        if (!busy)
            return;
        guard_lock();
        overwrite(set->address,
                  set->address + (set->height > 1 && set->pitch
                                      ? (set->height - 1) * set->pitch + set->width_bytes
                                      : set->bytes),
                  set->bytes);
        guard_unlock();
    } else if (busy && (call->kind == EVENT_CALL_ALLOC || call->kind == EVENT_CALL_FREE ||
                        call->kind == EVENT_CALL_MEMORY)) {
        const struct event_alloc *alloc = &call->detail.alloc; // also for registered memory
        guard_lock();
        if (call->kind == EVENT_CALL_FREE)
            guard_forget(alloc->address, alloc->address + alloc->bytes, false);
        else
            guard_lend(alloc->address, alloc->address + alloc->bytes);
        guard_unlock();
    } else if (busy && call->kind == EVENT_CALL_CONTEXT && call->how & HOOK_WAITS) {
        guard_lock(); // pinned memory is freed with its context
        guard_forget(0, UINT64_MAX, true);
        guard_unlock();
    }
}

void uses_graph(struct core_call *call, const struct core_graph *graph)
{
    if (!uses_state.on || call->flags & EVENT_CALL_CAPTURED)
        return;
    guard_lock();
    for (size_t i = 0; graph && i < graph->nodes.count; i++) {
        const struct core_node *node = &graph->nodes.items[i];
        if (node->reported.kind == EVENT_NODE_HOST)
            uses_hash_host_work();
        if (node->reported.kind == EVENT_NODE_COPY && !node->disabled)
            copies(call, &node->reported.copy, (uint32_t)i + 1);
    }
    guard_unlock();
}

// --- After the driver's function -----------------------------------------------------------------

static unsigned place_of(CUevent event)
{
    return (unsigned)((uint64_t)(uintptr_t)event * UINT64_C(0x9E3779B97F4A7C15) >> 54) %
           USES_EVENTS;
}

void uses_recorded(const struct core_call *call, CUevent event)
{
    if (!uses_state.on || !call->stream || call->result != CUDA_SUCCESS ||
        call->flags & EVENT_CALL_CAPTURED)
        return;
    guard_lock();
    const unsigned place = place_of(event);
    uses_state.watch.events[place].event = event;
    uses_state.watch.events[place].at = (struct guard_place){
        call->stream, atomic_load_explicit(&call->stream->enqueued, memory_order_relaxed)};
    guard_unlock();
}

// Returns whether the copy is done when the stream has done so much work.
static bool is_done_at(const struct guard_range *range, const struct guard_place *at)
{
    for (unsigned i = 0; i < range->stream_count; i++)
        if (range->streams[i].stream == at->stream && range->streams[i].enqueued <= at->enqueued)
            return true;
    return false;
}

static struct guard_place place_of_event(CUevent event)
{
    const unsigned place = place_of(event);
    return uses_state.watch.events[place].event == event ? uses_state.watch.events[place].at
                                                         : (struct guard_place){0};
}

// Later work of the stream comes behind work of the others.
void uses_waits(const struct core_call *call, CUevent event)
{
    if (!uses_state.on || !call->stream || call->result != CUDA_SUCCESS ||
        call->flags & EVENT_CALL_CAPTURED ||
        !atomic_load_explicit(&guard_state.table.pending, memory_order_relaxed))
        return;
    guard_lock();
    const struct guard_place from = place_of_event(event);
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_PENDING && range->stream_count < GUARD_STREAMS &&
            from.stream != call->stream && is_done_at(range, &from))
            range->streams[range->stream_count++] = (struct guard_place){
                call->stream, atomic_load_explicit(&call->stream->enqueued, memory_order_relaxed)};
    }
    guard_unlock();
}

// Returns whether the call, which has waited as it must, has made the data safe. A copy that
// happens to be complete does not count, because the program could not know.
static bool covers(const struct core_call *call, const struct guard_range *range)
{
    const uint32_t context = call->stream    ? call->stream->context->number
                             : call->context ? call->context->number
                                             : 0;
    if (range->about.copy == call->number) // the call is the copy, and has waited for it
        return true;
    if (call->event) {
        const struct guard_place at = place_of_event(call->event);
        return is_done_at(range, &at);
    }
    if (!call->stream)
        return context == range->context;
    if (is_done_at(range, &(struct guard_place){call->stream, UINT64_MAX}))
        return true;
    return call->stream->flags & EVENT_STREAM_LEGACY && context == range->context &&
           range->stream_count && !(range->streams[0].stream->flags & EVENT_STREAM_NON_BLOCKING);
}

static void make_safe(const struct core_call *call, struct guard_range *range)
{
    range->about.sync = call->number;
    range->sync_path = call->stack;
    uses_hash_safe(call, range);
    if (range->boxes || uses_state.watch.off || guard_readers_known()) {
        range->high = 0;
        range->about.unwatched_bytes = range->about.bytes;
    } else {
        guard_find_pages(range, kind_of(range->start), call->caller.sp);
    }
    if (!guard_wanted(call->stack, range->copy_path)) {
        guard_drop(range);
    } else if (!range->high || guard_is_too_slow()) {
        guard_state.table.left_out += range->high != 0;
        guard_tell_unknown(range, EVENT_USE_UNKNOWN);
        guard_count(range);
        guard_drop(range);
    } else if (guard_close(range)) {
        if (range->about.unwatched_bytes) // these bytes may be used at any time
            guard_tell_unknown(range, EVENT_USE_UNKNOWN);
    } else if (range->state == GUARD_ARMED) {
        guard_tell_unknown(range, range->held ? EVENT_USE_UNWATCHED : EVENT_USE_UNKNOWN);
    }
}

static void make_all_safe(const struct core_call *call)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_PENDING && covers(call, range))
            make_safe(call, range);
    }
}

// --- All of it -----------------------------------------------------------------------------------

static void close_held(void)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && range->held && range->open)
            guard_close(range);
    }
}

static bool is_sync(const struct core_call *call)
{
    return call->result == CUDA_SUCCESS && !(call->flags & EVENT_CALL_CAPTURED) &&
           ((call->how & HOOK_WAITS && !(call->how & HOOK_UNSURE)) ||
            call->kind == EVENT_CALL_SYNC);
}

static void drop_failed(const struct core_call *call)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_PENDING && range->about.copy == call->number)
            guard_drop(range);
    }
}

static void after(struct core_call *call)
{
    if (call->submits) {
        atomic_fetch_sub(&guard_state.table.submitting, 1);
        uses_managed_launched();
    }
    const bool sync = is_sync(call);
    uses_clock_call(call, sync);
    if (call->kind == EVENT_CALL_COPY)
        uses_hash_after(call, sync);
    // At the first such call, glint did not know yet that work must be counted.
    const bool held = sync && has_held() && (call->submits || !is_work(call));
    if (!atomic_load_explicit(&guard_state.table.pending, memory_order_relaxed) &&
        !atomic_load_explicit(&guard_state.table.armed, memory_order_relaxed) && !held) {
        uses_hash_idle(call, sync);
        return;
    }
    const uint64_t submitted = atomic_load(&guard_state.table.submitted);
    const bool idle = held && uses_is_all_idle(call);
    guard_libraries_look();
    guard_lock();
    if (!uses_state.on) { // the process ends
        guard_unlock();
        return;
    }
    guard_state.table.idle_at = idle ? submitted : UINT64_MAX;
    if (call->result != CUDA_SUCCESS)
        drop_failed(call);
    if (call->before.known)
        uses_hash_keep_before(call);
    if (sync && atomic_load(&guard_state.table.pending))
        make_all_safe(call);
    uses_hash_idle(call, sync);
    if (idle)
        close_held();
    if (held)
        uses_managed_sync(call, idle);
    guard_close_again();
    guard_unlock();
}

void uses_batch(const struct core_call *call, const struct event_copy *copy)
{
    if (!uses_state.on)
        return;
    uses_hash_source(call, copy);
    if (copy->direction != EVENT_DEVICE_TO_HOST)
        return;
    guard_tell_unwatched(call,
                         &(struct event_use){call->number, call->number, .object = copy->to_object,
                                             .address = copy->to, .bytes = copy->bytes,
                                             .kind = EVENT_USE_UNKNOWN});
}

// --- The layer -----------------------------------------------------------------------------------

// Notes why.
static void gave_up(void)
{
    if (!uses_state.on)
        return;
    guard_lock();
    uses_is_possible();
    guard_unlock();
}

const struct inject_layer uses_layer = {
    .name = "first uses",
    .start = start,
    .before = before,
    .after = after,
    .gave_up = gave_up,
    .ended = ended,
};
