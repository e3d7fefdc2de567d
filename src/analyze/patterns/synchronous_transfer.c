// SPDX-License-Identifier: Apache-2.0
// synchronous-transfer: a copy between host and device that makes the program wait although nothing
// needs it to be over when it returns. The fix makes it asynchronous.
#include "analyze/remedies.h"

// Adds a copy to the remedy of its call path, which has counted its wait.
static void take_copy(const struct analyze_model *model, struct analyze_remedy *remedy,
                      const struct analyze_copy *copy)
{
    const struct analyze_host_block *block = analyze_find_block(&model->host, copy->block);
    const enum profile_memory memory = (enum profile_memory)copy->memory;
    const bool first = remedy->finding.times == 1;
    struct analyze_wait_facts *facts = &remedy->facts;
    facts->bytes += copy->bytes;
    analyze_set_direction(facts, copy->to_host);
    analyze_set_memory(facts, first || facts->memory == memory ? memory : PROFILE_MEMORY_NONE);
    if (first && copy->object != ANALYZE_NONE)
        remedy->finding.object = model->objects.items[copy->object].number;
    if (block && !facts->allocated_path) {
        facts->allocated_path = block->allocated;
        facts->freed_path = block->freed;
    }
}

// An asynchronous copy needs pinned memory. Pinning it has no meaningful time on a simulated GPU.
static uint64_t cost_of(const struct analyze_model *model, const struct analyze_copy *copy)
{
    const uint64_t most = UINT64_C(1) << 40; // a damaged file may hold any size
    if (copy->memory != PROFILE_MEMORY_PAGEABLE || !model->host.has_gpu_times)
        return 0;
    return (copy->bytes < most ? copy->bytes : most) / ANALYZE_PINNED_BYTES_A_NS;
}

static void find(struct analyze_remedies *remedies)
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
        bool is_new;
        struct analyze_remedy *remedy = analyze_remedy_at(remedies, ANALYZE_SYNCHRONOUS_TRANSFER,
                                                          call->path, 0, copy->to_host, &is_new);
        if (!remedy)
            return;
        const struct analyze_wait *wait = &remedies->waits.waits.items[index];
        remedy->facts.calls += is_new ? path->calls : 0;
        analyze_take_wait(remedies, remedy, wait);
        take_copy(model, remedy, copy);
        // Memory is pinned once, for the largest of the copies.
        const uint64_t cost_ns = cost_of(model, copy);
        remedy->cost_ns = remedy->cost_ns > cost_ns ? remedy->cost_ns : cost_ns;
        analyze_add_act(remedies, remedy, copy->call, analyze_action_of(wait),
                        analyze_waited_ns(model, copy->call));
    }
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    ANALYZE_WAIT_FIELDS, ANALYZE_USE_FIELDS, ANALYZE_COPY_FIELDS, {0}};

const struct analyze_description analyze_synchronous_transfer = {
    .name = "synchronous-transfer",
    .title = "Synchronous copy",
    .definition = "A copy makes the program wait for the GPU, although nothing needs it to be "
                  "finished when it returns.",
    .remedy = "Make the copy asynchronous, and pin the host memory that it uses.",
    .paper = "Welton and Miller, ICS 2020",
    .needs = ANALYZE_INPUT_SYNC,
    .correction = "the copy does not wait; its data arrives when it is used",
    .roles = {[ANALYZE_CALL] = {"copied", "the copy"}},
    .thresholds = {&analyze_late_use_us, &analyze_late_use_percent, &analyze_late_use_calls,
                   &analyze_wait_us, &analyze_wait_percent},
    .fields = fields,
    .message = "{if brief}the wait of {call:name} for {bytes} is not needed{if repeated}, {times} "
               "times{end}{else}"
               "{call:at} makes the program wait to copy {bytes} {if is_pageable}{if "
               "to_host}to{else}from{end} pageable host memory{elif to_host}to the host{else}to "
               "the device{end}, but {if not to_host}nothing needs the copy to be finished when it "
               "returns{elif use_ns}the CPU uses the data at least " ANALYZE_TEXT_LATER
               "{else}the CPU uses none of the data before the next "
               "synchronization{end}" ANALYZE_TEXT_WAITED "{end}",
    .suggestion =
        "{if brief}make it asynchronous{if not is_pinned}, with pinned host memory{end}{if "
        "use_call_path}, and wait at {use_call_path}{end}{else}"
        "{if to_host}{if not use_ns}remove it if nothing uses the data; otherwise {end}{end}make "
        "it asynchronous{if not is_pinned}, pin its host memory{if allocated_call_path} (allocated "
        "at {allocated_call_path}{if freed_call_path}, freed at "
        "{freed_call_path}{end}){end}{end}{if not to_host}, and do not change that memory until "
        "the copy has finished{elif use_ns}, and wait for it before the first use" ANALYZE_TEXT_USE
        "{end}" ANALYZE_TEXT_ALONE "{end}",
    .find_remedies = find,
};
