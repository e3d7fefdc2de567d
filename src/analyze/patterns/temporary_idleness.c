// SPDX-License-Identifier: Apache-2.0
// temporary-idleness: many GPU API calls run between two accesses to an object. The fix keeps it on
// the host in between, or frees it and allocates it again. The finding describes the idle period
// that is worth most, then the longest.
#include "analyze/analyses.h"

static const struct analyze_threshold idle_apis = {"idle-apis", "GPU APIs", 2,
                                                   "at least this many between two accesses"};

struct idleness {
    bool overwritten; // the second access writes the whole object
};

struct period {
    uint32_t before, after; // calls
    uint32_t apis;          // in between
    uint64_t worth;
};

static bool is_better(const struct period *one, const struct period *other)
{
    return one->worth != other->worth ? one->worth > other->worth : one->apis > other->apis;
}

// Returns whether the call writes the whole object in one piece.
static bool overwrites(const struct analyze_model *model, uint32_t call, uint32_t object)
{
    uint32_t end = analyze_touches_end(model, call);
    for (uint32_t i = model->calls.items[call].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (touch->object == object)
            return !touch->is_kernel && touch->how == ANALYZE_WRITE && touch->rows == 1 &&
                   touch->offset == 0 && touch->row_bytes == model->objects.items[object].bytes;
    }
    return false;
}

static bool is_idle(const struct analyze_run *run, const struct analyze_object *object,
                    uint32_t before, uint32_t after, uint32_t least)
{
    const struct analyze_model *model = run->model;
    uint32_t apis = analyze_apis_between(model, before, after);
    return apis > 0 && apis >= least &&
           analyze_first_unseen(model, object, before + 1, after) == ANALYZE_NONE;
}

// Returns the number of idle periods and stores the best one.
static uint32_t find_periods(struct analyze_run *run, const struct analyze_object *object,
                             uint32_t least, struct period *best)
{
    const struct analyze_model *model = run->model;
    uint32_t before = ANALYZE_NONE, times = 0;
    for (uint32_t u = 0; u < object->use_count; u++) {
        uint32_t after = model->touches.items[model->uses[object->first_use + u]].call;
        struct period period = {before, after, 0, 0};
        bool idle =
            before != ANALYZE_NONE && after > before && is_idle(run, object, before, after, least);
        before = after;
        if (!idle)
            continue;
        period.apis = analyze_apis_between(model, period.before, after);
        struct analyze_change change = {
            .from = period.before + 1, .to = after, .bytes = object->bytes};
        if (analyze_change_of(object, &change.pool))
            period.worth = analyze_replay_gain(run->replay, &change, 1);
        if (times++ == 0 || is_better(&period, best))
            *best = period;
    }
    return times;
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const uint32_t least = analyze_limit(run->thresholds, &idle_apis);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        struct period best = {0};
        uint32_t times = analyze_is_subject(object) ? find_periods(run, object, least, &best) : 0;
        if (times == 0)
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_TEMPORARY_IDLENESS, i, best.before, best.after);
        analyze_set_distance(model, &finding, best.before, best.after);
        finding.times = times;
        const struct idleness idleness = {.overwritten = overwrites(model, best.after, i)};
        analyze_set_payload(&finding, idleness);
        analyze_add_shorter(run, &finding, object, best.before + 1, best.after, object->bytes);
    }
}

static const struct analyze_field fields[] = {
    {"next_access", "the access that ends the idle time",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"overwritten", "that access overwrites the whole object, so its contents need not be kept",
     ANALYZE_OWN(FLAG, struct idleness, overwritten)},
    {0},
};

const struct analyze_description analyze_temporary_idleness = {
    .name = "temporary-idleness",
    .title = "Idle between two uses",
    .definition = "Many GPU API calls run between two successive accesses to an object, so its "
                  "memory is held unused.",
    .remedy = "Move the object to the host in the meantime; if the second access overwrites all of "
              "it, free it and allocate it again instead.",
    .paper = "DrGPUM, definition 3.6",
    .needs = ANALYZE_INPUT_OBJECTS,
    .is_trade_off = true,
    .waste = ANALYZE_WASTE_BETWEEN_CALLS,
    .roles = {[ANALYZE_CALL] = {"used before", "the access before"},
              [ANALYZE_OTHER_CALL] = {"used again", "the next access"}},
    .thresholds = {&idle_apis},
    .fields = fields,
    .message = "{object} is idle for {between}, from {call} to {other_call}{if repeated}; this "
               "happens {times} times{end}",
    .suggestion = "{if overwritten}free {object:name} after {call} and allocate it again before "
                  "{other_call}, which overwrites all of it{else}move {object:name} to the host "
                  "after {call} and back before {other_call}{end}",
    .find = find,
};
