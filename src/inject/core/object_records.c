// SPDX-License-Identifier: Apache-2.0
// Start and end of objects, in the ring and in the map of objects.
#include "object_records.h"

#include <string.h>

#include "contexts.h"

void object_end(const struct object *object, uint64_t call, uint32_t stream)
{
    struct event_object_end record = {.number = object->number, .call = call, .stream = stream};
    put(EVENT_OBJECT_END, &record, sizeof(record), NULL, 0);
    object_gone(object->number);
}

void object_gone(uint64_t number)
{
    for (unsigned i = 0; i < state.layers.ended_count; i++)
        state.layers.object_ended[i](number);
}

void object_end_parts(uint64_t start, uint64_t bytes, uint64_t call)
{
    struct object part;
    if (!atomic_load_explicit(&state.objects.parts, memory_order_relaxed))
        return;
    while (objects_take_overlap(&state.objects, OBJECTS_PARTS, start, bytes, &part))
        object_end(&part, call, 0);
}

static struct object prepare(struct event_object *record, const struct context *context,
                             uint64_t call)
{
    record->number = objects_number(&state.objects);
    record->call = call;
    record->context = context ? context->number : 0;
    record->device = context ? context->device : 0;
    return (struct object){.number = record->number,
                           .start = record->address,
                           .bytes = record->bytes,
                           .context = record->context,
                           .device = record->device,
                           .kind = record->kind};
}

static void enter(struct object *object, uint64_t call)
{
    struct object old;
    if (object->kind == EVENT_OBJECT_MANAGED)
        atomic_store_explicit(&state.managed_made, true, memory_order_relaxed);
    while (!objects_add_new(&state.objects, OBJECTS_MEMORY, object)) {
        if (!objects_take_overlap(&state.objects, OBJECTS_MEMORY, object->start, object->bytes,
                                  &old)) {
            state_no_memory();
            break;
        }
        // Its end was not seen, but memory that is given out again has ended.
        object_end_parts(old.start, old.bytes, call);
        object_end(&old, call, 0);
    }
}

uint64_t object_begin(struct event_object *record, struct context *context, uint64_t call,
                      uint32_t owner)
{
    if (!record->bytes)
        return 0; // there is nothing to hold
    struct object object = prepare(record, context, call);
    object.owner = owner;
    put(EVENT_OBJECT, record, sizeof(*record), NULL, 0);
    enter(&object, call);
    return record->number;
}

uint64_t object_begin_with_call(uint8_t kind, uint64_t address, uint64_t bytes,
                                const struct context *context, uint64_t call)
{
    if (!bytes)
        return 0;
    struct object object = {.start = address,
                            .bytes = bytes,
                            .context = context ? context->number : 0,
                            .device = context ? context->device : 0,
                            .kind = kind};
    enter(&object, call);
    return object.number;
}

uint64_t object_begin_array(struct event_object *record, uint64_t handle, struct context *context,
                            uint64_t call)
{
    struct object object = prepare(record, context, call), old;
    object.start = handle;
    if (objects_take_array(&state.objects, handle, &old))
        object_end(&old, call, 0);
    put(EVENT_OBJECT, record, sizeof(*record), NULL, 0);
    if (!objects_add_array(&state.objects, &object))
        state_no_memory();
    return record->number;
}

void object_name(uint64_t number, const char *name)
{
    enum { MOST_BYTES = 4096 };
    struct event_name record = {number};
    put(EVENT_OBJECT_NAME, &record, sizeof(record), name, strnlen(name, MOST_BYTES));
}
