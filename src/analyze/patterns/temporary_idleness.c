// SPDX-License-Identifier: Apache-2.0
// temporary-idleness: many GPU API calls run between two accesses to an object. The fix keeps it on
// the host in between, or frees it and allocates it again. The finding describes the idle period
// that is worth most, then the longest.
//
// The fix is a trade-off, so it is suggested only where it costs less than it gains: the share of
// the run time that moving the object takes, in all repetitions of the period, must be smaller than
// the share of the peak that it saves. Where times are unknown or not real, the bytes that are
// moved count instead. An object that is small against the peak is never worth moving. After a copy
// from the host or a set nothing needs to be kept: that copy or set can move.
#include <stdlib.h>

#include "analyze/analyses.h"

static const struct analyze_threshold idle_apis = {"idle-apis", "GPU APIs", 2,
                                                   "at least this many between two accesses"};
static const struct analyze_threshold idle_percent = {
    "idle-percent", "percent", 1,
    "moving an object is suggested if it has at least this part of the peak"};
static const struct analyze_threshold idle_moved = {
    "idle-moved", "times", 8,
    "and, if times are unknown, if at most this many times the saved bytes are moved"};

struct idleness {
    uint64_t repetitions; // idle periods between the same two places
    bool overwritten;     // the second access writes the whole object
    bool after_set;       // the first access is a set; or a copy from the host
    bool after_copy;
    bool is_small, is_costly; // moving it is not worthwhile, because
    bool pays;                // moving it, or freeing it in between, is worthwhile
};

struct period {
    uint32_t before, after; // calls
    uint32_t places[2];     // of these calls: numbers of call paths
};

// Idle periods of an object between the same two places, which one fix concerns.
struct periods {
    struct period longest;
    uint32_t apis;       // in it
    size_t first, count; // in the list of all periods
    uint64_t worth;      // of moving the object in all of them
    bool after_set, after_copy;
};

struct search {
    struct analyze_run *run;
    uint32_t least;                    // GPU API calls
    BASE_ARRAY(struct period) periods; // of one object, by places
    BASE_ARRAY(struct analyze_change) changes;
};

// What moving objects costs.
struct prices {
    double bytes_per_ns; // between host and device; 0: unknown
    uint32_t percent, moved;
    uint64_t peak;
};

// --- Idle periods --------------------------------------------------------------------------------

// Periods after a write that can move come last, because nothing needs to be kept in them.
static bool is_better(const struct periods *one, const struct periods *other)
{
    const bool one_stays = !one->after_set && !one->after_copy,
               other_stays = !other->after_set && !other->after_copy;
    if (one_stays != other_stays)
        return one_stays;
    return one->worth != other->worth ? one->worth > other->worth : one->apis > other->apis;
}

// Notes whether the periods begin with a write that can move: one that is not overwritten before it
// is read, and not a node of a graph.
static void look_before(const struct analyze_model *model, uint32_t object, struct periods *periods)
{
    const struct analyze_call *call = &model->calls.items[periods->longest.before];
    const struct analyze_touch *touch = analyze_access_of(model, periods->longest.before, object);
    if (!touch || touch->is_kernel || touch->how != ANALYZE_WRITE ||
        analyze_overwrites(model, periods->longest.after, object))
        return;
    periods->after_set = call->kind == PROFILE_CALL_SET;
    periods->after_copy = call->kind == PROFILE_CALL_COPY && (call->flags & ANALYZE_HOST_END);
}

static bool is_idle(const struct analyze_run *run, const struct analyze_object *object,
                    uint32_t before, uint32_t after, uint32_t least)
{
    const struct analyze_model *model = run->model;
    uint32_t apis = analyze_apis_between(model, before, after);
    return apis > 0 && apis >= least &&
           analyze_first_hidden(model, object, before + 1, after) == ANALYZE_NONE;
}

static int by_places(const void *one, const void *other)
{
    const struct period *a = one, *b = other;
    for (unsigned i = 0; i < 2; i++) {
        if (a->places[i] != b->places[i])
            return a->places[i] < b->places[i] ? -1 : 1;
    }
    return a->before < b->before ? -1 : a->before > b->before;
}

static void list_periods(struct search *search, const struct analyze_object *object)
{
    const struct analyze_model *model = search->run->model;
    uint32_t before = ANALYZE_NONE;
    search->periods.count = 0;
    for (uint32_t u = 0; u < object->use_count; u++) {
        const uint32_t after = model->touches.items[model->uses[object->first_use + u]].call;
        if (before != ANALYZE_NONE && after > before &&
            is_idle(search->run, object, before, after, search->least)) {
            struct period *row = base_array_push(&search->periods);
            search->run->failed |= !row;
            if (row)
                *row = (struct period){
                    before,
                    after,
                    {model->calls.items[before].path, model->calls.items[after].path}};
        }
        before = after;
    }
    if (search->periods.items && search->periods.count)
        qsort(search->periods.items, search->periods.count, sizeof(*search->periods.items),
              by_places);
}

// Lists what moving the object in these periods changes; in none of them if it does not count.
static void list_changes(struct search *search, const struct analyze_object *object,
                         const struct periods *periods)
{
    search->changes.count = 0;
    for (size_t i = 0; i < periods->count; i++) {
        const struct period *period = &search->periods.items[periods->first + i];
        struct analyze_change change = {
            .from = period->before + 1, .to = period->after, .bytes = object->bytes};
        if (!analyze_change_of(object, &change))
            return;
        struct analyze_change *row = base_array_push(&search->changes);
        search->run->failed |= !row;
        if (row)
            *row = change;
    }
}

// Returns the number of all idle periods and stores those between the best two places.
static size_t find_periods(struct search *search, uint32_t index, struct periods *best)
{
    const struct analyze_model *model = search->run->model;
    const struct analyze_object *object = &model->objects.items[index];
    list_periods(search, object);
    const struct period *all = search->periods.items;
    for (size_t i = 0, next; all && i < search->periods.count; i = next) {
        struct periods periods = {.first = i};
        for (next = i; next < search->periods.count && all[next].places[0] == all[i].places[0] &&
                       all[next].places[1] == all[i].places[1];
             next++) {
            const uint32_t apis = analyze_apis_between(model, all[next].before, all[next].after);
            if (apis > periods.apis) {
                periods.longest = all[next];
                periods.apis = apis;
            }
        }
        periods.count = next - i;
        list_changes(search, object, &periods);
        if (search->changes.count)
            periods.worth = analyze_replay_gain(search->run->replay, search->changes.items,
                                                search->changes.count);
        look_before(model, index, &periods);
        if (i == 0 || is_better(&periods, best))
            *best = periods;
    }
    return search->periods.count;
}

// --- Cost and gain -------------------------------------------------------------------------------

// Returns how long it takes to free the object and allocate it again; negative: unknown.
static double renew_ns(const struct analyze_model *model, const struct analyze_object *object)
{
    const size_t known = model->simulated ? 0 : model->host.times.count;
    if (object->call >= known || object->end >= known)
        return -1;
    const struct analyze_time *made = &model->host.times.items[object->call],
                              *freed = &model->host.times.items[object->end];
    return (double)(made->end_ns - made->start_ns) + (double)(freed->end_ns - freed->start_ns);
}

// Returns whether moving the object in all these periods costs more than it gains.
static bool is_costly(const struct analyze_model *model, const struct prices *prices,
                      const struct analyze_object *object, const struct periods *periods,
                      const struct idleness *idleness)
{
    const double moved = 2.0 * (double)object->bytes, times = (double)idleness->repetitions,
                 run_ns = (double)model->host.end_ns;
    const double once_ns = idleness->overwritten      ? renew_ns(model, object)
                           : prices->bytes_per_ns > 0 ? moved / prices->bytes_per_ns
                                                      : -1;
    if (once_ns >= 0 && run_ns > 0)
        return once_ns * times / run_ns >= (double)periods->worth / (double)prices->peak;
    return moved * times > prices->moved * (double)periods->worth;
}

static struct idleness judge(const struct analyze_model *model, const struct prices *prices,
                             uint32_t index, const struct periods *periods)
{
    const struct analyze_object *object = &model->objects.items[index];
    struct idleness idleness = {
        .repetitions = periods->count,
        .overwritten = analyze_overwrites(model, periods->longest.after, index),
        .after_set = periods->after_set,
        .after_copy = periods->after_copy,
        .is_small = (unsigned __int128)object->bytes * 100 <
                    (unsigned __int128)prices->peak * prices->percent,
    };
    if (idleness.after_set || idleness.after_copy || idleness.is_small || !periods->worth)
        return idleness;
    idleness.is_costly = is_costly(model, prices, object, periods, &idleness);
    idleness.pays = !idleness.is_costly;
    return idleness;
}

// --- Findings ------------------------------------------------------------------------------------

// Matches that are not worth fixing stay apart from those that are, and claim no gain.
static void add(struct search *search, uint32_t index, const struct periods *best, size_t times,
                struct idleness idleness)
{
    struct analyze_run *run = search->run;
    struct analyze_finding finding = analyze_begin_finding(
        run, ANALYZE_TEMPORARY_IDLENESS, index, best->longest.before, best->longest.after);
    analyze_set_distance(run->model, &finding, best->longest.before, best->longest.after);
    finding.times = times;
    finding.aspect = (unsigned)idleness.pays | (unsigned)idleness.is_costly << 1 |
                     (unsigned)idleness.is_small << 2 |
                     (unsigned)(idleness.after_set || idleness.after_copy) << 3;
    finding.peak_bytes = idleness.pays ? best->worth : 0;
    analyze_set_payload(&finding, idleness);
    const uint32_t group = analyze_add_finding(run, &finding);
    if (idleness.pays)
        list_changes(search, &run->model->objects.items[index], best);
    for (size_t i = 0; i < search->changes.count && idleness.pays; i++)
        analyze_add_change(run, group, search->changes.items[i]);
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    struct search search = {.run = run, .least = analyze_limit(run->thresholds, &idle_apis)};
    const struct prices prices = {
        .bytes_per_ns = analyze_host_rate(model),
        .percent = analyze_limit(run->thresholds, &idle_percent),
        .moved = analyze_limit(run->thresholds, &idle_moved),
        .peak = run->peak_bytes,
    };
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        struct periods best = {0};
        const size_t times =
            analyze_is_subject(&model->objects.items[i]) ? find_periods(&search, i, &best) : 0;
        if (times)
            add(&search, i, &best, times, judge(model, &prices, i, &best));
    }
    base_array_fini(&search.periods);
    base_array_fini(&search.changes);
}

static const struct analyze_field fields[] = {
    {"next_access", "the access that ends the idle time",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"overwritten", "that access overwrites the whole object, so its contents need not be kept",
     ANALYZE_OWN(FLAG, struct idleness, overwritten)},
    {"pays", "moving the object costs less than it gains",
     ANALYZE_OWN(FLAG, struct idleness, pays)},
    {"repetitions", "idle periods between the same two places, which moving it concerns",
     ANALYZE_OWN(COUNT, struct idleness, repetitions), .unit = "time"},
    {"after_set", NULL, ANALYZE_OWN(FLAG, struct idleness, after_set)},
    {"after_copy", NULL, ANALYZE_OWN(FLAG, struct idleness, after_copy)},
    {"is_small", NULL, ANALYZE_OWN(FLAG, struct idleness, is_small)},
    {"is_costly", NULL, ANALYZE_OWN(FLAG, struct idleness, is_costly)},
    {0},
};

const struct analyze_description analyze_temporary_idleness = {
    .name = "temporary-idleness",
    .title = "Idle between two uses",
    .definition = "Many GPU API calls run between two successive accesses to an object, so its "
                  "memory is held unused.",
    .remedy = "Move the object to the host in the meantime, if that costs less than it gains; if "
              "the second access overwrites all of it, free it and allocate it again instead. "
              "After a copy from the host or a set, move that copy or set instead.",
    .paper = "DrGPUM, definition 3.6",
    .needs = ANALYZE_INPUT_OBJECTS,
    .takes_arguments = true,
    .is_trade_off = true,
    .waste = ANALYZE_WASTE_BETWEEN_CALLS,
    .roles = {[ANALYZE_CALL] = {"used before", "the access before"},
              [ANALYZE_OTHER_CALL] = {"used again", "the next access"}},
    .thresholds = {&idle_apis, &idle_percent, &idle_moved},
    .fields = fields,
    .message = "{if brief}{object} is idle for {between}{if repeated}, {times} times{end}{else}"
               "{object} is idle for {between}, from {call} to {other_call}{if repeated}; this "
               "happens {times} times{end}"
               "{end}",
    .suggestion = "{if brief}{if after_set}move {call:name} to just before {other_call}{elif "
                  "after_copy}move {call:name} to just before {other_call}, if its source stays"
                  "{elif not pays}leave it{elif overwritten}free it, and allocate it again before "
                  "{other_call}{else}move it to the host, and back before {other_call}{end}{else}"
                  "{if after_set}move {call} to just before {other_call}{elif after_copy}if its "
                  "source is still unchanged then, move {call} to just before {other_call}{elif "
                  "is_small}leave it: the object is small against the peak{elif is_costly}leave "
                  "it: moving it {repetitions:unit} costs more than it gains{elif not pays}leave "
                  "it: alone, that does not lower the peak{elif overwritten}free {object:name} "
                  "after {call} and allocate it again before {other_call}, which overwrites all of "
                  "it{else}move {object:name} to the host after {call} and back before "
                  "{other_call}{end}"
                  "{end}",
    .find = find,
};
