// SPDX-License-Identifier: Apache-2.0
// When the GPU did what: an event before and one after each piece of work on the program's stream.
// Their times are read when they have happened, at later calls; nobody waits for them.
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
    if (!context->base)
        make_base(context, stream->handle);
    CUevent before = context->base ? take_event(context) : NULL;
    CUevent after = before ? take_event(context) : NULL;
    if (after && REAL(cuEventRecord)(before, stream->handle) == CUDA_SUCCESS) {
        call->timing = (struct timing){call->number, before, after};
    } else {
        if (after)
            give_up(context);
        give_event(context, before);
        give_event(context, after);
        atomic_fetch_add(&state.untimed, 1);
    }
    pthread_mutex_unlock(&context->timing_lock);
}

// Those that were read are at the front; moving the others there now and then keeps the list as
// short as what is outstanding.
static void forget_read(struct stream *stream)
{
    const size_t left = stream->timings.count - stream->first_timing;
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
    forget_read(stream);
    struct timing *place = good ? base_array_push(&stream->timings) : NULL;
    if (place) {
        *place = call->timing;
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

void gpu_time_collect(struct stream *stream, size_t most)
{
    struct context *context = stream->context;
    if (context->timing_failed || atomic_load(&state.captures))
        return;
    pthread_mutex_lock(&context->timing_lock);
    while (most-- && stream->first_timing < stream->timings.count) {
        struct timing timing = stream->timings.items[stream->first_timing];
        double start, end;
        // The base may be younger than the work where that is on another stream.
        if (!context->base_seen)
            context->base_seen = REAL(cuEventQuery)(context->base) == CUDA_SUCCESS;
        if (!context->base_seen || REAL(cuEventQuery)(timing.after) == CUDA_ERROR_NOT_READY)
            break;
        stream->first_timing++;
        if (time_of(context, timing.before, &start) && time_of(context, timing.after, &end)) {
            struct event_time record = {
                .call = timing.call, .start_ns = (uint64_t)start, .end_ns = (uint64_t)end};
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
            gpu_time_collect(stream, SIZE_MAX);
    }
    const uint64_t untimed = atomic_load(&state.untimed);
    char text[128];
    snprintf(text, sizeof(text), "%" PRIu64 " launches, copies and fills have no GPU time",
             untimed);
    if (untimed)
        state_note(EVENT_INFO, text);
}
