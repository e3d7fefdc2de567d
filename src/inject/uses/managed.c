// SPDX-License-Identifier: Apache-2.0
// Managed memory. It is never closed, because it also holds other data that the program puts beside
// results (file names for system calls, locks, counters). Once kernels may have written there, the
// program's uses after a call that waits cannot be observed, and a record says so.
#include "managed.h"

#include <stdlib.h>
#include <string.h>

#include "inject/guard/ranges.h"
#include "inject/guard/tell.h"
#include "inject/guard/worth.h"
#include "state.h"

void uses_managed_start(void)
{
    memset(&uses_state.managed, 0, sizeof(uses_state.managed));
}

bool uses_has_managed(void)
{
    return atomic_load_explicit(&core_state.managed_made, memory_order_relaxed);
}

void uses_managed_launched(void)
{
    atomic_store_explicit(&uses_state.managed.launched, true, memory_order_relaxed);
}

static void list(void)
{
    enum { MOST_PIECES = 1024 };
    const uint64_t changes = atomic_load(&core_state.objects.changes);
    if (uses_state.managed.changes == changes)
        return;
    struct core_objects_piece *pieces = malloc(MOST_PIECES * sizeof(*pieces));
    uint64_t listed = 0;
    const size_t count =
        pieces ? core_objects_pieces(&core_state.objects, pieces, MOST_PIECES, &listed)
               : MOST_PIECES + 1;
    uses_state.managed.count = 0;
    for (size_t i = 0; count <= MOST_PIECES && i < count; i++) {
        struct core_object object = pieces[i].object;
        if (core_object_is_part(&object))
            core_objects_find(&core_state.objects, OBJECTS_MEMORY, pieces[i].start, &object);
        const bool again =
            uses_state.managed.count &&
            uses_state.managed.objects[uses_state.managed.count - 1].number == object.number;
        if (object.kind == EVENT_OBJECT_MANAGED && !again &&
            uses_state.managed.count < USES_MANAGED)
            uses_state.managed.objects[uses_state.managed.count++] = object;
    }
    free(pieces);
    uses_state.managed.changes = changes;
    if ((count > MOST_PIECES || uses_state.managed.count == USES_MANAGED) &&
        !atomic_exchange(&uses_state.said_too_many, true))
        core_note(EVENT_WARNING,
                  "first uses of managed memory are not watched: there are too many objects");
    if (count > MOST_PIECES || uses_state.managed.count == USES_MANAGED)
        uses_state.managed.count = 0;
}

static bool is_idle(const struct core_call *call, const struct core_stream *stream)
{
    return core_stream_can_name(stream, call->stream, call->current) &&
           REAL(cuStreamQuery)(stream->handle) == CUDA_SUCCESS;
}

bool uses_is_all_idle(const struct core_call *call)
{
    struct core_stream *streams[CALL_MOST_STREAMS];
    if (!call->context || !core_ask())
        return false;
    const size_t count = core_streams_of(call->context, false, streams, CALL_MOST_STREAMS);
    bool idle = count < CALL_MOST_STREAMS && core_state.contexts_made == 1;
    for (size_t i = 0; idle && i < count; i++) {
        const uint64_t enqueued = atomic_load(&streams[i]->enqueued);
        idle = enqueued == atomic_load(&streams[i]->idle) || is_idle(call, streams[i]);
    }
    core_asked();
    return idle;
}

// While the GPU has work, a later wait makes more of the memory safe.
void uses_managed_sync(const struct core_call *call, bool idle)
{
    if (!atomic_load(&core_state.managed_made) ||
        !(idle ? atomic_exchange(&uses_state.managed.launched, false)
               : atomic_load(&uses_state.managed.launched)))
        return;
    list();
    if (!uses_state.managed.count || !guard_wanted(call->stack, 0))
        return;
    const struct guard_range about = {.sync_path = call->stack};
    guard_count(&about);
    for (size_t i = 0; i < uses_state.managed.count; i++) {
        const struct core_object *object = &uses_state.managed.objects[i];
        guard_tell_unwatched(call,
                             &(struct event_use){call->number, .object = object->number,
                                                 .address = object->start, .bytes = object->bytes,
                                                 .kind = EVENT_USE_UNWATCHED});
    }
}
