// SPDX-License-Identifier: Apache-2.0
// heavy-type: a narrower type holds all values that a call reads or writes, bit for bit after
// widening them again; or they are at most 256 different values, which an 8-bit index selects.
//
// An index needs a table that is made before the elements are written. So only data that comes from
// the host and that no kernel writes is looked at for it: the results of a kernel may happen to be
// few different values, but the kernel cannot know which.
#include <stdlib.h>

#include "analyze/values.h"

struct heavy {
    struct analyze_value_facts facts;
    const char *narrow;
    uint64_t narrow_bytes, distinct;
    bool is_index;
};

static bool is_host_copy(const struct analyze_model *model, const struct analyze_touch *touch)
{
    const struct analyze_call *call = &model->calls.items[touch->call];
    if (touch->maker != ANALYZE_MADE_BY_CALL)
        return touch->maker == ANALYZE_MADE_BY_HOST_COPY;
    return call->kind == PROFILE_CALL_COPY && call->flags & ANALYZE_HOST_END;
}

static bool is_set(const struct analyze_model *model, const struct analyze_touch *touch)
{
    return touch->maker == ANALYZE_MADE_BY_SET ||
           (touch->maker == ANALYZE_MADE_BY_CALL &&
            model->calls.items[touch->call].kind == PROFILE_CALL_SET);
}

// Returns whether only copies from the host write the object, and sets before them.
static bool is_given(const struct analyze_model *model, uint32_t index)
{
    const struct analyze_object *object = &model->objects.items[index];
    const uint32_t begin = object->call == ANALYZE_NONE ? 0 : object->call;
    for (uint32_t i = 0; i < object->use_count; i++) {
        const struct analyze_touch *touch =
            &model->touches.items[model->uses[object->first_use + i]];
        if (touch->how & ANALYZE_WRITE &&
            (touch->is_kernel || !(is_host_copy(model, touch) || is_set(model, touch))))
            return false;
    }
    return analyze_first_unseen(model, object, begin, object->end) == ANALYZE_NONE;
}

// What is_given returned, for each object.
enum { UNASKED, GIVEN, COMPUTED };

static bool is_heavy(const struct analyze_run *run, const struct analyze_value_use *use,
                     const struct analyze_values *values, unsigned char *origins,
                     struct analyze_narrower *narrower)
{
    unsigned char *origin = &origins[use->object];
    if (analyze_find_narrower(values, narrower))
        return true;
    if (!analyze_is_indexable(values))
        return false;
    if (*origin == UNASKED)
        *origin = is_given(run->model, use->object) ? GIVEN : COMPUTED;
    *narrower = (struct analyze_narrower){"index", 1};
    return *origin == GIVEN;
}

static void take(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct analyze_values values;
    struct analyze_narrower narrower;
    struct analyze_value_use seen;
    for (uint32_t i = 0; i < use->rows[0]->field_count; i++) {
        struct heavy heavy = {.narrow = NULL};
        if (!analyze_values_of(run, use, i, &values) ||
            !is_heavy(run, use, &values, state, &narrower) ||
            !analyze_agree_accesses(run, use, &values, &narrower, &seen))
            continue;
        struct analyze_finding finding =
            analyze_begin_value_finding(run, ANALYZE_HEAVY_TYPE, &seen, &values, &heavy.facts);
        heavy.narrow = narrower.type;
        heavy.narrow_bytes = narrower.size_bytes;
        heavy.is_index = strcmp(narrower.type, "index") == 0;
        heavy.distinct = values.field->distinct;
        analyze_set_value_traffic(run, &finding, use,
                                  values.bytes / values.size_bytes *
                                      (values.size_bytes - narrower.size_bytes));
        analyze_set_payload(&finding, heavy);
        analyze_add_finding(run, &finding);
    }
}

static void find(struct analyze_run *run)
{
    unsigned char *origins = calloc(run->model->objects.count + 1, 1);
    run->failed |= !origins;
    if (origins)
        analyze_walk_values(run, take, origins);
    free(origins);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    ANALYZE_VALUE_FIELDS(struct heavy, facts),
    ANALYZE_CONFIRMED_FIELD(struct heavy, facts),
    {"narrow_type", "the narrowest type that holds all values; index: an 8-bit index into a table",
     ANALYZE_OWN(WORD, struct heavy, narrow), .values = ANALYZE_VALUE_TYPE_WORDS " index"},
    {"narrow_bytes", "the size of that type", ANALYZE_OWN(BYTES, struct heavy, narrow_bytes),
     .least = 1},
    {"distinct", "different values, if narrow_type is index",
     ANALYZE_OWN(COUNT, struct heavy, distinct), ANALYZE_KNOWN_IF(struct heavy, is_index),
     .unit = "value"},
    {"written_by", "the call that wrote the values, of a read",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"is_index", NULL, ANALYZE_OWN(FLAG, struct heavy, is_index)},
    {0},
};

const struct analyze_description analyze_heavy_type = {
    .name = "heavy-type",
    .title = "A narrower type is enough",
    .definition = "A narrower type holds all values that a call reads or writes, bit for bit; or "
                  "they come from the host, no kernel writes them, and they are at most 256 "
                  "different values.",
    .remedy = "Store the values in the narrower type, and widen them when they are read.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .roles = {[ANALYZE_CALL] = {"used", "the call that uses the values"},
              [ANALYZE_OTHER_CALL] = {"written", "the call that wrote the values"}},
    .thresholds = {&analyze_value_elements},
    .fields = fields,
    .message = ANALYZE_VALUE_TEXT_BEGIN
    "{elements:unit} of {object}" ANALYZE_VALUE_TEXT_FIELD
    " as {type}, but {if is_index}they are only {distinct} different values{else}{narrow_type} "
    "holds all of their values exactly{end}" ANALYZE_VALUE_TEXT_END
    "{if in_between}, also of those that were {if read}read{else}stored{end} in between{end}",
    .suggestion = "{if is_index}store an 8-bit index into a table of {distinct} values{else}store "
                  "{object:name} as {narrow_type}{end}, and widen it when it is read",
    .find = find,
};
