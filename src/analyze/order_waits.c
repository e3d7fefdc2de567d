// SPDX-License-Identifier: Apache-2.0
// Judges waits by which the host orders the work of different streams: the host waits for one
// stream and then gives work to another, and nothing on the device orders the two. Such a wait is
// needed even if the CPU uses no data. If all accesses are known, only work on the same objects
// counts.
#include <assert.h>
#include <stdlib.h>

#include "sync.h"

enum { MOST_STREAMS = 64, READERS = 2 };

struct user {
    uint32_t call;   // index + 1; 0: none
    uint32_t stream; // index
};

struct wait_use {
    struct user writer, readers[READERS]; // the last writer, and the readers since
    bool more;                            // there are more readers than are kept
};

struct wait_ordering {
    struct analyze_waits *waits;
    uint32_t stream_count;
    struct wait_use *objects;
    // Arrays of calls, by stream. Each entry is index + 1 of a call; 0: none.
    uint32_t done[MOST_STREAMS][MOST_STREAMS]; // [one][other]: the last of `other` that comes
                                               // before new work of `one`
    uint32_t work[MOST_STREAMS];               // the last work
    uint32_t unseen[MOST_STREAMS];             // the last work that may touch anything
    uint32_t covered[MOST_STREAMS];            // the last work that the host waited for
    uint32_t wait[MOST_STREAMS];               // the index of the wait that did so
    uint32_t kept[MOST_STREAMS]; // the last work covered by a wait that is needed or unknown
    struct base_map records;     // call that records an event to its position + 1 in `clocks`
    BASE_ARRAY(uint32_t) clocks; // stream_count entries for each record
    bool failed;
};

static bool is_blocking(const struct analyze_stream *stream)
{
    return !(stream->flags & PROFILE_STREAM_NON_BLOCKING);
}

static void join(struct wait_ordering *ordering, uint32_t stream, const uint32_t *clock)
{
    for (uint32_t i = 0; i < ordering->stream_count; i++) {
        if (clock[i] > ordering->done[stream][i])
            ordering->done[stream][i] = clock[i];
    }
}

// Updates what comes before new work on a stream: its earlier work, and that of streams that it
// synchronizes with implicitly.
static void enter(struct wait_ordering *ordering, uint32_t stream)
{
    const struct analyze_stream *streams = ordering->waits->model->streams.items;
    const bool legacy = streams[stream].flags & PROFILE_STREAM_LEGACY;
    ordering->done[stream][stream] = ordering->work[stream];
    for (uint32_t i = 0; i < ordering->stream_count && is_blocking(&streams[stream]); i++) {
        if (i == stream || streams[i].context != streams[stream].context ||
            !(legacy ? is_blocking(&streams[i]) : streams[i].flags & PROFILE_STREAM_LEGACY))
            continue;
        join(ordering, stream, ordering->done[i]);
        if (ordering->work[i] > ordering->done[stream][i])
            ordering->done[stream][i] = ordering->work[i];
    }
}

// Notes that work of the stream must come after a call of the other stream. If only a wait of the
// host ensures that, the wait gets the judgement.
static void comes_after(struct wait_ordering *ordering, uint32_t stream, uint32_t other,
                        uint32_t call, enum analyze_judgement judgement)
{
    if (other == stream || call == 0 || ordering->done[stream][other] >= call ||
        ordering->kept[other] >= call || ordering->covered[other] < call)
        return;
    if (judgement == ANALYZE_UNKNOWN)
        analyze_wait_unknown(ordering->waits, ordering->wait[other], ANALYZE_WAIT_ORDER);
    else
        analyze_judge_wait(ordering->waits, ordering->wait[other], judgement);
    ordering->kept[other] = ordering->covered[other];
}

static void touch(struct wait_ordering *ordering, uint32_t object, uint32_t stream, uint32_t call,
                  bool writes)
{
    struct wait_use *use = &ordering->objects[object];
    comes_after(ordering, stream, use->writer.stream, use->writer.call, ANALYZE_NEEDED);
    for (unsigned i = 0; writes && i < READERS; i++)
        comes_after(ordering, stream, use->readers[i].stream, use->readers[i].call, ANALYZE_NEEDED);
    for (uint32_t i = 0; writes && use->more && i < ordering->stream_count; i++)
        comes_after(ordering, stream, i, ordering->covered[i], ANALYZE_UNKNOWN);
    if (writes) {
        *use = (struct wait_use){.writer = {call + 1, stream}};
        return;
    }
    unsigned at = 0;
    while (at < READERS && use->readers[at].call && use->readers[at].stream != stream)
        at++;
    if (at < READERS)
        use->readers[at] = (struct user){call + 1, stream};
    use->more |= at == READERS;
}

static bool is_unseen(const struct analyze_call *call)
{
    return call->flags & (ANALYZE_UNSEEN | ANALYZE_BATCH) || call->kind == PROFILE_CALL_OTHER ||
           call->kind == PROFILE_CALL_HOST || call->kind == PROFILE_CALL_MEMORY;
}

static void take_work(struct wait_ordering *ordering, uint32_t index, uint32_t stream)
{
    const struct analyze_model *model = ordering->waits->model;
    const struct analyze_call *call = &model->calls.items[index];
    const bool unseen = is_unseen(call);
    enter(ordering, stream);
    for (uint32_t i = 0; i < ordering->stream_count; i++) {
        uint32_t before = unseen ? ordering->covered[i] : ordering->unseen[i];
        comes_after(ordering, stream, i,
                    before < ordering->covered[i] ? before : ordering->covered[i], ANALYZE_UNKNOWN);
    }
    for (uint32_t i = call->touches, end = analyze_touches_end(model, index); i < end; i++) {
        const struct analyze_touch *row = &model->touches.items[i];
        touch(ordering, row->object, stream, index, row->how & ANALYZE_WRITE);
    }
    ordering->work[stream] = index + 1;
    if (unseen)
        ordering->unseen[stream] = index + 1;
}

static void take_wait(struct wait_ordering *ordering, uint32_t wait)
{
    const struct analyze_model *model = ordering->waits->model;
    const struct analyze_wait *row = &ordering->waits->waits.items[wait];
    for (uint32_t i = 0; i < ordering->stream_count; i++) {
        const struct analyze_stream *stream = &model->streams.items[i];
        const bool here = analyze_context_index(ordering->waits, stream->context) == row->context;
        const bool all = here && row->stream == ANALYZE_NONE && !row->is_event;
        if (!all && i != row->stream && !(here && row->legacy && is_blocking(stream)))
            continue;
        uint32_t upto =
            row->is_event && ordering->work[i] > row->upto + 1 ? row->upto + 1 : ordering->work[i];
        if (upto >= ordering->covered[i]) { // several waits may cover it; the last one is charged
            ordering->covered[i] = upto;
            ordering->wait[i] = wait;
        }
        if (row->judgement >= ANALYZE_UNKNOWN && upto > ordering->kept[i])
            ordering->kept[i] = upto;
    }
}

static void take_event(struct wait_ordering *ordering, uint32_t index, uint32_t stream)
{
    const struct analyze_waits *waits = ordering->waits;
    if (waits->model->calls.items[index].kind == PROFILE_CALL_EVENT_RECORD) {
        uint64_t *slot = base_map_put(&ordering->records, index, NULL);
        ordering->failed |= !slot;
        enter(ordering, stream);
        if (slot)
            *slot = ordering->clocks.count + 1;
        for (uint32_t i = 0; i < ordering->stream_count && !ordering->failed; i++) {
            uint32_t *entry = base_array_push(&ordering->clocks);
            ordering->failed |= !entry;
            if (entry)
                *entry = ordering->done[stream][i];
        }
        return;
    }
    const uint64_t *slot = waits->record_of[index] == ANALYZE_NONE
                               ? NULL
                               : base_map_get(&ordering->records, waits->record_of[index]);
    if (!slot)
        return;
    assert(ordering->clocks.items); // the record has added its clock
    join(ordering, stream, &ordering->clocks.items[*slot - 1]);
}

// Memory must not be in use when it is unmapped, and the driver does not wait for that by itself. A
// call that did not return may need any work to have ended, too.
static void take_any(struct wait_ordering *ordering)
{
    for (uint32_t i = 0; i < ordering->stream_count; i++) {
        if (ordering->covered[i])
            analyze_wait_unknown(ordering->waits, ordering->wait[i], ANALYZE_WAIT_ORDER);
    }
}

static bool has_work(const struct analyze_call *call)
{
    return (call->kind >= PROFILE_CALL_COPY && call->kind <= PROFILE_CALL_GRAPH_LAUNCH) ||
           ((call->kind == PROFILE_CALL_OTHER || call->kind == PROFILE_CALL_MEMORY ||
             call->kind == PROFILE_CALL_HOST) &&
            call->flags & ANALYZE_ASYNC);
}

// Processes a call. `ended` is index + 1 of an object that the call ends; 0: none.
static void take_call(struct wait_ordering *ordering, uint32_t index, uint32_t *wait,
                      uint32_t ended)
{
    const struct analyze_waits *waits = ordering->waits;
    const struct analyze_call *call = &waits->model->calls.items[index];
    uint32_t stream = analyze_stream_index(waits->model, call->stream);
    const bool waits_here = *wait < waits->waits.count && waits->waits.items[*wait].call == index;
    if (call->flags & ANALYZE_WORKS && stream != ANALYZE_NONE) {
        if (call->kind == PROFILE_CALL_EVENT_RECORD || call->kind == PROFILE_CALL_EVENT_WAIT)
            take_event(ordering, index, stream);
        else if (has_work(call))
            take_work(ordering, index, stream);
        else if (ended && call->kind == PROFILE_CALL_FREE) {
            enter(ordering, stream);
            touch(ordering, ended - 1, stream, index, true);
        }
    }
    if (call->flags & ANALYZE_UNFINISHED ||
        (ended && waits->model->objects.items[ended - 1].kind == PROFILE_OBJECT_MAPPING))
        take_any(ordering);
    if (waits_here)
        take_wait(ordering, (*wait)++);
}

bool analyze_judge_order(struct analyze_waits *waits)
{
    const struct analyze_model *model = waits->model;
    if (model->streams.count > MOST_STREAMS) {
        for (size_t i = 0; i < waits->waits.count; i++)
            analyze_wait_unknown(waits, (uint32_t)i, ANALYZE_WAIT_ORDER);
        return true;
    }
    struct wait_ordering *ordering = calloc(1, sizeof(*ordering));
    uint32_t *ended = calloc(model->calls.count + 1, sizeof(*ended));
    bool good = ordering && ended;
    if (good) {
        ordering->waits = waits;
        ordering->stream_count = (uint32_t)model->streams.count;
        ordering->objects = calloc(model->objects.count + 1, sizeof(*ordering->objects));
        ordering->failed = !ordering->objects;
        for (size_t i = 0; i < model->objects.count; i++) {
            const struct analyze_object *object = &model->objects.items[i];
            if (object->end != ANALYZE_NONE && object->parent == ANALYZE_NONE)
                ended[object->end] = (uint32_t)i + 1;
        }
        uint32_t wait = 0;
        for (uint32_t i = 0; i < model->calls.count && !ordering->failed; i++)
            take_call(ordering, i, &wait, ended[i]);
        good = !ordering->failed;
        base_map_fini(&ordering->records);
        base_array_fini(&ordering->clocks);
        free(ordering->objects);
    }
    free(ordering);
    free(ended);
    return good;
}
