// SPDX-License-Identifier: Apache-2.0
// unused-allocation: no GPU API call accesses the object. The fix does not allocate it.
#include "analyze/analyses.h"

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        const bool is_heap = object->kind == PROFILE_OBJECT_HEAP;
        if ((!analyze_is_subject(object) && !is_heap) || object->first != ANALYZE_NONE)
            continue;
        uint32_t from = analyze_begin(object), to = analyze_end(model, object);
        if (analyze_first_unseen(model, object, from, is_heap ? to + 1 : to) != ANALYZE_NONE)
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_UNUSED_ALLOCATION, i, object->call, ANALYZE_NONE);
        analyze_add_shorter(run, &finding, object, from, to, object->bytes);
    }
}

const struct analyze_description analyze_unused_allocation = {
    .name = "unused-allocation",
    .title = "Allocated and never used",
    .definition = "Nothing accesses the object.",
    .remedy = "Remove the object, or allocate it only where it is used.",
    .paper = "DrGPUM, definition 3.4",
    .needs = ANALYZE_INPUT_OBJECTS,
    .waste = ANALYZE_WASTE_AFTER_LAST_USE,
    .roles = {[ANALYZE_CALL] = {"allocated", "the allocation"}},
    .message = "{object} is allocated, but nothing accesses it",
    .suggestion = "do not allocate {object:name}{if call}{call:where}{end}",
    .find = find,
};
