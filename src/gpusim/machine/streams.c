// SPDX-License-Identifier: Apache-2.0
// Streams and events of kernels: which tasks a task waits for. A stream knows the task that was
// requested last; an event, those that were last when it was recorded.
#include "streams.h"

#include <stdlib.h>

static void lock(struct sim_block *block)
{
    gpusim_lock(&block->launch->device->lock, GPUSIM_RANK_DEVICE);
}

static void unlock(struct sim_block *block)
{
    gpusim_unlock(&block->launch->device->lock, GPUSIM_RANK_DEVICE);
}

static void drop_stream(struct sim_stream *stream)
{
    sim_task_release(stream->last);
    for (size_t i = 0; i < stream->for_next.count; i++)
        sim_task_release(stream->for_next.items[i]);
    base_array_fini(&stream->for_next);
    free(stream);
}

static void clear_event(struct sim_event *event)
{
    for (size_t i = 0; i < event->tasks.count; i++)
        sim_task_release(event->tasks.items[i]);
    base_array_fini(&event->tasks);
}

// Frees the streams and events of a grid whose blocks have ended. What was requested in them still
// runs.
void sim_streams_drop(struct sim_task *task)
{
    while (task->streams) {
        struct sim_stream *next = task->streams->next;
        drop_stream(task->streams);
        task->streams = next;
    }
    while (task->events) {
        struct sim_event *next = task->events->next;
        clear_event(task->events);
        free(task->events);
        task->events = next;
    }
}

// Lets the task wait for another one. False: out of memory.
static bool wait_for(struct sim_task *task, struct sim_task *other)
{
    if (!other || other->complete)
        return true;
    struct sim_task **place = base_array_push(&other->after);
    if (!place)
        return false;
    *place = task;
    task->blocked++;
    return true;
}

// Appends the task to a stream. Out of memory, it may wait for too much, which is harmless as the
// launch fails.
bool sim_stream_append(struct sim_task *task, struct sim_stream *stream)
{
    bool good = wait_for(task, stream->last);
    for (size_t i = 0; i < stream->for_next.count; i++) {
        good = good && wait_for(task, stream->for_next.items[i]);
        sim_task_release(stream->for_next.items[i]);
    }
    stream->for_next.count = 0;
    sim_task_release(stream->last);
    stream->last = task;
    task->references++;
    return good;
}

// The handles that CUDA defines for places without a stream.
enum { STREAM_TAIL = 3, STREAM_FIRE_AND_FORGET = 4 };

static struct sim_stream *stream_of(const struct sim_task *task, uint64_t handle)
{
    struct sim_stream *stream = task->streams;
    while (stream && (uint64_t)(uintptr_t)stream != handle)
        stream = stream->next;
    return stream;
}

// Returns the default stream of the block, or of its thread if that is not 0.
static struct sim_stream *default_stream(struct sim_block *block, uint64_t thread)
{
    struct sim_stream *stream = block->streams;
    while (stream && stream->thread != thread)
        stream = stream->next;
    if (!stream && (stream = calloc(1, sizeof(*stream)))) {
        stream->thread = thread;
        stream->next = block->streams;
        block->streams = stream;
    }
    return stream;
}

enum sim_place sim_family_place(struct sim_block *block, uint64_t handle,
                                struct sim_stream **stream)
{
    *stream = NULL;
    if (handle == STREAM_TAIL)
        return PLACE_TAIL;
    if (handle == STREAM_FIRE_AND_FORGET)
        return PLACE_AT_ONCE;
    lock(block);
    *stream = stream_of(block->launch->task, handle);
    unlock(block);
    return *stream ? PLACE_STREAM : PLACE_NOWHERE;
}

enum sim_place sim_family_place_default(struct sim_block *block, uint64_t thread,
                                        struct sim_stream **stream)
{
    lock(block);
    *stream = default_stream(block, thread);
    unlock(block);
    return *stream ? PLACE_STREAM : PLACE_NOWHERE;
}

struct sim_stream *sim_family_stream_new(struct sim_block *block)
{
    struct sim_stream *stream = calloc(1, sizeof(*stream));
    lock(block);
    if (stream) {
        stream->next = block->launch->task->streams;
        block->launch->task->streams = stream;
    }
    unlock(block);
    return stream;
}

bool sim_family_stream_end(struct sim_block *block, uint64_t handle)
{
    lock(block);
    struct sim_stream **at = &block->launch->task->streams;
    while (*at && (uint64_t)(uintptr_t)*at != handle)
        at = &(*at)->next;
    struct sim_stream *found = *at;
    const bool exists = found;
    if (exists) {
        *at = found->next;
        drop_stream(found);
    }
    unlock(block);
    return exists;
}

struct sim_event *sim_family_event_new(struct sim_block *block)
{
    struct sim_event *event = calloc(1, sizeof(*event));
    lock(block);
    if (event) {
        event->next = block->launch->task->events;
        block->launch->task->events = event;
    }
    unlock(block);
    return event;
}

static struct sim_event **event_of(struct sim_block *block, uint64_t handle)
{
    struct sim_event **at = &block->launch->task->events;
    while (*at && (uint64_t)(uintptr_t)*at != handle)
        at = &(*at)->next;
    return at;
}

bool sim_family_event_end(struct sim_block *block, uint64_t handle)
{
    lock(block);
    struct sim_event **at = event_of(block, handle), *found = *at;
    const bool exists = found;
    if (exists) {
        *at = found->next;
        clear_event(found);
        free(found);
    }
    unlock(block);
    return exists;
}

// Remembers the task in a list, unless it is complete. False: out of memory.
static bool keep(base_array_items *items, size_t *count, size_t *capacity, struct sim_task *task)
{
    if (!task || task->complete)
        return true;
    if (base_array_grow(items, count, capacity, sizeof(task), NULL) == (size_t)-1)
        return false;
    ((struct sim_task **)*items)[*count - 1] = task;
    task->references++;
    return true;
}

#define KEEP(array, task) \
    keep((base_array_items *)&(array)->items, &(array)->count, &(array)->capacity, (task))

bool sim_family_record(struct sim_block *block, uint64_t handle, struct sim_stream *stream)
{
    lock(block);
    struct sim_event *event = *event_of(block, handle);
    bool good = event;
    if (event) {
        clear_event(event);
        good = KEEP(&event->tasks, stream->last);
        for (size_t i = 0; i < stream->for_next.count; i++)
            good = good && KEEP(&event->tasks, stream->for_next.items[i]);
    }
    unlock(block);
    return good;
}

bool sim_family_wait(struct sim_block *block, uint64_t handle, struct sim_stream *stream)
{
    lock(block);
    const struct sim_event *event = *event_of(block, handle);
    bool good = event;
    for (size_t i = 0; event && i < event->tasks.count; i++)
        good = good && KEEP(&stream->for_next, event->tasks.items[i]);
    unlock(block);
    return good;
}

void sim_family_forget(struct sim_block *block)
{
    if (!block->streams)
        return;
    lock(block);
    while (block->streams) {
        struct sim_stream *next = block->streams->next;
        drop_stream(block->streams);
        block->streams = next;
    }
    unlock(block);
}
