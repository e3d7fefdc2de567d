// SPDX-License-Identifier: Apache-2.0
// When the GPU did the program's work. An event follows each piece of work on the program's stream,
// and another precedes it if that is needed. No thread waits for them.
//
// An event costs the host about a third of a launch, and an empty kernel's launch costs the program
// nothing else. So most launches have only the event behind them. A kernel starts when its stream
// has finished the work before it, or when the GPU learns of it, whichever is later. The end of the
// work before is known if nothing untimed lies between. When the GPU learns of a launch is known
// from samples: some launches do have an event before them, and if the stream was idle, that event
// happened as soon as the GPU knew of it (util/latency.h). There is an event before the work if
// something else may hold up the stream (work of streams that it is ordered with, a wait for an
// event, untimed work), if the last sample is old, or if the samples do not agree. There always is
// one for work that is not a launch, and on the simulated GPU, whose clock is unrelated to the
// host's.
//
// A copy to the host that waits for itself has no event behind it: it has ended when the call
// returns. The event would be new work for a GPU that has none left. If processes share the GPU in
// turn, it waits until theirs have had their turns, and the program's next call waits with it.
//
// Reading an event's time while the GPU works costs the host as much as two events, and a fifth of
// that when the GPU is idle. So times are read after calls that wait, and at other calls only if
// many are left, or old.
//
// The driver gives times between two events as a float of milliseconds, so they are measured from a
// recent base: an event whose time is known. The first base is recorded on an idle stream, and its
// time taken from the host's clock. Whenever more than a second has passed, an event that was read
// becomes the new base.
#include "gpu_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "tail.h"

enum {
    MOST_EVENTS = 131072, // of a context; if all are in use, work goes untimed and is counted
    REBASE_MS = 1000,
    BATCH = 32,
    FEW_SPARE = 4 * BATCH, // with fewer events left, some are read
    OLD_NS = 1000000000,   // also if the first unread one ended this long ago
    SAMPLE_EVERY = 16,     // launches of a stream
    SAMPLE_AFTER_NS = 1000000,
    QUEUED_NS = 2000, // an event this soon after the end of earlier work has waited for that work
    BASE_SPIN_NS = 20000, // once for a context
};

static void give_up(struct core_context *context)
{
    if (!context->timing_failed)
        core_note(
            EVENT_WARNING,
            "GPU times of a context are missing from here on: the driver refuses to create events");
    context->timing_failed = true;
}

static CUevent take_event(struct core_context *context)
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

static void give_event(struct core_context *context, CUevent event)
{
    CUevent *place = event ? base_array_push(&context->spare_events) : NULL;
    if (place)
        *place = event;
}

// An event on an empty stream happens within microseconds of being recorded, so the host's clock
// gives its time, more closely if it is seen to have happened at once. If the stream is busy, its
// time is unknown, and the next call tries again.
static void ask_base(struct core_context *context, CUstream stream)
{
    if (REAL(cuStreamQuery)(stream) != CUDA_SUCCESS)
        return;
    CUevent event = take_event(context);
    if (!event)
        return;
    const uint64_t start = core_now_ns();
    if (REAL(cuEventRecord)(event, stream) != CUDA_SUCCESS) {
        give_event(context, event);
        give_up(context);
        return;
    }
    uint64_t seen = core_now_ns();
    const uint64_t until = seen + BASE_SPIN_NS;
    context->base_ns = (double)seen;
    while (seen < until) {
        const bool happened = REAL(cuEventQuery)(event) == CUDA_SUCCESS;
        seen = core_now_ns();
        if (happened) {
            context->base_ns = (double)start + (double)(seen - start) / 2;
            context->base_seen = true;
            break;
        }
    }
    context->base = event;
}

static void make_base(struct core_context *context, CUstream stream)
{
    if (!core_ask())
        return;
    ask_base(context, stream);
    core_asked();
}

static size_t left_of(const struct core_stream_times *times)
{
    return times->timings.count - times->first;
}

static uint64_t work_of_legacy(const struct core_stream *stream)
{
    const struct core_stream *legacy = stream->context->legacy;
    return legacy ? atomic_load(&legacy->enqueued) : 0;
}

// Returns whether no other stream may delay the next work on this one. The legacy stream and the
// streams that synchronize with it delay each other, if the others got work.
static bool is_alone(struct core_stream *stream)
{
    if (stream->flags & EVENT_STREAM_NON_BLOCKING)
        return true;
    if (!(stream->flags & EVENT_STREAM_LEGACY))
        return work_of_legacy(stream) == stream->times.legacy_work;
    struct core_stream *others[CALL_MOST_STREAMS];
    size_t count = core_streams_of(stream->context, true, others, CALL_MOST_STREAMS);
    for (size_t i = 0; i < count; i++) {
        if (others[i] != stream && atomic_load(&others[i]->enqueued))
            return false;
    }
    return count < CALL_MOST_STREAMS;
}

// Returns whether the start can be inferred without an event before the work. Needs the lock.
static bool needs_no_event(const struct core_call *call, struct core_stream *stream)
{
    const struct core_stream_times *times = &stream->times;
    return call->kind == EVENT_CALL_LAUNCH && !core_state.simulated &&
           times->sampled >= LATENCY_SAMPLES && times->unsampled < SAMPLE_EVERY &&
           !times->latency.unsteady && !times->now && times->timings.count &&
           atomic_load(&stream->enqueued) == times->work && is_alone(stream) &&
           core_now_ns() - times->sampled_ns < SAMPLE_AFTER_NS;
}

// Returns whether the work is done when the call returns, on a clock that is the host's.
static bool ends_with_call(const struct core_call *call)
{
    const uint8_t to = call->detail.copy.to_memory;
    return call->kind == EVENT_CALL_COPY && call->how & HOOK_WAITS && !(call->how & HOOK_UNSURE) &&
           !core_state.simulated && (to == EVENT_MEMORY_PAGEABLE || to == EVENT_MEMORY_PINNED);
}

// Takes the events for the call, and records the first if one is needed. Needs the lock.
static bool begin(struct core_call *call, struct core_context *context, struct core_stream *stream)
{
    if (!context->base)
        make_base(context, stream->handle);
    const bool needs_after = !ends_with_call(call);
    CUevent after = context->base && needs_after ? take_event(context) : NULL;
    if (!context->base || (needs_after && !after))
        return false;
    CUevent before = NULL;
    if (!needs_no_event(call, stream)) {
        before = take_event(context);
        if (!before || REAL(cuEventRecord)(before, stream->handle) != CUDA_SUCCESS) {
            if (before)
                give_up(context);
            give_event(context, before);
            give_event(context, after);
            return false;
        }
    }
    call->timing = (struct core_timing){.call = call->number,
                                        .before = before,
                                        .after = after,
                                        .timed = true,
                                        .launch = call->kind == EVENT_CALL_LAUNCH};
    stream->times.now++;
    return true;
}

void core_gpu_time_prepare(const struct core_call *call)
{
    struct core_context *context = call->current;
    if (!context || context->base || context->timing_failed || atomic_load(&core_state.captures))
        return;
    util_mutex_lock(&context->timing_lock, RANK_TIMING);
    if (!context->base)
        make_base(context, call->stream->handle);
    util_mutex_unlock(&context->timing_lock, RANK_TIMING);
}

void core_gpu_time_before(struct core_call *call)
{
    struct core_stream *stream = call->stream;
    struct core_context *context = call->current;
    // Events belong to the current context, so work on another context's stream goes untimed. So
    // does all work while a stream is under capture, during which events cannot be queried.
    if (!stream || !context || stream->context != context || context->timing_failed ||
        atomic_load(&core_state.captures)) {
        atomic_fetch_add(&core_state.untimed, 1);
        return;
    }
    util_mutex_lock(&context->timing_lock, RANK_TIMING);
    if (!begin(call, context, stream))
        atomic_fetch_add(&core_state.untimed, 1);
    util_mutex_unlock(&context->timing_lock, RANK_TIMING);
}

// Timings that were read are at the front. From time to time the others are moved there, which
// keeps the list short.
static void forget_read(struct core_stream_times *times)
{
    const size_t left = left_of(times);
    if (times->first <= left)
        return;
    memmove(times->timings.items, times->timings.items + times->first,
            left * sizeof(*times->timings.items));
    times->first = 0;
    times->timings.count = left;
}

void core_gpu_time_after(struct core_call *call)
{
    struct core_stream *stream = call->stream;
    struct core_stream_times *times = &stream->times;
    struct core_context *context = stream->context;
    CUevent event = call->timing.after;
    if (event && call->result == CUDA_SUCCESS && call->how & HOOK_WAITS)
        core_tail_begin(stream); // a call that has waited for its work leaves only this event
    // A layer may have taken the wait away.
    bool good = call->result == CUDA_SUCCESS &&
                (event ? REAL(cuEventRecord)(event, stream->handle) == CUDA_SUCCESS
                       : (call->how & HOOK_WAITS) != 0);
    util_mutex_lock(&context->timing_lock, RANK_TIMING);
    times->now--;
    forget_read(times);
    struct core_timing *place = good ? base_array_push(&times->timings) : NULL;
    if (place) {
        *place = call->timing;
        place->start_ns = call->start_ns;
        place->end_ns = call->end_ns;
        if (place->sampled)
            atomic_fetch_add(&core_state.sampled_unread, 1);
        times->work = atomic_load(&stream->enqueued);
        times->legacy_work = work_of_legacy(stream);
        atomic_fetch_add_explicit(&context->timings_left, 1, memory_order_relaxed);
        if (place->before && place->launch) {
            times->sampled++;
            times->sampled_ns = call->start_ns;
            times->unsampled = 0;
        } else {
            times->unsampled++;
        }
    } else {
        if (call->timing.sampled)
            atomic_fetch_add(&core_state.sampled_lost, 1);
        give_event(context, call->timing.before);
        give_event(context, call->timing.after);
    }
    util_mutex_unlock(&context->timing_lock, RANK_TIMING);
}

// Needs the lock. Returns false if the time is unknown.
static bool time_of(const struct core_context *context, CUevent event, double *ns)
{
    float ms = 0;
    const bool good = REAL(cuEventElapsedTime)(&ms, context->base, event) == CUDA_SUCCESS;
    *ns = context->base_ns + (double)ms * 1e6;
    return good;
}

// Returns when the work started; negative: unknown. Needs the lock.
static double start_of(const struct core_context *context, struct core_stream_times *times,
                       const struct core_timing *timing, double end, bool *estimated)
{
    double start = times->end_ns;
    *estimated = false;
    if (timing->before ? !time_of(context, timing->before, &start) : !times->end_known)
        return -1;
    if (core_state.simulated || (!timing->launch && timing->after))
        return start < end ? start : end;
    // The event was enqueued just before the call began. If nothing was ahead of it, it happened as
    // soon as the GPU knew of it.
    if (timing->before && !(times->end_known && start - times->end_ns < QUEUED_NS))
        util_latency_add(&times->latency, start - (double)timing->start_ns,
                         &core_state.latency_errors);
    if (!timing->launch)
        return start < end ? start : end;
    return util_latency_start(&times->latency, start, (double)timing->end_ns, end, estimated);
}

// Adds a launch's time to the sums of core_state, or counts it as lost.
static void sum_up(const struct core_timing *timing, bool known, uint64_t duration_ns)
{
    if (known && timing->launch)
        atomic_fetch_add_explicit(timing->sampled ? &core_state.sampled_ns
                                                  : &core_state.launches_ns,
                                  duration_ns, memory_order_relaxed);
    if (!timing->sampled)
        return;
    if (!known)
        atomic_fetch_add(&core_state.sampled_lost, 1);
    atomic_fetch_sub(&core_state.sampled_unread, 1);
}

// Returns false if the end is unknown. Needs the lock.
static bool end_of(const struct core_context *context, const struct core_stream_times *times,
                   const struct core_timing *timing, double *ns)
{
    double start;
    if (timing->after)
        return time_of(context, timing->after, ns);
    // The latency of launches follows the drift between the clocks.
    *ns = (double)timing->end_ns + util_latency_now(&times->latency);
    if (!time_of(context, timing->before, &start))
        return false;
    *ns = *ns < start ? start : *ns;
    return true;
}

// Makes the event the base, and returns the old one.
static CUevent rebase(struct core_context *context, CUevent event, double ns)
{
    CUevent old = context->base;
    context->base = event;
    context->base_ns = ns;
    return old;
}

// Records the first unread timing, whose event has happened. Needs the lock.
static void read_first(struct core_context *context, struct core_stream_times *times)
{
    struct core_timing timing = times->timings.items[times->first++];
    double end, start = -1;
    const bool good = end_of(context, times, &timing, &end);
    if (good) {
        bool estimated;
        start = start_of(context, times, &timing, end, &estimated);
        const struct event_time record = {.call = timing.call,
                                          .flags = estimated ? EVENT_TIME_ESTIMATED : 0,
                                          .start_ns = (uint64_t)start,
                                          .end_ns =
                                              (uint64_t)start + (uint64_t)(end - start + 0.5)};
        if (start >= 0)
            core_put(EVENT_TIME, &record, sizeof(record), NULL, 0);
        if (estimated)
            atomic_fetch_add_explicit(&core_state.estimated, 1, memory_order_relaxed);
        if (end - context->base_ns > REBASE_MS * 1e6) {
            if (timing.after)
                timing.after = rebase(context, timing.after, end);
            else
                timing.before = rebase(context, timing.before, start);
        }
    }
    sum_up(&timing, start >= 0, start >= 0 ? (uint64_t)(end - start + 0.5) : 0);
    times->end_known = good;
    times->end_ns = end;
    give_event(context, timing.before);
    give_event(context, timing.after);
    atomic_fetch_sub_explicit(&context->timings_left, 1, memory_order_relaxed);
}

static bool has_happened(const struct core_stream_times *times, size_t index)
{
    const struct core_timing *timing = &times->timings.items[times->first + index];
    return !timing->after || REAL(cuEventQuery)(timing->after) != CUDA_ERROR_NOT_READY;
}

// How many timings one reading covers.
enum { SOME, MOST, ALL };

// Work of a stream is done in order: if one event has happened, so have all before it. Making few
// queries matters more than reading the last timings now.
static size_t ready(const struct core_stream_times *times, int how)
{
    const size_t left = left_of(times);
    if (how != SOME && left && has_happened(times, left - 1))
        return left;
    if (left >= BATCH && has_happened(times, BATCH - 1))
        return BATCH;
    return how == ALL && left && has_happened(times, 0) ? 1 : 0;
}

static void collect(struct core_stream *stream, int how)
{
    struct core_context *context = stream->context;
    struct core_stream_times *times = &stream->times;
    if (context->timing_failed || !core_ask())
        return;
    util_mutex_lock(&context->timing_lock, RANK_TIMING);
    // The base may be newer than work on another stream.
    if (left_of(times) && !context->base_seen)
        context->base_seen = REAL(cuEventQuery)(context->base) == CUDA_SUCCESS;
    for (size_t count = BATCH; context->base_seen && count && left_of(times);) {
        count = ready(times, how);
        for (size_t i = 0; i < count; i++)
            read_first(context, times);
        if (how == SOME)
            break;
    }
    util_mutex_unlock(&context->timing_lock, RANK_TIMING);
    core_asked();
}

// Returns whether the end of the call implies that work has ended: on its stream, or on some stream
// of the context.
static bool has_waited(const struct core_call *call)
{
    return call->result == CUDA_SUCCESS &&
           (call->how & HOOK_WAITS || call->kind == EVENT_CALL_SYNC);
}

// Returns whether some timings should be read even while the GPU is working.
static bool is_time(const struct core_call *call, struct core_stream *stream)
{
    const struct core_stream_times *times = &stream->times;
    struct core_context *context = stream->context;
    util_mutex_lock(&context->timing_lock, RANK_TIMING);
    const bool few =
        context->made_events >= MOST_EVENTS - FEW_SPARE && context->spare_events.count < FEW_SPARE;
    const bool due =
        left_of(times) >= BATCH &&
        (few || (int64_t)(call->end_ns - times->timings.items[times->first].end_ns) > OLD_NS);
    util_mutex_unlock(&context->timing_lock, RANK_TIMING);
    return due;
}

void core_gpu_time_read(const struct core_call *call)
{
    struct core_context *context = call->stream ? call->stream->context : call->context;
    if (!context || !atomic_load_explicit(&context->timings_left, memory_order_relaxed))
        return;
    if (!has_waited(call)) {
        if (call->stream && is_time(call, call->stream))
            collect(call->stream, SOME);
        return;
    }
    if (call->stream && !(call->stream->flags & EVENT_STREAM_LEGACY)) {
        collect(call->stream, MOST);
        return;
    }
    struct core_stream *streams[CALL_MOST_STREAMS];
    const size_t count = core_streams_of(context, false, streams, CALL_MOST_STREAMS);
    for (size_t i = 0; i < count; i++)
        collect(streams[i], MOST);
}

void core_gpu_time_collect(struct core_stream *stream)
{
    collect(stream, ALL);
}

void core_gpu_time_collect_context(struct core_context *context)
{
    struct core_stream *streams[CALL_MOST_STREAMS];
    const size_t count = core_streams_of(context, false, streams, CALL_MOST_STREAMS);
    for (size_t i = 0; i < count; i++)
        collect(streams[i], ALL);
}

void core_gpu_time_forget(struct core_stream *stream)
{
    struct core_stream_times *times = &stream->times;
    struct core_context *context = stream->context;
    util_mutex_lock(&context->timing_lock, RANK_TIMING);
    for (; left_of(times); times->first++) {
        sum_up(&times->timings.items[times->first], false, 0);
        give_event(context, times->timings.items[times->first].before);
        give_event(context, times->timings.items[times->first].after);
        atomic_fetch_sub_explicit(&context->timings_left, 1, memory_order_relaxed);
        atomic_fetch_add(&core_state.untimed, 1);
    }
    times->timings.count = 0; // keeps the memory
    *times = (struct core_stream_times){.timings = times->timings};
    util_mutex_unlock(&context->timing_lock, RANK_TIMING);
}

void core_gpu_time_finish(void)
{
    if (!core_state.timestamps)
        return;
    for (size_t i = 0; i < core_state.contexts.count; i++) {
        const struct core_context *context = core_context_at(i);
        for (struct core_stream *stream = context ? context->streams : NULL; stream;
             stream = stream->next)
            collect(stream, ALL);
    }
    const uint64_t untimed = atomic_load(&core_state.untimed);
    const uint64_t estimated = atomic_load(&core_state.estimated);
    uint64_t samples;
    const uint32_t half_ns = util_latency_error_ns(&core_state.latency_errors, 50, &samples);
    const uint32_t most_ns = util_latency_error_ns(&core_state.latency_errors, 99, &samples);
    char text[192];
    snprintf(text, sizeof(text), "%" PRIu64 " launches, copies and fills have no GPU time",
             untimed);
    if (untimed)
        core_note(EVENT_INFO, text);
    snprintf(text, sizeof(text),
             "the GPU start of %" PRIu64 " launches is estimated: of %" PRIu64
             " samples half were within %" PRIu32 " ns of the estimate, 99 of 100 within %" PRIu32
             " ns",
             estimated, samples, half_ns, most_ns);
    if (estimated)
        core_note(EVENT_INFO, text);
}
