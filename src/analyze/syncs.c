// SPDX-License-Identifier: Apache-2.0
// What the patterns of waits share: call paths at which the program waits for the GPU, by a
// synchronization or by a copy, and need not, or not yet. A remedy changes all calls of its path,
// so a path has none if one of its calls needs the wait, or may need it.
#include "remedies.h"

void analyze_take_wait(struct analyze_remedies *remedies, struct analyze_remedy *remedy,
                       const struct analyze_wait *wait)
{
    const struct analyze_model *model = remedies->model;
    const struct analyze_call *call = &model->calls.items[wait->call];
    struct analyze_finding *finding = &remedy->finding;
    struct analyze_wait_facts *facts = &remedy->facts;
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

void analyze_find_syncs(struct analyze_remedies *remedies, enum analyze_pattern pattern, bool safe)
{
    const struct analyze_model *model = remedies->model;
    for (size_t i = 0; i < remedies->waits.waits.count && !remedies->failed; i++) {
        const struct analyze_wait *wait = &remedies->waits.waits.items[i];
        const struct analyze_call *call = &model->calls.items[wait->call];
        const struct analyze_wait_path *path =
            analyze_find_wait_path(remedies->analysis, call->path, PROFILE_CALL_SYNC);
        if (call->kind != PROFILE_CALL_SYNC || !path || !path->deferrable || path->safe != safe)
            continue;
        struct analyze_remedy *remedy = analyze_remedy_at(remedies, pattern, call->path, 0, 0);
        if (!remedy)
            return;
        remedy->facts.calls = path->calls;
        analyze_take_wait(remedies, remedy, wait);
        analyze_add_act(remedies, remedy, wait->call, analyze_action_of(wait),
                        analyze_waited_ns(model, wait->call));
    }
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
