// SPDX-License-Identifier: Apache-2.0
// Which data is watched for its first use, from the calls of the driver: what is copied to the host
// waits (is pending) for a call that makes it safe, and is watched from then on.
#include "first_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_reads.h"
#include "hash.h"
#include "inject/core/graph_nodes.h"
#include "inject/guard/flight.h"
#include "inject/guard/memory.h"
#include "inject/guard/outer.h"
#include "inject/guard/readers.h"
#include "inject/guard/signals.h"
#include "inject/guard/system.h"
#include "managed.h"
#include "plan/plan.h"

bool first_use_on;

enum { EVENTS_MOST = 1024 };

static struct {
    bool taken, off;      // SIGSEGV was asked for; in vain, or given up. Under the table's lock
    bool pageable_access; // GPUs reach all of the program's memory by its page tables
    bool host_tables;     // even what is pinned
    struct {
        CUevent event;
        struct use_place at;
    } events[EVENTS_MOST]; // by their handle: of two in one place the last
} watch;

// --- Beginning and end ---------------------------------------------------------------------------

static bool start(const struct door_driver *driver)
{
    (void)driver;
    memset(&watch, 0, sizeof(watch));
    use_managed_start();
    use_hash_start();
    const char *plan = getenv(PLAN_VARIABLE); // pages are closed for one reason at a time
    first_use_on = use_is_asked() && !(plan && *plan);
    state.host_ends = first_use_on;
    return first_use_on;
}

// Nothing that is unused by now will be used.
static void ended(void)
{
    if (!first_use_on)
        return;
    use_lock();
    first_use_on = false;
    use_forget(0, UINT64_MAX, false);
    if (use_table.left_out)
        state_note(EVENT_INFO, "first uses of some data were not watched for, because closing its "
                               "pages would have taken too long");
    use_unlock();
}

bool use_is_possible(void)
{
    const char *why = NULL;
    if (watch.off)
        return false;
    if (!watch.taken) {
        watch.taken = true;
        use_memory_start();
        watch.pageable_access = door_devices_have(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
        watch.host_tables =
            door_devices_have(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
        use_table.since_ns = now_ns();
        use_libraries_changed();
        why = use_find_obstacle();
        if (!why && !use_take_signal())
            why = "SIGSEGV is blocked";
    } else if (!use_has_signal()) {
        why = "the program has taken SIGSEGV";
    } else {
        why = use_given_up();
        if (!why)
            why = readers_find();
    }
    if (!why)
        return true;
    char text[256];
    snprintf(text, sizeof(text), "first uses are not watched for: %s", why);
    state_note(EVENT_WARNING, text);
    watch.off = true;
    use_forget(0, UINT64_MAX, true);
    return false;
}

// --- Data ----------------------------------------------------------------------------------------

static uint8_t kind_of(uint64_t address)
{
    struct object object;
    objects_find(&state.objects, OBJECTS_MEMORY, address, &object);
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

// The destination of a copy to the host: what was there is overwritten, and it is pending.
static void begin(const struct call *call, const struct event_copy *copy, uint32_t node)
{
    struct use_range *range = use_new();
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
        range->streams[0] = (struct use_place){
            call->stream, atomic_load_explicit(&call->stream->enqueued, memory_order_relaxed) + 1};
    range->boxes = !flat;
    if (!node)
        use_hash_begin(range, copy);
    range->held =
        watch.host_tables || (watch.pageable_access && kind_of(copy->to) != EVENT_OBJECT_PINNED);
    // Nothing of these is closed meanwhile. Which pages can be is known when the copy was good.
    range->low = copy->to & ~(use_page_bytes() - 1);
    range->high = target_end(copy) + use_page_bytes();
}

// What is between rows is not overwritten: of data there nothing ends but what begins and ends with
// them.
static void overwrite(uint64_t low, uint64_t high, uint64_t bytes)
{
    use_hash_disturb(low, high);
    if (high - low == bytes) {
        use_flight_overwritten(low, high);
        use_overwrite(low, high);
        return;
    }
    use_replace(low, high, bytes);
    use_lend(low, high);
}

static void copies(const struct call *call, const struct event_copy *copy, uint32_t node)
{
    if (!copy->bytes)
        return;
    if (is_host(copy->from_memory))
        use_hand_over(copy->from, source_end(copy), call->stack);
    if (!is_host(copy->to_memory))
        return;
    overwrite(copy->to, target_end(copy), copy->bytes);
    if (copy->direction == EVENT_DEVICE_TO_HOST) {
        use_is_possible();
        begin(call, copy, node);
    }
}

// --- Before the driver's function ----------------------------------------------------------------

// The GPU is given work: what it may touch by page tables is opened, and stays so until it has
// none.
static void open_held(void)
{
    for (EACH_USE_RANGE(range)) {
        if (range->state != USE_ARMED || !range->held || range->open)
            continue;
        use_tell_unknown(range, EVENT_USE_UNWATCHED);
        use_open(range->low, range->high);
    }
}

// Whether the GPU comes to touch memory by the call.
static bool is_work(const struct call *call)
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
    return use_has_managed() || watch.pageable_access;
}

static void before(struct call *call)
{
    if (call->flags & EVENT_CALL_CAPTURED)
        return;
    if (is_work(call) && has_held()) {
        call->submits = true;
        atomic_fetch_add(&use_table.submitting, 1);
        atomic_fetch_add(&use_table.submitted, 1);
        if (atomic_load(&use_table.held)) {
            use_lock();
            open_held();
            use_unlock();
        }
    }
    const struct event_copy *copy = &call->detail.copy;
    const bool armed = atomic_load_explicit(&use_table.armed, memory_order_relaxed);
    const bool busy = armed || atomic_load_explicit(&use_table.pending, memory_order_relaxed);
    if (call->kind == EVENT_CALL_COPY) {
        const bool hashes = use_hash_wants_before(call);
        if (is_host(copy->to_memory) || (armed && is_host(copy->from_memory))) {
            use_lock();
            copies(call, copy, 0);
            use_unlock();
        }
        if (hashes)
            use_hash_before(call);
    } else if (call->kind == EVENT_CALL_SYNC) {
        use_hash_sync(call);
    } else if (call->kind == EVENT_CALL_HOST) {
        use_hash_host_work();
    } else if (call->kind == EVENT_CALL_SET) {
        const struct event_set *set = &call->detail.set;
        if (is_of_host(kind_of(set->address)))
            use_hash_host_work();
        if (!busy)
            return;
        use_lock();
        overwrite(set->address,
                  set->address + (set->height > 1 && set->pitch
                                      ? (set->height - 1) * set->pitch + set->width_bytes
                                      : set->bytes),
                  set->bytes);
        use_unlock();
    } else if (busy && (call->kind == EVENT_CALL_ALLOC || call->kind == EVENT_CALL_FREE ||
                        call->kind == EVENT_CALL_MEMORY)) {
        const struct event_alloc *alloc = &call->detail.alloc; // also of what is registered
        use_lock();
        if (call->kind == EVENT_CALL_FREE)
            use_forget(alloc->address, alloc->address + alloc->bytes, false);
        else
            use_lend(alloc->address, alloc->address + alloc->bytes);
        use_unlock();
    } else if (busy && call->kind == EVENT_CALL_CONTEXT && call->how & HOOK_WAITS) {
        use_lock(); // pinned memory goes with its context
        use_forget(0, UINT64_MAX, true);
        use_unlock();
    }
}

void first_use_graph(struct call *call, const struct graph *graph)
{
    if (!first_use_on || call->flags & EVENT_CALL_CAPTURED)
        return;
    use_lock();
    for (size_t i = 0; graph && i < graph->nodes.count; i++) {
        const struct node *node = &graph->nodes.items[i];
        if (node->told.kind == EVENT_NODE_HOST)
            use_hash_host_work();
        if (node->told.kind == EVENT_NODE_COPY && !node->disabled)
            copies(call, &node->told.copy, (uint32_t)i + 1);
    }
    use_unlock();
}

// --- After it ------------------------------------------------------------------------------------

static unsigned place_of(CUevent event)
{
    return (unsigned)((uint64_t)(uintptr_t)event * UINT64_C(0x9E3779B97F4A7C15) >> 54) %
           EVENTS_MOST;
}

void first_use_recorded(const struct call *call, CUevent event)
{
    if (!first_use_on || !call->stream || call->result != CUDA_SUCCESS ||
        call->flags & EVENT_CALL_CAPTURED)
        return;
    use_lock();
    const unsigned place = place_of(event);
    watch.events[place].event = event;
    watch.events[place].at = (struct use_place){
        call->stream, atomic_load_explicit(&call->stream->enqueued, memory_order_relaxed)};
    use_unlock();
}

// Whether the copy is done once the stream has done so much.
static bool is_done_at(const struct use_range *range, const struct use_place *at)
{
    for (unsigned i = 0; i < range->stream_count; i++)
        if (range->streams[i].stream == at->stream && range->streams[i].enqueued <= at->enqueued)
            return true;
    return false;
}

static struct use_place place_of_event(CUevent event)
{
    const unsigned place = place_of(event);
    return watch.events[place].event == event ? watch.events[place].at : (struct use_place){0};
}

// The stream's work from now on comes behind that of others.
void first_use_waits(const struct call *call, CUevent event)
{
    if (!first_use_on || !call->stream || call->result != CUDA_SUCCESS ||
        call->flags & EVENT_CALL_CAPTURED ||
        !atomic_load_explicit(&use_table.pending, memory_order_relaxed))
        return;
    use_lock();
    const struct use_place from = place_of_event(event);
    for (EACH_USE_RANGE(range)) {
        if (range->state == USE_PENDING && range->stream_count < USE_STREAMS &&
            from.stream != call->stream && is_done_at(range, &from))
            range->streams[range->stream_count++] = (struct use_place){
                call->stream, atomic_load_explicit(&call->stream->enqueued, memory_order_relaxed)};
    }
    use_unlock();
}

// Whether the call, which has waited for what it had to, has made the data safe. What has happened
// to be done by then does not count: the program could not know.
static bool covers(const struct call *call, const struct use_range *range)
{
    const uint32_t context = call->stream    ? call->stream->context->number
                             : call->context ? call->context->number
                                             : 0;
    if (range->about.copy == call->number) // it has waited for itself
        return true;
    if (call->event) {
        const struct use_place at = place_of_event(call->event);
        return is_done_at(range, &at);
    }
    if (!call->stream)
        return context == range->context;
    if (is_done_at(range, &(struct use_place){call->stream, UINT64_MAX}))
        return true;
    return call->stream->flags & EVENT_STREAM_LEGACY && context == range->context &&
           range->stream_count && !(range->streams[0].stream->flags & EVENT_STREAM_NON_BLOCKING);
}

static void make_safe(const struct call *call, struct use_range *range)
{
    range->about.sync = call->number;
    range->sync_path = call->stack;
    use_hash_safe(call, range);
    if (range->boxes || watch.off || readers_known()) {
        range->high = 0;
        range->about.unwatched_bytes = range->about.bytes;
    } else {
        use_find_pages(range, kind_of(range->start), call->caller.sp);
    }
    if (!use_wanted(call->stack, range->copy_path)) {
        use_drop(range);
    } else if (!range->high || use_is_too_slow()) {
        use_table.left_out += range->high != 0;
        use_tell_unknown(range, EVENT_USE_UNKNOWN);
        use_count(range);
        use_drop(range);
    } else if (use_close(range)) {
        if (range->about.unwatched_bytes) // which may be used at any time
            use_tell_unknown(range, EVENT_USE_UNKNOWN);
    } else if (range->state == USE_ARMED) {
        use_tell_unknown(range, range->held ? EVENT_USE_UNWATCHED : EVENT_USE_UNKNOWN);
    }
}

static void make_all_safe(const struct call *call)
{
    for (EACH_USE_RANGE(range)) {
        if (range->state == USE_PENDING && covers(call, range))
            make_safe(call, range);
    }
}

// --- All of it -----------------------------------------------------------------------------------

static void close_held(void)
{
    for (EACH_USE_RANGE(range)) {
        if (range->state == USE_ARMED && range->held && range->open)
            use_close(range);
    }
}

static bool is_sync(const struct call *call)
{
    return call->result == CUDA_SUCCESS && !(call->flags & EVENT_CALL_CAPTURED) &&
           ((call->how & HOOK_WAITS && !(call->how & HOOK_UNSURE)) ||
            call->kind == EVENT_CALL_SYNC);
}

static void drop_failed(const struct call *call)
{
    for (EACH_USE_RANGE(range)) {
        if (range->state == USE_PENDING && range->about.copy == call->number)
            use_drop(range);
    }
}

static void after(struct call *call)
{
    if (call->submits) {
        atomic_fetch_sub(&use_table.submitting, 1);
        use_managed_launched();
    }
    const bool sync = is_sync(call);
    clock_reads_call(call, sync);
    if (call->kind == EVENT_CALL_COPY)
        use_hash_after(call, sync);
    // At the first such call it was not known yet that work has to be counted.
    const bool held = sync && has_held() && (call->submits || !is_work(call));
    if (!atomic_load_explicit(&use_table.pending, memory_order_relaxed) &&
        !atomic_load_explicit(&use_table.armed, memory_order_relaxed) && !held) {
        use_hash_idle(call, sync);
        return;
    }
    const uint64_t submitted = atomic_load(&use_table.submitted);
    const bool idle = held && use_is_all_idle(call);
    use_lock();
    if (!first_use_on) { // the process ends
        use_unlock();
        return;
    }
    use_table.idle_at = idle ? submitted : UINT64_MAX;
    if (call->result != CUDA_SUCCESS)
        drop_failed(call);
    if (call->before.known)
        use_hash_keep_before(call);
    if (sync && atomic_load(&use_table.pending))
        make_all_safe(call);
    use_hash_idle(call, sync);
    if (idle)
        close_held();
    if (held)
        use_managed_sync(call, idle);
    use_close_again();
    use_unlock();
}

void first_use_batch(const struct call *call, const struct event_copy *copy)
{
    if (!first_use_on)
        return;
    use_hash_source(call, copy);
    if (copy->direction != EVENT_DEVICE_TO_HOST)
        return;
    use_tell_unwatched(call, &(struct event_use){call->number, call->number,
                                                 .object = copy->to_object, .address = copy->to,
                                                 .bytes = copy->bytes, .kind = EVENT_USE_UNKNOWN});
}

// --- The layer -----------------------------------------------------------------------------------

// Notes why.
static void gave_up(void)
{
    if (!first_use_on)
        return;
    use_lock();
    use_is_possible();
    use_unlock();
}

const struct inject_layer uses_layer = {
    .name = "first uses",
    .start = start,
    .before = before,
    .after = after,
    .gave_up = gave_up,
    .ended = ended,
};
