// SPDX-License-Identifier: Apache-2.0
// Models the run as a graph of host and GPU, and computes how long it takes if some waits are
// removed. A thread is a chain of calls with the program's time in between. A stream is a chain of
// work; events and the legacy stream order streams with one another. A wait joins a thread with
// streams. A replay processes the calls once, in order. It keeps the current time of each thread,
// and the time at which each stream completes its work.
//
// A replay without changes reproduces the recorded run exactly, except for the time that the
// recorder took from threads. GPU times are never exact, so each wait has a correction: how much
// later, or earlier, its work completed than the model says. Every step is monotone and shifts its
// result by no more than its inputs. Removing more waits therefore never makes the run longer, and
// removing one wait gains at most the time that it waited. A positive correction is the latency of
// starting work and of waking up. Work that is queued behind other work does not have that latency,
// so the correction disappears with the wait.
#include <stdlib.h>
#include <string.h>

#include "sync.h"

#define NEVER (INT64_MIN / 2) // earlier than any time

enum step_kind {
    STEP_WORK = 1,   // gives work to the GPU
    STEP_WAIT = 2,   // waits for the GPU
    STEP_RECORD = 4, // records an event
    STEP_AWAIT = 8,  // makes a stream wait for an event
    STEP_USE = 16,   // the first use of what a wait protects, not a call
    STEP_COPY = 32,  // a copy that is complete when the call returns
};

struct timeline_step {
    int64_t before_ns;     // the program's time since the thread's previous step
    int64_t after_ns;      // time of the call itself, after its wait
    int64_t waited_ns;     // as recorded
    int64_t correction_ns; // added to the time at which the awaited work completes
    int64_t gpu_ns;        // GPU time of its work
    uint32_t call, thread; // indices
    uint32_t stream;       // index, for work and events
    uint32_t wait;         // index, for STEP_WAIT and STEP_USE
    uint32_t record;       // index of the call that records the event; NONE
    uint8_t kind;          // sum of STEP_*
    bool is_unknown;       // gpu_ns is unknown
};

struct analyze_timeline {
    const struct analyze_waits *waits;
    BASE_ARRAY(struct timeline_step) steps;
    uint32_t thread_count, end_thread;
    int64_t end_before_ns, end_correction_ns; // for the program's end, which waits for all
    uint32_t *stream_list, *context_start;    // streams by context
    uint32_t *stream_context;
    int64_t *threads, *done; // state of a replay: current time by thread; completion time by stream
    int64_t *events;         // by recording call: time of the event
    int64_t *protected_at;   // by wait: when the work that it waits for completes
    bool *has_use;           // by wait: there is a use to which it can be delayed
    uint32_t *last;          // by stream: index + 1 of the last step that gave it work
    uint32_t *recorded_last; // by recording call: `last` of its stream at that time
    bool estimated;
};

// --- The work that waits wait for ----------------------------------------------------------------

static bool is_legacy(const struct analyze_timeline *timeline, uint32_t stream)
{
    return timeline->waits->model->streams.items[stream].flags & PROFILE_STREAM_LEGACY;
}

static bool is_blocking(const struct analyze_timeline *timeline, uint32_t stream)
{
    return !(timeline->waits->model->streams.items[stream].flags & PROFILE_STREAM_NON_BLOCKING);
}

// Runs `code` for each stream `s` that the wait waits for. Waits for events are handled separately.
#define EACH_STREAM(timeline, row, s, code)                                    \
    do {                                                                       \
        if ((row)->stream != ANALYZE_NONE && !(row)->legacy) {                 \
            uint32_t s = (row)->stream;                                        \
            code;                                                              \
        } else if ((row)->context != ANALYZE_NONE) {                           \
            for (uint32_t at_ = (timeline)->context_start[(row)->context];     \
                 at_ < (timeline)->context_start[(row)->context + 1]; at_++) { \
                uint32_t s = (timeline)->stream_list[at_];                     \
                if (!(row)->legacy || is_blocking(timeline, s)) {              \
                    code;                                                      \
                }                                                              \
            }                                                                  \
        }                                                                      \
    } while (0)

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Returns when the work that the step waits for completes, according to the model.
static int64_t done_at(const struct analyze_timeline *timeline, const struct timeline_step *step)
{
    const struct analyze_wait *row = &timeline->waits->waits.items[step->wait];
    int64_t done_ns = NEVER;
    if (row->is_event)
        return row->upto == ANALYZE_NONE ? NEVER : timeline->events[row->upto];
    EACH_STREAM(timeline, row, s, done_ns = later(done_ns, timeline->done[s]));
    return done_ns;
}

// Limits the completion times of the streams or event: the work is known to be complete by then.
static void be_done(struct analyze_timeline *timeline, const struct timeline_step *step,
                    int64_t time_ns)
{
    const struct analyze_wait *row = &timeline->waits->waits.items[step->wait];
    if (row->is_event) {
        if (row->upto != ANALYZE_NONE)
            timeline->events[row->upto] = earlier(timeline->events[row->upto], time_ns);
        return;
    }
    EACH_STREAM(timeline, row, s, timeline->done[s] = earlier(timeline->done[s], time_ns));
}

// Returns when the stream can start new work.
static int64_t ready_at(const struct analyze_timeline *timeline, uint32_t stream)
{
    int64_t ready_ns = timeline->done[stream];
    if (!is_blocking(timeline, stream))
        return ready_ns;
    const bool legacy = is_legacy(timeline, stream);
    uint32_t context = timeline->stream_context[stream];
    for (uint32_t i = timeline->context_start[context]; i < timeline->context_start[context + 1];
         i++) {
        uint32_t other = timeline->stream_list[i];
        if (legacy ? is_blocking(timeline, other) : is_legacy(timeline, other))
            ready_ns = later(ready_ns, timeline->done[other]);
    }
    return ready_ns;
}

// --- Replaying -----------------------------------------------------------------------------------

static void clear(struct analyze_timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->thread_count; i++)
        timeline->threads[i] = 0;
    for (size_t i = 0; i < timeline->waits->model->streams.count; i++)
        timeline->done[i] = NEVER;
}

// A record or wait of an event comes after the earlier work of its stream, and after that of
// streams that it synchronizes with implicitly.
static void do_events(struct analyze_timeline *timeline, const struct timeline_step *step)
{
    if (step->stream == ANALYZE_NONE)
        return;
    int64_t *done = &timeline->done[step->stream];
    *done = ready_at(timeline, step->stream);
    if (step->kind & STEP_RECORD)
        timeline->events[step->call] = *done;
    else if (step->record != ANALYZE_NONE)
        *done = later(*done, timeline->events[step->record]);
}

static int64_t do_step(struct analyze_timeline *timeline, const struct timeline_step *step,
                       enum analyze_action action)
{
    int64_t now_ns = timeline->threads[step->thread] + step->before_ns, after_ns = step->after_ns;
    if (action == ANALYZE_DEFER && (step->wait == ANALYZE_NONE || !timeline->has_use[step->wait]))
        action = ANALYZE_KEEP; // there is no use to delay it to
    const bool changed = action != ANALYZE_KEEP;
    int64_t over_ns = now_ns + after_ns; // when it would return without changes
    if (step->kind & STEP_USE)
        return action == ANALYZE_DEFER ? later(now_ns, timeline->protected_at[step->wait]) : now_ns;
    if (step->kind & STEP_WAIT) {
        int64_t done_ns = done_at(timeline, step);
        int64_t corrected_ns = done_ns == NEVER ? NEVER : done_ns + step->correction_ns;
        over_ns = later(now_ns, corrected_ns) + after_ns;
        if (!changed)
            now_ns = later(now_ns, corrected_ns);
        if (!changed || step->correction_ns < 0)
            be_done(timeline, step, changed ? corrected_ns : now_ns);
        timeline->protected_at[step->wait] = corrected_ns;
    }
    if (changed && (step->kind & STEP_COPY || action == ANALYZE_FROM_POOL))
        after_ns =
            earlier(after_ns, action == ANALYZE_FROM_POOL ? ANALYZE_POOL_NS : ANALYZE_ASYNC_NS);
    if (action == ANALYZE_LEAVE_OUT)
        return now_ns;
    now_ns += after_ns;
    if (step->kind & STEP_WORK && step->stream != ANALYZE_NONE) {
        int64_t *done = &timeline->done[step->stream];
        if (step->kind & STEP_COPY && !changed)
            *done = later(*done, now_ns);
        else if (step->kind & STEP_COPY) // it completes no later than without changes
            *done = earlier(over_ns, later(ready_at(timeline, step->stream), now_ns) +
                                         earlier(step->gpu_ns, step->after_ns - after_ns));
        else
            *done = later(ready_at(timeline, step->stream), now_ns) + step->gpu_ns;
        if (step->kind & STEP_COPY && changed)
            timeline->protected_at[step->wait] = *done;
    }
    if (step->kind & (STEP_RECORD | STEP_AWAIT))
        do_events(timeline, step);
    return now_ns;
}

static int64_t all_done(const struct analyze_timeline *timeline)
{
    int64_t done_ns = NEVER;
    for (size_t i = 0; i < timeline->waits->model->streams.count; i++)
        done_ns = later(done_ns, timeline->done[i]);
    return done_ns;
}

int64_t analyze_timeline_replay(struct analyze_timeline *timeline, const uint8_t *actions)
{
    clear(timeline);
    for (size_t i = 0; i < timeline->steps.count; i++) {
        const struct timeline_step *step = &timeline->steps.items[i];
        timeline->threads[step->thread] =
            do_step(timeline, step, (enum analyze_action)actions[step->call]);
    }
    int64_t end_ns = timeline->end_before_ns;
    if (timeline->thread_count)
        end_ns += timeline->threads[timeline->end_thread];
    int64_t done_ns = all_done(timeline);
    if (done_ns != NEVER)
        end_ns = later(end_ns, done_ns + timeline->end_correction_ns);
    for (uint32_t i = 0; i < timeline->thread_count; i++)
        end_ns = later(end_ns, timeline->threads[i]);
    return end_ns;
}

size_t analyze_timeline_steps(const struct analyze_timeline *timeline)
{
    return timeline->steps.count;
}

bool analyze_timeline_is_estimated(const struct analyze_timeline *timeline)
{
    return timeline->estimated;
}

// --- Fitting the model to the recorded run -------------------------------------------------------

// Sets a GPU time that is unknown: the work must have run until a wait for it returned. If several
// pieces of work are unknown, the last one gets all of the time.
static void estimate(struct analyze_timeline *timeline, const struct timeline_step *step,
                     int64_t end_ns)
{
    const struct analyze_wait *row = &timeline->waits->waits.items[step->wait];
    uint32_t best = 0, stream = ANALYZE_NONE;
    if (row->is_event) {
        best = row->upto == ANALYZE_NONE ? 0 : timeline->recorded_last[row->upto];
        stream = row->stream;
    } else {
        EACH_STREAM(timeline, row, s, {
            if (timeline->last[s] > best) {
                best = timeline->last[s];
                stream = s;
            }
        });
    }
    if (best == 0 || stream == ANALYZE_NONE || !timeline->steps.items[best - 1].is_unknown)
        return;
    int64_t *done = row->is_event ? &timeline->events[row->upto] : &timeline->done[stream];
    if (*done >= end_ns)
        return;
    timeline->steps.items[best - 1].gpu_ns += end_ns - *done;
    *done = end_ns;
    if (row->is_event && timeline->last[stream] == best)
        timeline->done[stream] = end_ns;
}

// Replays the recorded run and makes each wait end at its recorded time, by setting unknown GPU
// times or by corrections.
static void fit(struct analyze_timeline *timeline, bool estimates)
{
    clear(timeline);
    for (size_t i = 0; i < timeline->waits->model->streams.count; i++)
        timeline->last[i] = 0;
    for (size_t i = 0; i < timeline->steps.count; i++) {
        struct timeline_step *step = &timeline->steps.items[i];
        if (step->kind & STEP_WAIT) {
            int64_t now_ns = timeline->threads[step->thread] + step->before_ns;
            int64_t end_ns = now_ns + step->waited_ns;
            if (estimates && step->waited_ns)
                estimate(timeline, step, end_ns);
            int64_t done_ns = done_at(timeline, step);
            if (done_ns == NEVER) { // its work is unknown: the wait counts as time of the call
                step->after_ns += step->waited_ns;
                step->waited_ns = 0;
            }
            step->correction_ns =
                done_ns != NEVER && (step->waited_ns || done_ns > end_ns) ? end_ns - done_ns : 0;
        }
        timeline->threads[step->thread] = do_step(timeline, step, ANALYZE_KEEP);
        if (step->kind & STEP_WORK && step->stream != ANALYZE_NONE)
            timeline->last[step->stream] = (uint32_t)i + 1;
        if (step->kind & STEP_RECORD && step->stream != ANALYZE_NONE)
            timeline->recorded_last[step->call] = timeline->last[step->stream];
    }
    int64_t done_ns = all_done(timeline), end_ns = timeline->end_before_ns;
    if (timeline->thread_count)
        end_ns += timeline->threads[timeline->end_thread];
    timeline->end_correction_ns = done_ns != NEVER && done_ns > end_ns ? end_ns - done_ns : 0;
}

// --- Building the timeline -----------------------------------------------------------------------

struct late_use {
    int64_t time_ns;
    uint32_t thread; // number
    uint32_t wait;
};

static int by_thread(const void *one, const void *other)
{
    const struct late_use *a = one, *b = other;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

struct making_thread {
    int64_t at_ns;             // the end of its last step
    int64_t recorder_ns;       // time taken by the recorder since then
    size_t next_use, uses_end; // its range in `uses`
};

struct making {
    struct analyze_timeline *timeline;
    struct base_map threads; // number to index + 1
    BASE_ARRAY(struct making_thread) states;
    struct late_use *uses;
    size_t use_count;
    uint32_t next_wait;
};

// Returns the index of a thread's state, which it makes if necessary; NONE when memory ran out.
static uint32_t thread_of(struct making *making, uint32_t number)
{
    uint64_t *slot = base_map_put(&making->threads, number, NULL);
    if (slot && *slot == 0) {
        struct making_thread *made = base_array_push(&making->states);
        if (made) {
            while (made->next_use < making->use_count &&
                   making->uses[made->next_use].thread < number)
                made->next_use++;
            made->uses_end = made->next_use;
            while (made->uses_end < making->use_count &&
                   making->uses[made->uses_end].thread == number)
                made->uses_end++;
            *slot = making->states.count;
        }
    }
    return slot && *slot ? (uint32_t)*slot - 1 : ANALYZE_NONE;
}

// Returns the program's time since the last step, without the time that the recorder took.
static int64_t own_time(struct making_thread *thread, int64_t until_ns)
{
    const int64_t between_ns = until_ns - thread->at_ns;
    const int64_t taken_ns = later(0, earlier(between_ns, thread->recorder_ns));
    thread->recorder_ns -= taken_ns;
    return between_ns - taken_ns;
}

// Adds the thread's late uses up to a time as steps, before the thread's next step.
static bool add_uses(struct making *making, uint32_t thread, int64_t until_ns, int64_t clamp_ns)
{
    struct analyze_timeline *timeline = making->timeline;
    struct making_thread *state = &making->states.items[thread];
    for (; state->next_use < state->uses_end && making->uses[state->next_use].time_ns <= until_ns;
         state->next_use++) {
        const struct late_use *use = &making->uses[state->next_use];
        struct timeline_step *step = base_array_push(&timeline->steps);
        if (!step)
            return false;
        int64_t time_ns = later(state->at_ns, earlier(use->time_ns, clamp_ns));
        *step = (struct timeline_step){.before_ns = own_time(state, time_ns),
                                       .call = timeline->waits->waits.items[use->wait].call,
                                       .thread = thread,
                                       .stream = ANALYZE_NONE,
                                       .wait = use->wait,
                                       .record = ANALYZE_NONE,
                                       .kind = STEP_USE};
        timeline->has_use[use->wait] = true;
        state->at_ns = time_ns;
    }
    return true;
}

static uint8_t kind_of(const struct analyze_call *call, bool waits)
{
    const bool async = call->flags & ANALYZE_ASYNC;
    uint8_t kind = waits ? STEP_WAIT : 0;
    switch (call->kind) {
    case PROFILE_CALL_COPY: kind |= waits ? STEP_WORK | STEP_COPY : STEP_WORK; break;
    case PROFILE_CALL_SET:
    case PROFILE_CALL_LAUNCH:
    case PROFILE_CALL_GRAPH_LAUNCH: kind |= STEP_WORK; break;
    case PROFILE_CALL_HOST:
    case PROFILE_CALL_MEMORY:
    case PROFILE_CALL_OTHER: kind |= async ? STEP_WORK : 0; break;
    case PROFILE_CALL_EVENT_RECORD: kind |= STEP_RECORD; break;
    case PROFILE_CALL_EVENT_WAIT: kind |= STEP_AWAIT; break;
    default: break;
    }
    return kind;
}

// Returns the part of a copy's time in which it waited for other work. Without GPU times it is only
// known that it waited; then the copy itself is assumed to move 8 bytes per nanosecond.
static int64_t waited_of(const struct analyze_timeline *timeline, uint32_t call)
{
    enum { BYTES_A_NS = 8 };
    const struct analyze_model *model = timeline->waits->model;
    const struct analyze_call *row = &model->calls.items[call];
    const struct analyze_time *time = &model->host.times.items[call];
    if (row->kind != PROFILE_CALL_COPY || time->waited_ns || !(row->flags & ANALYZE_WAITED) ||
        model->host.has_gpu_times)
        return (int64_t)time->waited_ns;
    uint64_t bytes = 0;
    for (uint32_t i = row->touches; i < analyze_touches_end(model, call); i++)
        bytes = model->touches.items[i].row_bytes * model->touches.items[i].rows;
    int64_t own_ns = ANALYZE_ASYNC_NS + (int64_t)(bytes / BYTES_A_NS);
    return later(time->end_ns - time->start_ns - own_ns, 0);
}

static bool add_call(struct making *making, uint32_t index)
{
    struct analyze_timeline *timeline = making->timeline;
    const struct analyze_waits *waits = timeline->waits;
    const struct analyze_model *model = waits->model;
    const struct analyze_call *call = &model->calls.items[index];
    const struct analyze_time *time = &model->host.times.items[index];
    const bool is_wait = making->next_wait < waits->waits.count &&
                         waits->waits.items[making->next_wait].call == index;
    uint32_t wait = is_wait ? making->next_wait++ : ANALYZE_NONE;
    uint8_t kind = call->flags & ANALYZE_WORKS ? kind_of(call, is_wait) : 0;
    // Allocations are steps because a remedy may take them from a pool.
    if (!kind && call->kind != PROFILE_CALL_ALLOC && !time->recorder_ns)
        return true;
    uint32_t thread = thread_of(making, call->thread);
    if (thread == ANALYZE_NONE || !add_uses(making, thread, time->end_ns, time->start_ns))
        return false;
    struct making_thread *state = &making->states.items[thread];
    struct timeline_step *step = base_array_push(&timeline->steps);
    if (!step || timeline->steps.count >= ANALYZE_NONE)
        return false;
    int64_t waited_ns = is_wait ? waited_of(timeline, index) : 0;
    int64_t took_ns = time->end_ns - time->start_ns - waited_ns;
    *step = (struct timeline_step){.before_ns = own_time(state, time->start_ns),
                                   .after_ns = took_ns,
                                   .waited_ns = waited_ns,
                                   .call = index,
                                   .thread = thread,
                                   .stream = analyze_stream_index(model, call->stream),
                                   .wait = wait,
                                   .record = waits->record_of[index],
                                   .kind = kind};
    state->at_ns = time->end_ns;
    state->recorder_ns += (int64_t)time->recorder_ns;
    if (kind & STEP_WORK) {
        step->is_unknown = !model->host.has_gpu_times || !call->gpu_ns;
        step->gpu_ns = step->is_unknown ? 0 : (int64_t)call->gpu_ns;
        if (step->is_unknown && kind & STEP_COPY)
            step->gpu_ns = took_ns;
        timeline->estimated |= step->is_unknown && !(kind & STEP_COPY);
    }
    return true;
}

static bool list_late_uses(struct making *making)
{
    const struct analyze_waits *waits = making->timeline->waits;
    making->uses = calloc(waits->waits.count + 1, sizeof(*making->uses));
    if (!making->uses)
        return false;
    for (size_t i = 0; i < waits->waits.count; i++) {
        const struct analyze_wait *wait = &waits->waits.items[i];
        if (wait->judgement == ANALYZE_LATE && wait->use_ns)
            making->uses[making->use_count++] =
                (struct late_use){wait->use_ns, wait->thread, (uint32_t)i};
    }
    qsort(making->uses, making->use_count, sizeof(*making->uses), by_thread);
    return true;
}

static bool list_streams(struct analyze_timeline *timeline)
{
    const struct analyze_waits *waits = timeline->waits;
    const struct analyze_model *model = waits->model;
    const size_t count = model->streams.count, contexts = waits->context_count;
    timeline->stream_list = calloc(count + 1, sizeof(*timeline->stream_list));
    timeline->stream_context = calloc(count + 1, sizeof(*timeline->stream_context));
    timeline->context_start = calloc(contexts + 2, sizeof(*timeline->context_start));
    timeline->done = calloc(count + 1, sizeof(*timeline->done));
    timeline->last = calloc(count + 1, sizeof(*timeline->last));
    timeline->events = calloc(model->calls.count + 1, sizeof(*timeline->events));
    timeline->recorded_last = calloc(model->calls.count + 1, sizeof(*timeline->recorded_last));
    timeline->protected_at = calloc(waits->waits.count + 1, sizeof(*timeline->protected_at));
    timeline->has_use = calloc(waits->waits.count + 1, sizeof(*timeline->has_use));
    if (!timeline->stream_list || !timeline->stream_context || !timeline->context_start ||
        !timeline->done || !timeline->last || !timeline->events || !timeline->recorded_last ||
        !timeline->protected_at || !timeline->has_use)
        return false;
    uint32_t next = 0;
    for (uint32_t c = 0; c < contexts; c++) {
        timeline->context_start[c] = next;
        for (uint32_t s = 0; s < count; s++) {
            if (analyze_context_index(waits, model->streams.items[s].context) != c)
                continue;
            timeline->stream_context[s] = c;
            timeline->stream_list[next++] = s;
        }
    }
    timeline->context_start[contexts] = next;
    return true;
}

static bool make(struct making *making)
{
    struct analyze_timeline *timeline = making->timeline;
    const struct analyze_model *model = timeline->waits->model;
    if (!list_streams(timeline) || !list_late_uses(making))
        return false;
    for (uint32_t i = 0; i < model->calls.count; i++) {
        if (!add_call(making, i))
            return false;
    }
    int64_t last_ns = 0;
    for (uint32_t i = 0; i < making->states.count; i++) {
        if (!add_uses(making, i, model->host.end_ns, model->host.end_ns))
            return false;
        if (making->states.items[i].at_ns >= last_ns) {
            last_ns = making->states.items[i].at_ns;
            timeline->end_thread = i;
        }
    }
    timeline->thread_count = (uint32_t)making->states.count;
    timeline->end_before_ns =
        making->states.count
            ? own_time(&making->states.items[timeline->end_thread], model->host.end_ns)
            : model->host.end_ns;
    timeline->threads = calloc(making->states.count + 1, sizeof(*timeline->threads));
    return timeline->threads != NULL;
}

struct analyze_timeline *analyze_timeline_new(const struct analyze_waits *waits)
{
    struct analyze_timeline *timeline = calloc(1, sizeof(*timeline));
    if (!timeline)
        return NULL;
    timeline->waits = waits;
    struct making making = {.timeline = timeline};
    bool good = make(&making);
    base_map_fini(&making.threads);
    base_array_fini(&making.states);
    free(making.uses);
    if (!good) {
        analyze_timeline_free(timeline);
        return NULL;
    }
    fit(timeline, true);
    fit(timeline, false);
    return timeline;
}

void analyze_timeline_free(struct analyze_timeline *timeline)
{
    if (!timeline)
        return;
    base_array_fini(&timeline->steps);
    free(timeline->stream_list);
    free(timeline->stream_context);
    free(timeline->context_start);
    free(timeline->threads);
    free(timeline->done);
    free(timeline->events);
    free(timeline->protected_at);
    free(timeline->has_use);
    free(timeline->last);
    free(timeline->recorded_last);
    free(timeline);
}
