// SPDX-License-Identifier: Apache-2.0
// Objects that begin and end with the record of a call, which halves the bytes that allocations
// write into the ring.
#include "event.h"

bool event_begins(const struct event_call *call, const struct event_alloc *alloc,
                  struct event_object *object)
{
    *object = (struct event_object){.number = alloc->object,
                                    .address = alloc->address,
                                    .bytes = alloc->bytes,
                                    .call = call->number,
                                    .context = call->context,
                                    .device = alloc->device,
                                    .stream = alloc->begins == EVENT_OBJECT_POOL ? call->stream : 0,
                                    .kind = alloc->begins};
    return alloc->begins;
}

bool event_ends(const struct event_call *call, const struct event_alloc *alloc,
                struct event_object_end *end)
{
    *end = (struct event_object_end){.number = alloc->object,
                                     .call = call->number,
                                     .stream = call->kind == EVENT_CALL_FREE ? call->stream : 0};
    return alloc->ends;
}
