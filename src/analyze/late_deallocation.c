// SPDX-License-Identifier: Apache-2.0
// late-deallocation (definition 3.2): other GPU APIs run between the last access to an object and
// its free. The fix frees it right after that access.
#include "analyses.h"

void analyze_late_deallocation(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!analyze_is_subject(object) || object->end == ANALYZE_NONE ||
            object->last == ANALYZE_NONE || object->end <= object->last)
            continue;
        // What ends with its context nobody freed: that is a leak.
        if (model->calls.items[object->end].kind == PROFILE_CALL_CONTEXT ||
            analyze_apis_between(model, object->last, object->end) < run->thresholds->late_apis)
            continue;
        if (analyze_first_unseen(model, object, object->last + 1, object->end) != ANALYZE_NONE)
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_LATE_DEALLOCATION, i, object->end, object->last);
        analyze_set_distance(model, &finding, object->last, object->end);
        analyze_add_shorter(run, &finding, object, object->last + 1, object->end, object->bytes);
    }
}
