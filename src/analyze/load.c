// SPDX-License-Identifier: Apache-2.0
// Reads the model from a profile: objects first, then all calls in one pass. Accesses that probes
// recorded are merged into that pass, because they say what each call touched.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "beyond.h"
#include "model.h"

struct graph {
    struct profile_node *nodes;
    uint32_t count;
    uint32_t index; // in the model
};

struct loading {
    struct analyze_model *model;
    bool failed;            // memory ran out
    bool cut_off;           // a record was being written when the program ended
    uint64_t last_call;     // the highest number of a call that made or ended an object
    struct base_map graphs; // number to struct graph *
    struct base_map blind;  // numbers of kernels whose probes miss some accesses, or that have none
    struct base_map calm;   // numbers of kernels that do nothing but access memory
    BASE_ARRAY(struct profile_doubt) doubts; // by call, then by node
    size_t doubt;                            // index of the next doubt to merge
    uint32_t unseen; // reasons of the current call: sum of 1 << enum analyze_unseen
    uint32_t whole;  // those that hold for all nodes of a graph's launch
    uint32_t node;   // index of the node to which new touches belong
    uint8_t maker;   // enum analyze_maker, of new touches
    struct profile_accesses *accesses;
    const struct profile_access *access; // the next access to merge; NULL at the end
    const struct analyze_listener *listener;
    bool ended;                    // the listener asked to stop
    uint64_t run_first, run_count; // the current run of untouched elements
    uint64_t map_next;             // the element after the last piece of the map
    struct analyze_host_loading host;
    struct analyze_beyond beyond;
};

// --- Definitions ---------------------------------------------------------------------------------

static bool take_dropped(void *user, const struct profile_dropped *dropped)
{
    struct loading *loading = user;
    const bool unfinished = dropped->kind && strcmp(dropped->kind, PROFILE_UNFINISHED) == 0;
    loading->model->dropped |= dropped->count != 0 && !unfinished;
    loading->cut_off |= dropped->count != 0 && unfinished;
    return true;
}

static bool take_stream(void *user, const struct profile_stream *stream)
{
    struct loading *loading = user;
    struct analyze_stream *row = base_array_push(&loading->model->streams);
    loading->failed |= !row;
    if (row)
        *row = (struct analyze_stream){stream->number, stream->context, stream->flags};
    return row != NULL;
}

static bool take_probe(void *user, const struct profile_probe *probe)
{
    struct loading *loading = user;
    if (probe->facts & PROFILE_PROBE_ONLY_MEMORY)
        loading->failed |= !base_map_put(&loading->calm, probe->kernel, NULL);
    if (!probe->facts || probe->reason)
        loading->failed |= !base_map_put(&loading->blind, probe->kernel, NULL);
    return !loading->failed;
}

static bool take_doubt(void *user, const struct profile_doubt *doubt)
{
    struct loading *loading = user;
    struct profile_doubt *row = base_array_push(&loading->doubts);
    loading->failed |= !row;
    if (row)
        *row = *doubt;
    return row != NULL;
}

static bool is_api_node(enum profile_node_kind kind)
{
    return kind >= PROFILE_NODE_KERNEL && kind <= PROFILE_NODE_FREE;
}

static bool take_graph(void *user, const struct profile_graph *graph)
{
    struct loading *loading = user;
    struct base_arena *arena = &loading->model->arena;
    uint64_t *slot = base_map_put(&loading->graphs, graph->number, NULL);
    struct graph *row = slot ? base_new(arena, struct graph) : NULL;
    struct profile_node *nodes =
        row ? base_new_array(arena, struct profile_node, graph->node_count + 1u) : NULL;
    bool *is_api = nodes ? base_new_array(arena, bool, graph->node_count + 1u) : NULL;
    loading->failed |= !is_api;
    if (!is_api)
        return false;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        nodes[i] = graph->nodes[i];
        is_api[i] = is_api_node(nodes[i].kind);
    }
    uint32_t index = analyze_add_graph(loading->model, is_api, graph->node_count);
    *row = (struct graph){nodes, graph->node_count, index};
    *slot = (uint64_t)(uintptr_t)row;
    loading->failed |= index == ANALYZE_NONE;
    if (!loading->failed)
        analyze_load_host_graph(&loading->host, index, graph);
    return !loading->failed;
}

static const struct graph *find_graph(const struct loading *loading, uint64_t number)
{
    const uint64_t *slot = base_map_get(&loading->graphs, number);
    return slot ? (const struct graph *)(uintptr_t)*slot : NULL;
}

static bool take_edge(void *user, const struct profile_edge *edge)
{
    struct loading *loading = user;
    const struct graph *graph = find_graph(loading, edge->graph);
    if (graph && edge->from && edge->to)
        loading->failed |=
            !analyze_add_edge(loading->model, graph->index, edge->from - 1, edge->to - 1);
    return !loading->failed;
}

// --- Objects -------------------------------------------------------------------------------------

// Host memory is not on the device. Imported memory counts for the process that exported it. Module
// globals come with the code and cannot be freed. Parts are already counted in their pool.
bool analyze_counts(enum profile_object_kind kind, uint64_t parent)
{
    switch (kind) {
    case PROFILE_OBJECT_DEVICE:
    case PROFILE_OBJECT_PITCHED:
    case PROFILE_OBJECT_ARRAY:
    case PROFILE_OBJECT_MANAGED:
    case PROFILE_OBJECT_POOL:
    case PROFILE_OBJECT_MAPPING:
    case PROFILE_OBJECT_GRAPH:
    case PROFILE_OBJECT_HEAP: return parent == 0;
    default: return false;
    }
}

static bool is_host(enum profile_object_kind kind)
{
    return kind == PROFILE_OBJECT_PINNED || kind == PROFILE_OBJECT_REGISTERED;
}

// Probes do not see textures and surfaces. Calls do not show the host's accesses to managed memory,
// nor accesses by other processes. Memory that a graph allocates has a new life in each launch.
static bool is_elsewhere(enum profile_object_kind kind)
{
    return kind == PROFILE_OBJECT_ARRAY || kind == PROFILE_OBJECT_MANAGED ||
           kind == PROFILE_OBJECT_IMPORTED || kind == PROFILE_OBJECT_GRAPH ||
           kind == PROFILE_OBJECT_OTHER;
}

// Calls and parents stay numbers until all objects are read; then they become indices.
struct object_numbers {
    uint64_t call, end, parent;
};

struct objects_loading {
    struct loading *loading;
    BASE_ARRAY(struct object_numbers) numbers;
};

static bool take_object(void *user, const struct profile_object *object)
{
    struct objects_loading *objects = user;
    struct analyze_model *model = objects->loading->model;
    const struct analyze_listener *listener = objects->loading->listener;
    struct analyze_object *row = base_array_push(&model->objects);
    struct object_numbers *numbers = row ? base_array_push(&objects->numbers) : NULL;
    objects->loading->failed |= !numbers || model->objects.count >= ANALYZE_NONE;
    if (objects->loading->failed)
        return false;
    *numbers = (struct object_numbers){object->call, object->end_call, object->parent};
    const uint64_t last = object->end_call > object->call ? object->end_call : object->call;
    if (last > objects->loading->last_call)
        objects->loading->last_call = last;
    *row = (struct analyze_object){.name = object->name,
                                   .number = object->number,
                                   .address = object->address,
                                   .bytes = object->bytes,
                                   .device = object->device,
                                   .kind = (uint8_t)object->kind,
                                   .counts = analyze_counts(object->kind, object->parent),
                                   .has_end = object->has_end,
                                   .is_host = is_host(object->kind),
                                   .elsewhere = is_elsewhere(object->kind)};
    objects->loading->failed |= !analyze_beyond_add(&objects->loading->beyond, object,
                                                    (uint32_t)(model->objects.count - 1));
    if (listener)
        objects->loading->ended |= !listener->object(listener->user, object);
    return !objects->loading->ended;
}

static void resolve_objects(struct analyze_model *model, const struct object_numbers *numbers)
{
    for (size_t i = 0; i < model->objects.count; i++) {
        struct analyze_object *object = &model->objects.items[i];
        assert(numbers); // there is one for each object
        object->call = analyze_find_call(model, numbers[i].call);
        model->dropped |= numbers[i].call && object->call == ANALYZE_NONE;
        object->end = object->has_end ? analyze_find_call(model, numbers[i].end) : ANALYZE_NONE;
        model->dropped |= object->has_end && numbers[i].end && object->end == ANALYZE_NONE;
        object->parent = analyze_find_object(model, numbers[i].parent);
        if (object->parent != ANALYZE_NONE) {
            struct analyze_object *whole = &model->objects.items[object->parent];
            whole->has_parts = true;
            object->is_host |= whole->is_host;
            object->elsewhere |= whole->elsewhere;
        }
        if (object->is_host && object->call != ANALYZE_NONE)
            model->calls.items[object->call].flags |= ANALYZE_HOST_MEMORY;
        if (object->is_host && object->end != ANALYZE_NONE)
            model->calls.items[object->end].flags |= ANALYZE_HOST_MEMORY;
    }
}

// A resized part becomes a new part that keeps the contents, so neither part has all accesses to
// that memory. Returns false when memory ran out.
static bool blur_resized(struct analyze_model *model)
{
    struct base_map last = {0}; // address to index + 1 of the last part there
    bool good = true;
    for (size_t i = 0; i < model->objects.count && good; i++) {
        struct analyze_object *part = &model->objects.items[i];
        if (part->parent == ANALYZE_NONE)
            continue;
        uint64_t *slot = base_map_put(&last, part->address, NULL);
        struct analyze_object *before = slot && *slot ? &model->objects.items[*slot - 1] : NULL;
        if (before && part->call != ANALYZE_NONE && before->end == part->call)
            before->blurred = part->blurred = true;
        if (slot)
            *slot = i + 1;
        good = slot != NULL;
    }
    base_map_fini(&last);
    return good;
}

// A copy or set names only the part in which it begins. If it extends beyond that part, or begins
// between parts, it touches parts that it does not name.
static void blur_pools(struct analyze_model *model)
{
    for (size_t i = 0; i < model->touches.count; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        struct analyze_object *object = &model->objects.items[touch->object];
        if (touch->is_kernel)
            continue;
        if (object->has_parts)
            object->blurred = true;
        else if (object->parent != ANALYZE_NONE && touch->beyond)
            model->objects.items[object->parent].blurred = true;
    }
    for (size_t i = 0; i < model->objects.count; i++) {
        struct analyze_object *part = &model->objects.items[i];
        if (part->parent != ANALYZE_NONE)
            part->blurred |= model->objects.items[part->parent].blurred;
    }
}

// --- Calls ---------------------------------------------------------------------------------------

static struct analyze_touch *add_touch(struct loading *loading, uint64_t object, unsigned how)
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
static void add_beyond(struct loading *loading, unsigned how, uint64_t first, uint64_t end,
                       bool one_row)
{
    const struct analyze_model *model = loading->model;
    const uint64_t call = model->calls.items[model->calls.count - 1].number;
    for (uint32_t index;
         (index = analyze_beyond_next(&loading->beyond, call, &first, end)) != ANALYZE_NONE;) {
        const struct analyze_object *object = &model->objects.items[index];
        struct analyze_touch *touch = add_touch(loading, object->number, how);
        if (!touch)
            return;
        const uint64_t bytes = end - object->address;
        touch->rows = one_row || !(how & ANALYZE_WRITE);
        touch->row_bytes = one_row && bytes < object->bytes ? bytes : object->bytes;
    }
}

// Adds the rows that a copy or set touches. The slices of a three-dimensional one are not tracked,
// so it counts as touching the whole object.
static void add_range(struct loading *loading, uint64_t number, unsigned how, uint64_t address,
                      uint64_t bytes, const uint64_t shape[4])
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

static void add_copy(struct loading *loading, const struct profile_copy *copy)
{
    add_range(loading, copy->from_object, ANALYZE_READ, copy->from, copy->bytes,
              (uint64_t[]){copy->from_pitch, copy->width_bytes, copy->height, copy->depth});
    add_range(loading, copy->to_object, ANALYZE_WRITE, copy->to, copy->bytes,
              (uint64_t[]){copy->to_pitch, copy->width_bytes, copy->height, copy->depth});
}

static void add_set(struct loading *loading, const struct profile_set *set)
{
    add_range(loading, set->object, ANALYZE_WRITE, set->address, set->bytes,
              (uint64_t[]){set->pitch, set->width_bytes, set->height, 1});
}

static bool ends_on_host(const struct profile_copy *copy)
{
    return copy->direction == PROFILE_HOST_TO_DEVICE || copy->direction == PROFILE_DEVICE_TO_HOST ||
           copy->direction == PROFILE_HOST_TO_HOST;
}

static void next_access(struct loading *loading)
{
    const struct analyze_listener *listener = loading->listener;
    if (listener && !loading->ended)
        loading->ended = !listener->access(listener->user, loading->access);
    loading->access = profile_accesses_next(loading->accesses);
}

// Takes the objects that something else may use than calls show. They precede all accesses.
static void take_shared(struct loading *loading)
{
    for (; loading->access && !loading->access->call;
         loading->access = profile_accesses_next(loading->accesses)) {
        const uint32_t object = analyze_find_object(loading->model, loading->access->object);
        if (object != ANALYZE_NONE)
            loading->model->objects.items[object].elsewhere = true;
    }
}

// Adds the accesses that probes recorded for a node of the call; node 0 is the call itself. Returns
// whether there were any.
static bool add_accesses(struct loading *loading, uint64_t call, uint32_t node, uint32_t kernel)
{
    bool any = false;
    for (; loading->access && loading->access->call == call && loading->access->node <= node;
         next_access(loading)) {
        const struct profile_access *access = loading->access;
        struct analyze_touch *touch =
            add_touch(loading, access->object,
                      (access->read ? ANALYZE_READ : 0u) | (access->written ? ANALYZE_WRITE : 0u));
        any |= access->node == node;
        if (!touch)
            continue;
        touch->is_kernel = true;
        touch->kernel = kernel;
        touch->elements = access->elements;
        touch->new_elements = access->new_elements;
        touch->shared_elements = access->shared_elements;
        touch->element_bytes = access->element_bytes;
    }
    return any;
}

_Static_assert((int)ANALYZE_UNSEEN_POINTER == PROFILE_DOUBT_POINTER &&
                   (int)ANALYZE_UNSEEN_REASONS == PROFILE_DOUBT_KINDS &&
                   (int)ANALYZE_UNSEEN_UNWATCHED == PROFILE_DOUBT_OTHER,
               "reasons are doubts");

// Returns the reasons why the accesses of a node of the call are incomplete; node 0 is the call
// itself.
static uint32_t doubts_of(struct loading *loading, uint64_t call, uint32_t node)
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

static void add_kernel(struct loading *loading, struct analyze_call *row, uint32_t node,
                       const struct profile_launch *launch)
{
    bool told = add_accesses(loading, row->number, node, launch->kernel);
    const uint32_t doubts = doubts_of(loading, row->number, node) | loading->whole;
    row->flags |= ANALYZE_LAUNCHES;
    if (!base_map_get(&loading->calm, launch->kernel))
        row->flags |= ANALYZE_ACTS;
    loading->unseen |= doubts;
    if ((!told && !doubts && !(launch->flags & PROFILE_LAUNCH_WATCHED)) ||
        base_map_get(&loading->blind, launch->kernel))
        loading->unseen |= 1u << ANALYZE_UNSEEN_UNWATCHED;
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

static void add_graph_launch(struct loading *loading, struct analyze_call *row, uint64_t number)
{
    const struct graph *graph = find_graph(loading, number);
    if (!graph) {
        row->flags |= ANALYZE_LAUNCHES;
        loading->unseen |= 1u << ANALYZE_UNSEEN_UNWATCHED;
        return;
    }
    row->graph = graph->index + 1;
    loading->whole = doubts_of(loading, row->number, 0);
    loading->unseen |= loading->whole;
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
            loading->unseen |= 1u << ANALYZE_UNSEEN_UNWATCHED;
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

static void take_details(struct loading *loading, struct analyze_call *row,
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
        loading->unseen |= doubts_of(loading, call->number, 0);
        row->flags |= loading->unseen ? ANALYZE_LAUNCHES : 0;
        break;
    }
}

static void take_unseen(struct loading *loading, struct analyze_call *row)
{
    if (loading->unseen)
        row->flags |= ANALYZE_UNSEEN;
    for (unsigned reason = 0; reason < ANALYZE_UNSEEN_REASONS; reason++)
        loading->model->unseen_because[reason] += loading->unseen >> reason & 1;
    loading->unseen = 0;
}

static bool take_call(void *user, const struct profile_call *call)
{
    struct loading *loading = user;
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
    analyze_load_host_call(&loading->host, call);
    return !loading->failed && !loading->ended;
}

// --- Elements ------------------------------------------------------------------------------------

static bool take_counts(void *user, const struct profile_counts *counts)
{
    struct loading *loading = user;
    struct analyze_model *model = loading->model;
    uint32_t call = analyze_find_call(model, counts->call);
    uint32_t object = analyze_find_object(model, counts->object);
    if (call == ANALYZE_NONE || object == ANALYZE_NONE)
        return true;
    uint32_t kernel = model->calls.items[call].kernel;
    struct analyze_counted *row = base_array_push(&model->counted);
    uint64_t *slot = base_map_put(&model->most_uneven, analyze_uneven_key(object, kernel), NULL);
    loading->failed |= !row || !slot;
    if (loading->failed)
        return false;
    *row = (struct analyze_counted){call, object, kernel, profile_counts_variation(counts)};
    if (*slot == 0) {
        struct profile_counts **place = base_array_push(&model->counts);
        if (place)
            *place = base_new(&model->arena, struct profile_counts);
        loading->failed |= !place || !*place;
        if (loading->failed)
            return false;
        *slot = model->counts.count;
    } else if (profile_counts_variation(model->counts.items[*slot - 1]) >= row->variation) {
        return true;
    }
    *model->counts.items[*slot - 1] = *counts;
    return true;
}

static void end_run(struct loading *loading, struct analyze_map *map)
{
    if (loading->run_count > map->largest_count) {
        map->largest_first = loading->run_first;
        map->largest_count = loading->run_count;
    }
    loading->run_count = 0;
}

static void add_untouched(struct loading *loading, uint64_t first, uint64_t count)
{
    if (loading->run_count == 0)
        loading->run_first = first;
    loading->run_count += count;
}

// Ends the current map. The elements after its last piece are untouched.
static void end_map(struct loading *loading)
{
    struct analyze_model *model = loading->model;
    if (model->maps.count == 0)
        return;
    assert(model->maps.items);
    struct analyze_map *map = &model->maps.items[model->maps.count - 1];
    if (loading->map_next < map->elements)
        add_untouched(loading, loading->map_next, map->elements - loading->map_next);
    loading->map_next = map->elements;
    end_run(loading, map);
}

static bool take_map(void *user, const struct profile_map *piece)
{
    struct loading *loading = user;
    struct analyze_model *model = loading->model;
    uint32_t object = analyze_find_object(model, piece->object);
    if (piece->kind != PROFILE_MAP_TOUCHED || object == ANALYZE_NONE)
        return true;
    struct analyze_map *map = model->maps.count ? &model->maps.items[model->maps.count - 1] : NULL;
    if (!map || map->object != object) {
        end_map(loading);
        map = base_array_push(&model->maps);
        loading->failed |= !map;
        if (!map)
            return false;
        *map = (struct analyze_map){
            .object = object, .element_bytes = piece->element_bytes, .elements = piece->elements};
        loading->map_next = 0;
    }
    assert(map);
    if (piece->first > loading->map_next)
        add_untouched(loading, loading->map_next, piece->first - loading->map_next);
    loading->map_next = piece->first;
    for (size_t k = 0; k < piece->bit_bytes && loading->map_next < map->elements; k++) {
        unsigned bits = piece->bits[k];
        uint64_t left = map->elements - loading->map_next;
        unsigned width = left < 8 ? (unsigned)left : 8;
        if (bits == 0) {
            add_untouched(loading, loading->map_next, width);
        } else if (bits == 0xff && width == 8) {
            end_run(loading, map);
            map->touched += 8;
        } else {
            for (unsigned i = 0; i < width; i++) {
                if (bits >> i & 1) {
                    end_run(loading, map);
                    map->touched++;
                } else {
                    add_untouched(loading, loading->map_next + i, 1);
                }
            }
        }
        loading->map_next += width;
    }
    return true;
}

// --- Calls that did not return -------------------------------------------------------------------

// A record that was being written when the program ended may be of any kind. What it tells happened
// last, so it is treated as one more call that did not return.
static void add_last_unfinished(struct loading *loading, const struct profile_program *program)
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

// --- The whole profile ---------------------------------------------------------------------------

static bool has_ended(const struct profile *profile)
{
    const struct profile_meta *meta = profile_meta(profile);
    return meta->complete && (meta->ending == PROFILE_EXITED || meta->ending == PROFILE_ENDED);
}

enum base_code analyze_load(struct analyze_model *model, struct profile *profile,
                            const struct analyze_listener *listener, struct base_error *error)
{
    struct loading loading = {.model = model, .listener = listener, .host = {.model = model}};
    struct objects_loading objects = {.loading = &loading};
    const struct profile_program *program = profile_program(profile);
    enum base_code code = BASE_OK;
    base_arena_init(&model->arena, 0);
    model->ended = has_ended(profile);
    model->simulated = program->simulated;
#define LOAD(what, user)                                      \
    if (code == BASE_OK && !loading.failed && !loading.ended) \
    code = profile_each_##what(profile, take_##what, user, error)
    code = analyze_load_host(&loading.host, profile, error);
    LOAD(dropped, &loading);
    LOAD(stream, &loading);
    LOAD(probe, &loading);
    LOAD(doubt, &loading);
    LOAD(graph, &loading);
    LOAD(edge, &loading);
    LOAD(object, &objects);
    if (code == BASE_OK && !loading.failed)
        code = profile_accesses_begin(profile, &loading.accesses, error);
    loading.access = profile_accesses_next(loading.accesses);
    take_shared(&loading);
    LOAD(call, &loading);
    while (code == BASE_OK && !loading.failed && loading.access) // of missing calls
        next_access(&loading);
    if (code == BASE_OK && !loading.failed)
        add_last_unfinished(&loading, program);
    enum base_code ended = profile_accesses_end(loading.accesses, code == BASE_OK ? error : NULL);
    code = code == BASE_OK ? ended : code;
    LOAD(counts, &loading);
    LOAD(map, &loading);
#undef LOAD
    if (code == BASE_OK && !loading.failed) {
        end_map(&loading);
        resolve_objects(model, objects.numbers.items);
        blur_pools(model);
        loading.failed |= !blur_resized(model);
        // If the recorder was killed, the profile lacks everything that the program did afterwards.
        // An object whose number is missing was to be made by a call that did not return.
        model->dropped |=
            !profile_meta(profile)->complete ||
            (program->has_end && program->objects_made > model->objects.count + model->unfinished);
        loading.failed |= !analyze_index_uses(model);
    }
    if (code == BASE_OK && !loading.failed && !loading.ended)
        code = analyze_load_values(model, profile, error);
    if (code == BASE_OK && !loading.failed && !loading.ended)
        code = analyze_load_requests(model, profile, error);
    if (code == BASE_OK && !loading.failed && !loading.ended)
        code = analyze_load_shared(model, profile, error);
    if (code == BASE_OK && !loading.failed && !loading.ended)
        code = analyze_load_reuse(model, profile, error);
    if (code == BASE_OK && !loading.failed && !loading.ended)
        code = analyze_load_caches(model, profile, error);
    if (code == BASE_OK && !loading.failed && !loading.ended)
        code = analyze_load_host_end(&loading.host, profile, error);
    loading.failed |= loading.host.failed;
    free(loading.host.functions);
    base_array_fini(&objects.numbers);
    analyze_beyond_fini(&loading.beyond);
    base_map_fini(&loading.graphs);
    base_map_fini(&loading.blind);
    base_map_fini(&loading.calm);
    base_array_fini(&loading.doubts);
    if (code == BASE_OK && loading.failed)
        code = base_no_memory(error);
    return code;
}

void analyze_model_empty(struct analyze_model *model)
{
    base_array_fini(&model->calls);
    base_array_fini(&model->touches);
    base_array_fini(&model->objects);
    base_array_fini(&model->streams);
    base_array_fini(&model->graphs);
    base_array_fini(&model->edges);
    base_array_fini(&model->maps);
    base_array_fini(&model->counted);
    base_array_fini(&model->counts);
    base_array_fini(&model->contents);
    base_array_fini(&model->stores);
    base_array_fini(&model->weighed);
    base_array_fini(&model->accessed);
    base_array_fini(&model->requests);
    base_array_fini(&model->shared);
    base_array_fini(&model->reuse);
    base_array_fini(&model->sites);
    base_map_fini(&model->most_uneven);
    analyze_host_fini(&model->host);
    free(model->uses);
    free(model->parts);
    free(model->unseen);
    free(model->launches);
    model->uses = model->parts = model->unseen = model->launches = NULL;
}

void analyze_model_fini(struct analyze_model *model)
{
    analyze_model_empty(model);
    analyze_caches_fini(&model->caches);
    base_arena_fini(&model->arena);
}
