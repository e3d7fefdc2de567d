// SPDX-License-Identifier: Apache-2.0
// Reads what every report needs of a profile. Objects come first (data_objects.c). Then one pass
// over all calls adds up sums, records accesses of objects, and collects the call paths that will
// be shown (data_calls.c). Only those paths are kept.
#include "data.h"

#include <stdlib.h>
#include <string.h>

#include "collectives.h"
#include "data_loading.h"
#include "failures.h"
#include "short_names.h"

// --- Definitions ---------------------------------------------------------------------------------

static bool put_pointer(struct report_loading *loading, struct base_map *map, uint32_t number,
                        const void *pointer)
{
    uint64_t *slot = base_map_put(map, number, NULL);
    if (slot)
        *slot = (uint64_t)(uintptr_t)pointer;
    loading->failed |= !slot;
    return slot != NULL;
}

static bool take_function(void *user, const struct profile_function *function)
{
    struct report_loading *loading = user;
    loading->failed |= !report_add_function(loading->data, function->number, function->name);
    return put_pointer(loading, &loading->data->functions, function->number, function->name) &&
           !loading->failed;
}

static bool take_image(void *user, const struct profile_image *image)
{
    struct report_loading *loading = user;
    return put_pointer(loading, &loading->data->images, image->number, image->path);
}

static bool take_device(void *user, const struct profile_device *device)
{
    struct report_loading *loading = user;
    struct profile_device *row = base_array_push(&loading->data->devices);
    if (row)
        *row = *device;
    loading->failed |= !row;
    return row != NULL;
}

// Kernels with one name are one row, even if several modules contain them.
static bool take_kernel(void *user, const struct profile_kernel *kernel)
{
    struct report_loading *loading = user;
    struct report_data *data = loading->data;
    const char *name = kernel->name ? kernel->name : kernel->mangled ? kernel->mangled : "?";
    bool added = false;
    uint64_t *by_name = base_map_put_str(&data->kernel_names, base_str(name), &added);
    uint64_t *by_number = by_name ? base_map_put(&data->kernels, kernel->number, NULL) : NULL;
    struct report_kernel *row = by_number && added ? base_array_push(&data->kernel_rows) : NULL;
    loading->failed |= !by_number || (added && !row);
    if (loading->failed)
        return false;
    if (row) {
        row->name = name;
        row->symbol = kernel->mangled;
        *by_name = data->kernel_rows.count;
    }
    *by_number = *by_name;
    return true;
}

static bool take_note(void *user, const struct profile_note *note)
{
    struct report_loading *loading = user;
    struct report_note *row = base_array_push(&loading->data->notes);
    if (row)
        *row = (struct report_note){note->severity, note->text ? note->text : ""};
    loading->failed |= !row;
    return row != NULL;
}

static bool take_dropped(void *user, const struct profile_dropped *dropped)
{
    struct report_loading *loading = user;
    struct report_dropped *row = base_array_push(&loading->data->dropped);
    if (row)
        *row = (struct report_dropped){dropped->kind ? dropped->kind : "?", dropped->count};
    loading->data->dropped_count += dropped->count;
    loading->failed |= !row;
    return row != NULL;
}

static bool take_correction(void *user, const struct profile_correction *row)
{
    struct report_loading *loading = user;
    struct report_correction *of = &loading->data->corrections[row->remedy];
    of->places += row->applied > 0;
    of->calls += row->applied;
    return true;
}

static bool take_graph(void *user, const struct profile_graph *graph)
{
    struct report_loading *loading = user;
    struct report_data *data = loading->data;
    uint64_t *slot = base_map_put(&data->graphs, graph->number, NULL);
    struct report_graph *row = slot ? base_array_push(&data->graph_rows) : NULL;
    struct report_node *nodes =
        row ? base_new_array(&data->arena, struct report_node, graph->node_count + 1u) : NULL;
    loading->failed |= !nodes;
    if (!nodes)
        return false;
    *slot = data->graph_rows.count;
    row->nodes = nodes;
    row->node_count = graph->node_count;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct profile_node *from = &graph->nodes[i];
        nodes[i].kind = from->kind;
        if (from->kind == PROFILE_NODE_KERNEL)
            nodes[i].kernel = from->launch.kernel;
        else if (from->kind == PROFILE_NODE_COPY)
            nodes[i] =
                (struct report_node){.kind = from->kind,
                                     .direction = from->copy.direction,
                                     .bytes = from->copy.bytes,
                                     .objects = {from->copy.from_object, from->copy.to_object}};
        else if (from->kind == PROFILE_NODE_SET)
            nodes[i] = (struct report_node){
                .kind = from->kind, .bytes = from->set.bytes, .objects = {from->set.object, 0}};
    }
    return true;
}

// --- Call paths ----------------------------------------------------------------------------------

bool report_want_path(struct report_data *data, uint32_t path)
{
    return path == 0 || base_map_put(&data->paths, path, NULL) != NULL;
}

bool report_keep_path(struct report_data *data, const struct profile_path *path)
{
    uint64_t *slot = base_map_get(&data->paths, path->number);
    if (!slot)
        return true;
    struct report_path *row = base_new(&data->arena, struct report_path);
    struct profile_frame *frames =
        row ? base_new_array(&data->arena, struct profile_frame, path->frame_count + 1u) : NULL;
    if (!frames)
        return false;
    if (path->frame_count)
        memcpy(frames, path->frames, path->frame_count * sizeof(*frames));
    *row = (struct report_path){frames, path->frame_count};
    *slot = (uint64_t)(uintptr_t)row;
    return true;
}

static bool take_path(void *user, const struct profile_path *path)
{
    struct report_loading *loading = user;
    const struct report_path frames = {path->frames, path->frame_count};
    loading->failed |= !report_keep_path(loading->data, path) ||
                       !report_add_called(loading->data, path) ||
                       !report_note_wrappers(loading->data, &frames);
    return !loading->failed;
}

// --- The whole profile ---------------------------------------------------------------------------

// Requests the call paths of findings.
static bool want_findings(struct report_data *data)
{
    bool good = true;
    for (size_t i = 0; i < analyze_finding_count(data->analysis) && good; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        const struct analyze_field *field = analyze_describe(finding->pattern)->fields;
        good = report_want_path(data, finding->path) &&
               report_want_path(data, finding->other_path) &&
               report_want_path(data, finding->last_path);
        for (; field && field->name && good; field++)
            good = field->type != ANALYZE_PATH ||
                   report_want_path(data, (uint32_t)analyze_field_number(finding, field));
    }
    return good;
}

static bool want_failures(struct report_data *data)
{
    const struct report_failures *failures = &data->failures;
    bool good = report_want_path(data, failures->first.path) &&
                report_want_path(data, failures->module.path);
    for (uint32_t i = 0; i < failures->pending_count && good; i++)
        good = report_want_path(data, failures->pending[i].path);
    return good;
}

static bool want_flow(struct report_data *data)
{
    const struct analyze_flow *flow = analyze_flow(data->analysis);
    bool good = true;
    for (size_t i = 0; i < flow->vertex_count && good; i++)
        good = report_want_path(data, flow->vertices[i].path);
    return good;
}

enum base_code report_data_load(struct report_data *data, struct profile *profile,
                                const struct analyze_thresholds *thresholds,
                                struct base_error *error)
{
    struct report_loading loading = {.data = data};
    const struct analyze_listener listener = {report_take_object, report_take_call,
                                              report_take_access, &loading};
    const struct analyze_thresholds usual = analyze_default_thresholds();
    enum base_code code = BASE_OK;
    data->profile = profile;
    base_arena_init(&data->arena, 0);
#define LOAD(what)                          \
    if (code == BASE_OK && !loading.failed) \
    code = profile_each_##what(profile, take_##what, &loading, error)
    LOAD(function);
    LOAD(image);
    LOAD(device);
    LOAD(kernel);
    if (code == BASE_OK && !loading.failed)
        loading.failed = !report_shorten_kernels(data);
    LOAD(note);
    LOAD(dropped);
    LOAD(correction);
    LOAD(graph);
    if (code == BASE_OK && !loading.failed)
        code = report_load_probes(data, error);
    if (code == BASE_OK && !loading.failed)
        code = analyze_profile_beside(profile, thresholds ? thresholds : &usual, &listener,
                                      &data->analysis, error);
    free(loading.makers);
    if (code == BASE_OK && !loading.failed) {
        data->peak_count = analyze_peaks(data->analysis, &data->peaks);
        data->peak_bytes = analyze_peak_bytes(data->analysis);
        report_touch_reached(data);
        loading.failed =
            !want_failures(data) || !want_findings(data) || (data->wants_flow && !want_flow(data));
    }
    if (code == BASE_OK && !loading.failed)
        code = report_collectives_load(data, error);
    if (code == BASE_OK && !loading.failed)
        code = profile_each_node_time(profile, report_take_node_time, &loading, error);
    LOAD(path);
#undef LOAD
    base_array_fini(&loading.graph_launches);
    if (code == BASE_OK && !loading.failed) {
        report_add_graph_nodes(data);
        report_end_failures(data);
        loading.failed |= !report_label_objects(data);
        report_mark_holders(data);
        loading.failed |= !report_add_notes(data);
    }
    if (code == BASE_OK && loading.failed)
        code = base_no_memory(error);
    return code;
}

void report_data_fini(struct report_data *data)
{
    analyze_free(data->analysis);
    base_map_fini(&data->functions);
    base_map_fini(&data->images);
    base_map_fini(&data->kernels);
    base_map_fini(&data->kernel_names);
    base_map_fini(&data->paths);
    base_map_fini(&data->called);
    base_map_fini(&data->plain_functions);
    base_map_fini(&data->path_functions);
    base_map_fini(&data->lines_in);
    base_map_fini(&data->callers);
    base_map_fini(&data->graphs);
    base_map_fini(&data->waits);
    base_array_fini(&data->devices);
    base_array_fini(&data->kernel_rows);
    base_array_fini(&data->objects);
    base_array_fini(&data->graph_rows);
    base_array_fini(&data->wait_rows);
    base_array_fini(&data->notes);
    base_array_fini(&data->collectives);
    base_array_fini(&data->dropped);
    base_array_fini(&data->settings);
    base_arena_fini(&data->arena);
}

static const void *pointer_at(const struct base_map *map, uint32_t number)
{
    const uint64_t *slot = base_map_get(map, number);
    return slot ? (const void *)(uintptr_t)*slot : NULL;
}

const char *report_function_name(const struct report_data *data, uint32_t number)
{
    return pointer_at(&data->functions, number);
}

const char *report_image_path(const struct report_data *data, uint32_t number)
{
    return pointer_at(&data->images, number);
}

const struct report_path *report_path_of(const struct report_data *data, uint32_t number)
{
    return pointer_at(&data->paths, number);
}

const struct report_graph *report_graph_of(const struct report_data *data, uint64_t number)
{
    const uint64_t *index = base_map_get(&data->graphs, number);
    return index ? &data->graph_rows.items[*index - 1] : NULL;
}

const char *report_kernel_name(const struct report_data *data, uint32_t number)
{
    const uint64_t *index = base_map_get(&data->kernels, number);
    return index ? data->kernel_rows.items[*index - 1].name : NULL;
}
