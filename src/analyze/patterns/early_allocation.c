// SPDX-License-Identifier: Apache-2.0
// early-allocation: GPU API calls run between the allocation of an object and its first access. The
// fix allocates it just before that access.
#include "analyze/analyses.h"

static const struct analyze_threshold early_apis = {
    "early-apis", "GPU APIs", 1, "at least this many between the allocation and the first access"};

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const uint32_t least = analyze_limit(run->thresholds, &early_apis);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!analyze_is_subject(object) || object->call == ANALYZE_NONE ||
            object->first == ANALYZE_NONE || object->first <= object->call)
            continue;
        if (analyze_apis_between(model, object->call, object->first) < least)
            continue;
        if (analyze_first_unseen(model, object, object->call, object->first) != ANALYZE_NONE)
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_EARLY_ALLOCATION, i, object->call, object->first);
        analyze_set_distance(model, &finding, object->call, object->first);
        analyze_add_shorter(run, &finding, object, object->call, object->first, object->bytes);
    }
}

static const struct analyze_field fields[] = {
    {"first_access", "the first access to the object: the allocation may wait until just before it",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {0},
};

const struct analyze_description analyze_early_allocation = {
    .name = "early-allocation",
    .title = "Allocated too early",
    .definition = "GPU API calls run between the allocation of an object and the first access to "
                  "it, so its memory is held unused.",
    .remedy = "Allocate the object just before its first access.",
    .paper = "DrGPUM, definition 3.1",
    .needs = ANALYZE_INPUT_OBJECTS,
    .correction = "memory is attached at the first use",
    .waste = ANALYZE_WASTE_BEFORE_FIRST_USE,
    .roles = {[ANALYZE_CALL] = {"allocated", "the allocation"},
              [ANALYZE_OTHER_CALL] = {"first used", "the first access"}},
    .thresholds = {&early_apis},
    .fields = fields,
    .message = "{object} is allocated {distance} before its first use",
    .suggestion = "{if brief}allocate {object:name} just before {other_call}{else}"
                  "move the allocation of {object:name}{call:where} to just before {other_call}"
                  "{end}",
    .find = find,
};
