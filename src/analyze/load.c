// SPDX-License-Identifier: Apache-2.0
// Reads the model from a profile: definitions, then objects, then all calls in one pass
// (loading.h), and then what analyses recorded in addition.
#include <stdlib.h>
#include <string.h>

#include "loading.h"

// --- Definitions ---------------------------------------------------------------------------------

static bool take_dropped(void *user, const struct profile_dropped *dropped)
{
    struct analyze_loading *loading = user;
    const bool unfinished = dropped->kind && strcmp(dropped->kind, PROFILE_UNFINISHED) == 0;
    loading->model->dropped |= dropped->count != 0 && !unfinished;
    loading->cut_off |= dropped->count != 0 && unfinished;
    return true;
}

static bool take_stream(void *user, const struct profile_stream *stream)
{
    struct analyze_loading *loading = user;
    struct analyze_stream *row = base_array_push(&loading->model->streams);
    loading->failed |= !row;
    if (row)
        *row = (struct analyze_stream){stream->number, stream->context, stream->flags};
    return row != NULL;
}

static bool take_probe(void *user, const struct profile_probe *probe)
{
    struct analyze_loading *loading = user;
    if (probe->facts & PROFILE_PROBE_ONLY_MEMORY)
        loading->failed |= !base_map_put(&loading->calm, probe->kernel, NULL);
    else if (probe->facts)
        loading->failed |= !base_map_put(&loading->loud, probe->kernel, NULL);
    if (!probe->facts || probe->reason)
        loading->failed |= !base_map_put(&loading->blind, probe->kernel, NULL);
    return !loading->failed;
}

static bool take_doubt(void *user, const struct profile_doubt *doubt)
{
    struct analyze_loading *loading = user;
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
    struct analyze_loading *loading = user;
    struct base_arena *arena = &loading->model->arena;
    uint64_t *slot = base_map_put(&loading->graphs, graph->number, NULL);
    struct analyze_loading_graph *row = slot ? base_new(arena, struct analyze_loading_graph) : NULL;
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
    *row = (struct analyze_loading_graph){nodes, graph->node_count, index};
    *slot = (uint64_t)(uintptr_t)row;
    loading->failed |= index == ANALYZE_NONE;
    if (!loading->failed)
        analyze_load_host_graph(&loading->host, index, graph);
    return !loading->failed;
}

static bool take_edge(void *user, const struct profile_edge *edge)
{
    struct analyze_loading *loading = user;
    const struct analyze_loading_graph *graph = analyze_loading_find_graph(loading, edge->graph);
    if (graph && edge->from && edge->to)
        loading->failed |=
            !analyze_add_edge(loading->model, graph->index, edge->from - 1, edge->to - 1);
    return !loading->failed;
}

static bool take_image(void *user, const struct profile_image *image)
{
    struct analyze_loading *loading = user;
    const enum analyze_loading_image kind = base_vendor_library(image->path) ? ANALYZE_IMAGE_VENDOR
                                            : profile_is_torch_allocator(image->path)
                                                ? ANALYZE_IMAGE_ALLOCATOR
                                                : 0;
    uint64_t *slot = kind ? base_map_put(&loading->images, image->number, NULL) : NULL;
    loading->failed |= kind && !slot;
    if (slot)
        *slot = kind;
    return !loading->failed;
}

// Returns whether the function that makes the call is a library's, apart from PyTorch's allocator.
static bool is_of_library(const struct analyze_loading *loading, const struct profile_path *path)
{
    for (uint32_t i = 0; i < path->frame_count; i++) {
        const struct profile_frame *frame = &path->frames[i];
        const uint64_t *kind = frame->python ? NULL : base_map_get(&loading->images, frame->image);
        if (!kind || *kind != ANALYZE_IMAGE_ALLOCATOR)
            return kind || (frame->function && profile_is_torch_workspace(frame->function));
    }
    return false;
}

// Takes where a call path is: the source lines of its frames and, where they are unknown, the
// addresses; and the line of the innermost frame, with the runtime function that it calls. A
// compiler that unrolls a loop or makes several versions of a function makes several call paths of
// one line.
static bool take_path(void *user, const struct profile_path *path)
{
    struct analyze_loading *loading = user;
    uint64_t hash = path->truncated, line = path->number;
    for (uint32_t i = 0; i < path->frame_count; i++) {
        const struct profile_frame *frame = &path->frames[i];
        const bool has_line = frame->file && frame->line;
        const uint64_t key[] = {hash, has_line,
                                has_line ? (uint64_t)(uintptr_t)frame->file : frame->image,
                                has_line ? frame->line : frame->offset};
        hash = base_hash(key, sizeof(key));
        if (i == 0) {
            const uint64_t own[] = {(uint64_t)(uintptr_t)path->called, key[1], key[2], key[3]};
            line = base_hash(own, sizeof(own));
        }
    }
    uint64_t *slot = base_map_put(&loading->model->places, path->number, NULL);
    uint64_t *line_slot = base_map_put(&loading->model->lines, path->number, NULL);
    loading->failed |= !slot || !line_slot;
    if (slot)
        *slot = path->frame_count ? hash : path->number;
    if (line_slot)
        *line_slot = line;
    if (is_of_library(loading, path))
        loading->failed |= !base_map_put(&loading->model->of_libraries, path->number, NULL);
    if (path->result_use != PROFILE_RESULT_UNKNOWN) {
        uint64_t *use = base_map_put(&loading->model->result_uses, path->number, NULL);
        loading->failed |= !use;
        if (use)
            *use = path->result_use;
    }
    return !loading->failed;
}

// --- Sources of copies ---------------------------------------------------------------------------

// Looking at a source delays the call; that time follows the thread's previous call.
static void charge_recorder(struct analyze_model *model, uint32_t call, uint64_t took_ns)
{
    for (uint32_t i = call; i-- > 0;) {
        if (model->calls.items[i].thread != model->calls.items[call].thread)
            continue;
        if (i < model->host.times.count)
            model->host.times.items[i].recorder_ns += took_ns;
        return;
    }
}

static bool take_copy_source(void *user, const struct profile_copy_source *source)
{
    struct analyze_loading *loading = user;
    struct analyze_model *model = loading->model;
    const uint32_t copy = analyze_find_call(model, source->copy),
                   at = analyze_find_call(model, source->at);
    if (at != ANALYZE_NONE)
        charge_recorder(model, at, source->took_ns);
    if (copy == ANALYZE_NONE || at == ANALYZE_NONE || source->same != PROFILE_SAME_YES)
        return true;
    for (uint32_t i = model->calls.items[copy].touches; i < analyze_touches_end(model, copy); i++)
        model->touches.items[i].kept = at + 1;
    return true;
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
    struct analyze_loading loading = {
        .model = model, .listener = listener, .host = {.model = model}};
    const struct profile_program *program = profile_program(profile);
    enum base_code code = BASE_OK;
    base_arena_init(&model->arena, 0);
    model->ended = has_ended(profile);
    model->simulated = program->simulated;
#define LOAD(what)                               \
    if (analyze_loading_goes_on(&loading, code)) \
    code = profile_each_##what(profile, take_##what, &loading, error)
#define STEP(part, step)                         \
    if (analyze_loading_goes_on(&loading, code)) \
    code = analyze_load_##step(part, profile, error)
    code = analyze_load_host(&loading.host, profile, error);
    LOAD(dropped);
    LOAD(stream);
    LOAD(image);
    LOAD(path);
    LOAD(probe);
    LOAD(doubt);
    LOAD(graph);
    LOAD(edge);
    STEP(&loading, objects);
    STEP(&loading, calls);
    STEP(&loading, elements);
    LOAD(copy_source);
    if (code == BASE_OK && !loading.failed) {
        analyze_load_objects_end(&loading);
        // If the recorder was killed, the profile lacks everything that the program did afterwards.
        // An object whose number is missing was to be made by a call that did not return.
        model->dropped |=
            !profile_meta(profile)->complete ||
            (program->has_end && program->objects_made > model->objects.count + model->unfinished);
        // A program that gives up after a failure does not free what it would have freed.
        const struct profile_meta *meta = profile_meta(profile);
        model->ended &= !model->any_failed || meta->ending != PROFILE_EXITED || meta->code == 0;
        loading.failed |= !analyze_index_uses(model);
    }
    STEP(model, values);
    STEP(model, requests);
    STEP(model, shared);
    STEP(model, reuse);
    STEP(model, caches);
    STEP(&loading.host, host_end);
#undef LOAD
#undef STEP
    loading.failed |= loading.host.failed;
    free(loading.host.functions);
    base_array_fini(&loading.numbers);
    analyze_beyond_fini(&loading.beyond);
    base_map_fini(&loading.graphs);
    base_map_fini(&loading.images);
    base_map_fini(&loading.blind);
    base_map_fini(&loading.calm);
    base_map_fini(&loading.loud);
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
    base_map_fini(&model->places);
    base_map_fini(&model->lines);
    base_map_fini(&model->of_libraries);
    base_map_fini(&model->result_uses);
    analyze_host_fini(&model->host);
    free(model->uses);
    free(model->parts);
    free(model->unseen);
    free(model->hidden);
    free(model->launches);
    model->uses = model->parts = model->unseen = model->hidden = model->launches = NULL;
}

void analyze_model_fini(struct analyze_model *model)
{
    analyze_model_empty(model);
    analyze_caches_fini(&model->caches);
    base_array_fini(&model->reached);
    base_arena_fini(&model->arena);
}
