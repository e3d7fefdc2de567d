// SPDX-License-Identifier: Apache-2.0
// early-allocation (definition 3.1): other GPU APIs run between an object's allocation and the
// first access to it. The fix allocates it just before that.
#include "analyses.h"

void analyze_early_allocation(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!analyze_is_subject(object) || object->call == ANALYZE_NONE ||
            object->first == ANALYZE_NONE || object->first <= object->call)
            continue;
        if (analyze_apis_between(model, object->call, object->first) < run->thresholds->early_apis)
            continue;
        if (analyze_first_unseen(model, object, object->call, object->first) != ANALYZE_NONE)
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_EARLY_ALLOCATION, i, object->call, object->first);
        analyze_set_distance(model, &finding, object->call, object->first);
        analyze_add_shorter(run, &finding, object, object->call, object->first, object->bytes);
    }
}
