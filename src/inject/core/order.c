// SPDX-License-Identifier: Apache-2.0
// Clocks of streams and events: see order.h.
//
// Soundness: `enqueued` is read before the driver records the event, and everything counted by then
// is in the stream, so that the event is behind it. A wait takes the event's clock only if no
// record of the event has begun between before and after the wait, so that both mean the same
// record. Only events count that the program made with cuEventCreate, not for other processes:
// others may be recorded by somebody else.
#include "order.h"

#include <stdlib.h>

#include "contexts.h"
#include "inject/util/ranks.h"

struct order_event {
    uint64_t record; // which of all records it was; 0: none, or one is being made
    bool shared;     // other processes may record it
    struct core_clock clock;
};

void core_order_begin(void)
{
    pthread_mutex_init(&core_state.order.lock, NULL);
    atomic_store(&core_state.order.on, true);
}

void core_order_distrust(void)
{
    atomic_store(&core_state.order.on, false);
}

static bool enter(void)
{
    if (!atomic_load_explicit(&core_state.order.on, memory_order_relaxed))
        return false;
    util_mutex_lock(&core_state.order.lock, RANK_ORDER);
    return true;
}

static void leave(void)
{
    util_mutex_unlock(&core_state.order.lock, RANK_ORDER);
}

static void *at(const struct base_map *map, uint64_t key)
{
    const uint64_t *place = base_map_get(map, key);
    return place ? (void *)(uintptr_t)*place : NULL; // NOLINT(performance-no-int-to-ptr)
}

static struct order_event *event_at(CUevent event)
{
    return at(&core_state.order.events, (uint64_t)(uintptr_t)event);
}

static void drop(struct base_map *map, uint64_t key)
{
    void *dropped = at(map, key);
    base_map_remove(map, key);
    free(dropped);
}

// Returns what the map has of that key, made if there is nothing; NULL: out of memory.
static void *make(struct base_map *map, uint64_t key, size_t bytes)
{
    void *made = at(map, key);
    if (made)
        return made;
    made = calloc(1, bytes);
    uint64_t *place = made ? base_map_put(map, key, NULL) : NULL;
    if (place) {
        *place = (uint64_t)(uintptr_t)made;
        return made;
    }
    free(made);
    core_no_memory();
    return NULL;
}

// --- Clocks --------------------------------------------------------------------------------------

static void advance(struct core_clock *clock, uint32_t stream, uint64_t work)
{
    struct core_clock_entry *free_entry = NULL;
    if (!stream || !work)
        return;
    for (unsigned i = 0; i < CORE_CLOCK_STREAMS; i++) {
        struct core_clock_entry *entry = &clock->entries[i];
        if (entry->stream == stream) {
            entry->work = entry->work > work ? entry->work : work;
            return;
        }
        if (!entry->stream)
            free_entry = entry;
    }
    if (free_entry)
        *free_entry = (struct core_clock_entry){stream, work};
}

static void join(struct core_clock *clock, const struct core_clock *other)
{
    for (unsigned i = 0; i < CORE_CLOCK_STREAMS; i++)
        advance(clock, other->entries[i].stream, other->entries[i].work);
}

static bool covers(const struct core_clock *clock, uint32_t stream, uint64_t work)
{
    for (unsigned i = 0; clock && i < CORE_CLOCK_STREAMS; i++) {
        if (clock->entries[i].stream == stream)
            return clock->entries[i].work >= work;
    }
    return false;
}

bool core_order_is_behind(uint32_t stream, uint32_t other, uint64_t work)
{
    if (!enter())
        return false;
    const bool behind = covers(at(&core_state.order.streams, stream), other, work) ||
                        covers(&core_state.order.host, other, work);
    leave();
    return behind;
}

// --- Events and streams --------------------------------------------------------------------------

void core_order_event_made(CUevent event, unsigned flags)
{
    if (!enter())
        return;
    const uint64_t key = (uint64_t)(uintptr_t)event;
    drop(&core_state.order.events, key); // the driver may have reused the handle
    struct order_event *made = make(&core_state.order.events, key, sizeof(*made));
    if (made)
        made->shared = flags & CU_EVENT_INTERPROCESS;
    leave();
}

void core_order_event_gone(CUevent event)
{
    if (!enter())
        return;
    drop(&core_state.order.events, (uint64_t)(uintptr_t)event);
    leave();
}

uint64_t core_order_recording(CUevent event, const struct core_stream *stream)
{
    const uint64_t enqueued = stream ? atomic_load(&stream->enqueued) : 0;
    if (!enter())
        return 0;
    struct order_event *about = event_at(event);
    if (about)
        about->record = 0;
    leave();
    return enqueued;
}

void core_order_recorded(CUevent event, const struct core_stream *stream, uint64_t enqueued)
{
    if (!enter())
        return;
    struct order_event *about = event_at(event);
    if (about && !about->shared) {
        const struct core_clock *behind = at(&core_state.order.streams, stream->number);
        about->clock = behind ? *behind : (struct core_clock){0};
        advance(&about->clock, stream->number, enqueued);
        about->record = ++core_state.order.records;
    }
    leave();
}

uint64_t core_order_waits(CUevent event)
{
    if (!enter())
        return 0;
    const struct order_event *about = event_at(event);
    const uint64_t record = about ? about->record : 0;
    leave();
    return record;
}

void core_order_waited(CUevent event, const struct core_stream *stream, uint64_t record)
{
    if (!record || !enter())
        return;
    const struct order_event *about = event_at(event);
    struct core_clock *clock = &core_state.order.host;
    if (about && about->record == record) {
        if (stream)
            clock = make(&core_state.order.streams, stream->number, sizeof(*clock));
        if (clock)
            join(clock, &about->clock);
    }
    leave();
}

void core_order_stream_gone(uint32_t stream)
{
    if (!enter())
        return;
    drop(&core_state.order.streams, stream);
    leave();
}
