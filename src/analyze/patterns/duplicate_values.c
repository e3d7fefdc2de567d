// SPDX-License-Identifier: Apache-2.0
// duplicate-values: after a call, an object holds the same bytes as another object of the same
// size. Contents are compared by their hashes. Contents that are all of one value are single-value
// instead; so nothing is found until a row has described contents with this hash.
//
// Programs copy objects in order to change one of the two later. So a copy is only worth something
// if one of the objects could replace the other for as long as they hold the same.
#include <stdlib.h>

#include "analyze/values.h"

struct twins {
    uint64_t bytes;
    bool is_copy, is_from_host, is_replaceable;
};

struct object_hash {
    uint64_t high, low;
    uint32_t call;  // index, that wrote the contents
    uint32_t epoch; // of the search
    bool is_known;  // of the whole object
};

enum { VARIOUS = 1, SINGLE = 2 }; // what contents with a hash are

struct duplicate_values_search {
    struct analyze_run *run;
    struct object_hash *objects;
    struct base_map kinds;  // key_of() to VARIOUS or SINGLE
    struct base_map owners; // key_of() to index + 1 of an object that holds the contents
    uint32_t epoch;         // incremented at each launch that may write anything
};

// Objects of different devices are no duplicates: each device needs the bytes in its own memory.
static uint64_t key_of(const struct analyze_model *model, const struct analyze_contents *at)
{
    const struct analyze_object *object = &model->objects.items[at->object];
    const uint64_t key[] = {at->row->hash_high, at->row->hash_low, object->bytes, object->device};
    return base_hash(key, sizeof(key));
}

static bool is_known(const struct analyze_model *model, const struct analyze_contents *at)
{
    return at->row->known_pieces == at->row->all_pieces && at->row->all_pieces &&
           !(at->row->flags & PROFILE_CONTENTS_CONCURRENT) &&
           !(model->calls.items[at->call].flags & ANALYZE_UNSEEN) &&
           analyze_has_values(&model->objects.items[at->object]);
}

// Learns from a row about a whole object whether its contents are all of one value. A row about a
// part of it shows that they are not, but not that they are.
static void learn(struct duplicate_values_search *looking, const struct analyze_contents *at)
{
    const struct profile_contents *row = at->row;
    bool is_same = true, is_zero = true;
    if (row->field_count == 0 || !is_known(looking->run->model, at))
        return;
    for (uint32_t i = 0; i < row->field_count; i++) {
        const struct profile_value_field *field = &row->fields[i];
        is_zero &= field->zeros == field->elements;
        is_same &= field->candidates[0].count == field->elements &&
                   field->candidates[0].value == row->fields[0].candidates[0].value;
    }
    const bool is_single = is_same || is_zero;
    if (is_single && row->pieces != row->all_pieces)
        return;
    uint64_t *slot = base_map_put(&looking->kinds, key_of(looking->run->model, at), NULL);
    looking->run->failed |= !slot;
    if (slot)
        *slot = is_single ? SINGLE : VARIOUS;
}

static const struct analyze_touch *use_of(const struct analyze_model *model,
                                          const struct analyze_object *object, size_t index)
{
    return &model->touches.items[model->uses[object->first_use + index]];
}

// Returns the index of the object's first use after the call.
static size_t next_use(const struct analyze_model *model, const struct analyze_object *object,
                       uint32_t call)
{
    return base_search(0, object->use_count, i, use_of(model, object, i)->call <= call);
}

static bool is_overwrite(const struct analyze_touch *touch, const struct analyze_object *object)
{
    return !touch->is_kernel && touch->how == ANALYZE_WRITE && touch->rows == 1 &&
           touch->row_bytes >= object->bytes;
}

// Returns whether the other object could be used instead after the call, until this one is
// overwritten: nothing changes this one in part, or the other before the last use of this one.
static bool is_replaceable(const struct analyze_model *model, const struct analyze_object *object,
                           const struct analyze_object *other, uint32_t call)
{
    uint32_t last = call;
    for (size_t i = next_use(model, object, call); i < object->use_count; i++) {
        const struct analyze_touch *touch = use_of(model, object, i);
        if (is_overwrite(touch, object))
            break;
        if (touch->how & ANALYZE_WRITE)
            return false;
        last = touch->call;
    }
    for (size_t i = next_use(model, other, call); i < other->use_count; i++) {
        const struct analyze_touch *touch = use_of(model, other, i);
        if (touch->call > last)
            break;
        if (touch->how & ANALYZE_WRITE)
            return false;
    }
    return analyze_first_unseen(model, object, call, last + 1) == ANALYZE_NONE;
}

static void add(struct duplicate_values_search *looking, const struct analyze_contents *at,
                uint32_t other)
{
    struct analyze_run *run = looking->run;
    const struct analyze_model *model = run->model;
    const struct analyze_call *call = &model->calls.items[at->call];
    struct analyze_finding finding = analyze_begin_finding(
        run, ANALYZE_DUPLICATE_VALUES, at->object, at->call, looking->objects[other].call);
    const struct analyze_object *object = &model->objects.items[at->object];
    const bool is_copy = call->kind == PROFILE_CALL_COPY;
    const struct twins twins = {
        .bytes = object->bytes,
        .is_copy = is_copy,
        .is_from_host = is_copy && call->flags & ANALYZE_HOST_END,
        .is_replaceable = is_replaceable(model, object, &model->objects.items[other], at->call)};
    finding.other_object = model->objects.items[other].number;
    if (twins.is_copy && twins.is_replaceable)
        analyze_set_traffic(run, &finding, at->call, at->row->moved_bytes, at->row->moved_bytes);
    else
        finding.gain_is_unknown = true;
    analyze_set_payload(&finding, twins);
    analyze_add_finding(run, &finding);
}

static bool holds(const struct duplicate_values_search *looking, uint32_t object,
                  const struct analyze_contents *at)
{
    const struct object_hash *hash = &looking->objects[object];
    const struct analyze_object *row = &looking->run->model->objects.items[object];
    return hash->is_known && hash->epoch == looking->epoch && hash->high == at->row->hash_high &&
           hash->low == at->row->hash_low &&
           row->bytes == looking->run->model->objects.items[at->object].bytes &&
           (row->end == ANALYZE_NONE || row->end > at->call);
}

static void take(struct duplicate_values_search *looking, const struct analyze_contents *at)
{
    const struct analyze_model *model = looking->run->model;
    struct object_hash *own = &looking->objects[at->object];
    if (!is_known(model, at)) {
        own->is_known = false;
        return;
    }
    if (holds(looking, at->object, at)) // as before
        return;
    *own =
        (struct object_hash){at->row->hash_high, at->row->hash_low, at->call, looking->epoch, true};
    const uint64_t key = key_of(model, at);
    uint64_t *owner = base_map_put(&looking->owners, key, NULL);
    looking->run->failed |= !owner;
    if (!owner)
        return;
    const uint64_t *kind = base_map_get(&looking->kinds, key);
    const uint32_t other = (uint32_t)(*owner - 1);
    const bool is_twin = *owner && other != at->object && holds(looking, other, at);
    if (is_twin && kind && *kind == VARIOUS && at->row->kind == PROFILE_CONTENTS_WRITTEN)
        add(looking, at, other);
    if (!is_twin)
        *owner = (uint64_t)at->object + 1;
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    struct duplicate_values_search looking = {.run = run, .epoch = 1};
    uint32_t call = 0;
    if (model->contents.count == 0)
        return;
    looking.objects = calloc(model->objects.count + 1, sizeof(*looking.objects));
    run->failed |= !looking.objects;
    for (size_t i = 0; i < model->contents.count && !run->failed; i++)
        learn(&looking, &model->contents.items[i]);
    for (size_t i = 0; i < model->contents.count && !run->failed; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        for (; call <= at->call; call++)
            looking.epoch +=
                (model->calls.items[call].flags & (ANALYZE_UNSEEN | ANALYZE_BATCH)) != 0;
        take(&looking, at);
    }
    free(looking.objects);
    base_map_fini(&looking.kinds);
    base_map_fini(&looking.owners);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"bytes", "size of each of the two objects", ANALYZE_OWN(BYTES, struct twins, bytes)},
    {"other", "the other object", ANALYZE_SHARED(NUMBER_OF_OBJECT, other_object), .least = 1},
    {"other_written_by", "the call that wrote the other object",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"replaceable", "nothing changes either object as long as this one is used",
     ANALYZE_OWN(FLAG, struct twins, is_replaceable)},
    {"is_copy", NULL, ANALYZE_OWN(FLAG, struct twins, is_copy)},
    {"is_from_host", NULL, ANALYZE_OWN(FLAG, struct twins, is_from_host)},
    {0},
};

const struct analyze_description analyze_duplicate_values = {
    .name = "duplicate-values",
    .title = "Two objects hold the same bytes",
    .definition = "After a call, an object holds the same bytes as another object of the same "
                  "size, and not only one value.",
    .remedy = "Use one of the two objects for both.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .roles = {[ANALYZE_CALL] = {"made the same", "the call that makes it the same"},
              [ANALYZE_OTHER_CALL] = {"other written", "the call that wrote the other object"}},
    .other_object = "holds the same",
    .fields = fields,
    .message = "after {call}, {object} holds the same bytes as {other_object:name}",
    .suggestion =
        "{if replaceable}use {other_object:name} instead of {object:name}{if is_copy}, and "
        "remove {call:name}{end}{elif is_from_host}copy {other_object:name} on the device "
        "instead of copying the same from the host again{else}use {other_object:name} "
        "instead of {object:name} while they hold the same{end}",
    .find = find,
};
