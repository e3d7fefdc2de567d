// SPDX-License-Identifier: Apache-2.0
// A pattern to begin with: copy this file to src/analyze/patterns/NAME.c, rename it, add its line
// to src/analyze/patterns.def, and change one thing after the other. tests/template/run does the
// first two and checks that the pattern then appears everywhere.
//
// large-object: an object is larger than a threshold. The fix does without it.
#include "analyze/analyses.h"

static const struct analyze_threshold large_bytes = {"large-bytes", "bytes", 4096,
                                                     "objects of more than this are large"};

// What only findings of this pattern have. `fields` below describes it.
struct large {
    uint64_t excess_bytes; // above the threshold
    uint64_t accesses;
    bool is_used;
};

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const uint32_t most = analyze_limit(run->thresholds, &large_bytes);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!analyze_is_subject(object) || object->bytes <= most)
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_LARGE_OBJECT, i, object->call, object->last);
        const struct large large = {.excess_bytes = object->bytes - most,
                                    .accesses = object->use_count,
                                    .is_used = object->use_count > 0};
        analyze_set_payload(&finding, large);
        analyze_add_shorter(run, &finding, object, analyze_begin(object),
                            analyze_end(model, object), object->bytes);
    }
}

// The evidence. Fields without a meaning are only for templates.
static const struct analyze_field fields[] = {
    {"excess_bytes", "bytes above the threshold", ANALYZE_OWN(BYTES, struct large, excess_bytes)},
    {"accesses", "accesses to the object", ANALYZE_OWN(COUNT, struct large, accesses),
     .unit = "access"},
    {"is_used", NULL, ANALYZE_OWN(FLAG, struct large, is_used)},
    {0},
};

const struct analyze_description analyze_large_object = {
    .name = "large-object",
    .title = "Large object",
    .definition = "An object is larger than a threshold.",
    .remedy = "Allocate less memory.",
    .paper = "an example of glint's own",
    .needs = ANALYZE_INPUT_OBJECTS,
    .waste = ANALYZE_WASTE_AFTER_LAST_USE,
    .roles = {[ANALYZE_CALL] = {"made large", "the large allocation"},
              [ANALYZE_OTHER_CALL] = {"last used", "the last access"}},
    .thresholds = {&large_bytes},
    .fields = fields,
    .message =
        "{object} is {excess_bytes} too large{if is_used} and last used by {other_call}{end}",
    .suggestion = "allocate less for {object:name}{if call}{call:where}{end}",
    .find = find,
};
