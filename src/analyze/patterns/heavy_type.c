// SPDX-License-Identifier: Apache-2.0
// heavy-type: a narrower type holds all values that calls read from an object or write to it, bit
// for bit after widening them again; or they are at most 256 different values, which an 8-bit index
// selects. All uses of an object are one finding, with the widest type that any of them needs.
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

// --- All uses of an object -----------------------------------------------------------------------

// What all calls read from objects of one name and call path, as elements of one field, and write
// to them. To store the values in a narrower type helps only if that type is enough for all of
// these calls.
struct heavy_object {
    struct analyze_values all;
    struct analyze_narrower narrower; // type NULL: none
    uint64_t distinct;                // the most different values that a call uses
    bool is_indexable;                // for all calls
    bool is_border, is_confirmed;     // any use is
};

enum { UNASKED, GIVEN, COMPUTED }; // what is_given returned, for each object

struct heavy_search {
    struct base_map keys; // to index + 1 in objects
    BASE_ARRAY(struct heavy_object) objects;
    unsigned char *origins; // by object
};

// Returns what is known about all uses of the field; NULL if memory ran out.
static struct heavy_object *object_of(struct analyze_run *run, struct heavy_search *looking,
                                      const struct analyze_value_use *use,
                                      const struct analyze_values *values)
{
    const uint64_t key[] = {analyze_key_of_object(run, &run->model->objects.items[use->object]),
                            values->offset, (uint64_t)values->type};
    uint64_t *slot = base_map_put(&looking->keys, base_hash(key, sizeof(key)), NULL);
    struct heavy_object *made = slot && !*slot ? base_array_push(&looking->objects) : NULL;
    if (made) {
        *made = (struct heavy_object){
            .all = {.type = values->type, .size_bytes = values->size_bytes}, .is_indexable = true};
        *slot = looking->objects.count;
    }
    run->failed |= !slot || !*slot;
    return run->failed ? NULL : &looking->objects.items[*slot - 1];
}

static bool is_single(const struct analyze_values *values)
{
    return values->is_same || values->is_zero;
}

static void learn(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct heavy_search *looking = state;
    unsigned char *origin = &looking->origins[use->object];
    struct analyze_values values;
    for (uint32_t i = 0; i < use->rows[0]->field_count; i++) {
        struct heavy_object *object = analyze_all_values_of(run, use, i, &values)
                                          ? object_of(run, looking, use, &values)
                                          : NULL;
        if (!object)
            continue;
        analyze_merge_values(&object->all, &values);
        if (!is_single(&values) && values.field->distinct > object->distinct)
            object->distinct = values.field->distinct;
        object->is_indexable &= is_single(&values) || analyze_is_indexable(&values);
        if (object->is_indexable && *origin == UNASKED)
            *origin = is_given(run->model, use->object) ? GIVEN : COMPUTED;
        object->is_indexable &= *origin != COMPUTED;
    }
}

static void decide(struct heavy_search *looking)
{
    for (size_t i = 0; i < looking->objects.count; i++) {
        struct heavy_object *object = &looking->objects.items[i];
        if (!analyze_find_narrower(&object->all, &object->narrower) && object->is_indexable)
            object->narrower = (struct analyze_narrower){"index", 1};
    }
}

// Compares the type with what loads and stores moved.
static void compare(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct analyze_values values;
    struct analyze_value_use seen;
    for (uint32_t i = 0; i < use->rows[0]->field_count; i++) {
        struct heavy_object *object = analyze_all_values_of(run, use, i, &values)
                                          ? object_of(run, state, use, &values)
                                          : NULL;
        if (!object || !object->narrower.type)
            continue;
        if (!analyze_agree_accesses(run, use, &values, &object->narrower, &seen))
            object->narrower.type = NULL;
        object->is_border |= seen.is_border;
        object->is_confirmed |= seen.is_confirmed;
    }
}

// --- Findings ------------------------------------------------------------------------------------

static void take(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct analyze_values values;
    for (uint32_t i = 0; i < use->rows[0]->field_count; i++) {
        struct heavy heavy = {.narrow = NULL};
        const struct heavy_object *object =
            analyze_values_of(run, use, i, &values) && !is_single(&values)
                ? object_of(run, state, use, &values)
                : NULL;
        if (!object || !object->narrower.type)
            continue;
        struct analyze_finding finding =
            analyze_begin_value_finding(run, ANALYZE_HEAVY_TYPE, use, &values, &heavy.facts);
        const uint64_t aspect[] = {values.offset, (uint64_t)values.type};
        finding.aspect = base_hash(aspect, sizeof(aspect));
        heavy.facts.is_border = object->is_border;
        heavy.facts.is_confirmed = object->is_confirmed && !object->is_border;
        heavy.narrow = object->narrower.type;
        heavy.narrow_bytes = object->narrower.size_bytes;
        heavy.is_index = strcmp(heavy.narrow, "index") == 0;
        heavy.distinct = object->distinct;
        analyze_set_value_traffic(run, &finding, use,
                                  values.bytes / values.size_bytes *
                                      (values.size_bytes - heavy.narrow_bytes));
        analyze_set_payload(&finding, heavy);
        analyze_add_finding(run, &finding);
    }
}

static void find(struct analyze_run *run)
{
    struct heavy_search looking = {.origins = calloc(run->model->objects.count + 1, 1)};
    run->failed |= !looking.origins;
    if (!run->failed)
        analyze_walk_values(run, learn, &looking);
    decide(&looking);
    if (!run->failed)
        analyze_walk_values(run, compare, &looking);
    if (!run->failed)
        analyze_walk_values(run, take, &looking);
    base_map_fini(&looking.keys);
    base_array_fini(&looking.objects);
    free(looking.origins);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    ANALYZE_VALUE_FIELDS(struct heavy, facts),
    ANALYZE_WORTH_BOUND_FIELD,
    ANALYZE_CONFIRMED_FIELD(struct heavy, facts),
    {"narrow_type", "the narrowest type that holds all values; index: an 8-bit index into a table",
     ANALYZE_OWN(WORD, struct heavy, narrow), .values = ANALYZE_VALUE_TYPE_WORDS " index"},
    {"narrow_bytes", "the size of that type", ANALYZE_OWN(BYTES, struct heavy, narrow_bytes),
     .least = 1},
    {"distinct", "the most different values that a call uses, if narrow_type is index",
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
    .definition = "A narrower type holds all values that calls read from an object or write to "
                  "it, bit for bit; or they come from the host, no kernel writes them, and each "
                  "call uses at most 256 different values.",
    .remedy = "Store the values in the narrower type, and widen them when they are read.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .is_about_object = true,
    .roles = {[ANALYZE_CALL] = {"used", "the call that uses most of the values"},
              [ANALYZE_OTHER_CALL] = {"written", "the call that wrote the values"}},
    .thresholds = {&analyze_value_elements},
    .fields = fields,
    .message =
        "{if brief}{object} is {type}, but {if is_index}has only {distinct} different "
        "values{else}{narrow_type} holds all its values in this "
        "run{end}{else}" ANALYZE_VALUE_TEXT_OBJECT
        " has {elements:unit} of type {type}, but {if is_index}only {distinct} different values"
        "{else}{narrow_type} holds all of their values in this run "
        "exactly{end}" ANALYZE_VALUE_TEXT_END
        "{if in_between}, also of those that launches read or stored while they "
        "ran{end}" ANALYZE_VALUE_TEXT_USES "{end}",
    .suggestion = "{if is_index}store an 8-bit index into a table of {distinct} values{else}store "
                  "{if is_member}this field of {end}{object:name} as {narrow_type}{end}, and widen "
                  "it when it is read",
    .find = find,
};
