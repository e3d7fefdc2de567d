// SPDX-License-Identifier: Apache-2.0
// Beginning and end of the parts that a program tells. A call has its number only when it is known
// to be good, so that those that are refused leave no gap; a part is in the map before it is in the
// ring, as nobody can use it before the program was told that it is one.
#include "parts.h"

#include <string.h>

#include "object_records.h"

// --- Calls ---------------------------------------------------------------------------------------

void part_call_begin(struct part_call *told, enum hook hook, struct unwind_registers caller)
{
    told->on = call_begin(&told->call, hook, NO_STREAM, caller);
    if (told->on)
        call_start(&told->call);
}

void part_call_end(struct part_call *told)
{
    if (!told->on)
        return;
    call_stop(&told->call, CUDA_SUCCESS);
    call_end(&told->call);
}

// The call has made or ended the part: its number. A call about several parts names none.
static uint64_t tell(struct part_call *told, const struct object *part)
{
    struct call *call = &told->call;
    struct event_alloc *about = &call->detail.alloc;
    if (!told->on)
        return 0;
    if (call->quiet) {
        call_tell(call);
        call->number_of_context = part->context;
        call_alloc(call, part->start, part->bytes, part->number);
    } else {
        call_alloc(call, 0, about->bytes + part->bytes, 0);
    }
    return call->number;
}

// --- Parts ---------------------------------------------------------------------------------------

// Enters a part that nothing overlaps, in the place of an old one, which then ends (NULL: none).
static uint64_t enter(struct part_call *told, uint64_t start, uint64_t bytes,
                      const struct object *whole, uint32_t owner, const struct object *old)
{
    struct object part = {.number = objects_number(&state.objects),
                          .start = start,
                          .bytes = bytes,
                          .context = whole->context,
                          .device = whole->device,
                          .owner = owner,
                          .kind = EVENT_OBJECT_PART};
    struct event_object record = {.number = part.number,
                                  .address = start,
                                  .bytes = bytes,
                                  .parent = whole->number,
                                  .context = part.context,
                                  .device = part.device,
                                  .kind = part.kind};
    if (!objects_add(&state.objects, OBJECTS_PARTS, &part)) {
        atomic_fetch_add(&state.objects_untold, 1);
        return 0;
    }
    record.call = tell(told, &part);
    if (old)
        object_end(old, record.call, 0);
    put(EVENT_OBJECT, &record, sizeof(record), NULL, 0);
    return part.number;
}

static bool find_whole(uint64_t start, uint64_t bytes, struct object *whole)
{
    return bytes && objects_find(&state.objects, OBJECTS_MEMORY, start, whole) &&
           bytes <= whole->bytes - (start - whole->start);
}

uint64_t part_begin(struct part_call *told, uint64_t start, uint64_t bytes, uint32_t owner)
{
    struct object whole;
    return find_whole(start, bytes, &whole) ? enter(told, start, bytes, &whole, owner, NULL) : 0;
}

uint64_t part_resize(struct part_call *told, uint64_t start, uint64_t bytes)
{
    struct object whole, old;
    if (!find_whole(start, bytes, &whole) ||
        !objects_take(&state.objects, OBJECTS_PARTS, start, &old))
        return 0;
    const uint64_t number = enter(told, start, bytes, &whole, old.owner, &old);
    if (!number)
        objects_add(&state.objects, OBJECTS_PARTS, &old);
    return number;
}

bool part_end(struct part_call *told, uint64_t start)
{
    struct object part;
    const bool there = objects_take(&state.objects, OBJECTS_PARTS, start, &part);
    if (there)
        object_end(&part, tell(told, &part), 0);
    return there;
}

bool part_end_of(struct part_call *told, uint32_t owner, uint64_t *from, struct object *ended)
{
    const bool there = objects_take_of(&state.objects, OBJECTS_PARTS, 0, owner, from, ended);
    if (there)
        object_end(ended, tell(told, ended), 0);
    return there;
}
