// SPDX-License-Identifier: Apache-2.0
// unused-allocation: no GPU API call accesses the object, or copies and sets write to it and
// nothing reads it. The fix does not allocate it, and leaves out these writes.
#include "analyze/analyses.h"

struct unused_writes {
    uint64_t writes; // copies and sets
    bool passed;     // what some kernels access is known only by their arguments
    uint64_t others; // objects of this size that the same line allocates, and that may be used
};

// Counts, by analyze_key_of_alike, the objects that may be used.
static void count_used(struct analyze_run *run, struct base_map *used)
{
    const struct analyze_model *model = run->model;
    for (size_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        uint64_t *count = analyze_is_unused(model, object)
                              ? NULL
                              : base_map_put(used, analyze_key_of_alike(run, object), NULL);
        run->failed |= !count && !analyze_is_unused(model, object);
        if (count)
            ++*count;
    }
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    struct base_map used = {0};
    count_used(run, &used);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!analyze_is_unused(model, object))
            continue;
        const uint64_t *others = base_map_get(&used, analyze_key_of_alike(run, object));
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_UNUSED_ALLOCATION, i, object->call, object->first);
        const struct unused_writes unused = {
            object->use_count,
            analyze_has_passed(model, analyze_begin(object), analyze_end(model, object)),
            others ? *others : 0};
        finding.aspect = unused.writes > 0;
        analyze_set_payload(&finding, unused);
        analyze_add_shorter(run, &finding, object, analyze_begin(object),
                            analyze_end(model, object), object->bytes);
    }
    base_map_fini(&used);
}

static const struct analyze_field fields[] = {
    {"writes", "copies and sets that write to the object; nothing reads it",
     ANALYZE_OWN(COUNT, struct unused_writes, writes), .unit = "write"},
    {"passed", NULL, ANALYZE_OWN(FLAG, struct unused_writes, passed)},
    {"others", "objects of this size that the same line allocates, and that may be used",
     ANALYZE_OWN(COUNT, struct unused_writes, others), .unit = "other object"},
    {0},
};

const struct analyze_description analyze_unused_allocation = {
    .name = "unused-allocation",
    .title = "Allocated and never used",
    .definition =
        "Nothing accesses the object, or copies and sets write to it and nothing reads it.",
    .remedy = "Remove the object and the writes to it, or allocate it only where it is used.",
    .paper = "DrGPUM, definition 3.4",
    .needs = ANALYZE_INPUT_OBJECTS,
    .takes_arguments = true,
    .waste = ANALYZE_WASTE_AFTER_LAST_USE,
    .roles = {[ANALYZE_CALL] = {"allocated", "the allocation"},
              [ANALYZE_OTHER_CALL] = {"first written", "the first copy or set to it"}},
    .fields = fields,
    .message = "{object} is allocated{if writes} and written{end}, but {if passed}no kernel gets it"
               "{else}nothing {if writes}reads{else}"
               "accesses{end} it{end}",
    .suggestion =
        "{if brief}do not allocate {object:name}{if writes}, and leave out {other_call} and other "
        "writes{end}{else}do not allocate {object:name}{if call}{call:where}{end}{if writes}, and "
        "leave out {other_call} and other writes to it{end}{end}{if others}; {others:unit} from "
        "the same line may be used{end}",
    .find = find,
};
