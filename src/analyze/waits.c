// SPDX-License-Identifier: Apache-2.0
// Finds the calls that wait for the GPU, and what they wait for: a whole context, a stream, or the
// work of a stream before an event. Lists by stream and by context answer which wait comes first
// after a piece of work, and which comes last before a given time.
#include <stdlib.h>

#include "sync.h"

// A search skips waits for events that were recorded too early, but at most this many. Then another
// wait is charged, which is safe.
enum { MOST_PASSED = 64 };

// --- Streams and contexts ------------------------------------------------------------------------

uint32_t analyze_stream_index(const struct analyze_model *model, uint32_t number)
{
    const struct analyze_stream *streams = model->streams.items;
    const size_t count = model->streams.count;
    if (number && number <= count && streams[number - 1].number == number) // the usual case
        return number - 1;
    const size_t at = base_search(0, count, i, streams[i].number < number);
    return number && at < count && streams[at].number == number ? (uint32_t)at : ANALYZE_NONE;
}

uint32_t analyze_context_index(const struct analyze_waits *waits, uint32_t number)
{
    const uint64_t *slot = base_map_get(&waits->contexts, number);
    return slot ? (uint32_t)*slot - 1 : ANALYZE_NONE;
}

static bool add_context(struct analyze_waits *waits, uint32_t number)
{
    uint64_t *slot = base_map_put(&waits->contexts, number, NULL);
    if (slot && *slot == 0)
        *slot = ++waits->context_count;
    return slot != NULL;
}

static bool is_legacy(const struct analyze_model *model, uint32_t stream)
{
    return stream != ANALYZE_NONE && model->streams.items[stream].flags & PROFILE_STREAM_LEGACY;
}

static bool blocks(const struct analyze_model *model, uint32_t stream)
{
    return stream != ANALYZE_NONE &&
           !(model->streams.items[stream].flags & PROFILE_STREAM_NON_BLOCKING);
}

// --- Finding waits -------------------------------------------------------------------------------

static bool end_waits(enum profile_object_kind kind)
{
    return kind == PROFILE_OBJECT_DEVICE || kind == PROFILE_OBJECT_PITCHED ||
           kind == PROFILE_OBJECT_ARRAY || kind == PROFILE_OBJECT_MANAGED ||
           kind == PROFILE_OBJECT_PINNED || kind == PROFILE_OBJECT_REGISTERED;
}

// Returns whether the call waits if the GPU has work.
static bool could_wait(const struct analyze_call *call, bool ends)
{
    if (!(call->flags & ANALYZE_WORKS))
        return false;
    if (call->flags & ANALYZE_WAITED || ends)
        return true;
    if (call->flags & ANALYZE_ASYNC)
        return false;
    return call->kind == PROFILE_CALL_SYNC ||
           (call->kind == PROFILE_CALL_COPY && call->flags & ANALYZE_HOST_END);
}

struct wait_event {
    uint32_t record, call; // of the last record: its number, counted from 1, and its call
};

struct finding_waits {
    struct analyze_waits *waits;
    struct base_map events; // number to index + 1
    BASE_ARRAY(struct wait_event) states;
};

// Finds the call that recorded the event that this call refers to; NONE if it is unknown. Returns
// false when memory ran out.
static bool find_record(struct finding_waits *finding, uint32_t index, uint32_t *record)
{
    const struct analyze_call *call = &finding->waits->model->calls.items[index];
    *record = ANALYZE_NONE;
    if (!call->event ||
        (call->kind != PROFILE_CALL_SYNC && call->kind != PROFILE_CALL_EVENT_RECORD &&
         call->kind != PROFILE_CALL_EVENT_WAIT) ||
        !(call->flags & ANALYZE_WORKS))
        return true;
    uint64_t *slot = base_map_put(&finding->events, call->event, NULL);
    if (slot && *slot == 0) {
        struct wait_event *made = base_array_push(&finding->states);
        if (made)
            *slot = finding->states.count;
    }
    if (!slot || *slot == 0)
        return false;
    struct wait_event *state = &finding->states.items[*slot - 1];
    if (call->kind == PROFILE_CALL_EVENT_RECORD)
        *state = (struct wait_event){state->record + 1, index};
    // If the event was recorded again since, the call of the earlier record is no longer known.
    if (state->record && (call->record == 0 || call->record == state->record))
        *record = state->call;
    return true;
}

static bool put(struct analyze_wait_list *list, uint32_t wait)
{
    uint32_t *slot = base_array_push(&list->waits);
    if (slot)
        *slot = wait;
    return slot != NULL;
}

static bool add_wait(struct analyze_waits *waits, uint32_t index, uint32_t record)
{
    const struct analyze_model *model = waits->model;
    const struct analyze_call *call = &model->calls.items[index];
    const bool is_sync = call->kind == PROFILE_CALL_SYNC;
    struct analyze_wait row = {
        .call = index,
        .context = analyze_context_index(waits, call->context),
        .stream = analyze_stream_index(model, is_sync ? call->sync_stream : call->stream),
        .upto = index,
        .first = ANALYZE_NONE};
    if (is_sync && call->event) {
        row.is_event = true;
        row.upto = record;
        row.stream = record == ANALYZE_NONE
                         ? ANALYZE_NONE
                         : analyze_stream_index(model, model->calls.items[record].stream);
    }
    row.legacy = is_legacy(model, row.stream) && !row.is_event;
    struct analyze_wait *slot = base_array_push(&waits->waits);
    if (!slot || waits->waits.count >= ANALYZE_NONE)
        return false;
    *slot = row;
    uint32_t wait = (uint32_t)waits->waits.count - 1;
    if (row.stream != ANALYZE_NONE && !put(&waits->by_stream[row.stream], wait))
        return false;
    if (row.context == ANALYZE_NONE)
        return true;
    if (row.legacy)
        return put(&waits->by_legacy[row.context], wait);
    // If it is unknown which record an event wait refers to, no work is known to be complete.
    return row.stream != ANALYZE_NONE || row.is_event || put(&waits->by_context[row.context], wait);
}

static bool find(struct finding_waits *finding)
{
    struct analyze_waits *waits = finding->waits;
    const struct analyze_model *model = waits->model;
    const size_t count = model->calls.count;
    bool *ends = calloc(count + 1, sizeof(*ends)), good = ends != NULL;
    waits->record_of = calloc(count + 1, sizeof(*waits->record_of));
    for (size_t i = 0; good && i < count; i++)
        good = add_context(waits, model->calls.items[i].context);
    for (size_t i = 0; good && i < model->streams.count; i++)
        good = add_context(waits, model->streams.items[i].context);
    waits->by_stream = calloc(model->streams.count + 1, sizeof(*waits->by_stream));
    waits->by_context = calloc(waits->context_count + 1, sizeof(*waits->by_context));
    waits->by_legacy = calloc(waits->context_count + 1, sizeof(*waits->by_legacy));
    good = good && waits->record_of && waits->by_stream && waits->by_context && waits->by_legacy;
    for (size_t i = 0; good && i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (object->end != ANALYZE_NONE && object->parent == ANALYZE_NONE &&
            end_waits((enum profile_object_kind)object->kind))
            ends[object->end] = true;
    }
    for (uint32_t i = 0; good && i < count; i++) {
        good = find_record(finding, i, &waits->record_of[i]);
        if (good && could_wait(&model->calls.items[i], ends[i]))
            good = add_wait(waits, i, waits->record_of[i]);
    }
    free(ends);
    return good;
}

// --- Pending work --------------------------------------------------------------------------------

// Per stream, and beyond the last stream per context for work whose stream is unknown: 1 + the
// index of the last call that gave it work, and of the last one that was waited for.
struct waits_pending {
    const struct analyze_waits *waits;
    uint32_t *given, *waited;
};

static bool gives_work(const struct analyze_call *call)
{
    switch ((enum profile_call_kind)call->kind) {
    case PROFILE_CALL_COPY:
    case PROFILE_CALL_SET:
    case PROFILE_CALL_LAUNCH:
    case PROFILE_CALL_GRAPH_LAUNCH:
    case PROFILE_CALL_HOST: return call->flags & ANALYZE_WORKS;
    default: return false;
    }
}

// Returns whether the wait also waits for the stream.
static bool waits_for(const struct waits_pending *pending, const struct analyze_wait *wait,
                      uint32_t stream)
{
    const struct analyze_model *model = pending->waits->model;
    if (wait->stream == stream)
        return true;
    return analyze_context_index(pending->waits, model->streams.items[stream].context) ==
               wait->context &&
           ((wait->stream == ANALYZE_NONE && !wait->is_event) ||
            (wait->legacy && blocks(model, stream)));
}

// Returns whether work may be pending that the wait waits for, and notes that it no longer is.
static bool take_pending(struct waits_pending *pending, const struct analyze_wait *wait)
{
    const size_t streams = pending->waits->model->streams.count;
    const uint32_t upto = wait->upto == ANALYZE_NONE ? 0 : wait->upto + 1;
    bool found = wait->context == ANALYZE_NONE;
    for (uint32_t i = 0; i < streams; i++) {
        if (!waits_for(pending, wait, i))
            continue;
        // Work that was given after an event was recorded does not matter.
        found |= pending->given[i] > pending->waited[i] &&
                 (!wait->is_event || upto > pending->waited[i]);
        pending->waited[i] = upto > pending->waited[i] ? upto : pending->waited[i];
    }
    if (wait->context != ANALYZE_NONE) {
        const size_t unknown = streams + wait->context;
        found |= pending->given[unknown] > pending->waited[unknown];
        if (wait->stream == ANALYZE_NONE && !wait->is_event)
            pending->waited[unknown] = upto;
    }
    return found;
}

static bool find_idle(struct analyze_waits *waits)
{
    const struct analyze_model *model = waits->model;
    const size_t count = model->streams.count + waits->context_count + 1;
    struct waits_pending pending = {waits, calloc(count, sizeof(uint32_t)),
                                    calloc(count, sizeof(uint32_t))};
    const bool good = pending.given && pending.waited;
    size_t next = 0;
    for (uint32_t i = 0; good && i < model->calls.count; i++) {
        const struct analyze_call *call = &model->calls.items[i];
        struct analyze_wait *wait = next < waits->waits.count && waits->waits.items[next].call == i
                                        ? &waits->waits.items[next++]
                                        : NULL;
        const struct analyze_work work = analyze_work_of(waits, i);
        if (wait)
            wait->is_idle = !take_pending(&pending, wait);
        // A copy that waits has waited for itself, too.
        if (gives_work(call) && (!wait || call->kind == PROFILE_CALL_GRAPH_LAUNCH)) {
            if (work.stream != ANALYZE_NONE)
                pending.given[work.stream] = i + 1;
            else if (work.context != ANALYZE_NONE)
                pending.given[model->streams.count + work.context] = i + 1;
        }
    }
    free(pending.given);
    free(pending.waited);
    return good;
}

bool analyze_find_waits(struct analyze_waits *waits, const struct analyze_model *model)
{
    *waits = (struct analyze_waits){.model = model};
    struct finding_waits finding = {.waits = waits};
    bool good = find(&finding) && find_idle(waits);
    base_map_fini(&finding.events);
    base_array_fini(&finding.states);
    return good;
}

void analyze_waits_fini(struct analyze_waits *waits)
{
    for (size_t i = 0; waits->by_stream && i < waits->model->streams.count; i++)
        base_array_fini(&waits->by_stream[i].waits);
    for (size_t i = 0; i < waits->context_count; i++) {
        if (waits->by_context)
            base_array_fini(&waits->by_context[i].waits);
        if (waits->by_legacy)
            base_array_fini(&waits->by_legacy[i].waits);
    }
    free(waits->by_stream);
    free(waits->by_context);
    free(waits->by_legacy);
    free(waits->record_of);
    base_map_fini(&waits->contexts);
    base_array_fini(&waits->waits);
    *waits = (struct analyze_waits){.model = waits->model};
}

// Returns whether the call itself takes as long as its copy: the driver keeps what is smaller, from
// pageable memory, in a buffer of its own.
static bool waits_for_itself(const struct analyze_model *model, uint32_t call)
{
    enum { BUFFERED_BYTES = 64 << 10 };
    const struct analyze_host *host = &model->host;
    const size_t at = base_search(0, host->copies.count, i, host->copies.items[i].call < call);
    if (model->calls.items[call].kind != PROFILE_CALL_COPY)
        return false;
    if (at == host->copies.count || host->copies.items[at].call != call)
        return true;
    const struct analyze_copy *copy = &host->copies.items[at];
    return copy->to_host || copy->memory != PROFILE_MEMORY_PAGEABLE || copy->bytes > BUFFERED_BYTES;
}

bool analyze_has_waited(const struct analyze_model *model, const struct analyze_wait *wait)
{
    if (model->simulated)
        return !wait->is_idle || waits_for_itself(model, wait->call);
    return model->calls.items[wait->call].flags & ANALYZE_WAITED ||
           model->host.times.items[wait->call].waited_ns;
}

// --- Looking up a wait ---------------------------------------------------------------------------

struct analyze_work analyze_work_of(const struct analyze_waits *waits, uint32_t call)
{
    const struct analyze_call *row = &waits->model->calls.items[call];
    uint32_t stream = analyze_stream_index(waits->model, row->stream);
    uint32_t context =
        stream == ANALYZE_NONE ? row->context : waits->model->streams.items[stream].context;
    return (struct analyze_work){call, stream, analyze_context_index(waits, context)};
}

// Returns the index in the list of the first wait whose call comes after `call`.
static size_t behind(const struct analyze_waits *waits, const struct analyze_wait_list *list,
                     uint32_t call)
{
    return base_search(0, list->waits.count, i,
                       waits->waits.items[list->waits.items[i]].call <= call);
}

struct lists {
    const struct analyze_wait_list *lists[3];
    unsigned count;
};

static struct lists lists_of(const struct analyze_waits *waits, const struct analyze_work *work)
{
    struct lists lists = {0};
    if (work->stream != ANALYZE_NONE)
        lists.lists[lists.count++] = &waits->by_stream[work->stream];
    if (work->context != ANALYZE_NONE)
        lists.lists[lists.count++] = &waits->by_context[work->context];
    if (work->context != ANALYZE_NONE && blocks(waits->model, work->stream) &&
        !is_legacy(waits->model, work->stream))
        lists.lists[lists.count++] = &waits->by_legacy[work->context];
    return lists;
}

uint32_t analyze_first_wait(const struct analyze_waits *waits, const struct analyze_work *work)
{
    const struct lists lists = lists_of(waits, work);
    uint32_t best = ANALYZE_NONE;
    for (unsigned i = 0; i < lists.count; i++) {
        const struct analyze_wait_list *list = lists.lists[i];
        size_t at = behind(waits, list, work->call), last = at + MOST_PASSED;
        while (at < list->waits.count && at < last &&
               waits->waits.items[list->waits.items[at]].upto <= work->call)
            at++;
        if (at < list->waits.count && at < last && list->waits.items[at] < best)
            best = list->waits.items[at];
    }
    return best;
}

// Returns whether a wait may take the place of the earlier wait `from`.
static bool may_replace(const struct analyze_waits *waits, uint32_t wait, uint32_t from)
{
    const struct analyze_call *calls = waits->model->calls.items;
    const uint8_t kind = calls[waits->waits.items[wait].call].kind;
    if (from == ANALYZE_NONE || kind == PROFILE_CALL_SYNC)
        return true;
    switch ((enum profile_call_kind)calls[waits->waits.items[from].call].kind) {
    case PROFILE_CALL_COPY: return false;
    case PROFILE_CALL_SYNC: return kind == PROFILE_CALL_COPY;
    default: return true;
    }
}

uint32_t analyze_last_wait(const struct analyze_waits *waits, const struct analyze_work *work,
                           uint32_t from, int64_t time_ns)
{
    const struct analyze_time *times = waits->model->host.times.items;
    const struct lists lists = lists_of(waits, work);
    uint32_t best = from;
    for (unsigned i = 0; i < lists.count; i++) {
        const struct analyze_wait_list *list = lists.lists[i];
        // Calls of different threads do not end exactly in order, so a few earlier waits are tried.
        size_t at =
            base_search(0, list->waits.count, k,
                        times[waits->waits.items[list->waits.items[k]].call].start_ns <= time_ns);
        for (unsigned passed = 0; at > 0 && passed < MOST_PASSED; passed++) {
            uint32_t index = list->waits.items[--at];
            const struct analyze_wait *wait = &waits->waits.items[index];
            if (best != ANALYZE_NONE && index <= best)
                break;
            if (times[wait->call].end_ns <= time_ns && wait->upto != ANALYZE_NONE &&
                wait->upto > work->call && may_replace(waits, index, from)) {
                best = index;
                break;
            }
        }
    }
    return best;
}

uint32_t analyze_wait_of(const struct analyze_waits *waits, uint32_t call)
{
    const size_t count = waits->waits.count;
    const size_t at = base_search(0, count, i, waits->waits.items[i].call < call);
    return at < count && waits->waits.items[at].call == call ? (uint32_t)at : ANALYZE_NONE;
}
