// SPDX-License-Identifier: Apache-2.0
// duplicate-values: after a call, an object holds the same bytes as another object of the same
// size. Contents are compared by their hashes. Contents that are all of one value are single-value
// instead; so nothing is found until a row has described contents with this hash.
#include <stdlib.h>

#include "analyze/values.h"

struct twins {
    uint64_t bytes;
    bool is_copy;
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
    struct base_map kinds;  // hash to VARIOUS or SINGLE
    struct base_map owners; // hash to index + 1 of an object that holds the contents
    uint32_t epoch;         // incremented at each launch that may write anything
};

static uint64_t key_of(const struct analyze_model *model, const struct analyze_contents *at)
{
    const uint64_t key[] = {at->row->hash_high, at->row->hash_low,
                            model->objects.items[at->object].bytes};
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

static void add(struct duplicate_values_search *looking, const struct analyze_contents *at,
                uint32_t other)
{
    struct analyze_run *run = looking->run;
    const struct analyze_model *model = run->model;
    const struct analyze_call *call = &model->calls.items[at->call];
    struct analyze_finding finding = analyze_begin_finding(
        run, ANALYZE_DUPLICATE_VALUES, at->object, at->call, looking->objects[other].call);
    const struct twins twins = {.bytes = model->objects.items[at->object].bytes,
                                .is_copy = call->kind == PROFILE_CALL_COPY};
    finding.other_object = model->objects.items[other].number;
    if (twins.is_copy)
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
            looking.epoch += (model->calls.items[call].flags & ANALYZE_UNSEEN) != 0;
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
    {"is_copy", NULL, ANALYZE_OWN(FLAG, struct twins, is_copy)},
    {0},
};

const struct analyze_description analyze_duplicate_values = {
    .name = "duplicate-values",
    .title = "Two objects hold the same",
    .definition = "After a call, an object holds the same bytes as another object of the same "
                  "size, and not only one value.",
    .remedy = "Use one of the two objects for both.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .roles = {[ANALYZE_CALL] = {"made the same", "the call that makes it the same"},
              [ANALYZE_OTHER_CALL] = {"other written", "the call that wrote the other object"}},
    .other_object = "holds the same",
    .fields = fields,
    .message = "after {call}, {object} holds the same as {other_object:name}",
    .suggestion = "use {other_object:name} instead of {object:name} where they hold the same"
                  "{if is_copy}, and remove {call:name}{end}",
    .find = find,
};
