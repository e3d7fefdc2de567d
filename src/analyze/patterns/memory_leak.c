// SPDX-License-Identifier: Apache-2.0
// memory-leak: neither the host nor, for memory that a kernel allocates, a kernel frees the object.
// The fix frees it after its last access.
#include "analyze/analyses.h"
#include "analyze/horizon.h"

struct leak {
    bool is_heap;     // allocated by a kernel
    bool may_be_used; // after the last known access
};

static bool can_leak(const struct analyze_object *object)
{
    if (object->is_segment) // PyTorch's allocator keeps it for other tensors
        return false;
    switch (object->kind) {
    case PROFILE_OBJECT_DEVICE:
    case PROFILE_OBJECT_PITCHED:
    case PROFILE_OBJECT_ARRAY:
    case PROFILE_OBJECT_POOL:
    case PROFILE_OBJECT_MAPPING:
    case PROFILE_OBJECT_HEAP: return true;
    case PROFILE_OBJECT_MANAGED: return object->call != ANALYZE_NONE; // otherwise it is a variable
    case PROFILE_OBJECT_PART:
    case PROFILE_OBJECT_TENSOR: return !object->is_host;
    default: return false;
    }
}

// Returns whether the program frees the object. The end of the process or of a context is not a
// free. A part ends with its pool at the latest.
static bool is_freed(const struct analyze_model *model, const struct analyze_object *object)
{
    if (object->kind == PROFILE_OBJECT_PART && object->end == ANALYZE_NONE)
        return object->has_end; // older profiles have no calls that end parts
    return object->end != ANALYZE_NONE &&
           model->calls.items[object->end].kind != PROFILE_CALL_CONTEXT;
}

// Returns whether the program's attempt to free the object failed, or a kernel failed before it
// could: then that failure is to be fixed.
static bool could_not_be_freed(const struct analyze_model *model,
                               const struct analyze_object *object)
{
    return object->free_failed || (model->fatal && analyze_begin(object) < model->fatal);
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    if (!model->ended) // it might still have been freed
        return;
    struct analyze_horizon horizon;
    run->failed |= !analyze_horizon_of_objects(&horizon, model, run->clocks);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!can_leak(object) || object->bytes == 0 || is_freed(model, object) ||
            could_not_be_freed(model, object))
            continue;
        struct analyze_finding finding =
            analyze_begin_finding(run, ANALYZE_MEMORY_LEAK, i, object->call, object->last);
        // If the object may be used later without being observed, no gain is claimed. Nor if it is
        // unused: then unused-allocation gains at least as much.
        uint32_t from = object->last == ANALYZE_NONE ? analyze_begin(object) : object->last + 1;
        uint32_t to = analyze_end(model, object);
        const struct leak leak = {.is_heap = object->kind == PROFILE_OBJECT_HEAP,
                                  .may_be_used = !analyze_is_subject(object) ||
                                                 analyze_first_hidden(model, object, from, to) !=
                                                     ANALYZE_NONE};
        analyze_set_payload(&finding, leak);
        if (object->last != ANALYZE_NONE) // what other streams use then needs memory of its own
            run->failed |= !analyze_needed_until(&horizon, object->last, to, &from);
        analyze_add_shorter(run, &finding, object, from, to,
                            leak.may_be_used || analyze_is_unused(model, object) ? 0
                                                                                 : object->bytes);
    }
    analyze_horizon_fini(&horizon);
}

static const struct analyze_field fields[] = {
    {"last_access", "the last access to the object; null if nothing accesses it",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"is_heap", NULL, ANALYZE_OWN(FLAG, struct leak, is_heap)},
    {"may_be_used", NULL, ANALYZE_OWN(FLAG, struct leak, may_be_used)},
    {0},
};

const struct analyze_description analyze_memory_leak = {
    .name = "memory-leak",
    .title = "Never freed",
    .definition = "The object is still allocated when the process or its context ends.",
    .remedy = "Free the object after its last access.",
    .paper = "DrGPUM, definition 3.5",
    .needs = ANALYZE_INPUT_OBJECTS,
    .needs_no_probes = true,
    .takes_arguments = true,
    .waste = ANALYZE_WASTE_AFTER_LAST_USE,
    .roles = {[ANALYZE_CALL] = {"allocated", "the allocation"},
              [ANALYZE_OTHER_CALL] = {"last used", "the last access"}},
    .fields = fields,
    .message = "{object}{if is_heap}, which a kernel allocated,{end} is never freed",
    .suggestion =
        "free {object:name}{if is_heap} in a kernel{elif may_be_used} when it is no longer "
        "needed{elif other_call} after {other_call}{else}, or remove it: nothing uses it{end}",
    .find = find,
};
