// SPDX-License-Identifier: Apache-2.0
// Judges whether waits were needed. Data that the CPU uses needs one wait: the last one before the
// use. Earlier waits are not needed for that data. If it cannot be observed whether data is used,
// the first wait that makes it safe is charged and stays, so that no later wait is needed for it.
#include <stdlib.h>

#include "sync.h"

// After this many uses of data from one pair of call paths, the recorder only watches samples.
enum { SAMPLED_FROM = 32 };

uint64_t analyze_waited_ns(const struct analyze_model *model, uint32_t call)
{
    const struct analyze_call *row = &model->calls.items[call];
    const struct analyze_time *time = &model->host.times.items[call];
    if (row->kind != PROFILE_CALL_COPY)
        return time->waited_ns;
    uint64_t took_ns = (uint64_t)(time->end_ns - time->start_ns);
    return took_ns > ANALYZE_ASYNC_NS ? took_ns - ANALYZE_ASYNC_NS : 0;
}

int64_t analyze_goes_on_ns(const struct analyze_model *model, uint32_t call)
{
    const struct analyze_time *time = &model->host.times.items[call];
    return time->end_ns + (int64_t)time->recorder_ns;
}

uint64_t analyze_calls_until(const struct analyze_model *model, uint32_t call, int64_t time_ns)
{
    // Calls are numbered in the order in which they start.
    const size_t end =
        base_search(call + 1, model->calls.count, i, model->host.times.items[i].start_ns < time_ns);
    return end - call - 1;
}

// --- Uses ----------------------------------------------------------------------------------------

const struct analyze_threshold analyze_late_use_us = {
    "late-use-us", "microseconds", 100,
    "a wait is late if its data is used at least this long after it"};
const struct analyze_threshold analyze_late_use_percent = {
    "late-use-percent", "percent", 50, "and at least this much of the time waited"};
const struct analyze_threshold analyze_late_use_calls = {"late-use-calls", "calls", 0,
                                                         "and at least this many calls later"};

static bool is_seen(const struct analyze_first_use *use)
{
    return use->kind == PROFILE_USE_READ || use->kind == PROFILE_USE_WRITE ||
           use->kind == PROFILE_USE_SYSTEM;
}

struct pair {
    uint32_t seen;     // number of uses so far
    bool own;          // the last use needed the wait that made the data safe, not a later one
    uint8_t judgement; // of that wait
    uint32_t thread;   // the thread of the last use
    int64_t least_ns;  // least time from the end of a wait that could be delayed to the use
};

struct judging {
    struct analyze_waits *waits;
    uint32_t late_use_us, late_use_percent, late_use_calls; // thresholds
    struct base_map pairs; // call paths of wait and copy, to index + 1
    BASE_ARRAY(struct pair) pairs_seen;
    bool failed;
};

// Returns whether the use comes so long after the wait that the wait could have been delayed.
static bool is_late(const struct judging *judging, uint32_t wait,
                    const struct analyze_first_use *use)
{
    const struct analyze_model *model = judging->waits->model;
    uint32_t call = judging->waits->waits.items[wait].call;
    int64_t later_ns = use->time_ns - analyze_goes_on_ns(model, call);
    uint64_t least_ns = judging->late_use_us * UINT64_C(1000);
    double waited = (double)analyze_waited_ns(model, call);
    return later_ns > 0 && (uint64_t)later_ns >= least_ns &&
           (double)later_ns * 100 >= waited * judging->late_use_percent &&
           (!judging->late_use_calls ||
            analyze_calls_until(model, call, use->time_ns) >= judging->late_use_calls);
}

static void set_first(struct judging *judging, uint32_t wait, uint32_t use)
{
    const struct analyze_first_use *uses = judging->waits->model->host.first_uses.items;
    struct analyze_wait *row = &judging->waits->waits.items[wait];
    if (row->first == ANALYZE_NONE || uses[use].time_ns < uses[row->first].time_ns)
        row->first = use;
    row->use_ns = uses[row->first].time_ns;
    row->thread = uses[row->first].thread;
}

static struct pair *pair_of(struct judging *judging, uint32_t sync, uint32_t copy)
{
    const struct analyze_call *calls = judging->waits->model->calls.items;
    uint64_t key = (uint64_t)calls[sync].path << 32 | calls[copy].path;
    uint64_t *slot = base_map_put(&judging->pairs, key, NULL);
    if (slot && *slot == 0) {
        const struct pair *made = base_array_push(&judging->pairs_seen);
        *slot = made ? judging->pairs_seen.count : 0;
    }
    judging->failed |= !slot || *slot == 0;
    return judging->failed ? NULL : &judging->pairs_seen.items[*slot - 1];
}

// Which pages can be watched depends on where the data is: docs/reference/recording.md.
static enum analyze_wait_unknown why_unknown(const struct analyze_model *model,
                                             const struct analyze_first_use *use)
{
    enum { SMALL_BYTES = 64 << 10 };
    const struct analyze_host *host = &model->host;
    if (use->copy == ANALYZE_NONE)
        return ANALYZE_WAIT_MANAGED;
    const size_t at = base_search(0, host->copies.count, i, host->copies.items[i].call < use->copy);
    if (at == host->copies.count || host->copies.items[at].call != use->copy)
        return ANALYZE_WAIT_RESULTS; // by a graph
    const struct analyze_copy *copy = &host->copies.items[at];
    switch (copy->host) {
    case PROFILE_HOST_MANAGED: return ANALYZE_WAIT_MANAGED;
    case PROFILE_HOST_PINNED:
    case PROFILE_HOST_REGISTERED: return ANALYZE_WAIT_PINNED;
    case PROFILE_HOST_STACK: return ANALYZE_WAIT_STACK;
    case PROFILE_HOST_STATIC: return ANALYZE_WAIT_STATIC;
    case PROFILE_HOST_MAPPED:
    case PROFILE_HOST_FILE: return ANALYZE_WAIT_MAPPED;
    default: return copy->bytes < SMALL_BYTES ? ANALYZE_WAIT_SMALL : ANALYZE_WAIT_RESULTS;
    }
}

// Charges a use to the wait that it needs.
static void take_use(struct judging *judging, uint32_t index)
{
    struct analyze_waits *waits = judging->waits;
    const struct analyze_first_use *use = &waits->model->host.first_uses.items[index];
    uint32_t own = analyze_wait_of(waits, use->sync), wait = own;
    // Managed memory may belong to any stream, so only a wait for the whole context surely protects
    // it.
    if (use->copy != ANALYZE_NONE) {
        struct analyze_work work = analyze_work_of(waits, use->copy);
        wait = analyze_last_wait(waits, &work, own, use->time_ns);
    } else if (is_seen(use)) {
        struct analyze_work work = {use->sync, ANALYZE_NONE,
                                    analyze_work_of(waits, use->sync).context};
        wait = analyze_last_wait(waits, &work, own, use->time_ns);
    }
    if (wait == ANALYZE_NONE) // a query showed that the work was complete
        return;
    if (use->kind == PROFILE_USE_CLOCK) {
        waits->waits.items[own].timed = true;
        analyze_judge_wait(waits, own, ANALYZE_NEEDED);
        return;
    }
    enum analyze_judgement judgement = ANALYZE_UNKNOWN;
    bool known = is_seen(use);
    if (known && use->is_partial && (wait != own || is_late(judging, wait, use))) {
        // What was not watched may have been used before, and then needed the first wait.
        known = false;
        wait = own;
    }
    if (!known) {
        analyze_wait_unknown(waits, wait, why_unknown(waits->model, use));
    } else {
        judgement = is_late(judging, wait, use) ? ANALYZE_LATE : ANALYZE_NEEDED;
        set_first(judging, wait, index);
    }
    analyze_judge_wait(waits, wait, judgement);
    struct pair *pair = use->copy == ANALYZE_NONE ? NULL : pair_of(judging, use->sync, use->copy);
    if (pair && known) {
        pair->seen++;
        pair->own = wait == own;
        pair->judgement = (uint8_t)judgement;
        pair->thread = use->thread;
        const int64_t later_ns =
            use->time_ns - analyze_goes_on_ns(waits->model, waits->waits.items[wait].call);
        if (judgement == ANALYZE_LATE && (!pair->least_ns || later_ns < pair->least_ns))
            pair->least_ns = later_ns;
    }
}

// Handles a copy without a recorded use. Either the CPU did not use the data, or the recorder did
// not watch it because enough similar copies were used. In that case it is judged like the last of
// those.
static void take_unused(struct judging *judging, uint32_t call)
{
    struct analyze_waits *waits = judging->waits;
    struct analyze_work work = analyze_work_of(waits, call);
    uint32_t wait = analyze_wait_of(waits, call);
    if (wait == ANALYZE_NONE)
        wait = analyze_first_wait(waits, &work);
    if (wait == ANALYZE_NONE)
        return;
    const struct pair *pair = pair_of(judging, waits->waits.items[wait].call, call);
    if (!pair || pair->seen < SAMPLED_FROM || !pair->own)
        return;
    analyze_judge_wait(waits, wait, (enum analyze_judgement)pair->judgement);
    struct analyze_wait *row = &waits->waits.items[wait];
    if (pair->judgement == ANALYZE_LATE && !row->use_ns) {
        row->use_ns = analyze_goes_on_ns(waits->model, row->call) + pair->least_ns;
        row->thread = pair->thread;
    }
}

static void take_uses(struct judging *judging)
{
    const struct analyze_host *host = &judging->waits->model->host;
    size_t next = 0;
    while (next < host->first_uses.count && host->first_uses.items[next].copy == ANALYZE_NONE)
        take_use(judging, (uint32_t)next++);
    for (size_t i = 0; i < host->copies.count && !judging->failed; i++) {
        const struct analyze_copy *copy = &host->copies.items[i];
        // Uses of copies by graph launches come in between, because those copies are not in the
        // list.
        while (next < host->first_uses.count && host->first_uses.items[next].copy < copy->call)
            take_use(judging, (uint32_t)next++);
        if (next == host->first_uses.count || host->first_uses.items[next].copy != copy->call) {
            if (copy->to_host)
                take_unused(judging, copy->call);
            continue;
        }
        while (next < host->first_uses.count && host->first_uses.items[next].copy == copy->call)
            take_use(judging, (uint32_t)next++);
    }
    while (next < host->first_uses.count && !judging->failed)
        take_use(judging, (uint32_t)next++);
}

// --- Unobserved uses -----------------------------------------------------------------------------

// Returns whether the work uses memory that the host may also write, or calls a host function. Then
// only a wait tells the host when that work is complete.
static bool touches_host(const struct analyze_model *model, uint32_t index, size_t host_objects)
{
    const struct analyze_call *call = &model->calls.items[index];
    if (call->kind == PROFILE_CALL_HOST || call->flags & ANALYZE_BATCH)
        return true;
    if (call->kind == PROFILE_CALL_GRAPH_LAUNCH &&
        (!call->graph || (model->host.host_graphs && model->host.host_graphs[call->graph - 1])))
        return true;
    if (host_objects == 0)
        return false;
    if (call->flags & ANALYZE_UNSEEN)
        return true;
    for (uint32_t i = call->touches, end = analyze_touches_end(model, index); i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (touch->is_kernel && model->objects.items[touch->object].is_host)
            return true;
    }
    return false;
}

// Returns whether the copy reads memory that the host may overwrite once the copy is complete.
// Pageable memory is read before the call returns.
static bool reads_host(const struct analyze_model *model, const struct analyze_copy *copy)
{
    return !copy->to_host && model->calls.items[copy->call].flags & ANALYZE_ASYNC &&
           copy->memory != PROFILE_MEMORY_PAGEABLE;
}

static void charge_first(struct analyze_waits *waits, uint32_t call,
                         enum analyze_wait_unknown reason)
{
    struct analyze_work work = analyze_work_of(waits, call);
    analyze_wait_unknown(waits, analyze_first_wait(waits, &work), reason);
}

// Notes that the launch may print, and that its output would appear at its first wait.
static void note_printing(struct analyze_waits *waits, uint32_t call)
{
    const struct analyze_work work = analyze_work_of(waits, call);
    const uint32_t wait = analyze_first_wait(waits, &work);
    if (wait != ANALYZE_NONE)
        waits->waits.items[wait].may_print = true;
}

// Marks the wait that the program needs before it asks for an event's time: the event must have
// completed.
static void take_timing(struct analyze_waits *waits, uint32_t call)
{
    uint32_t record = waits->record_of[call];
    if (record == ANALYZE_NONE)
        return;
    struct analyze_work work = analyze_work_of(waits, record);
    if (work.call)
        work.call--; // a wait for exactly that record counts, too
    uint32_t wait = analyze_last_wait(waits, &work, ANALYZE_NONE,
                                      waits->model->host.times.items[call].start_ns);
    if (wait != ANALYZE_NONE && waits->waits.items[wait].call > record)
        analyze_judge_wait(waits, wait, ANALYZE_NEEDED);
}

static bool take_unseen(struct judging *judging)
{
    struct analyze_waits *waits = judging->waits;
    const struct analyze_model *model = waits->model;
    // By call: the change of the number of live host objects.
    int32_t *changes = calloc(model->calls.count + 1, sizeof(*changes));
    size_t host_objects = 0, next_copy = 0;
    bool shares = false;
    if (!changes)
        return false;
    for (size_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!object->is_host || object->parent != ANALYZE_NONE)
            continue;
        host_objects += object->call == ANALYZE_NONE;
        if (object->call != ANALYZE_NONE)
            changes[object->call]++;
        if (object->end != ANALYZE_NONE)
            changes[object->end]--;
    }
    for (uint32_t i = 0; i < model->calls.count; i++) {
        const struct analyze_call *call = &model->calls.items[i];
        const struct analyze_copy *copy = NULL;
        while (next_copy < model->host.copies.count && model->host.copies.items[next_copy].call < i)
            next_copy++;
        if (next_copy < model->host.copies.count && model->host.copies.items[next_copy].call == i)
            copy = &model->host.copies.items[next_copy];
        host_objects = (size_t)((int64_t)host_objects + changes[i]);
        if (!(call->flags & ANALYZE_WORKS))
            continue;
        shares |= call->flags & ANALYZE_SHARES;
        if (call->flags & ANALYZE_TIMES)
            take_timing(waits, i);
        if (touches_host(model, i, host_objects) || (copy && reads_host(model, copy)))
            charge_first(waits, i, ANALYZE_WAIT_WORK);
        if (call->flags & ANALYZE_PRINTS) // what kernels print appears at the next wait
            charge_first(waits, i, ANALYZE_WAIT_OUTPUT);
        else if (call->flags & ANALYZE_LAUNCHES && call->flags & ANALYZE_ACTS &&
                 !base_map_get(&model->of_libraries, call->path))
            note_printing(waits, i);
        if (shares)
            analyze_wait_unknown(waits, analyze_wait_of(waits, i), ANALYZE_WAIT_SHARED);
    }
    free(changes);
    return true;
}

// --- All waits -----------------------------------------------------------------------------------

bool analyze_judge(struct analyze_waits *waits, const struct analyze_thresholds *thresholds)
{
    struct judging judging = {.waits = waits,
                              .late_use_us = analyze_limit(thresholds, &analyze_late_use_us),
                              .late_use_percent =
                                  analyze_limit(thresholds, &analyze_late_use_percent),
                              .late_use_calls = analyze_limit(thresholds, &analyze_late_use_calls)};
    const struct analyze_host *host = &waits->model->host;
    const struct analyze_call *calls = waits->model->calls.items;
    for (size_t i = 0; i < waits->waits.count; i++) {
        struct analyze_wait *wait = &waits->waits.items[i];
        // The program may wait for an event only to ask for its time; older profiles do not record
        // that.
        if (!host->tracked ||
            (wait->is_event && (!host->knows_timing || wait->upto == ANALYZE_NONE)))
            analyze_wait_unknown(waits, (uint32_t)i,
                                 host->tracked ? ANALYZE_WAIT_EVENT : ANALYZE_WAIT_GIVEN_UP);
        // Loading and unloading modules and destroying contexts have to wait, whatever the CPU
        // uses.
        if (calls[wait->call].kind == PROFILE_CALL_MODULE ||
            calls[wait->call].kind == PROFILE_CALL_CONTEXT)
            wait->judgement = ANALYZE_NEEDED;
    }
    take_uses(&judging);
    bool good = !judging.failed && take_unseen(&judging) && analyze_judge_order(waits) &&
                analyze_find_checks(waits);
    base_array_fini(&judging.pairs_seen);
    base_map_fini(&judging.pairs);
    return good;
}
