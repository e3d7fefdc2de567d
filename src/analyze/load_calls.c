// SPDX-License-Identifier: Apache-2.0
// Reads calls in one pass, and what each touched: copies and sets by their ranges, launches by the
// accesses that probes recorded, which are merged into that pass.
#include "loading.h"

static struct analyze_touch *add_touch(struct analyze_loading *loading, uint64_t object,
                                       unsigned how)
{
    struct analyze_model *model = loading->model;
    uint32_t index = analyze_find_object(model, object);
    if (index == ANALYZE_NONE)
        return NULL;
    struct analyze_touch *touch = base_array_push(&model->touches);
    loading->failed |= !touch || model->touches.count >= ANALYZE_NONE;
    if (!touch)
        return NULL;
    touch->call = (uint32_t)(model->calls.count - 1);
    touch->object = index;
    touch->node = loading->node;
    touch->maker = loading->maker;
    touch->how = (uint8_t)how;
    return touch;
}

// Adds the objects behind the first one that a copy or set reaches with its bytes up to `end`. If
// they are not one row, the range must not count as overwritten, because some may remain unwritten.
static void add_beyond(struct analyze_loading *loading, unsigned how, uint64_t first, uint64_t end,
                       bool one_row)
{
    struct analyze_model *model = loading->model;
    const uint64_t call = model->calls.items[model->calls.count - 1].number;
    for (uint32_t index;
         (index = analyze_beyond_next(&loading->beyond, call, &first, end)) != ANALYZE_NONE;) {
        const struct analyze_object *object = &model->objects.items[index];
        struct analyze_touch *touch = add_touch(loading, object->number, how);
        struct analyze_reached *reached = touch ? base_array_push(&model->reached) : NULL;
        loading->failed |= touch && !reached;
        if (!reached)
            return;
        *reached =
            (struct analyze_reached){call, object->number, how & ANALYZE_READ, how & ANALYZE_WRITE};
        const uint64_t bytes = end - object->address;
        touch->rows = one_row || !(how & ANALYZE_WRITE);
        touch->row_bytes = one_row && bytes < object->bytes ? bytes : object->bytes;
    }
}

// Adds the rows that a copy or set touches. The slices of a three-dimensional one are not tracked,
// so it counts as touching the whole object.
static void add_range(struct analyze_loading *loading, uint64_t number, unsigned how,
                      uint64_t address, uint64_t bytes, const uint64_t shape[4])
{
    struct analyze_touch *touch = add_touch(loading, number, how);
    if (!touch)
        return;
    const struct analyze_object *object = &loading->model->objects.items[touch->object];
    const uint64_t pitch = shape[0], width = shape[1], height = shape[2], depth = shape[3];
    const uint64_t end_of_object = object->address + object->bytes;
    touch->offset = address - object->address;
    touch->rows = 1;
    touch->row_bytes = bytes;
    if (depth > 1 || address < object->address || touch->offset >= object->bytes ||
        height > UINT32_MAX) {
        touch->offset = 0;
        touch->row_bytes = object->bytes;
        touch->beyond = true;
        // Some bytes may remain unwritten, so the range must not count as overwritten.
        if (how & ANALYZE_WRITE)
            touch->rows = 0;
        // Slices are at least as far apart as their rows take.
        if (depth > 1 && pitch && height <= UINT32_MAX && depth <= UINT32_MAX)
            add_beyond(loading, how, end_of_object, address + pitch * height * depth, false);
        return;
    }
    if (width && height > 1 && pitch != width) {
        touch->rows = (uint32_t)height;
        touch->row_bytes = width;
        touch->pitch = pitch;
    }
    uint64_t extent = touch->row_bytes + (touch->rows - 1) * touch->pitch;
    touch->beyond = extent > object->bytes - touch->offset;
    const bool one_row = touch->rows == 1;
    if (one_row && touch->beyond)
        touch->row_bytes = object->bytes - touch->offset;
    if (touch->beyond)
        add_beyond(loading, how, end_of_object, address + extent, one_row);
}

static void add_copy(struct analyze_loading *loading, const struct profile_copy *copy)
{
    add_range(loading, copy->from_object, ANALYZE_READ, copy->from, copy->bytes,
              (uint64_t[]){copy->from_pitch, copy->width_bytes, copy->height, copy->depth});
    add_range(loading, copy->to_object, ANALYZE_WRITE, copy->to, copy->bytes,
              (uint64_t[]){copy->to_pitch, copy->width_bytes, copy->height, copy->depth});
}

static void add_set(struct analyze_loading *loading, const struct profile_set *set)
{
    add_range(loading, set->object, ANALYZE_WRITE, set->address, set->bytes,
              (uint64_t[]){set->pitch, set->width_bytes, set->height, 1});
}

static bool ends_on_host(const struct profile_copy *copy)
{
    return copy->direction == PROFILE_HOST_TO_DEVICE || copy->direction == PROFILE_DEVICE_TO_HOST ||
           copy->direction == PROFILE_HOST_TO_HOST;
}

static void next_access(struct analyze_loading *loading)
{
    const struct analyze_listener *listener = loading->listener;
    if (listener && !loading->ended)
        loading->ended = !listener->access(listener->user, loading->access);
    loading->access = profile_accesses_next(loading->accesses);
}

// Takes the objects that something else may use than calls show, and those whose addresses lie in
// memory. They precede all accesses.
static void take_shared(struct analyze_loading *loading)
{
    for (; loading->access && !loading->access->call;
         loading->access = profile_accesses_next(loading->accesses)) {
        const uint32_t index = analyze_find_object(loading->model, loading->access->object);
        if (index == ANALYZE_NONE)
            continue;
        struct analyze_object *object = &loading->model->objects.items[index];
        object->elsewhere |= !loading->access->passed;
        object->is_addressed |= loading->access->passed;
    }
}

// What is known of the accesses of a kernel.
enum knowledge { UNKNOWN, PASSED, OBSERVED };

// Adds the accesses that were recorded for a node of the call; node 0 is the call itself. Returns
// what they are known by. Sampled launches may access more than they were seen to, in ways that are
// not patched, so they hide as much as others that are known by their arguments.
static enum knowledge add_accesses(struct analyze_loading *loading, uint64_t call, uint32_t node,
                                   uint32_t kernel)
{
    enum knowledge known = UNKNOWN;
    for (; loading->access && loading->access->call == call && loading->access->node <= node;
         next_access(loading)) {
        const struct profile_access *access = loading->access;
        struct analyze_touch *touch =
            add_touch(loading, access->object,
                      (access->read || access->sampled ? ANALYZE_READ : 0u) |
                          (access->written || access->sampled ? ANALYZE_WRITE : 0u));
        if (access->node == node)
            known = access->passed && known != OBSERVED ? PASSED : OBSERVED;
        if (!touch)
            continue;
        touch->is_kernel = true;
        touch->passed = access->passed;
        touch->sampled = access->sampled;
        touch->kernel = kernel;
        touch->elements = access->elements;
        touch->new_elements = access->new_elements;
        touch->shared_elements = access->shared_elements;
        touch->element_bytes = access->element_bytes;
    }
    return known;
}

_Static_assert((int)ANALYZE_UNSEEN_POINTER == PROFILE_DOUBT_POINTER &&
                   (int)ANALYZE_UNSEEN_REASONS == PROFILE_DOUBT_KINDS &&
                   (int)ANALYZE_UNSEEN_UNWATCHED == PROFILE_DOUBT_OTHER,
               "reasons are doubts");

// Returns the reasons why the accesses of a node of the call are incomplete; node 0 is the call
// itself.
static uint32_t doubts_of(struct analyze_loading *loading, uint64_t call, uint32_t node)
{
    uint32_t doubts = 0;
    for (; loading->doubt < loading->doubts.count; loading->doubt++) {
        const struct profile_doubt *doubt = &loading->doubts.items[loading->doubt];
        if (doubt->call > call || (doubt->call == call && doubt->node > node))
            break;
        if (doubt->call == call && doubt->node == node)
            doubts |= 1u << doubt->kind;
    }
    return doubts;
}

// Adds reasons why the current call may access every object.
static void add_hidden(struct analyze_loading *loading, uint32_t reasons)
{
    loading->unseen |= reasons;
    loading->hidden |= reasons != 0;
}

static void add_kernel(struct analyze_loading *loading, struct analyze_call *row, uint32_t node,
                       const struct profile_launch *launch)
{
    enum knowledge known = add_accesses(loading, row->number, node, launch->kernel);
    if (node == 0 && known != OBSERVED) // it may pass more than its accesses show
        known = launch->flags & PROFILE_LAUNCH_PASSED ? PASSED : UNKNOWN;
    const uint32_t doubts = doubts_of(loading, row->number, node) | loading->whole;
    row->flags |= ANALYZE_LAUNCHES;
    if (!base_map_get(&loading->calm, launch->kernel))
        row->flags |= ANALYZE_ACTS;
    if (base_map_get(&loading->loud, launch->kernel))
        row->flags |= ANALYZE_PRINTS;
    add_hidden(loading, doubts);
    if ((known != OBSERVED && !doubts && !(launch->flags & PROFILE_LAUNCH_WATCHED)) ||
        base_map_get(&loading->blind, launch->kernel)) {
        loading->unseen |= 1u << ANALYZE_UNSEEN_UNWATCHED;
        loading->hidden |= known != PASSED;
    }
}

static uint8_t maker_of(const struct profile_node *node)
{
    if (node->kind == PROFILE_NODE_COPY)
        return ends_on_host(&node->copy) ? ANALYZE_MADE_BY_HOST_COPY : ANALYZE_MADE_BY_COPY;
    return node->kind == PROFILE_NODE_SET ? ANALYZE_MADE_BY_SET : ANALYZE_MADE_BY_CALL;
}

// Returns whether a node of a graph, which is no kernel, does more than its accesses to known
// objects show.
static bool acts(const struct analyze_model *model, const struct profile_node *node)
{
    switch (node->kind) {
    case PROFILE_NODE_KERNEL:
    case PROFILE_NODE_GRAPH:
    case PROFILE_NODE_EMPTY: return false;
    case PROFILE_NODE_COPY: return analyze_find_object(model, node->copy.to_object) == ANALYZE_NONE;
    case PROFILE_NODE_SET: return analyze_find_object(model, node->set.object) == ANALYZE_NONE;
    default: return true;
    }
}

static void add_graph_launch(struct analyze_loading *loading, struct analyze_call *row,
                             uint64_t number)
{
    const struct analyze_loading_graph *graph = analyze_loading_find_graph(loading, number);
    if (!graph) {
        row->flags |= ANALYZE_LAUNCHES;
        add_hidden(loading, 1u << ANALYZE_UNSEEN_UNWATCHED);
        return;
    }
    row->graph = graph->index + 1;
    loading->whole = doubts_of(loading, row->number, 0);
    add_hidden(loading, loading->whole);
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct profile_node *node = &graph->nodes[i];
        loading->node = i;
        loading->maker = maker_of(node);
        row->flags |= acts(loading->model, node) ? ANALYZE_ACTS : 0;
        switch (node->kind) {
        case PROFILE_NODE_KERNEL: add_kernel(loading, row, i + 1, &node->launch); break;
        case PROFILE_NODE_COPY: add_copy(loading, &node->copy); break;
        case PROFILE_NODE_SET: add_set(loading, &node->set); break;
        // A conditional node, for example, may do anything. A child graph's nodes follow it in the
        // list.
        case PROFILE_NODE_OTHER:
            row->flags |= ANALYZE_LAUNCHES;
            add_hidden(loading, 1u << ANALYZE_UNSEEN_UNWATCHED);
            break;
        default: break;
        }
    }
    loading->node = 0;
    loading->whole = 0;
    loading->maker = ANALYZE_MADE_BY_CALL;
}

static uint32_t blocks_of(const struct profile_launch *launch)
{
    uint64_t blocks = launch->grid[0];
    for (unsigned i = 1; i < 3; i++)
        blocks = blocks < UINT32_MAX ? blocks * launch->grid[i] : blocks;
    return blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
}

static void take_details(struct analyze_loading *loading, struct analyze_call *row,
                         const struct profile_call *call)
{
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH:
        row->kernel = call->launch.kernel;
        row->blocks = blocks_of(&call->launch);
        add_kernel(loading, row, 0, &call->launch);
        break;
    case PROFILE_CALL_GRAPH_LAUNCH: add_graph_launch(loading, row, call->graph); break;
    case PROFILE_CALL_COPY:
        row->flags |= ends_on_host(&call->copy) ? ANALYZE_HOST_END : 0;
        add_copy(loading, &call->copy);
        break;
    case PROFILE_CALL_SET: add_set(loading, &call->set); break;
    case PROFILE_CALL_SYNC:
    case PROFILE_CALL_EVENT_RECORD:
    case PROFILE_CALL_EVENT_WAIT:
        row->event = call->sync.event;
        row->record = call->sync.record;
        row->sync_stream = call->sync.stream;
        break;
    // Stream memory operations, by which the GPU writes values or waits for them.
    default:
        add_accesses(loading, call->number, 0, 0);
        add_hidden(loading, doubts_of(loading, call->number, 0));
        row->flags |= loading->unseen ? ANALYZE_LAUNCHES : 0;
        break;
    }
}

static void take_unseen(struct analyze_loading *loading, struct analyze_call *row)
{
    if (loading->unseen)
        row->flags |= loading->hidden ? ANALYZE_UNSEEN : ANALYZE_UNSEEN | ANALYZE_PASSED;
    for (unsigned reason = 0; loading->hidden && reason < ANALYZE_UNSEEN_REASONS; reason++)
        loading->model->unseen_because[reason] += loading->unseen >> reason & 1;
    loading->unseen = 0;
    loading->hidden = false;
}

bool analyze_is_failure(int32_t result)
{
    enum { DEINITIALIZED = 4, NOT_READY = 600, CONTEXT_IS_DESTROYED = 709 };
    return result && result != DEINITIALIZED && result != NOT_READY &&
           result != CONTEXT_IS_DESTROYED;
}

bool analyze_is_fatal(int32_t result)
{
    enum { ECC_UNCORRECTABLE = 214, ILLEGAL_ADDRESS = 700, LAUNCH_TIMEOUT = 702, ASSERT = 710 };
    enum { HARDWARE_STACK_ERROR = 714, LAUNCH_FAILED = 719 }; // and others between them
    return result == ECC_UNCORRECTABLE || result == ILLEGAL_ADDRESS || result == LAUNCH_TIMEOUT ||
           result == ASSERT || (result >= HARDWARE_STACK_ERROR && result <= LAUNCH_FAILED);
}

// Marks the object that a call was to free. The pointer may be a wrong one, into the object.
static void mark_unfreed(struct analyze_loading *loading, const struct profile_range *range)
{
    struct analyze_model *model = loading->model;
    uint32_t index = analyze_find_object(model, range->object);
    for (uint32_t i = 0; i < model->objects.count && index == ANALYZE_NONE; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!object->has_end && range->address - object->address < object->bytes)
            index = i;
    }
    if (index != ANALYZE_NONE)
        model->objects.items[index].free_failed = true;
}

// What a failed call was to use is not known to be unused, and what it was to free is no leak.
static void take_failure(struct analyze_loading *loading, struct analyze_call *row,
                         const struct profile_call *call)
{
    struct analyze_model *model = loading->model;
    if (!analyze_is_failure(call->result))
        return;
    model->any_failed = true;
    if (analyze_is_fatal(call->result) && !model->fatal)
        model->fatal = (uint32_t)model->calls.count;
    if (call->kind == PROFILE_CALL_FREE)
        mark_unfreed(loading, &call->range);
    if (call->kind == PROFILE_CALL_LAUNCH || call->kind == PROFILE_CALL_GRAPH_LAUNCH ||
        call->kind == PROFILE_CALL_COPY || call->kind == PROFILE_CALL_SET ||
        analyze_is_fatal(call->result)) {
        row->flags |= ANALYZE_UNSEEN;
        model->failed_uses++;
    }
}

static bool take_call(void *user, const struct profile_call *call)
{
    struct analyze_loading *loading = user;
    struct analyze_model *model = loading->model;
    while (loading->access && loading->access->call < call->number) // of missing calls
        next_access(loading);
    if (loading->listener && !loading->ended)
        loading->ended = !loading->listener->call(loading->listener->user, call);
    loading->failed |= !analyze_add_unfinished(model, call->number);
    struct analyze_call *row = base_array_push(&model->calls);
    loading->failed |= !row || model->calls.count >= ANALYZE_NONE;
    if (loading->failed)
        return false;
    *row = (struct analyze_call){.number = call->number,
                                 .thread = call->thread,
                                 .context = call->context,
                                 .stream = call->stream,
                                 .path = call->path,
                                 .touches = (uint32_t)model->touches.count,
                                 .kind = (uint8_t)call->kind};
    if (call->flags & PROFILE_CALL_WAITED)
        row->flags |= ANALYZE_WAITED;
    if (call->flags & PROFILE_CALL_ASYNC)
        row->flags |= ANALYZE_ASYNC;
    if (call->has_gpu_time && !model->simulated && call->gpu_end_ns > call->gpu_start_ns)
        row->gpu_ns = (uint64_t)(call->gpu_end_ns - call->gpu_start_ns);
    if (call->result == 0 && !(call->flags & PROFILE_CALL_CAPTURED)) {
        row->flags |= ANALYZE_WORKS;
        take_details(loading, row, call);
        take_unseen(loading, row);
    }
    take_failure(loading, row, call);
    analyze_load_host_call(&loading->host, call);
    return !loading->failed && !loading->ended;
}

// A record that was being written when the program ended may be of any kind. What it describes
// happened last, so it is treated as one more call that did not return.
static void add_last_unfinished(struct analyze_loading *loading,
                                const struct profile_program *program)
{
    uint64_t last = loading->last_call;
    const struct analyze_model *model = loading->model;
    if (program->has_end && program->calls_made > last)
        last = program->calls_made;
    if (model->calls.count && model->calls.items[model->calls.count - 1].number > last)
        last = model->calls.items[model->calls.count - 1].number;
    if (last < UINT64_MAX - 1)
        loading->failed |= !analyze_add_unfinished(loading->model, last + 1 + loading->cut_off);
}

enum base_code analyze_load_calls(struct analyze_loading *loading, struct profile *profile,
                                  struct base_error *error)
{
    enum base_code code = profile_accesses_begin(profile, &loading->accesses, error);
    loading->access = profile_accesses_next(loading->accesses);
    take_shared(loading);
    if (analyze_loading_goes_on(loading, code))
        code = profile_each_call(profile, take_call, loading, error);
    while (code == BASE_OK && !loading->failed && loading->access) // of missing calls
        next_access(loading);
    if (code == BASE_OK && !loading->failed)
        add_last_unfinished(loading, profile_program(profile));
    const enum base_code ended =
        profile_accesses_end(loading->accesses, code == BASE_OK ? error : NULL);
    return code == BASE_OK ? ended : code;
}
