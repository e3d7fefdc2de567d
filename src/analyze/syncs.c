// SPDX-License-Identifier: Apache-2.0
// What the patterns of waits share: call paths at which the program waits for the GPU, by a
// synchronization or by a call that synchronizes implicitly, and need not, or not yet. A remedy
// changes all calls of its path, so a path has none if one of its calls needs the wait, or may need
// it.
#include <stdlib.h>

#include "remedies.h"

void analyze_take_wait(struct analyze_remedies *remedies, struct analyze_remedy *remedy,
                       const struct analyze_wait *wait)
{
    const struct analyze_model *model = remedies->model;
    const struct analyze_call *call = &model->calls.items[wait->call];
    struct analyze_finding *finding = &remedy->finding;
    struct analyze_wait_facts *facts = &remedy->facts;
    facts->may_print |= wait->may_print;
    if (finding->times++ == 0) {
        finding->call = call->number;
        finding->kind = (enum profile_call_kind)call->kind;
    }
    if (wait->first == ANALYZE_NONE)
        return;
    const struct analyze_first_use *use = &model->host.first_uses.items[wait->first];
    int64_t end_ns = analyze_goes_on_ns(model, wait->call);
    uint64_t use_ns = use->time_ns > end_ns ? (uint64_t)(use->time_ns - end_ns) : 1;
    if (facts->has_use && facts->use_ns <= use_ns)
        return;
    facts->has_use = true;
    facts->use_ns = use_ns;
    facts->use_path = use->path;
    facts->use_calls = analyze_calls_until(model, wait->call, use->time_ns);
}

enum analyze_action analyze_action_of(const struct analyze_wait *wait)
{
    return wait->judgement == ANALYZE_LATE ? ANALYZE_DEFER : ANALYZE_REMOVE;
}

// Returns, for each call, 1 + the index of an object whose life it ends; 0: none. Returns NULL when
// memory ran out.
static uint32_t *list_ended(struct analyze_remedies *remedies)
{
    const struct analyze_model *model = remedies->model;
    uint32_t *ended = calloc(model->calls.count + 1, sizeof(*ended));
    remedies->failed |= !ended;
    for (uint32_t i = 0; ended && i < model->objects.count; i++) {
        if (model->objects.items[i].end != ANALYZE_NONE)
            ended[model->objects.items[i].end] = i + 1;
    }
    return ended;
}

// Says what kind of call waits, and which memory it frees.
static void set_call(const struct analyze_model *model, struct analyze_remedy *remedy,
                     enum profile_call_kind kind, uint32_t ended)
{
    struct analyze_wait_facts *facts = &remedy->facts;
    facts->is_sync = kind == PROFILE_CALL_SYNC;
    facts->is_implicit = !facts->is_sync;
    facts->is_set = kind == PROFILE_CALL_SET;
    if (!ended || facts->is_sync || remedy->finding.object)
        return;
    const struct analyze_object *object = &model->objects.items[ended - 1];
    remedy->finding.object = object->number;
    facts->is_free = true;
    facts->is_device =
        object->kind == PROFILE_OBJECT_DEVICE || object->kind == PROFILE_OBJECT_PITCHED;
}

void analyze_find_syncs(struct analyze_remedies *remedies, enum analyze_pattern pattern,
                        bool (*fits)(const struct analyze_wait_path *path))
{
    const struct analyze_model *model = remedies->model;
    bool *taken = analyze_list_taken(remedies);
    uint32_t *ended = list_ended(remedies);
    for (size_t i = 0; i < remedies->waits.waits.count && !remedies->failed && ended && taken;
         i++) {
        const struct analyze_wait *wait = &remedies->waits.waits.items[i];
        const struct analyze_call *call = &model->calls.items[wait->call];
        const enum profile_call_kind kind = (enum profile_call_kind)call->kind;
        const struct analyze_wait_path *path =
            analyze_find_wait_path(remedies->analysis, call->path, kind);
        if (!path || !path->deferrable || !fits(path) ||
            (kind != PROFILE_CALL_SYNC && (taken[wait->call] || !analyze_has_waited(model, wait))))
            continue;
        bool is_new;
        struct analyze_remedy *remedy =
            analyze_remedy_at(remedies, pattern, call->path, 0, kind, &is_new);
        if (!remedy)
            break;
        remedy->facts.calls += is_new ? path->calls : 0;
        remedy->facts.may_check = path->may_check;
        set_call(model, remedy, kind, ended[wait->call]);
        analyze_take_wait(remedies, remedy, wait);
        analyze_add_act(remedies, remedy, wait->call, analyze_action_of(wait),
                        analyze_waited_ns(model, wait->call));
    }
    free(taken);
    free(ended);
}

void analyze_set_memory(struct analyze_wait_facts *facts, enum profile_memory memory)
{
    facts->memory = memory;
    facts->host_memory = memory == PROFILE_MEMORY_NONE ? NULL : profile_memory_word(memory);
    facts->is_pageable = memory == PROFILE_MEMORY_PAGEABLE;
    facts->is_pinned = memory == PROFILE_MEMORY_PINNED;
}

void analyze_set_direction(struct analyze_wait_facts *facts, bool to_host)
{
    facts->to_host = to_host;
    facts->direction =
        profile_direction_word(to_host ? PROFILE_DEVICE_TO_HOST : PROFILE_HOST_TO_DEVICE);
}
