// SPDX-License-Identifier: Apache-2.0
// late-deallocation: GPU API calls run between the last access to an object and its free. The fix
// frees it right after that access.
#include "analyze/analyses.h"
#include "analyze/horizon.h"

static const struct analyze_threshold late_apis = {
    "late-apis", "GPU APIs", 1, "at least this many between the last access and the free"};

struct late {
    bool passed; // the last use is known only by an argument
    bool only;   // it is also the only use, so what the object holds is used by nothing else
};

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const uint32_t least = analyze_limit(run->thresholds, &late_apis);
    struct analyze_horizon horizon;
    run->failed |= !analyze_horizon_of_objects(&horizon, model, run->clocks);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!analyze_is_subject(object) || object->is_unused || object->end == ANALYZE_NONE ||
            object->last == ANALYZE_NONE || object->end <= object->last)
            continue;
        // An object that ends with its context was never freed: that is a leak.
        if (model->calls.items[object->end].kind == PROFILE_CALL_CONTEXT ||
            analyze_apis_between(model, object->last, object->end) < least)
            continue;
        if (analyze_first_hidden(model, object, object->last + 1, object->end) != ANALYZE_NONE)
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_LATE_DEALLOCATION, i, object->end, object->last);
        const struct late late = {.passed = analyze_is_passed(model, object, object->last),
                                  .only = object->first == object->last &&
                                          analyze_is_passed(model, object, object->last)};
        analyze_set_payload(&finding, late);
        analyze_set_distance(model, &finding, object->last, object->end);
        // What other streams use at the same time needs memory of its own.
        uint32_t until = object->end;
        run->failed |= !analyze_needed_until(&horizon, object->last, object->end, &until);
        analyze_add_shorter(run, &finding, object, until, object->end, object->bytes);
    }
    analyze_horizon_fini(&horizon);
}

static const struct analyze_field fields[] = {
    {"last_access", "the last access to the object: it may be freed right after it",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"passed", NULL, ANALYZE_OWN(FLAG, struct late, passed)},
    {"only", NULL, ANALYZE_OWN(FLAG, struct late, only)},
    {0},
};

const struct analyze_description analyze_late_deallocation = {
    .name = "late-deallocation",
    .title = "Freed too late",
    .definition = "GPU API calls run between the last access to an object and its free, so its "
                  "memory is held unused.",
    .remedy = "Free the object right after its last access.",
    .paper = "DrGPUM, definition 3.2",
    .needs = ANALYZE_INPUT_OBJECTS,
    .takes_arguments = true,
    .correction = "the memory is reused after the last use",
    .waste = ANALYZE_WASTE_UNTIL_FREE,
    .roles = {[ANALYZE_CALL] = {"freed", "the free"},
              [ANALYZE_OTHER_CALL] = {"last used", "the last access"}},
    .thresholds = {&late_apis},
    .fields = fields,
    .message = "{object} is freed {distance} after {if only}the only kernel that got it{elif "
               "passed}a kernel last got it{else}its last use{end}",
    .suggestion = "{if brief}{if only}leave {object:name} out, or free it{else}free {object:name}"
                  "{end} right after {other_call}{else}"
                  "{if only}leave out {object:name}, unless {other_call} needs it as work space, "
                  "or free it then{else}free {object:name} right after {other_call}; {call} comes "
                  "too late{end}"
                  "{end}",
    .find = find,
};
