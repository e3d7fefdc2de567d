// SPDX-License-Identifier: Apache-2.0
// Decides which copies from host memory are watched, and when their object is first used: by a
// watched launch with a parameter that points into it, or by a copy that reads it. Launches that
// are not watched, and kernels that find the object in another way, are not noticed here. The
// analysis knows them, and uses a source only if it was checked at or before the first use.
//
// Sources are read only where it is worth it. The second hash is computed only if a kernel was
// launched or memory was freed since the copy: otherwise delaying the copy would free nothing.
#include "sources.h"

#include <stdlib.h>
#include <string.h>

#include "inject/probe/launch.h"
#include "read.h"
#include "state.h"
#include "tables.h"

enum {
    LEAST_BYTES = 4096,   // of a copy; objects of less are never worth a finding
    MOST_COPIES = 4096,   // that are watched at the same time
    MOST_OBJECTS = 65536, // that are known to be used or watched
    SOURCES_USED = 1,     // in place of an object's copies
};

struct sources_state sources_state;

static bool start(const struct core_driver *driver)
{
    (void)driver;
    memset(&sources_state, 0, sizeof(sources_state));
    pthread_mutex_init(&sources_state.lock, NULL);
    atomic_store(&sources_state.low, UINT64_MAX);
    if (!probe_state)
        return false;
    sources_read_start();
    return !sources_state.unreadable;
}

// --- Objects -------------------------------------------------------------------------------------

static struct sources_copy *copies_of(uint64_t value)
{
    return value == SOURCES_USED ? NULL : (struct sources_copy *)(uintptr_t)value; // NOLINT
}

// Takes the object's copies out of the table, which afterwards has `value` for it; 0: nothing. The
// caller frees them.
static struct sources_copy *take(uint64_t object, uint64_t value)
{
    struct sources_copy *list = NULL;
    util_mutex_lock(&sources_state.lock, RANK_SOURCES);
    uint64_t *place = base_map_get(&sources_state.objects, object);
    if (!place && value && sources_state.objects.live < MOST_OBJECTS)
        place = base_map_put(&sources_state.objects, object, NULL);
    sources_state.full |= value && !place;
    if (place) {
        list = copies_of(*place);
        *place = value;
        if (!value)
            base_map_remove(&sources_state.objects, object);
    }
    for (const struct sources_copy *copy = list; copy; copy = copy->next)
        sources_state.copy_count--;
    if (list)
        atomic_fetch_sub(&sources_state.waiting, 1);
    util_mutex_unlock(&sources_state.lock, RANK_SOURCES);
    return list;
}

static void drop(struct sources_copy *list)
{
    while (list) {
        struct sources_copy *next = list->next;
        free(list);
        list = next;
    }
}

static bool is_used(uint64_t object)
{
    util_mutex_lock(&sources_state.lock, RANK_SOURCES);
    const uint64_t *place = base_map_get(&sources_state.objects, object);
    const bool used = sources_state.full || sources_state.copy_count >= MOST_COPIES ||
                      (place && *place == SOURCES_USED);
    util_mutex_unlock(&sources_state.lock, RANK_SOURCES);
    return used;
}

static void grow(const struct event_copy *copy)
{
    struct core_object object;
    if (!core_objects_find(&core_state.objects, OBJECTS_MEMORY, copy->to, &object))
        return;
    util_mutex_lock(&sources_state.lock, RANK_SOURCES);
    if (object.start < atomic_load(&sources_state.low))
        atomic_store(&sources_state.low, object.start);
    if (object.start + object.bytes > atomic_load(&sources_state.high))
        atomic_store(&sources_state.high, object.start + object.bytes);
    util_mutex_unlock(&sources_state.lock, RANK_SOURCES);
}

static void keep(struct sources_copy *copy)
{
    util_mutex_lock(&sources_state.lock, RANK_SOURCES);
    uint64_t *place = sources_state.objects.live < MOST_OBJECTS
                          ? base_map_put(&sources_state.objects, copy->object, NULL)
                          : base_map_get(&sources_state.objects, copy->object);
    if (place && *place != SOURCES_USED) {
        copy->next = copies_of(*place);
        if (!copy->next)
            atomic_fetch_add(&sources_state.waiting, 1);
        *place = (uint64_t)(uintptr_t)copy;
        sources_state.copy_count++;
        copy = NULL;
    }
    util_mutex_unlock(&sources_state.lock, RANK_SOURCES);
    free(copy);
}

// --- The first use -------------------------------------------------------------------------------

static void check(const struct core_call *call, const struct sources_copy *copy)
{
    if (copy->events == atomic_load(&sources_state.events) || !sources_may_read(copy->bytes))
        return;
    const struct core_call_hash now = sources_hash(copy->start, copy->bytes);
    const bool same = now.known && now.high == copy->hash.high && now.low == copy->hash.low;
    const struct event_copy_source record = {
        .copy = copy->number,
        .at = call->number,
        .took_ns = now.took_ns,
        .same = same ? EVENT_SAME_YES : EVENT_SAME_NO,
    };
    core_put(EVENT_COPY_SOURCE, &record, sizeof(record), NULL, 0);
}

static void use(const struct core_call *call, uint64_t object)
{
    struct sources_copy *list = object ? take(object, SOURCES_USED) : NULL;
    for (const struct sources_copy *copy = list; copy; copy = copy->next)
        check(call, copy);
    drop(list);
}

static void use_word(const struct core_call *call, uint64_t word)
{
    struct core_objects_piece piece;
    if (word >= atomic_load_explicit(&sources_state.low, memory_order_relaxed) &&
        word < atomic_load_explicit(&sources_state.high, memory_order_relaxed) &&
        core_objects_find_piece(&core_state.objects, word, &piece))
        use(call, piece.object.number);
}

static void use_params(const struct core_call *call)
{
    const unsigned char *values = call->probe->params->values;
    const size_t bytes = call->probe->kernel->about->context_offset;
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, values + i, sizeof(word));
        use_word(call, word);
    }
}

static void before(struct core_call *call)
{
    if (call->flags & EVENT_CALL_CAPTURED)
        return;
    const bool waiting = atomic_load_explicit(&sources_state.waiting, memory_order_relaxed);
    if (call->kind == EVENT_CALL_COPY && waiting)
        use(call, call->detail.copy.from_object);
    else if (call->kind == EVENT_CALL_LAUNCH && waiting && call->probe)
        use_params(call);
}

// --- Copies --------------------------------------------------------------------------------------

// Returns the bytes that the source takes; 0 if it has gaps.
static uint64_t source_bytes(const struct event_copy *copy)
{
    const bool rows = copy->height > 1 || copy->depth > 1;
    const bool dense =
        !rows || ((copy->height <= 1 || copy->from_pitch == copy->width_bytes) &&
                  (copy->depth <= 1 || copy->from_slice == copy->width_bytes * copy->height));
    return dense ? copy->bytes : 0;
}

static void copied(const struct core_call *call)
{
    const struct event_copy *detail = &call->detail.copy;
    struct core_object host;
    const uint64_t bytes = source_bytes(detail);
    const uint8_t memory = detail->from_memory;
    if (detail->direction != EVENT_HOST_TO_DEVICE || !detail->to_object || bytes < LEAST_BYTES ||
        (memory != EVENT_MEMORY_PAGEABLE && memory != EVENT_MEMORY_PINNED) ||
        is_used(detail->to_object) || !sources_may_read(bytes))
        return;
    core_objects_find(&core_state.objects, OBJECTS_MEMORY, detail->from, &host);
    struct sources_copy *copy = host.unread ? NULL : calloc(1, sizeof(*copy));
    if (!copy)
        return;
    copy->number = call->number;
    copy->object = detail->to_object;
    copy->start = detail->from;
    copy->bytes = bytes;
    copy->events = atomic_load(&sources_state.events);
    copy->hash = call->after.known ? call->after : sources_hash(copy->start, bytes);
    if (!copy->hash.known) {
        free(copy);
        return;
    }
    grow(detail);
    keep(copy);
}

static void after(struct core_call *call)
{
    if (call->result != CUDA_SUCCESS || call->flags & EVENT_CALL_CAPTURED)
        return;
    if (call->kind == EVENT_CALL_COPY && call->number) {
        sources_tables_copied(call);
        copied(call);
    } else if (call->kind == EVENT_CALL_LAUNCH || call->kind == EVENT_CALL_GRAPH_LAUNCH ||
               call->kind == EVENT_CALL_FREE)
        atomic_fetch_add(&sources_state.events, 1);
}

static void object_ended(uint64_t object)
{
    drop(take(object, 0));
}

const struct inject_layer sources_layer = {
    .name = "sources of copies",
    .start = start,
    .before = before,
    .after = after,
    .object_ended = object_ended,
};
