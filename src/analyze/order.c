// SPDX-License-Identifier: Apache-2.0
// Computes the order of calls: the levels of the dependency graph of the paper's definition 5.1.
// Every edge leads to a call with a higher number. One pass in that order therefore finds the
// longest chain before each call, which equals the round in which Kahn's algorithm would take it.
// Edges are never stored. Instead, the highest level so far is kept for each of these:
//
//   stream    A call comes after the previous call on the same stream.
//   context   The legacy default stream waits for all blocking streams of its context, and
//             they wait for it.
//   thread    After a call whose work is complete when it returns, later calls of the thread
//             come after that work. Allocations and frees by the host, which take effect at
//             once, come after everything that their thread has called.
//   event     A wait comes after the record that it waits for.
//   object    Reads come after the last write; writes and frees come after the reads and the
//             last write. Making an object is a write.
//
// Each allocation or free of device memory, copy, set and launch adds one to the chains through it.
// The launch of a graph adds the length of its longest chain of such nodes. Other calls add
// nothing. Calls that follow a graph launch, or wait for it, come after all of its nodes.
//
// Clocks are kept beside levels: for each stream, the last call that has surely ended. They ignore
// edges through objects, which assume a correct program, and the host's order of allocations. A
// profile with more streams than MOST_CLOCK_STREAMS has no clocks; then no order between two
// streams is known.
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { MOST_CLOCK_STREAMS = 64 };

struct analyze_clocks {
    uint32_t streams;      // 0: no clocks
    struct base_map calls; // index of a call to 1 + its place in `kept`, in clocks
    BASE_ARRAY(uint32_t) kept;
};

// What has ended: all chains below `level`, and of each stream the calls before its clock.
struct order_moment {
    uint32_t level;
    uint32_t clock[MOST_CLOCK_STREAMS];
};

struct stream_state {
    struct order_moment done;
    uint32_t context; // index
    bool legacy, blocking;
};

struct context_state {
    struct order_moment legacy, blocking, all;
};

struct thread_state {
    struct order_moment done;
    uint32_t issued; // level after everything that the thread has called
};

struct event_state {
    struct order_moment done;
    uint32_t record; // number of records so far
};

struct object_state {
    uint32_t written, read; // levels after the last write, and after the reads since
};

struct ordering {
    struct analyze_model *model;
    struct analyze_clocks *clocks;
    uint32_t clock_count;
    struct base_map stream_index, context_index, thread_index, event_index; // number to index + 1
    struct stream_state *streams;
    BASE_ARRAY(struct context_state) contexts;
    BASE_ARRAY(struct thread_state) threads;
    BASE_ARRAY(struct event_state) events;
    struct object_state *objects;
    uint32_t *made, *ended; // indices of objects, by the call that made or ended them
    size_t next_made, next_ended;
    bool *first;        // the call is the first that touches some object
    const bool *wanted; // calls whose clock is kept
    bool failed;
};

static void join(const struct ordering *ordering, struct order_moment *into,
                 const struct order_moment *other)
{
    if (other->level > into->level)
        into->level = other->level;
    for (uint32_t i = 0; i < ordering->clock_count; i++) {
        if (other->clock[i] > into->clock[i])
            into->clock[i] = other->clock[i];
    }
}

// Looks up the index for a number in an array that grows on demand; new items are zeroed.
#define INDEX_OF(ordering, map, array, number, index)         \
    do {                                                      \
        uint64_t *slot = base_map_put((map), (number), NULL); \
        if (slot && *slot == 0 && base_array_push(array))     \
            *slot = (array)->count;                           \
        (ordering)->failed |= !slot || *slot == 0;            \
        (index) = (ordering)->failed ? 0 : (size_t)*slot - 1; \
    } while (0)

static struct context_state *context_of(struct ordering *ordering, uint32_t number)
{
    size_t index;
    INDEX_OF(ordering, &ordering->context_index, &ordering->contexts, number, index);
    return ordering->failed ? NULL : &ordering->contexts.items[index];
}

static struct thread_state *thread_of(struct ordering *ordering, uint32_t number)
{
    size_t index;
    INDEX_OF(ordering, &ordering->thread_index, &ordering->threads, number, index);
    return ordering->failed ? NULL : &ordering->threads.items[index];
}

static struct event_state *event_of(struct ordering *ordering, uint64_t number)
{
    size_t index;
    INDEX_OF(ordering, &ordering->event_index, &ordering->events, number, index);
    return ordering->failed ? NULL : &ordering->events.items[index];
}

static uint32_t stream_index(const struct ordering *ordering, uint32_t number)
{
    const uint64_t *slot = number ? base_map_get(&ordering->stream_index, number) : NULL;
    return slot ? (uint32_t)*slot - 1 : ANALYZE_NONE;
}

// --- What a call waits for -----------------------------------------------------------------------

// Returns whether freeing such memory makes the host wait for all work of the context.
static bool end_waits(enum profile_object_kind kind)
{
    return kind == PROFILE_OBJECT_DEVICE || kind == PROFILE_OBJECT_PITCHED ||
           kind == PROFILE_OBJECT_ARRAY || kind == PROFILE_OBJECT_MANAGED ||
           kind == PROFILE_OBJECT_PINNED;
}

static void wait_for_event(struct ordering *ordering, const struct analyze_call *call,
                           struct order_moment *moment)
{
    const struct event_state *event = event_of(ordering, call->event);
    // If the event was recorded again since, the state of the earlier record is no longer known.
    if (event && event->record && (call->record == 0 || call->record == event->record))
        join(ordering, moment, &event->done);
}

static void wait_for_stream(struct ordering *ordering, const struct stream_state *stream,
                            struct order_moment *moment)
{
    const struct context_state *context = &ordering->contexts.items[stream->context];
    join(ordering, moment, &stream->done);
    if (stream->legacy)
        join(ordering, moment, &context->blocking);
    else if (stream->blocking)
        join(ordering, moment, &context->legacy);
}

static void wait_for_objects(struct ordering *ordering, uint32_t index, struct order_moment *moment)
{
    const struct analyze_model *model = ordering->model;
    uint32_t end = analyze_touches_end(model, index), level = moment->level;
    for (uint32_t i = model->calls.items[index].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        const struct object_state *object = &ordering->objects[touch->object];
        if (object->written > level)
            level = object->written;
        if (touch->how & ANALYZE_WRITE && object->read > level)
            level = object->read;
    }
    for (size_t i = ordering->next_ended;
         i < model->objects.count && model->objects.items[ordering->ended[i]].end == index; i++) {
        const struct object_state *object = &ordering->objects[ordering->ended[i]];
        if (object->written > level)
            level = object->written;
        if (object->read > level)
            level = object->read;
    }
    moment->level = level;
}

// Returns whether the call frees memory in a way that makes the host wait.
static bool ends_and_waits(const struct ordering *ordering, uint32_t index)
{
    const struct analyze_model *model = ordering->model;
    for (size_t i = ordering->next_ended; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[ordering->ended[i]];
        if (object->end != index)
            return false;
        if (end_waits((enum profile_object_kind)object->kind))
            return true;
    }
    return false;
}

// --- One call ------------------------------------------------------------------------------------

static void touch_objects(struct ordering *ordering, uint32_t index, uint32_t after)
{
    const struct analyze_model *model = ordering->model;
    uint32_t end = analyze_touches_end(model, index);
    for (uint32_t i = model->calls.items[index].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        struct object_state *object = &ordering->objects[touch->object];
        if (touch->how & ANALYZE_WRITE)
            *object = (struct object_state){after, 0};
        if (touch->how & ANALYZE_READ && object->read < after)
            object->read = after;
    }
    for (; ordering->next_made < model->objects.count &&
           model->objects.items[ordering->made[ordering->next_made]].call == index;
         ordering->next_made++)
        ordering->objects[ordering->made[ordering->next_made]].written = after;
    while (ordering->next_ended < model->objects.count &&
           model->objects.items[ordering->ended[ordering->next_ended]].end == index)
        ordering->next_ended++;
}

static void keep_clock(struct ordering *ordering, uint32_t index, const struct order_moment *moment)
{
    if (!ordering->wanted[index] || ordering->clock_count == 0)
        return;
    uint64_t *slot = base_map_put(&ordering->clocks->calls, index, NULL);
    ordering->failed |= !slot;
    if (!slot)
        return;
    *slot = 1 + ordering->clocks->kept.count / ordering->clock_count;
    for (uint32_t i = 0; i < ordering->clock_count; i++) {
        uint32_t *entry = base_array_push(&ordering->clocks->kept);
        ordering->failed |= !entry;
        if (entry)
            *entry = moment->clock[i];
    }
}

static void take_call(struct ordering *ordering, uint32_t index)
{
    struct analyze_call *call = &ordering->model->calls.items[index];
    struct thread_state *thread = thread_of(ordering, call->thread);
    if (!thread)
        return;
    struct order_moment moment = thread->done;
    if (!(call->flags & ANALYZE_WORKS)) {
        call->order = moment.level;
        return;
    }
    // A synchronization waits for a stream but adds no work to it.
    uint32_t on =
        call->kind == PROFILE_CALL_SYNC ? ANALYZE_NONE : stream_index(ordering, call->stream);
    struct stream_state *stream = on == ANALYZE_NONE ? NULL : &ordering->streams[on];
    struct context_state *context = context_of(ordering, call->context);
    bool over = false; // its work is complete when it returns
    if (stream)
        wait_for_stream(ordering, stream, &moment);
    switch (call->kind) {
    case PROFILE_CALL_ALLOC:
    case PROFILE_CALL_FREE:
        over = !stream;
        if (over && thread->issued > moment.level)
            moment.level = thread->issued;
        if (context && ends_and_waits(ordering, index))
            join(ordering, &moment, &context->all);
        break;
    case PROFILE_CALL_EVENT_WAIT: wait_for_event(ordering, call, &moment); break;
    case PROFILE_CALL_SYNC:
        over = true;
        on = stream_index(ordering, call->sync_stream);
        if (call->event)
            wait_for_event(ordering, call, &moment);
        else if (on != ANALYZE_NONE)
            join(ordering, &moment, &ordering->streams[on].done);
        else if (context)
            join(ordering, &moment, &context->all);
        break;
    case PROFILE_CALL_COPY:
        over = call->flags & ANALYZE_WAITED ||
               (call->flags & ANALYZE_HOST_END && !(call->flags & ANALYZE_ASYNC));
        break;
    case PROFILE_CALL_SET: over = call->flags & ANALYZE_WAITED; break;
    default:
        over = call->flags & ANALYZE_WAITED;
        if (over && context)
            join(ordering, &moment, &context->all);
        break;
    }
    wait_for_objects(ordering, index, &moment);
    keep_clock(ordering, index, &moment);
    call->order = moment.level;
    moment.level += analyze_steps(ordering->model, index);
    if (stream) {
        on = stream_index(ordering, call->stream);
        if (on < ordering->clock_count)
            moment.clock[on] = index + 1;
        stream->done = moment;
        struct context_state *of = &ordering->contexts.items[stream->context];
        join(ordering, &of->all, &moment);
        if (stream->legacy)
            join(ordering, &of->legacy, &moment);
        else if (stream->blocking)
            join(ordering, &of->blocking, &moment);
    }
    if (call->kind == PROFILE_CALL_EVENT_RECORD && call->event) {
        struct event_state *event = event_of(ordering, call->event);
        if (event) {
            event->record++;
            event->done = moment;
        }
    }
    if (over)
        join(ordering, &thread->done, &moment);
    if (moment.level > thread->issued)
        thread->issued = moment.level;
    touch_objects(ordering, index, moment.level);
}

// --- All calls -----------------------------------------------------------------------------------

static int by_key(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

// Returns the indices of objects, sorted by the call that made or ended them; objects without such
// a call come last.
static uint32_t *index_objects(const struct analyze_model *model, bool ends)
{
    size_t count = model->objects.count;
    uint32_t *indices = calloc(count + 1, sizeof(*indices));
    uint64_t *keys = calloc(count + 1, sizeof(*keys));
    bool sorted = true;
    for (size_t i = 0; indices && keys && i < count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        keys[i] = (uint64_t)(ends ? object->end : object->call) << 32 | i;
        sorted &= i == 0 || keys[i - 1] <= keys[i];
    }
    if (indices && keys) {
        if (!sorted)
            qsort(keys, count, sizeof(*keys), by_key);
        for (size_t i = 0; i < count; i++)
            indices[i] = (uint32_t)keys[i];
    } else {
        free(indices);
        indices = NULL;
    }
    free(keys);
    return indices;
}

static bool prepare(struct ordering *ordering)
{
    struct analyze_model *model = ordering->model;
    size_t streams = model->streams.count;
    ordering->streams = calloc(streams + 1, sizeof(*ordering->streams));
    ordering->objects = calloc(model->objects.count + 1, sizeof(*ordering->objects));
    ordering->first = calloc(model->calls.count + 1, sizeof(*ordering->first));
    ordering->made = index_objects(model, false);
    ordering->ended = index_objects(model, true);
    ordering->clocks = calloc(1, sizeof(*ordering->clocks));
    if (!ordering->streams || !ordering->objects || !ordering->first || !ordering->made ||
        !ordering->ended || !ordering->clocks)
        return false;
    ordering->clock_count = streams <= MOST_CLOCK_STREAMS ? (uint32_t)streams : 0;
    ordering->clocks->streams = ordering->clock_count;
    for (size_t i = 0; i < streams; i++) {
        const struct analyze_stream *row = &model->streams.items[i];
        uint64_t *slot = base_map_put(&ordering->stream_index, row->number, NULL);
        const struct context_state *context = context_of(ordering, row->context);
        if (!slot || !context)
            return false;
        *slot = i + 1;
        ordering->streams[i].context = (uint32_t)(context - ordering->contexts.items);
        ordering->streams[i].legacy = row->flags & PROFILE_STREAM_LEGACY;
        ordering->streams[i].blocking = !(row->flags & PROFILE_STREAM_NON_BLOCKING);
    }
    for (size_t i = 0; i < model->objects.count; i++) {
        if (model->objects.items[i].first != ANALYZE_NONE)
            ordering->first[model->objects.items[i].first] = true;
        if (model->objects.items[i].needed != ANALYZE_NONE)
            ordering->first[model->objects.items[i].needed] = true;
    }
    return true;
}

bool analyze_set_order(struct analyze_model *model, const bool *wanted,
                       struct analyze_clocks **clocks)
{
    struct ordering ordering = {.model = model};
    *clocks = NULL;
    ordering.failed = !prepare(&ordering);
    ordering.wanted = wanted ? wanted : ordering.first;
    for (uint32_t i = 0; i < model->calls.count && !ordering.failed; i++)
        take_call(&ordering, i);
    base_map_fini(&ordering.stream_index);
    base_map_fini(&ordering.context_index);
    base_map_fini(&ordering.thread_index);
    base_map_fini(&ordering.event_index);
    base_array_fini(&ordering.contexts);
    base_array_fini(&ordering.threads);
    base_array_fini(&ordering.events);
    free(ordering.streams);
    free(ordering.objects);
    free(ordering.first);
    free(ordering.made);
    free(ordering.ended);
    if (ordering.failed)
        analyze_clocks_free(ordering.clocks);
    else
        *clocks = ordering.clocks;
    return !ordering.failed;
}

void analyze_clocks_free(struct analyze_clocks *clocks)
{
    if (!clocks)
        return;
    base_map_fini(&clocks->calls);
    base_array_fini(&clocks->kept);
    free(clocks);
}

// Returns the index of a stream of the model, which are sorted by number; NONE if there is none.
static uint32_t find_stream(const struct analyze_model *model, uint32_t number)
{
    for (size_t i = 0; i < model->streams.count; i++) {
        if (model->streams.items[i].number == number)
            return (uint32_t)i;
    }
    return ANALYZE_NONE;
}

uint32_t analyze_clock_at(const struct analyze_model *model, const struct analyze_clocks *clocks,
                          uint32_t call, uint32_t stream)
{
    if (stream && model->calls.items[call].stream == stream)
        return call;
    uint32_t index = find_stream(model, stream);
    const uint64_t *slot = base_map_get(&clocks->calls, call);
    return slot && index < clocks->streams
               ? clocks->kept.items[(*slot - 1) * clocks->streams + index]
               : 0;
}

bool analyze_is_before(const struct analyze_model *model, const struct analyze_clocks *clocks,
                       uint32_t one, uint32_t other)
{
    return one < other &&
           analyze_clock_at(model, clocks, other, model->calls.items[one].stream) > one;
}
