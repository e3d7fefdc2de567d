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
    model->hidden = calloc(model->calls.count + 1, sizeof(*model->hidden));
    model->launches = calloc(model->calls.count + 1, sizeof(*model->launches));
    if (!model->unseen || !model->hidden || !model->launches)
        return false;
    for (uint32_t i = 0; i < model->calls.count; i++) {
        const unsigned flags = model->calls.items[i].flags;
        if (flags & ANALYZE_UNSEEN)
            model->unseen[model->unseen_count++] = i;
        if (flags & ANALYZE_UNSEEN && !(flags & ANALYZE_PASSED))
            model->hidden[model->hidden_count++] = i;
        if (flags & ANALYZE_LAUNCHES)
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

// Indices of calls, in order.
struct call_list {
    const uint32_t *items;
    size_t count;
};

static size_t count_before(struct call_list calls, uint32_t call)
{
    return base_search(0, calls.count, i, calls.items[i] < call);
}

static uint32_t first_of(struct call_list calls, uint32_t from, uint32_t to)
{
    const size_t at = count_before(calls, from);
    return at < calls.count && calls.items[at] < to ? calls.items[at] : ANALYZE_NONE;
}

static struct call_list unseen_of(const struct analyze_model *model,
                                  const struct analyze_object *object)
{
    return object->elsewhere ? (struct call_list){model->launches, model->launch_count}
                             : (struct call_list){model->unseen, model->unseen_count};
}

static struct call_list hidden_of(const struct analyze_model *model,
                                  const struct analyze_object *object)
{
    return object->elsewhere || object->is_addressed
               ? unseen_of(model, object)
               : (struct call_list){model->hidden, model->hidden_count};
}

uint32_t analyze_first_unseen(const struct analyze_model *model,
                              const struct analyze_object *object, uint32_t from, uint32_t to)
{
    return first_of(unseen_of(model, object), from, to);
}

uint32_t analyze_first_hidden(const struct analyze_model *model,
                              const struct analyze_object *object, uint32_t from, uint32_t to)
{
    return first_of(hidden_of(model, object), from, to);
}

uint32_t analyze_last_hidden(const struct analyze_model *model, const struct analyze_object *object,
                             uint32_t from, uint32_t to)
{
    const struct call_list calls = hidden_of(model, object);
    const size_t at = count_before(calls, to);
    return at > 0 && calls.items[at - 1] >= from ? calls.items[at - 1] : ANALYZE_NONE;
}

bool analyze_has_passed(const struct analyze_model *model, uint32_t from, uint32_t to)
{
    const struct call_list unseen = {model->unseen, model->unseen_count},
                           hidden = {model->hidden, model->hidden_count};
    return count_before(unseen, to) - count_before(unseen, from) >
           count_before(hidden, to) - count_before(hidden, from);
}

bool analyze_is_passed(const struct analyze_model *model, const struct analyze_object *object,
                       uint32_t call)
{
    for (uint32_t u = 0; u < object->use_count; u++) {
        const struct analyze_touch *touch =
            &model->touches.items[model->uses[object->first_use + u]];
        if (touch->call == call && touch->passed && !touch->sampled)
            return true;
    }
    return false;
}

uint32_t analyze_narrowest_store(const struct analyze_model *model, uint32_t kernel)
{
    const struct analyze_site *sites = model->sites.items;
    uint32_t narrowest = 0;
    for (size_t at = base_search(0, model->sites.count, i, sites[i].kernel < kernel);
         at < model->sites.count && sites[at].kernel == kernel; at++) {
        if (sites[at].access == PROFILE_SITE_LOAD)
            continue;
        if (!sites[at].bytes)
            return 0;
        if (!narrowest || sites[at].bytes < narrowest)
            narrowest = sites[at].bytes;
    }
    return narrowest;
}

const struct analyze_touch *analyze_access_of(const struct analyze_model *model, uint32_t call,
                                              uint32_t object)
{
    const uint32_t end = analyze_touches_end(model, call);
    for (uint32_t i = model->calls.items[call].touches; i < end; i++) {
        if (model->touches.items[i].object == object)
            return &model->touches.items[i];
    }
    return NULL;
}

bool analyze_overwrites(const struct analyze_model *model, uint32_t call, uint32_t object)
{
    const struct analyze_touch *touch = analyze_access_of(model, call, object);
    return touch && !touch->is_kernel && touch->how == ANALYZE_WRITE && touch->rows == 1 &&
           touch->offset == 0 && touch->row_bytes == model->objects.items[object].bytes;
}
