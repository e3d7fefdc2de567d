// SPDX-License-Identifier: Apache-2.0
// Start and end of parts that a program announces. A call gets its number only when it is known to
// have succeeded, so that refused calls leave no gap. A part may enter the map before the ring,
// because the program cannot use it before the call returns.
#include "parts.h"

#include <string.h>

#include "object_records.h"

// --- Calls ---------------------------------------------------------------------------------------

void core_part_call_begin(struct core_part_call *reported, enum core_hook hook,
                          struct stack_unwind_registers caller)
{
    reported->on = core_call_begin_apart(&reported->call, hook, caller);
    reported->parts = 0;
}

void core_part_call_end(struct core_part_call *reported)
{
    if (reported->on)
        core_call_end_apart(&reported->call);
}

// Returns the number under which the call is recorded; 0: it cannot be.
static uint64_t number_of(struct core_part_call *reported)
{
    if (reported->on && reported->call.quiet)
        core_call_tell(&reported->call);
    return reported->on ? reported->call.number : 0;
}

// Adds the part to the call's record, because the call has made or ended it, and returns the call's
// number. A call about several parts names none of them.
static uint64_t tell(struct core_part_call *reported, const struct core_object *part)
{
    struct core_call *call = &reported->call;
    const uint64_t number = number_of(reported);
    if (!number)
        return 0;
    if (reported->parts++ == 0) {
        call->number_of_context = part->context;
        core_call_alloc(call, part->start, part->bytes, part->number);
    } else {
        core_call_alloc(call, 0, call->detail.alloc.bytes + part->bytes, 0);
    }
    return number;
}

// --- Parts ---------------------------------------------------------------------------------------

// Enters a part that overlaps no other. old: the part that it replaces, which ends; NULL: none.
static uint64_t enter(struct core_part_call *reported, uint8_t kind, uint64_t start, uint64_t bytes,
                      const struct core_object *whole, uint32_t owner,
                      const struct core_object *old)
{
    struct core_object part = {.number = core_objects_number(&core_state.objects),
                               .start = start,
                               .bytes = bytes,
                               .context = whole->context,
                               .device = whole->device,
                               .owner = owner,
                               .kind = kind};
    struct event_object record = {.number = part.number,
                                  .address = start,
                                  .bytes = bytes,
                                  .parent = whole->number,
                                  .context = part.context,
                                  .device = part.device,
                                  .kind = part.kind};
    if (!core_objects_add(&core_state.objects, OBJECTS_PARTS, &part)) {
        atomic_fetch_add(&core_state.objects_untold, 1);
        return 0;
    }
    record.call = tell(reported, &part);
    if (old)
        core_object_end(old, record.call, 0);
    core_put(EVENT_OBJECT, &record, sizeof(record), NULL, 0);
    return part.number;
}

static bool find_whole(uint64_t start, uint64_t bytes, struct core_object *whole)
{
    return bytes && core_objects_find(&core_state.objects, OBJECTS_MEMORY, start, whole) &&
           bytes <= whole->bytes - (start - whole->start);
}

uint64_t core_part_begin(struct core_part_call *reported, uint64_t start, uint64_t bytes,
                         uint32_t owner)
{
    struct core_object whole;
    return find_whole(start, bytes, &whole)
               ? enter(reported, EVENT_OBJECT_PART, start, bytes, &whole, owner, NULL)
               : 0;
}

uint64_t core_part_resize(struct core_part_call *reported, uint64_t start, uint64_t bytes)
{
    struct core_object whole, old;
    if (!find_whole(start, bytes, &whole) ||
        !core_objects_take(&core_state.objects, OBJECTS_PARTS, start, &old))
        return 0;
    const uint64_t number = enter(reported, old.kind, start, bytes, &whole, old.owner, &old);
    if (!number)
        core_objects_add(&core_state.objects, OBJECTS_PARTS, &old);
    return number;
}

bool core_part_end(struct core_part_call *reported, uint64_t start)
{
    struct core_object part;
    const bool there = core_objects_take(&core_state.objects, OBJECTS_PARTS, start, &part);
    if (there)
        core_object_end(&part, tell(reported, &part), 0);
    return there;
}

bool core_part_end_of(struct core_part_call *reported, uint32_t owner, uint64_t *from,
                      struct core_object *ended)
{
    const bool there =
        core_objects_take_of(&core_state.objects, OBJECTS_PARTS, 0, owner, from, ended);
    if (there)
        core_object_end(ended, tell(reported, ended), 0);
    return there;
}

// --- Blocks that may lie across objects ----------------------------------------------------------

// Returns how many bytes of the block lie in the object that holds its start; 0: there is none.
static uint64_t bytes_within(uint64_t start, uint64_t bytes, struct core_object *whole)
{
    if (!core_objects_find(&core_state.objects, OBJECTS_MEMORY, start, whole))
        return 0;
    const uint64_t left = whole->bytes - (start - whole->start);
    return left < bytes ? left : bytes;
}

static bool is_covered(uint64_t start, uint64_t bytes)
{
    struct core_object whole;
    if (!bytes || start > UINT64_MAX - bytes)
        return false;
    while (bytes) {
        const uint64_t within = bytes_within(start, bytes, &whole);
        if (!within)
            return false;
        start += within;
        bytes -= within;
    }
    return true;
}

// Ends parts of the kind that overlap the block. Returns false if it overlaps another part.
static bool make_room(struct core_part_call *reported, uint8_t kind, uint64_t start, uint64_t bytes)
{
    struct core_object old;
    while (core_objects_take_overlap(&core_state.objects, OBJECTS_PARTS, start, bytes, &old)) {
        if (old.kind != kind) {
            core_objects_add(&core_state.objects, OBJECTS_PARTS, &old);
            return false;
        }
        core_object_end(&old, number_of(reported), 0);
    }
    return true;
}

bool core_parts_begin(struct core_part_call *reported, uint8_t kind, uint64_t start, uint64_t bytes)
{
    struct core_object whole;
    if (!is_covered(start, bytes) || !make_room(reported, kind, start, bytes))
        return false;
    for (uint64_t at = start, left = bytes, within; left; at += within, left -= within) {
        within = bytes_within(at, left, &whole);
        if (!within || !enter(reported, kind, at, within, &whole, 0, NULL)) {
            core_parts_end(reported, kind, start, bytes - left);
            return false;
        }
    }
    return true;
}

bool core_parts_end(struct core_part_call *reported, uint8_t kind, uint64_t start, uint64_t bytes)
{
    struct core_object part;
    bool any = false;
    for (uint64_t done = 0; done < bytes; done += part.bytes) {
        if (!core_objects_find(&core_state.objects, OBJECTS_PARTS, start + done, &part) ||
            part.start != start + done || part.kind != kind ||
            !core_part_end(reported, start + done))
            break;
        any = true;
    }
    return any;
}
