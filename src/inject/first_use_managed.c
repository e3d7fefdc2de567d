// SPDX-License-Identifier: Apache-2.0
// Managed memory, which no copy brings: after launches all of it is watched, by the first call that
// waits and behind which nothing runs on the GPU that could touch it. Where something does, nobody
// sees what the program uses from then on, and that is told.
#include <stdlib.h>
#include <string.h>

#include "first_use_inner.h"

enum { MOST = 256 };

static struct {
    _Atomic bool any;      // there was such memory
    _Atomic bool launched; // since it was looked at last
    uint64_t changes; // of the objects, when these were listed; with the table's lock, as those
    size_t count;
    struct object objects[MOST];
} managed;

void use_managed_start(void)
{
    memset(&managed, 0, sizeof(managed));
}

void first_use_managed(void)
{
    atomic_store_explicit(&managed.any, true, memory_order_relaxed);
}

bool use_has_managed(void)
{
    return atomic_load_explicit(&managed.any, memory_order_relaxed);
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

static void watch(const struct call *call)
{
    list();
    for (size_t i = 0; i < managed.count && use_is_possible(); i++) {
        const struct object *object = &managed.objects[i];
        struct use_range *range = use_new();
        range->start = object->start;
        range->rows = 1;
        range->width = range->pitch = object->bytes;
        range->about = (struct event_use){.object = object->number, .bytes = object->bytes};
        range->held = range->managed = true;
        use_make_safe(call, range);
    }
}

// The GPU still has work: the program may use by now what it has waited for, unseen.
static void tell(const struct call *call)
{
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

void use_managed_sync(const struct call *call, bool idle)
{
    if (!atomic_load(&managed.any))
        return;
    if (!idle && atomic_load(&managed.launched))
        tell(call);
    else if (idle && atomic_exchange(&managed.launched, false))
        watch(call);
}
