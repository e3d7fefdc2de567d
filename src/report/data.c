// SPDX-License-Identifier: Apache-2.0
// Reads what every report needs of a profile. Objects come first. Then one pass over all calls adds
// up sums, records accesses of objects, and collects the call paths that will be shown. Only those
// paths are kept.
#include "data.h"

#include <stdlib.h>
#include <string.h>

#include "collectives.h"
#include "failures.h"
#include "short_names.h"

struct graph_launch {
    uint64_t call, graph; // graph: index
};

struct loading {
    struct report_data *data;
    bool failed;      // memory ran out
    uint32_t *makers; // indices of objects by the call that made them
    size_t next_made; // position in makers
    BASE_ARRAY(struct graph_launch) graph_launches;
    size_t next_launch;       // the next launch for node times, which are in the order of calls
    struct profile_call call; // the last call that was read
    uint64_t watched_call;    // call and node of the last access
    uint32_t watched_node;
};

// --- Definitions ---------------------------------------------------------------------------------

static bool put_pointer(struct loading *loading, struct base_map *map, uint32_t number,
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
    struct loading *loading = user;
    loading->failed |= !report_add_function(loading->data, function->number, function->name);
    return put_pointer(loading, &loading->data->functions, function->number, function->name) &&
           !loading->failed;
}

static bool take_image(void *user, const struct profile_image *image)
{
    struct loading *loading = user;
    return put_pointer(loading, &loading->data->images, image->number, image->path);
}

static bool take_device(void *user, const struct profile_device *device)
{
    struct loading *loading = user;
    struct profile_device *row = base_array_push(&loading->data->devices);
    if (row)
        *row = *device;
    loading->failed |= !row;
    return row != NULL;
}

// Kernels with one name are one row, even if several modules contain them.
static bool take_kernel(void *user, const struct profile_kernel *kernel)
{
    struct loading *loading = user;
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
    struct loading *loading = user;
    struct report_note *row = base_array_push(&loading->data->notes);
    if (row)
        *row = (struct report_note){note->severity, note->text ? note->text : ""};
    loading->failed |= !row;
    return row != NULL;
}

static bool take_dropped(void *user, const struct profile_dropped *dropped)
{
    struct loading *loading = user;
    struct report_dropped *row = base_array_push(&loading->data->dropped);
    if (row)
        *row = (struct report_dropped){dropped->kind ? dropped->kind : "?", dropped->count};
    loading->data->dropped_count += dropped->count;
    loading->failed |= !row;
    return row != NULL;
}

static bool take_correction(void *user, const struct profile_correction *row)
{
    struct loading *loading = user;
    struct report_correction *of = &loading->data->corrections[row->remedy];
    of->places += row->applied > 0;
    of->calls += row->applied;
    return true;
}

static bool take_graph(void *user, const struct profile_graph *graph)
{
    struct loading *loading = user;
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

// --- Objects -------------------------------------------------------------------------------------

static bool take_object(void *user, const struct profile_object *object)
{
    struct loading *loading = user;
    struct report_object *row = base_array_push(&loading->data->objects);
    loading->failed |= !row;
    if (row)
        *row = (struct report_object){.name = object->name,
                                      .number = object->number,
                                      .address = object->address,
                                      .bytes = object->bytes,
                                      .call = object->call,
                                      .end = object->has_end && object->end_call ? object->end_call
                                                                                 : ANALYZE_NEVER,
                                      .parent = object->parent,
                                      .device = object->device,
                                      .stream = object->stream,
                                      .kind = (uint8_t)object->kind,
                                      .name_source = (uint8_t)object->name_source,
                                      .counts = analyze_counts(object->kind, object->parent)};
    return row != NULL;
}

bool report_is_alive(const struct report_object *object, const struct analyze_peak *peak)
{
    return object->call <= peak->start && object->end > peak->start &&
           (!peak->device || peak->device == object->device);
}

bool report_is_in_peak(const struct report_object *object, const struct analyze_peak *peak)
{
    return object->counts && report_is_alive(object, peak);
}

int report_device_of(const struct report_data *data, const struct report_object *object)
{
    const bool is_host = object->kind == PROFILE_OBJECT_PINNED ||
                         object->kind == PROFILE_OBJECT_REGISTERED ||
                         object->kind == PROFILE_OBJECT_MANAGED;
    return data->devices.count > 1 && object->device && !is_host ? (int)object->device - 1 : -1;
}

bool report_is_in_highest(const struct report_data *data, const struct report_object *object)
{
    for (size_t i = 0; i < data->peak_count && data->peaks[i].rank == 1; i++)
        if (report_is_in_peak(object, &data->peaks[i]))
            return true;
    return false;
}

// Objects are in the order of their numbers, usually without gaps.
struct report_object *report_find_object(const struct report_data *data, uint64_t number)
{
    struct report_object *objects = data->objects.items;
    const size_t count = data->objects.count;
    if (count && number >= objects[0].number && number - objects[0].number < count &&
        objects[number - objects[0].number].number == number)
        return &objects[number - objects[0].number];
    const size_t at = base_search(0, count, i, objects[i].number < number);
    return at < count && objects[at].number == number ? &objects[at] : NULL;
}

void report_touch(struct report_object *object, uint64_t call)
{
    if (!object->first_access || call < object->first_access)
        object->first_access = call;
    if (call > object->last_access)
        object->last_access = call;
}

static void touch(const struct report_data *data, uint64_t number, uint64_t call)
{
    struct report_object *object = number ? report_find_object(data, number) : NULL;
    if (object)
        report_touch(object, call);
}

// Copies and sets also use the objects behind the one in which they begin.
static void touch_reached(const struct report_data *data)
{
    size_t count;
    const struct analyze_reached *reached = analyze_reached(data->analysis, &count);
    for (size_t i = 0; i < count; i++)
        touch(data, reached[i].object, reached[i].call);
}

static int by_maker(const void *one, const void *other, void *user)
{
    const struct report_object *objects = user;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    if (objects[a].call != objects[b].call)
        return objects[a].call < objects[b].call ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool index_makers(struct loading *loading)
{
    struct report_data *data = loading->data;
    bool sorted = true;
    if (data->objects.count < UINT32_MAX)
        loading->makers = calloc(data->objects.count + 1, sizeof(*loading->makers));
    for (size_t i = 0; loading->makers && i < data->objects.count; i++) {
        loading->makers[i] = (uint32_t)i;
        sorted &= i == 0 || data->objects.items[i - 1].call <= data->objects.items[i].call;
    }
    if (loading->makers && !sorted)
        qsort_r(loading->makers, data->objects.count, sizeof(*loading->makers), by_maker,
                data->objects.items);
    return loading->makers != NULL;
}

// --- Calls ---------------------------------------------------------------------------------------

static void add_time(struct report_sum *sum, uint64_t ns)
{
    sum->timed++;
    sum->total_ns += ns;
    if (ns > sum->longest_ns)
        sum->longest_ns = ns;
}

static uint64_t duration(int64_t start, int64_t end)
{
    return end > start ? (uint64_t)end - (uint64_t)start : 0;
}

// Returns the sum to which work of this kind is added; NULL if there is none.
static struct report_sum *sum_of(struct report_data *data, enum profile_node_kind kind,
                                 uint32_t kernel, enum profile_direction direction)
{
    uint64_t *index;
    switch (kind) {
    case PROFILE_NODE_KERNEL:
        index = base_map_get(&data->kernels, kernel);
        return index ? &data->kernel_rows.items[*index - 1].sum : NULL;
    case PROFILE_NODE_COPY: return &data->copies[direction];
    case PROFILE_NODE_SET: return &data->sets;
    default: return NULL;
    }
}

static void add_work(struct report_data *data, const struct profile_call *call)
{
    struct report_sum *sum = NULL;
    uint64_t bytes = 0;
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH:
        sum = sum_of(data, PROFILE_NODE_KERNEL, call->launch.kernel, 0);
        data->launches++;
        break;
    case PROFILE_CALL_COPY:
        sum = sum_of(data, PROFILE_NODE_COPY, 0, call->copy.direction);
        bytes = call->copy.bytes;
        touch(data, call->copy.from_object, call->number);
        touch(data, call->copy.to_object, call->number);
        break;
    case PROFILE_CALL_SET:
        sum = sum_of(data, PROFILE_NODE_SET, 0, 0);
        bytes = call->set.bytes;
        touch(data, call->set.object, call->number);
        break;
    default: break;
    }
    if (!sum)
        return;
    sum->count++;
    sum->bytes += bytes;
    if (call->has_gpu_time)
        add_time(sum, duration(call->gpu_start_ns, call->gpu_end_ns));
}

static bool add_graph_launch(struct loading *loading, const struct profile_call *call)
{
    struct report_data *data = loading->data;
    uint64_t *index = base_map_get(&data->graphs, call->graph);
    if (!index)
        return true;
    struct report_graph *graph = &data->graph_rows.items[*index - 1];
    struct graph_launch *launch = base_array_push(&loading->graph_launches);
    if (!launch)
        return false;
    *launch = (struct graph_launch){call->number, *index - 1};
    graph->launches++;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        touch(data, graph->nodes[i].objects[0], call->number);
        touch(data, graph->nodes[i].objects[1], call->number);
    }
    return true;
}

static bool want_path(struct report_data *data, uint32_t path)
{
    return path == 0 || base_map_put(&data->paths, path, NULL) != NULL;
}

static bool add_wait(struct report_data *data, const struct profile_call *call)
{
    bool is_explicit = call->kind == PROFILE_CALL_SYNC;
    if (!is_explicit && !(call->flags & PROFILE_CALL_WAITED))
        return true;
    uint64_t key[3] = {call->function, call->path, is_explicit};
    uint64_t *slot = base_map_put(&data->waits, base_hash(key, sizeof(key)), NULL);
    if (!slot || !want_path(data, call->path))
        return false;
    if (*slot == 0) {
        struct report_wait *row = base_array_push(&data->wait_rows);
        if (!row)
            return false;
        *row = (struct report_wait){call->function, call->path, is_explicit, {0}};
        *slot = data->wait_rows.count;
    }
    struct report_sum *sum = &data->wait_rows.items[*slot - 1].sum;
    sum->count++;
    // If a call waited but has no waiting time, the time is unknown.
    if (call->waited_ns || !(call->flags & PROFILE_CALL_WAITED))
        add_time(sum, call->waited_ns);
    return true;
}

// Returns the kernel of a launch, or of a node of a graph launch; NULL if it is unknown.
static struct report_kernel *kernel_of(const struct report_data *data,
                                       const struct profile_call *call, uint32_t node)
{
    uint32_t number = 0;
    uint64_t *index;
    if (call->kind == PROFILE_CALL_LAUNCH) {
        number = call->launch.kernel;
    } else if (call->kind == PROFILE_CALL_GRAPH_LAUNCH) {
        const struct report_graph *graph = report_graph_of(data, call->graph);
        if (graph && node && node <= graph->node_count)
            number = graph->nodes[node - 1].kernel;
    }
    index = number ? base_map_get(&data->kernels, number) : NULL;
    return index ? &data->kernel_rows.items[*index - 1] : NULL;
}

// A launch that touched nothing has no accesses, but was watched, or passed nothing.
static void count_watched(struct loading *loading, const struct profile_call *call)
{
    const uint32_t flags = call->launch.flags;
    if (call->kind != PROFILE_CALL_LAUNCH || call->result != 0 ||
        !(flags & (PROFILE_LAUNCH_WATCHED | PROFILE_LAUNCH_PASSED)) ||
        call->flags & PROFILE_CALL_CAPTURED)
        return;
    struct report_kernel *kernel = kernel_of(loading->data, call, 0);
    if (kernel && flags & PROFILE_LAUNCH_WATCHED)
        kernel->watched++;
    else if (kernel)
        kernel->passed++;
    loading->watched_call = call->number;
    loading->watched_node = 0;
}

static bool take_access(void *user, const struct profile_access *access)
{
    struct loading *loading = user;
    report_add_access(loading->data, access);
    // Of launches, a flag says so.
    if (access->passed && !access->node)
        return true;
    bool again = access->call == loading->watched_call && access->node == loading->watched_node;
    if (access->call == loading->call.number && !again) {
        struct report_kernel *kernel = kernel_of(loading->data, &loading->call, access->node);
        if (kernel && access->passed)
            kernel->passed++;
        else if (kernel)
            kernel->watched++;
    }
    loading->watched_call = access->call;
    loading->watched_node = access->node;
    return true;
}

static bool take_call(void *user, const struct profile_call *call)
{
    struct loading *loading = user;
    struct report_data *data = loading->data;
    if (data->calls++ == 0 && !index_makers(loading)) {
        loading->failed = true;
        return false;
    }
    report_take_failure(&data->failures, call);
    if (call->end_ns > data->last_ns)
        data->last_ns = call->end_ns;
    for (; loading->next_made < data->objects.count; loading->next_made++) {
        struct report_object *object = &data->objects.items[loading->makers[loading->next_made]];
        if (object->call > call->number)
            break;
        if (object->call == call->number) {
            object->path = call->path;
            loading->failed |= !want_path(data, call->path);
        }
    }
    if (call->result == 0 && !(call->flags & PROFILE_CALL_CAPTURED)) {
        if (call->kind == PROFILE_CALL_GRAPH_LAUNCH)
            loading->failed |= !add_graph_launch(loading, call);
        else
            add_work(data, call);
    }
    loading->failed |=
        !add_wait(data, call) || !report_add_caller(data, call->path, call->function);
    count_watched(loading, call);
    loading->call = *call;
    return !loading->failed;
}

// Adds the work of graph nodes. Each node ran as often as its graph.
static void add_graph_nodes(struct report_data *data)
{
    for (size_t g = 0; g < data->graph_rows.count; g++) {
        const struct report_graph *graph = &data->graph_rows.items[g];
        for (uint32_t i = 0; i < graph->node_count; i++) {
            const struct report_node *node = &graph->nodes[i];
            if (node->kind == PROFILE_NODE_KERNEL)
                data->launches += graph->launches;
            struct report_sum *sum = sum_of(data, node->kind, node->kernel, node->direction);
            if (sum) {
                sum->count += graph->launches;
                sum->bytes += node->bytes * graph->launches;
            }
        }
    }
}

static bool take_node_time(void *user, const struct profile_time *time)
{
    struct loading *loading = user;
    struct report_data *data = loading->data;
    while (loading->next_launch < loading->graph_launches.count &&
           loading->graph_launches.items[loading->next_launch].call < time->call)
        loading->next_launch++;
    if (loading->next_launch == loading->graph_launches.count)
        return false;
    const struct graph_launch *launch = &loading->graph_launches.items[loading->next_launch];
    const struct report_graph *graph = &data->graph_rows.items[launch->graph];
    if (launch->call != time->call || time->node == 0 || time->node > graph->node_count)
        return true;
    const struct report_node *node = &graph->nodes[time->node - 1];
    struct report_sum *sum = sum_of(data, node->kind, node->kernel, node->direction);
    if (sum)
        add_time(sum, duration(time->start_ns, time->end_ns));
    return true;
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
    struct loading *loading = user;
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
        good = want_path(data, finding->path) && want_path(data, finding->other_path) &&
               want_path(data, finding->last_path);
        for (; field && field->name && good; field++)
            good = field->type != ANALYZE_PATH ||
                   want_path(data, (uint32_t)analyze_field_number(finding, field));
    }
    return good;
}

static bool want_failures(struct report_data *data)
{
    const struct report_failures *failures = &data->failures;
    bool good = want_path(data, failures->first.path) && want_path(data, failures->module.path);
    for (uint32_t i = 0; i < failures->pending_count && good; i++)
        good = want_path(data, failures->pending[i].path);
    return good;
}

static bool want_flow(struct report_data *data)
{
    const struct analyze_flow *flow = analyze_flow(data->analysis);
    bool good = true;
    for (size_t i = 0; i < flow->vertex_count && good; i++)
        good = want_path(data, flow->vertices[i].path);
    return good;
}

enum base_code report_data_load(struct report_data *data, struct profile *profile,
                                const struct analyze_thresholds *thresholds,
                                struct base_error *error)
{
    struct loading loading = {.data = data};
    const struct analyze_listener listener = {take_object, take_call, take_access, &loading};
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
        touch_reached(data);
        loading.failed =
            !want_failures(data) || !want_findings(data) || (data->wants_flow && !want_flow(data));
    }
    if (code == BASE_OK && !loading.failed)
        code = report_collectives_load(data, error);
    LOAD(node_time);
    LOAD(path);
#undef LOAD
    base_array_fini(&loading.graph_launches);
    if (code == BASE_OK && !loading.failed) {
        add_graph_nodes(data);
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
