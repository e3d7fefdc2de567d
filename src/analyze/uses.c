// SPDX-License-Identifier: Apache-2.0
// Indexes the model by object: its touches, its first and last use, and its parts. Also lists the
// calls that may touch objects unobserved.
#include <stdlib.h>

#include "model.h"

// Numbers are usually consecutive, so the position is computed first and searched only if that
// fails.
#define FIND(rows, wanted)                                                                      \
    do {                                                                                        \
        const size_t count = (rows).count;                                                      \
        if ((wanted) && (wanted) <= count && (rows).items[(wanted)-1].number == (wanted))       \
            return (uint32_t)((wanted)-1);                                                      \
        const size_t at = base_search(0, count, i, (rows).items[i].number < (wanted));          \
        return at < count && (rows).items[at].number == (wanted) ? (uint32_t)at : ANALYZE_NONE; \
    } while (0)

uint32_t analyze_find_call(const struct analyze_model *model, uint64_t number)
{
    FIND(model->calls, number);
}

uint32_t analyze_find_object(const struct analyze_model *model, uint64_t number)
{
    FIND(model->objects, number);
}

// A pool counts as used whenever one of its parts is.
static void extend_to_parts(struct analyze_model *model)
{
    for (size_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *part = &model->objects.items[i];
        if (part->parent == ANALYZE_NONE || part->first == ANALYZE_NONE)
            continue;
        struct analyze_object *whole = &model->objects.items[part->parent];
        if (whole->first == ANALYZE_NONE || part->first < whole->first)
            whole->first = part->first;
        if (whole->last == ANALYZE_NONE || part->last > whole->last)
            whole->last = part->last;
    }
}

static bool index_parts(struct analyze_model *model)
{
    uint32_t next = 0;
    free(model->parts);
    model->parts = calloc(model->objects.count + 1, sizeof(*model->parts));
    if (!model->parts)
        return false;
    for (size_t i = 0; i < model->objects.count; i++)
        model->objects.items[i].part_count = 0;
    for (size_t i = 0; i < model->objects.count; i++) {
        if (model->objects.items[i].parent != ANALYZE_NONE)
            model->objects.items[model->objects.items[i].parent].part_count++;
    }
    for (size_t i = 0; i < model->objects.count; i++) {
        struct analyze_object *object = &model->objects.items[i];
        object->first_part = next;
        next += object->part_count;
        object->part_count = 0;
    }
    for (uint32_t i = 0; i < model->objects.count; i++) {
        uint32_t parent = model->objects.items[i].parent;
        if (parent != ANALYZE_NONE) {
            struct analyze_object *whole = &model->objects.items[parent];
            model->parts[whole->first_part + whole->part_count++] = i;
        }
    }
    return true;
}

static bool index_launches(struct analyze_model *model)
{
    model->unseen = calloc(model->calls.count + 1, sizeof(*model->unseen));
    model->launches = calloc(model->calls.count + 1, sizeof(*model->launches));
    if (!model->unseen || !model->launches)
        return false;
    for (uint32_t i = 0; i < model->calls.count; i++) {
        if (model->calls.items[i].flags & ANALYZE_UNSEEN)
            model->unseen[model->unseen_count++] = i;
        if (model->calls.items[i].flags & ANALYZE_LAUNCHES)
            model->launches[model->launch_count++] = i;
    }
    return true;
}

bool analyze_index_uses(struct analyze_model *model)
{
    model->uses = calloc(model->touches.count + 1, sizeof(*model->uses));
    if (!model->uses)
        return false;
    for (size_t i = 0; i < model->objects.count; i++) {
        model->objects.items[i].use_count = 0;
        model->objects.items[i].first = model->objects.items[i].last = ANALYZE_NONE;
    }
    for (size_t i = 0; i < model->touches.count; i++)
        model->objects.items[model->touches.items[i].object].use_count++;
    uint32_t next = 0;
    for (size_t i = 0; i < model->objects.count; i++) {
        struct analyze_object *object = &model->objects.items[i];
        object->first_use = next;
        next += object->use_count;
        object->use_count = 0;
    }
    for (uint32_t i = 0; i < model->touches.count; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        struct analyze_object *object = &model->objects.items[touch->object];
        model->uses[object->first_use + object->use_count++] = i;
        if (object->first == ANALYZE_NONE)
            object->first = touch->call;
        object->last = touch->call;
    }
    extend_to_parts(model);
    return index_parts(model) && index_launches(model) && analyze_find_needed(model);
}

// Returns how many of the calls come before `call`.
static size_t count_before(const uint32_t *calls, size_t count, uint32_t call)
{
    return base_search(0, count, i, calls[i] < call);
}

uint32_t analyze_first_unseen(const struct analyze_model *model,
                              const struct analyze_object *object, uint32_t from, uint32_t to)
{
    const uint32_t *calls = object->elsewhere ? model->launches : model->unseen;
    size_t count = object->elsewhere ? model->launch_count : model->unseen_count;
    size_t at = count_before(calls, count, from);
    return at < count && calls[at] < to ? calls[at] : ANALYZE_NONE;
}

uint32_t analyze_last_unseen(const struct analyze_model *model, const struct analyze_object *object,
                             uint32_t from, uint32_t to)
{
    const uint32_t *calls = object->elsewhere ? model->launches : model->unseen;
    size_t count = object->elsewhere ? model->launch_count : model->unseen_count;
    size_t at = count_before(calls, count, to);
    return at > 0 && calls[at - 1] >= from ? calls[at - 1] : ANALYZE_NONE;
}
