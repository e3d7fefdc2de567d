// SPDX-License-Identifier: Apache-2.0
// unnecessary-sync, misplaced-sync and synchronous-transfer: call paths at which the program waits
// for the GPU, by a synchronisation or by a copy, and need not, or not yet. A remedy changes all
// calls of its path, so one call that needs its wait, or that nobody can judge, is enough for none.
#include "remedies.h"

// Counts the wait, and its first use, into the remedy's finding.
static void take_wait(struct analyze_remedies *remedies, struct analyze_remedy *remedy,
                      const struct analyze_wait *wait)
{
    const struct analyze_model *model = remedies->model;
    const struct analyze_call *call = &model->calls.items[wait->call];
    struct analyze_finding *finding = &remedy->finding;
    if (finding->times++ == 0) {
        finding->call = call->number;
        finding->kind = (enum profile_call_kind)call->kind;
    }
    if (wait->first == ANALYZE_NONE)
        return;
    const struct analyze_first_use *use = &model->host.first_uses.items[wait->first];
    int64_t end_ns = analyze_goes_on_ns(model, wait->call);
    uint64_t use_ns = use->time_ns > end_ns ? (uint64_t)(use->time_ns - end_ns) : 1;
    if (finding->use_ns && finding->use_ns <= use_ns)
        return;
    finding->use_ns = use_ns;
    finding->use_path = use->path;
    finding->use_calls = analyze_calls_until(model, wait->call, use->time_ns);
}

static enum analyze_action action_of(const struct analyze_wait *wait)
{
    return wait->judgement == ANALYZE_LATE ? ANALYZE_DEFER : ANALYZE_REMOVE;
}

void analyze_find_syncs(struct analyze_remedies *remedies)
{
    const struct analyze_model *model = remedies->model;
    for (size_t i = 0; i < remedies->waits.waits.count && !remedies->failed; i++) {
        const struct analyze_wait *wait = &remedies->waits.waits.items[i];
        const struct analyze_call *call = &model->calls.items[wait->call];
        const struct analyze_wait_path *path =
            analyze_find_wait_path(remedies->analysis, call->path, PROFILE_CALL_SYNC);
        if (call->kind != PROFILE_CALL_SYNC || !path || !path->deferrable)
            continue;
        struct analyze_remedy *remedy = analyze_remedy_at(
            remedies, path->safe ? ANALYZE_UNNECESSARY_SYNC : ANALYZE_MISPLACED_SYNC, call->path, 0,
            0);
        if (!remedy)
            return;
        remedy->finding.calls = path->calls;
        take_wait(remedies, remedy, wait);
        analyze_add_act(remedies, remedy, wait->call, action_of(wait),
                        analyze_waited_ns(model, wait->call));
    }
}

// What is copied, from or to where.
static void take_copy(const struct analyze_model *model, struct analyze_finding *finding,
                      const struct analyze_copy *copy)
{
    const struct analyze_host_block *block = analyze_find_block(&model->host, copy->block);
    const bool first = finding->times == 1;
    finding->moved_bytes += copy->bytes;
    finding->to_host = copy->to_host;
    finding->memory = first || finding->memory == (enum profile_memory)copy->memory
                          ? (enum profile_memory)copy->memory
                          : PROFILE_MEMORY_NONE;
    if (first && copy->object != ANALYZE_NONE)
        finding->object = model->objects.items[copy->object].number;
    if (block && !finding->allocated_path) {
        finding->allocated_path = block->allocated;
        finding->freed_path = block->freed;
    }
}

// Asynchronous copies need pinned memory, at least for the largest of them. Beside times of a
// simulated GPU, what that takes has no meaning.
static uint64_t cost_of(const struct analyze_model *model, const struct analyze_copy *copy)
{
    const uint64_t most = UINT64_C(1) << 40; // of a damaged file
    if (copy->memory != PROFILE_MEMORY_PAGEABLE || !model->host.has_gpu_times)
        return 0;
    return (copy->bytes < most ? copy->bytes : most) / ANALYZE_PINNED_BYTES_A_NS;
}

void analyze_find_transfers(struct analyze_remedies *remedies)
{
    const struct analyze_model *model = remedies->model;
    for (size_t i = 0; i < model->host.copies.count && !remedies->failed; i++) {
        const struct analyze_copy *copy = &model->host.copies.items[i];
        const struct analyze_call *call = &model->calls.items[copy->call];
        uint32_t index = analyze_wait_of(&remedies->waits, copy->call);
        const struct analyze_wait_path *path =
            index == ANALYZE_NONE
                ? NULL
                : analyze_find_wait_path(remedies->analysis, call->path, PROFILE_CALL_COPY);
        if (!path || !path->deferrable)
            continue;
        struct analyze_remedy *remedy =
            analyze_remedy_at(remedies, ANALYZE_SYNCHRONOUS_TRANSFER, call->path, 0, 0);
        if (!remedy)
            return;
        const struct analyze_wait *wait = &remedies->waits.waits.items[index];
        remedy->finding.calls = path->calls;
        take_wait(remedies, remedy, wait);
        take_copy(model, &remedy->finding, copy);
        const uint64_t cost_ns = cost_of(model, copy);
        remedy->cost_ns = remedy->cost_ns > cost_ns ? remedy->cost_ns : cost_ns;
        analyze_add_act(remedies, remedy, copy->call, action_of(wait),
                        analyze_waited_ns(model, copy->call));
    }
}
