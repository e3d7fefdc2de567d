// SPDX-License-Identifier: Apache-2.0
// Managed memory. It is never closed: it holds whatever the program puts beside results (names that
// it gives to the system, locks, counters). So once kernels may have written there, nobody sees
// what the program uses of it behind a call that waits, and that is reported.
#include "managed.h"

#include <stdlib.h>
#include <string.h>

#include "inject/guard/ranges.h"

enum { MOST = 256 };

static struct {
    _Atomic bool launched; // since it was looked at last
    uint64_t changes; // of the objects, when these were listed; with the table's lock, as those
    size_t count;
    struct object objects[MOST];
} managed;

void use_managed_start(void)
{
    memset(&managed, 0, sizeof(managed));
}

bool use_has_managed(void)
{
    return atomic_load_explicit(&state.managed_made, memory_order_relaxed);
}

void use_managed_launched(void)
{
    atomic_store_explicit(&managed.launched, true, memory_order_relaxed);
}

static void list(void)
{
    enum { MOST_PIECES = 1024 };
    const uint64_t changes = atomic_load(&state.objects.changes);
    if (managed.changes == changes)
        return;
    struct objects_piece *pieces = malloc(MOST_PIECES * sizeof(*pieces));
    uint64_t listed = 0;
    const size_t count =
        pieces ? objects_pieces(&state.objects, pieces, MOST_PIECES, &listed) : MOST_PIECES + 1;
    managed.count = 0;
    for (size_t i = 0; count <= MOST_PIECES && i < count; i++) {
        struct object object = pieces[i].object;
        if (object.kind == EVENT_OBJECT_PART)
            objects_find(&state.objects, OBJECTS_MEMORY, pieces[i].start, &object);
        const bool again =
            managed.count && managed.objects[managed.count - 1].number == object.number;
        if (object.kind == EVENT_OBJECT_MANAGED && !again && managed.count < MOST)
            managed.objects[managed.count++] = object;
    }
    free(pieces);
    managed.changes = changes;
    static _Atomic bool said;
    if ((count > MOST_PIECES || managed.count == MOST) && !atomic_exchange(&said, true))
        state_note(EVENT_WARNING, "first uses of managed memory are not watched for: there are too "
                                  "many objects");
    if (count > MOST_PIECES || managed.count == MOST)
        managed.count = 0;
}

static bool is_idle(const struct call *call, const struct stream *stream)
{
    return stream_can_name(stream, call->stream, call->current) &&
           REAL(cuStreamQuery)(stream->handle) == CUDA_SUCCESS;
}

bool use_is_all_idle(const struct call *call)
{
    struct stream *streams[CALL_MOST_STREAMS];
    if (!call->context || !state_ask())
        return false;
    const size_t count = streams_of(call->context, false, streams, CALL_MOST_STREAMS);
    bool idle = count < CALL_MOST_STREAMS && state.contexts_made == 1;
    for (size_t i = 0; idle && i < count; i++) {
        const uint64_t enqueued = atomic_load(&streams[i]->enqueued);
        idle = enqueued == atomic_load(&streams[i]->idle) || is_idle(call, streams[i]);
    }
    state_asked();
    return idle;
}

// While the GPU still has work, a later call that waits makes more of it safe.
void use_managed_sync(const struct call *call, bool idle)
{
    if (!atomic_load(&state.managed_made) ||
        !(idle ? atomic_exchange(&managed.launched, false) : atomic_load(&managed.launched)))
        return;
    list();
    if (!managed.count || !use_wanted(call->stack, 0))
        return;
    const struct use_range about = {.sync_path = call->stack};
    use_count(&about);
    for (size_t i = 0; i < managed.count; i++) {
        const struct object *object = &managed.objects[i];
        use_tell_unwatched(call,
                           &(struct event_use){call->number, .object = object->number,
                                               .address = object->start, .bytes = object->bytes,
                                               .kind = EVENT_USE_UNWATCHED});
    }
}
