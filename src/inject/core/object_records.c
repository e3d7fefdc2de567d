// SPDX-License-Identifier: Apache-2.0
// Start and end of objects, in the ring and in the map of objects.
#include "object_records.h"

#include <string.h>

#include "contexts.h"

void core_object_end(const struct core_object *object, uint64_t call, uint32_t stream)
{
    struct event_object_end record = {.number = object->number, .call = call, .stream = stream};
    core_put(EVENT_OBJECT_END, &record, sizeof(record), NULL, 0);
    core_object_gone(object->number);
}

void core_object_gone(uint64_t number)
{
    for (unsigned i = 0; i < core_state.layers.ended_count; i++)
        core_state.layers.object_ended[i](number);
}

void core_object_end_parts(uint64_t start, uint64_t bytes, uint64_t call)
{
    struct core_object part;
    if (!atomic_load_explicit(&core_state.objects.parts, memory_order_relaxed))
        return;
    while (core_objects_take_overlap(&core_state.objects, OBJECTS_PARTS, start, bytes, &part))
        core_object_end(&part, call, 0);
}

static struct core_object prepare(struct event_object *record, const struct core_context *context,
                                  uint64_t call)
{
    record->number = core_objects_number(&core_state.objects);
    record->call = call;
    record->context = context ? context->number : 0;
    record->device = context ? context->device : 0;
    return (struct core_object){.number = record->number,
                                .start = record->address,
                                .bytes = record->bytes,
                                .context = record->context,
                                .device = record->device,
                                .kind = record->kind,
                                .padded = record->pitch > record->width_bytes};
}

static void enter(struct core_object *object, uint64_t call)
{
    struct core_object old;
    if (object->kind == EVENT_OBJECT_MANAGED)
        atomic_store_explicit(&core_state.managed_made, true, memory_order_relaxed);
    while (!core_objects_add_new(&core_state.objects, OBJECTS_MEMORY, object)) {
        if (!core_objects_take_overlap(&core_state.objects, OBJECTS_MEMORY, object->start,
                                       object->bytes, &old)) {
            core_no_memory();
            break;
        }
        // glint did not see its end, but memory that is allocated again must have been freed.
        core_object_end_parts(old.start, old.bytes, call);
        core_object_end(&old, call, 0);
    }
}

uint64_t core_object_begin(struct event_object *record, struct core_context *context, uint64_t call,
                           uint32_t owner)
{
    if (!record->bytes)
        return 0; // an object without bytes holds no address
    struct core_object object = prepare(record, context, call);
    object.owner = owner;
    core_put(EVENT_OBJECT, record, sizeof(*record), NULL, 0);
    enter(&object, call);
    return record->number;
}

uint64_t core_object_begin_with_call(uint8_t kind, uint64_t address, uint64_t bytes,
                                     const struct core_context *context, uint64_t call)
{
    if (!bytes)
        return 0;
    struct core_object object = {.start = address,
                                 .bytes = bytes,
                                 .context = context ? context->number : 0,
                                 .device = context ? context->device : 0,
                                 .kind = kind};
    enter(&object, call);
    return object.number;
}

uint64_t core_object_begin_array(struct event_object *record, uint64_t handle,
                                 struct core_context *context, uint64_t call)
{
    struct core_object object = prepare(record, context, call), old;
    object.start = handle;
    if (core_objects_take_array(&core_state.objects, handle, &old))
        core_object_end(&old, call, 0);
    core_put(EVENT_OBJECT, record, sizeof(*record), NULL, 0);
    if (!core_objects_add_array(&core_state.objects, &object))
        core_no_memory();
    return record->number;
}

void core_object_accessed(uint64_t call, uint32_t node, uint64_t object, uint32_t flags, bool named)
{
    const struct event_access record = {
        .call = call,
        .object = object,
        .node = node,
        .flags = flags,
        .read_bytes = EVENT_UNKNOWN,
        .written_bytes = EVENT_UNKNOWN,
        .elements = EVENT_UNKNOWN,
        .new_elements = EVENT_UNKNOWN,
        .shared_elements = EVENT_UNKNOWN,
        .named = named,
    };
    core_put(EVENT_ACCESS, &record, sizeof(record), NULL, 0);
}

void core_object_addresses(const char *words, size_t bytes)
{
    size_t at = 0;
    for (uint64_t number;
         (number = core_objects_address(&core_state.objects, words, bytes, &at)) != 0;)
        core_object_accessed(0, 0, number, EVENT_ACCESS_PASSED, false);
}

void core_object_share(uint64_t address)
{
    const uint64_t object = core_objects_share(&core_state.objects, address);
    if (object)
        core_object_accessed(0, 0, object, 0, false);
}

void core_object_name(uint64_t number, const char *name)
{
    enum { MOST_BYTES = 4096 };
    struct event_name record = {number};
    core_put(EVENT_OBJECT_NAME, &record, sizeof(record), name, strnlen(name, MOST_BYTES));
}
