// SPDX-License-Identifier: Apache-2.0
// Searches arguments for addresses: each aligned word of each parameter. Kernels without probes are
// those whose modules have no PTX that glint can rewrite, and those that the user excludes from
// probes. A word also counts if it points to the end of an object, or an element before it, because
// programs pass such addresses (ends of ranges, arrays that begin at 1); see core_objects_pointed.
//
// A kernel may also find addresses in memory. Those that copies bring there are noticed by
// sources/tables.c. A launch that is passed memory into which the host may have written others is
// unknown.
#include "passed.h"

#include <string.h>

#include "inject/core/object_records.h"
#include "inject/core/params.h"

struct passed_words {
    const struct core_call *call; // NULL: nothing is recorded
    struct probe_passed_objects objects;
    uint32_t node; // 1 + index; 0: a launch
    bool unknown;  // more may be accessed
};

static bool is_new(struct passed_words *passing, uint64_t number)
{
    struct probe_passed_objects *objects = &passing->objects;
    for (uint32_t i = 0; i < objects->count; i++) {
        if (objects->numbers[i] == number)
            return false;
    }
    if (objects->count == PROBE_PASSED_MOST) {
        passing->unknown = true;
        return false;
    }
    objects->numbers[objects->count++] = number;
    return true;
}

static void pass_word(struct passed_words *passing, uint64_t word)
{
    const struct core_objects_pointed found = core_objects_pointed(&core_state.objects, word);
    passing->unknown |= found.leads_on;
    for (size_t i = 0; i < found.count; i++) {
        if (is_new(passing, found.numbers[i]) && passing->call)
            core_object_accessed(passing->call->number, passing->node, found.numbers[i],
                                 EVENT_ACCESS_READ | EVENT_ACCESS_WRITTEN | EVENT_ACCESS_PASSED,
                                 true);
    }
}

static void pass_value(void *user, const unsigned char *value, size_t bytes)
{
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, value + i, sizeof(word));
        pass_word(user, word);
    }
}

// Returns whether launches of the kernel that run without probes are known by their arguments.
static bool is_passed(const void *function)
{
    const struct probe_kernel *kernel = probe_kernel_of(function);
    return kernel && kernel->is_passed && (!kernel->about || kernel->is_compiled);
}

// Returns whether launches may read linear memory through textures, which have handles and no
// addresses. Then they stay unknown.
static bool hides_in_textures(void)
{
    return atomic_load_explicit(&core_state.linear_textures, memory_order_relaxed);
}

static void begin(struct passed_words *passing, const struct core_call *call, uint32_t node)
{
    passing->call = call;
    passing->objects.count = 0;
    passing->node = node;
    passing->unknown = false;
}

bool probe_passed_find(const void *function, void **pointers, void **extra,
                       struct probe_passed_objects *objects)
{
    struct passed_words passing;
    if (!is_passed(function) || hides_in_textures())
        return false;
    begin(&passing, NULL, 0);
    const bool known = core_params_each(function, pointers, extra, pass_value, &passing);
    *objects = passing.objects;
    return known && !passing.unknown;
}

bool probe_passed_by(const struct probe_kernel *kernel, const struct probe_params *params,
                     struct probe_passed_objects *objects)
{
    const struct instrument_kernel *about = kernel->about;
    struct passed_words passing;
    if (hides_in_textures())
        return false;
    begin(&passing, NULL, 0);
    for (uint32_t i = 0; i < about->param_count; i++)
        pass_value(&passing, params->values + about->params[i].offset, about->params[i].bytes);
    for (uint32_t i = 0; i < about->root_count; i++) {
        pass_word(&passing, params->given[i]);
        pass_word(&passing, params->roots[i]);
    }
    *objects = passing.objects;
    return !passing.unknown;
}

static void record(struct core_call *call, const struct probe_passed_objects *objects)
{
    for (uint32_t i = 0; i < objects->count; i++)
        core_object_accessed(call->number, 0, objects->numbers[i],
                             EVENT_ACCESS_READ | EVENT_ACCESS_WRITTEN | EVENT_ACCESS_PASSED, true);
    call->detail.launch.flags |= EVENT_LAUNCH_PASSED;
}

void probe_passed_launch(struct core_call *call, const void *function, void **pointers,
                         void **extra)
{
    struct passed_words passing;
    if (call->alike) {
        record(call, call->alike);
        return;
    }
    if (call->flags & EVENT_CALL_CAPTURED || !is_passed(function) || hides_in_textures())
        return;
    begin(&passing, call, 0);
    if (core_params_each(function, pointers, extra, pass_value, &passing) && !passing.unknown)
        call->detail.launch.flags |= EVENT_LAUNCH_PASSED;
}

// --- Graphs --------------------------------------------------------------------------------------

struct noting {
    struct probe_passed_nodes *nodes;
    uint32_t index;
};

static void note_value(void *user, const unsigned char *value, size_t bytes)
{
    const struct noting *noting = user;
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, value + i, sizeof(word));
        if (word < UINT16_MAX || word >> 57) // no address that a GPU has
            continue;
        struct probe_passed_word *row = base_array_push(&noting->nodes->words);
        if (!row)
            core_no_memory();
        else
            *row = (struct probe_passed_word){word, noting->index};
    }
}

void probe_passed_add(struct probe_passed_nodes *nodes, uint32_t index, const void *function,
                      const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct noting noting = {nodes, index};
    if (is_passed(function) &&
        !core_params_each(function, params->kernelParams, params->extra, note_value, &noting))
        probe_passed_forget(nodes, index, 1); // a node without words stays unknown
}

void probe_passed_forget(struct probe_passed_nodes *nodes, uint32_t index, uint32_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < nodes->words.count; i++) {
        if (nodes->words.items[i].index - index >= count)
            nodes->words.items[kept++] = nodes->words.items[i];
    }
    nodes->words.count = kept;
}

// Says that a node may access more than was recorded.
static void doubt(const struct passed_words *passing)
{
    const struct event_told record = {passing->call->number, passing->node,
                                      1u << EVENT_DOUBT_POINTER};
    core_put(EVENT_TOLD, &record, sizeof(record), NULL, 0);
}

void probe_passed_replay(struct core_call *call, const struct probe_passed_nodes *nodes)
{
    struct passed_words passing;
    if (call->flags & EVENT_CALL_CAPTURED || hides_in_textures())
        return;
    begin(&passing, call, 0);
    for (size_t i = 0; i < nodes->words.count; i++) {
        const struct probe_passed_word *word = &nodes->words.items[i];
        if (passing.node != word->index + 1)
            begin(&passing, call, word->index + 1);
        const bool known = !passing.unknown;
        pass_word(&passing, word->word);
        if (known && passing.unknown)
            doubt(&passing);
    }
}
