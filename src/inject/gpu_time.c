// SPDX-License-Identifier: Apache-2.0
// When the GPU did what: an event before and one after each piece of work on the program's stream.
// Their times are read when they have happened, at later calls; nobody waits for them. Recording an
// event costs the host about a third of a launch, so where work follows other work on a stream that
// is busy, the end of the one is the beginning of the other, and where many are outstanding they
// are read in batches, with one question whether they have happened.
//
// The driver gives times between two events as a float of milliseconds, so they are taken from a
// base that is never long ago: an event whose time is known. The first is recorded on a stream that
// is idle, and its time taken from the host's clock; whenever more than a second has passed, an
// event that was read becomes the new one.
#include "call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_EVENTS = 16384, // of a context; with all in use, work goes untimed and is counted
    REBASE_MS = 1000,
    BATCH = 32,
    BASE_SPIN_NS = 20000, // once for a context
};

static void give_up(struct context *context)
{
    if (!context->timing_failed)
        state_note(EVENT_WARNING, "GPU times of a context are missing from here on: the driver "
                                  "refuses the events for them");
    context->timing_failed = true;
}

static CUevent take_event(struct context *context)
{
    CUevent event = NULL;
    if (context->spare_events.count)
        return context->spare_events.items[--context->spare_events.count];
    if (context->made_events == MOST_EVENTS)
        return NULL;
    if (REAL(cuEventCreate)(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
        give_up(context);
        return NULL;
    }
    context->made_events++;
    return event;
}

static void give_event(struct context *context, CUevent event)
{
    CUevent *place = event ? base_array_push(&context->spare_events) : NULL;
    if (place)
        *place = event;
}

// An event on a stream with nothing in it happens within microseconds of being recorded: the host's
// clock tells when, and more closely where it is seen to have happened at once. Where the stream is
// busy no time can be known yet, and the next call tries again.
static void make_base(struct context *context, CUstream stream)
{
    if (REAL(cuStreamQuery)(stream) != CUDA_SUCCESS)
        return;
    CUevent event = take_event(context);
    if (!event)
        return;
    const uint64_t start = now_ns();
    if (REAL(cuEventRecord)(event, stream) != CUDA_SUCCESS) {
        give_event(context, event);
        give_up(context);
        return;
    }
    uint64_t seen = now_ns();
    const uint64_t until = seen + BASE_SPIN_NS;
    context->base_ns = (double)seen;
    while (seen < until) {
        const bool happened = REAL(cuEventQuery)(event) == CUDA_SUCCESS;
        seen = now_ns();
        if (happened) {
            context->base_ns = (double)start + (double)(seen - start) / 2;
            context->base_seen = true;
            break;
        }
    }
    context->base = event;
}

static size_t outstanding(const struct stream *stream)
{
    return stream->timings.count - stream->first_timing;
}

static uint64_t work_of_legacy(const struct stream *stream)
{
    const struct stream *legacy = stream->context->legacy;
    return legacy ? atomic_load(&legacy->enqueued) : 0;
}

// Whether other streams may hold up the next work on this one. Of streams that the legacy stream
// waits for, and that wait for it, this is so when work has come to the others.
static bool is_alone(struct stream *stream)
{
    if (stream->flags & EVENT_STREAM_NON_BLOCKING)
        return true;
    if (!(stream->flags & EVENT_STREAM_LEGACY))
        return work_of_legacy(stream) == stream->timed_legacy;
    struct stream *others[CALL_MOST_STREAMS];
    size_t count = streams_of(stream->context, true, others, CALL_MOST_STREAMS);
    for (size_t i = 0; i < count; i++) {
        if (others[i] != stream && atomic_load(&others[i]->enqueued))
            return false;
    }
    return count < CALL_MOST_STREAMS;
}

// Whether the next work on the stream begins when the last timed one ends, which it has not yet.
// With the lock held.
static bool follows_at_once(struct stream *stream)
{
    return outstanding(stream) && !stream->timing_now &&
           atomic_load(&stream->enqueued) == stream->timed_work && is_alone(stream) &&
           REAL(cuEventQuery)(stream->timings.items[stream->timings.count - 1].after) ==
               CUDA_ERROR_NOT_READY;
}

// Takes the events for the call and records the first, where one is needed. With the lock held.
static bool begin(struct call *call, struct context *context, struct stream *stream)
{
    if (!context->base)
        make_base(context, stream->handle);
    CUevent after = context->base ? take_event(context) : NULL;
    if (!after)
        return false;
    CUevent before = NULL;
    if (!follows_at_once(stream)) {
        before = take_event(context);
        if (!before || REAL(cuEventRecord)(before, stream->handle) != CUDA_SUCCESS) {
            if (before)
                give_up(context);
            give_event(context, before);
            give_event(context, after);
            return false;
        }
    }
    call->timing = (struct timing){call->number, before, after};
    stream->timing_now++;
    return true;
}

void gpu_time_before(struct call *call)
{
    struct stream *stream = call->stream;
    struct context *context = call->current;
    // Events belong to the current context; work on another's stream goes untimed. So does all
    // while a stream is under capture, which allows no event to be looked at.
    if (!stream || !context || stream->context != context || context->timing_failed ||
        atomic_load(&state.captures)) {
        atomic_fetch_add(&state.untimed, 1);
        return;
    }
    pthread_mutex_lock(&context->timing_lock);
    if (!begin(call, context, stream))
        atomic_fetch_add(&state.untimed, 1);
    pthread_mutex_unlock(&context->timing_lock);
}

// Those that were read are at the front; moving the others there now and then keeps the list as
// short as what is outstanding.
static void forget_read(struct stream *stream)
{
    const size_t left = outstanding(stream);
    if (stream->first_timing <= left)
        return;
    memmove(stream->timings.items, stream->timings.items + stream->first_timing,
            left * sizeof(*stream->timings.items));
    stream->first_timing = 0;
    stream->timings.count = left;
}

void gpu_time_after(struct call *call)
{
    struct stream *stream = call->stream;
    struct context *context = stream->context;
    bool good = call->result == CUDA_SUCCESS &&
                REAL(cuEventRecord)(call->timing.after, stream->handle) == CUDA_SUCCESS;
    pthread_mutex_lock(&context->timing_lock);
    stream->timing_now--;
    forget_read(stream);
    struct timing *place = good ? base_array_push(&stream->timings) : NULL;
    if (place) {
        *place = call->timing;
        stream->timed_work = atomic_load(&stream->enqueued) + 1; // the call's own is counted next
        stream->timed_legacy = work_of_legacy(stream) + (stream == context->legacy ? 1 : 0);
    } else {
        give_event(context, call->timing.before);
        give_event(context, call->timing.after);
    }
    pthread_mutex_unlock(&context->timing_lock);
}

// With the lock held. False: it cannot be told.
static bool time_of(const struct context *context, CUevent event, double *ns)
{
    float ms = 0;
    const bool good = REAL(cuEventElapsedTime)(&ms, context->base, event) == CUDA_SUCCESS;
    *ns = context->base_ns + (double)ms * 1e6;
    return good;
}

// Tells of the first that is outstanding, which has happened. With the lock held.
static void read_first(struct context *context, struct stream *stream)
{
    struct timing timing = stream->timings.items[stream->first_timing++];
    double start = stream->last_end_ns, end;
    bool good = timing.before ? time_of(context, timing.before, &start) : start >= 0;
    stream->last_end_ns = -1;
    if (time_of(context, timing.after, &end)) {
        stream->last_end_ns = end;
        struct event_time record = {
            .call = timing.call, .start_ns = (uint64_t)start, .end_ns = (uint64_t)end};
        if (good)
            put(EVENT_TIME, &record, sizeof(record), NULL, 0);
        if (end - context->base_ns > REBASE_MS * 1e6) {
            CUevent old = context->base;
            context->base = timing.after;
            context->base_ns = end;
            timing.after = old;
        }
    }
    give_event(context, timing.before);
    give_event(context, timing.after);
}

static bool has_happened(const struct stream *stream, size_t index)
{
    const struct timing *timing = &stream->timings.items[stream->first_timing + index];
    return REAL(cuEventQuery)(timing->after) != CUDA_ERROR_NOT_READY;
}

void gpu_time_collect(struct stream *stream, bool all)
{
    struct context *context = stream->context;
    if (context->timing_failed || atomic_load(&state.captures))
        return;
    pthread_mutex_lock(&context->timing_lock);
    // The base may be younger than the work where that is on another stream.
    if (outstanding(stream) && !context->base_seen)
        context->base_seen = REAL(cuEventQuery)(context->base) == CUDA_SUCCESS;
    // A stream keeps its order: where one has happened, so have all before it.
    while (context->base_seen && outstanding(stream) >= 2 * BATCH &&
           has_happened(stream, BATCH - 1)) {
        for (int i = 0; i < BATCH; i++)
            read_first(context, stream);
        if (!all)
            break;
    }
    while (context->base_seen && all && outstanding(stream) && has_happened(stream, 0))
        read_first(context, stream);
    pthread_mutex_unlock(&context->timing_lock);
}

void gpu_time_finish(void)
{
    if (!state.timestamps)
        return;
    for (size_t i = 0; i < state.contexts.count; i++) {
        const struct base_map_entry *entry = &state.contexts.entries[i];
        if (entry->removed)
            continue;
        struct context *context = (struct context *)(uintptr_t)entry->value; // NOLINT
        for (struct stream *stream = context->streams; stream; stream = stream->next)
            gpu_time_collect(stream, true);
    }
    const uint64_t untimed = atomic_load(&state.untimed);
    char text[128];
    snprintf(text, sizeof(text), "%" PRIu64 " launches, copies and fills have no GPU time",
             untimed);
    if (untimed)
        state_note(EVENT_INFO, text);
}
