// SPDX-License-Identifier: Apache-2.0
// early-allocation: GPU API calls run between the allocation of an object and its first access. The
// fix allocates it just before that access. What only initializes the object is delayed with the
// allocation where that is possible (initializers.c).
#include "analyze/analyses.h"

static const struct analyze_threshold early_apis = {
    "early-apis", "GPU APIs", 1, "at least this many between the allocation and the first access"};

struct early {
    uint64_t delayed; // copies and sets, or the launch that fills a tensor
    bool passed;      // the first use is known only by an argument
};

// Returns the number of calls that are delayed until the object is needed.
static uint64_t count_delayed(const struct analyze_model *model,
                              const struct analyze_object *object)
{
    uint64_t count = 0;
    for (uint32_t u = 0; u < object->use_count; u++)
        count += model->touches.items[model->uses[object->first_use + u]].call < object->needed;
    return count;
}

// The first of them is named, too.
static void name_first(const struct analyze_model *model, const struct analyze_object *object,
                       struct analyze_finding *finding)
{
    const struct analyze_call *call = &model->calls.items[object->first];
    finding->last_call = call->number;
    finding->last_path = call->path;
    finding->last_kind = (enum profile_call_kind)call->kind;
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const uint32_t least = analyze_limit(run->thresholds, &early_apis);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!analyze_is_subject(object) || object->call == ANALYZE_NONE ||
            object->needed == ANALYZE_NONE || object->needed <= object->call)
            continue;
        const struct early early = {count_delayed(model, object),
                                    analyze_is_passed(model, object, object->needed)};
        // The delayed calls do not count: they move along.
        if (analyze_apis_between(model, object->call, object->needed) < least + early.delayed)
            continue;
        if (analyze_first_hidden(model, object, object->call, object->needed) != ANALYZE_NONE)
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_EARLY_ALLOCATION, i, object->call, object->needed);
        analyze_set_distance(model, &finding, object->call, object->needed);
        if (early.delayed)
            name_first(model, object, &finding);
        finding.aspect = early.delayed > 0;
        analyze_set_payload(&finding, early);
        analyze_add_shorter(run, &finding, object, object->call, object->needed, object->bytes);
    }
}

static const struct analyze_field fields[] = {
    {"first_access", "the first use of the object: the allocation may wait until just before it",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"delayed",
     "copies and sets before the first use, which only initialize the object and are to "
     "be delayed with the allocation; or the launch that fills a tensor",
     ANALYZE_OWN(COUNT, struct early, delayed), .unit = "copy or set"},
    {"passed", NULL, ANALYZE_OWN(FLAG, struct early, passed)},
    {0},
};

const struct analyze_description analyze_early_allocation = {
    .name = "early-allocation",
    .title = "Allocated too early",
    .definition = "GPU API calls run between the allocation of an object and the first access to "
                  "it, so its memory is held unused. Copies and sets that only initialize the "
                  "object do not count as accesses if they can be delayed, nor does a launch that "
                  "fills a tensor of PyTorch and is passed nothing else.",
    .remedy = "Allocate and initialize the object just before its first use.",
    .paper = "DrGPUM, definition 3.1",
    .needs = ANALYZE_INPUT_OBJECTS,
    .takes_arguments = true,
    .correction = "memory is attached at the first use",
    .waste = ANALYZE_WASTE_BEFORE_FIRST_USE,
    .roles = {[ANALYZE_CALL] = {"allocated", "the allocation"},
              [ANALYZE_OTHER_CALL] = {"first used", "the first access"},
              [ANALYZE_LAST_CALL] = {"initialized",
                                     "the first copy, set or launch that can be delayed"}},
    .thresholds = {&early_apis},
    .fields = fields,
    .message = "{if brief}{object} is allocated {if delayed}and initialized {end}{distance} too "
               "early{else}{object} is allocated {if delayed}and initialized {end}{distance} "
               "before {if passed}a kernel first gets it{else}its first use{end}{end}",
    .suggestion = "{if brief}allocate {if delayed}and initialize {end}{object:name} just before "
                  "{other_call}{else}"
                  "move the allocation of {object:name}{call:where}{if delayed} and "
                  "{last_call}{end} to just before {other_call}"
                  "{end}",
    .find = find,
};
