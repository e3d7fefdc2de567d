// SPDX-License-Identifier: Apache-2.0
// Writes the report as JSON, schema 1; docs/reference/json.md describes every field. Members are
// only ever added. The report is written while the profile is read: memory is needed for the
// objects and their call paths, not for calls. The head is in json_head.c, kernels are in
// json_kernels.c.
#include "collectives.h"
#include "data.h"
#include "json_members.h"
#include "suppress.h"

// --- Objects -------------------------------------------------------------------------------------

void report_json_frames(struct base_json *json, const struct report_data *data,
                        const struct profile_frame *frames, uint32_t count, bool whole)
{
    base_json_begin_array(json);
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_frame *frame = &frames[i];
        base_json_begin_object(json);
        report_json_string(json, "function", frame->function);
        report_json_string(json, "file", frame->file);
        report_json_number_or_null(json, "line", frame->line, frame->line);
        if (whole) {
            report_json_string(json, "module", report_image_path(data, frame->image));
            report_json_number(json, "offset", frame->offset);
            report_json_bool(json, "inlined", frame->inlined);
            report_json_bool(json, "python", frame->python);
        }
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

void report_json_path(struct base_json *json, const struct report_data *data,
                      struct report_json_paths *paths, uint32_t number)
{
    uint64_t *slot = base_map_put(&paths->made, number, NULL);
    if (slot && *slot == 0) {
        const struct report_path *path = report_path_of(data, number);
        struct base_buf buf = {0};
        struct base_json frames;
        base_json_init_buf(&frames, &buf, 0);
        report_json_frames(&frames, data, path ? path->frames : NULL, path ? path->frame_count : 0,
                           false);
        bool good = base_json_finish(&frames);
        struct base_str *made = good ? base_new(paths->arena, struct base_str) : NULL;
        char *text = made ? base_alloc_text(paths->arena, buf.text, buf.length) : NULL;
        if (text) {
            *made = (struct base_str){text, buf.length};
            *slot = (uint64_t)(uintptr_t)made;
        }
        base_buf_fini(&buf);
    }
    const struct base_str *kept = slot ? (const struct base_str *)(uintptr_t)*slot : NULL;
    paths->failed |= !kept;
    if (kept)
        base_json_raw(json, *kept);
    else
        base_json_null(json);
}

void report_json_call_path(struct base_json *json, const struct report_data *data,
                           struct report_json_paths *paths, uint32_t number)
{
    report_json_key(json, "call_path");
    report_json_path(json, data, paths, number);
}

struct json_writing {
    struct base_json json;
    const struct report_data *data;
    struct report_json_paths paths;
    struct profile_accesses *accesses;   // read in parallel with the calls
    const struct profile_access *access; // the next access; NULL at the end
};

// Writes the sums of all kernels' accesses to the object.
static void put_use(struct base_json *json, const struct report_object *object)
{
    const struct report_use *use = &object->use;
    report_json_key(json, "accesses");
    if (use->reads + use->writes + use->passed == 0) {
        base_json_null(json);
        return;
    }
    const bool elements = use->element_bytes && !use->mixed;
    base_json_begin_object(json);
    report_json_number(json, "reads", use->reads);
    report_json_number(json, "writes", use->writes);
    report_json_number_or_null(json, "bytes_read", use->bytes_read, use->moved);
    report_json_number_or_null(json, "bytes_written", use->bytes_written, use->moved);
    report_json_number_or_null(json, "element_bytes", use->element_bytes, elements);
    report_json_number_or_null(json, "elements", report_elements(object), elements);
    report_json_number_or_null(json, "touched", use->touched, elements);
    report_json_number_or_null(json, "shared", use->shared, elements);
    report_json_number(json, "passed", use->passed);
    base_json_end_object(json);
}

static void put_object(struct json_writing *writing, const struct report_object *object)
{
    struct base_json *json = &writing->json;
    const enum profile_name_source source = (enum profile_name_source)object->name_source;
    base_json_begin_object(json);
    report_json_number(json, "id", object->number);
    report_json_string(json, "name", object->name);
    report_json_string(json, "kind",
                       profile_object_kind_word((enum profile_object_kind)object->kind));
    report_json_number(json, "bytes", object->bytes);
    report_json_number_or_null(json, "allocated_by", object->call, object->call);
    report_json_number_or_null(json, "freed_by", object->end, object->end != ANALYZE_NEVER);
    report_json_number_or_null(json, "first_access", object->first_access, object->first_access);
    report_json_number_or_null(json, "last_access", object->last_access, object->last_access);
    report_json_call_path(json, writing->data, &writing->paths, object->path);
    report_json_number_or_null(json, "path", object->path, object->path);
    report_json_string(json, "name_source", source ? profile_name_source_word(source) : NULL);
    report_json_number(json, "address", object->address);
    report_json_number(json, "device", object->device);
    report_json_number(json, "stream", object->stream);
    report_json_number_or_null(json, "parent", object->parent, object->parent);
    report_json_bool(json, "counted", object->counts);
    put_use(json, object);
    base_json_end_object(json);
}

// --- Calls and graph nodes -----------------------------------------------------------------------

static void put_triple(struct base_json *json, struct base_str name, const uint32_t values[3])
{
    base_json_name(json, name);
    base_json_begin_array(json);
    for (int i = 0; i < 3; i++)
        base_json_u64(json, values[i]);
    base_json_end_array(json);
}

static void put_launch(struct json_writing *writing, const struct profile_launch *launch)
{
    struct base_json *json = &writing->json;
    report_json_string(json, "kernel", report_kernel_name(writing->data, launch->kernel));
    put_triple(json, BASE_JSON_NAME("grid"), launch->grid);
    put_triple(json, BASE_JSON_NAME("block"), launch->block);
    report_json_number(json, "dynamic_shared_bytes", launch->dynamic_shared_bytes);
    report_json_bool(json, "cooperative", launch->flags & PROFILE_LAUNCH_COOPERATIVE);
    report_json_number_or_null(json, "kernel_id", launch->kernel, launch->kernel);
}

static void put_copy(struct base_json *json, const struct profile_copy *copy)
{
    report_json_number(json, "bytes", copy->bytes);
    report_json_string(
        json, "direction",
        copy->direction == PROFILE_DIRECTION_NONE ? NULL : profile_direction_word(copy->direction));
    report_json_number_or_null(json, "from_object", copy->from_object, copy->from_object);
    report_json_number_or_null(json, "to_object", copy->to_object, copy->to_object);
    report_json_string(
        json, "from_memory",
        copy->from_memory == PROFILE_MEMORY_NONE ? NULL : profile_memory_word(copy->from_memory));
    report_json_string(
        json, "to_memory",
        copy->to_memory == PROFILE_MEMORY_NONE ? NULL : profile_memory_word(copy->to_memory));
    report_json_number(json, "from_address", copy->from);
    report_json_number(json, "to_address", copy->to);
    if (copy->width_bytes) {
        report_json_number(json, "from_pitch", copy->from_pitch);
        report_json_number(json, "to_pitch", copy->to_pitch);
        report_json_number(json, "width_bytes", copy->width_bytes);
        report_json_number(json, "height", copy->height);
        report_json_number(json, "depth", copy->depth);
    }
}

static void put_set(struct base_json *json, const struct profile_set *set)
{
    report_json_number(json, "bytes", set->bytes);
    report_json_number_or_null(json, "object", set->object, set->object);
    report_json_number(json, "address", set->address);
    report_json_number(json, "value", set->value);
    report_json_number(json, "value_bytes", set->value_bytes);
    if (set->width_bytes) {
        report_json_number(json, "pitch", set->pitch);
        report_json_number(json, "width_bytes", set->width_bytes);
        report_json_number(json, "height", set->height);
    }
}

static void put_range(struct base_json *json, const struct profile_range *range)
{
    report_json_number(json, "bytes", range->bytes);
    report_json_number_or_null(json, "object", range->object, range->object);
    report_json_number(json, "address", range->address);
}

static void put_sync(struct base_json *json, const struct profile_sync *sync)
{
    report_json_number_or_null(json, "event", sync->event, sync->event);
    report_json_number_or_null(json, "event_record", sync->record, sync->record);
    report_json_number_or_null(json, "sync_stream", sync->stream, sync->stream);
}

static void put_access(struct base_json *json, const struct profile_access *access)
{
    base_json_begin_object(json);
    report_json_number(json, "object", access->object);
    report_json_number_or_null(json, "node", access->node, access->node);
    report_json_bool(json, "read", access->read);
    report_json_bool(json, "written", access->written);
    report_json_number_or_null(json, "bytes_read", access->bytes_read,
                               access->bytes_read != PROFILE_UNKNOWN);
    report_json_number_or_null(json, "bytes_written", access->bytes_written,
                               access->bytes_written != PROFILE_UNKNOWN);
    report_json_number_or_null(json, "element_bytes", access->element_bytes, access->element_bytes);
    report_json_number_or_null(json, "elements", access->elements,
                               access->elements != PROFILE_UNKNOWN);
    report_json_number_or_null(json, "new_elements", access->new_elements,
                               access->new_elements != PROFILE_UNKNOWN);
    report_json_number_or_null(json, "shared_elements", access->shared_elements,
                               access->shared_elements != PROFILE_UNKNOWN);
    report_json_string(json, "known_by",
                       access->sampled  ? "sampled"
                       : access->passed ? "arguments"
                                        : "probes");
    base_json_end_object(json);
}

// Returns whether accesses of the call were recorded.
static bool has_access(struct json_writing *writing, uint64_t call)
{
    while (writing->access && writing->access->call < call) // of a missing call
        writing->access = profile_accesses_next(writing->accesses);
    return writing->access && writing->access->call == call;
}

// Writes the accesses of the call, if any were recorded.
static void put_accesses(struct json_writing *writing, uint64_t call)
{
    struct base_json *json = &writing->json;
    if (!has_access(writing, call))
        return;
    report_json_key(json, "accesses");
    base_json_begin_array(json);
    for (; writing->access && writing->access->call == call;
         writing->access = profile_accesses_next(writing->accesses))
        put_access(json, writing->access);
    base_json_end_array(json);
}

// Writes how it is known what a launch accessed. A launch has all its accesses from one source.
static void put_knowledge(struct json_writing *writing, const struct profile_call *call)
{
    const bool watched = call->launch.flags & PROFILE_LAUNCH_WATCHED ||
                         (has_access(writing, call->number) && !writing->access->passed);
    report_json_bool(&writing->json, "watched", watched);
    report_json_string(&writing->json, "known_by",
                       watched                                         ? "probes"
                       : !(call->launch.flags & PROFILE_LAUNCH_PASSED) ? NULL
                       : call->launch.flags & PROFILE_LAUNCH_SAMPLED   ? "sampled"
                                                                       : "arguments");
}

static void put_details(struct json_writing *writing, const struct profile_call *call)
{
    struct base_json *json = &writing->json;
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH:
        put_launch(writing, &call->launch);
        report_json_bool(json, "gpu_start_estimated", call->gpu_start_estimated);
        put_knowledge(writing, call);
        break;
    case PROFILE_CALL_COPY: put_copy(json, &call->copy); break;
    case PROFILE_CALL_SET: put_set(json, &call->set); break;
    case PROFILE_CALL_ALLOC:
    case PROFILE_CALL_FREE:
    case PROFILE_CALL_MEMORY: put_range(json, &call->range); break;
    case PROFILE_CALL_SYNC:
    case PROFILE_CALL_EVENT_RECORD:
    case PROFILE_CALL_EVENT_WAIT: put_sync(json, &call->sync); break;
    case PROFILE_CALL_GRAPH_LAUNCH:
        report_json_number_or_null(json, "graph", call->graph, call->graph);
        break;
    default: break;
    }
}

static bool each_call(void *user, const struct profile_call *call)
{
    struct json_writing *writing = user;
    struct base_json *json = &writing->json;
    base_json_begin_object(json);
    report_json_number(json, "id", call->number);
    report_json_string(json, "kind", profile_call_kind_word(call->kind));
    report_json_string(json, "name", report_function_name(writing->data, call->function));
    report_json_string(json, "called", report_called(writing->data, call->path, call->function));
    report_json_number(json, "thread", call->thread);
    report_json_number(json, "context", call->context);
    report_json_number(json, "stream", call->stream);
    report_json_number(json, "order", analyze_order(writing->data->analysis, call->number));
    report_json_time(json, "start_ns", call->start_ns, true);
    report_json_time(json, "end_ns", call->end_ns, true);
    report_json_time(json, "gpu_start_ns", call->gpu_start_ns, call->has_gpu_time);
    report_json_time(json, "gpu_end_ns", call->gpu_end_ns, call->has_gpu_time);
    report_json_time(json, "result", call->result, true);
    report_json_number(json, "waited_ns", call->waited_ns);
    report_json_bool(json, "waited", call->flags & PROFILE_CALL_WAITED);
    report_json_bool(json, "async", call->flags & PROFILE_CALL_ASYNC);
    report_json_bool(json, "captured", call->flags & PROFILE_CALL_CAPTURED);
    report_json_number_or_null(json, "path", call->path, call->path);
    put_details(writing, call);
    put_accesses(writing, call->number);
    base_json_end_object(json);
    return !json->failed;
}

static bool each_graph(void *user, const struct profile_graph *graph)
{
    struct json_writing *writing = user;
    struct base_json *json = &writing->json;
    base_json_begin_object(json);
    report_json_number(json, "id", graph->number);
    report_json_key(json, "nodes");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct profile_node *node = &graph->nodes[i];
        base_json_begin_object(json);
        report_json_number(json, "id", i + 1u);
        report_json_string(json, "kind", profile_node_kind_word(node->kind));
        switch (node->kind) {
        case PROFILE_NODE_KERNEL: put_launch(writing, &node->launch); break;
        case PROFILE_NODE_COPY: put_copy(json, &node->copy); break;
        case PROFILE_NODE_SET: put_set(json, &node->set); break;
        case PROFILE_NODE_ALLOC:
        case PROFILE_NODE_FREE: put_range(json, &node->range); break;
        case PROFILE_NODE_EVENT_RECORD:
        case PROFILE_NODE_EVENT_WAIT:
            report_json_number_or_null(json, "event", node->event, node->event);
            break;
        default: break;
        }
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_end_object(json);
    return !json->failed;
}

static bool each_nvtx_range(void *user, const struct profile_nvtx_range *range)
{
    struct json_writing *writing = user;
    struct base_json *json = &writing->json;
    base_json_begin_object(json);
    report_json_number(json, "id", range->number);
    report_json_string(json, "name", range->name);
    report_json_string(json, "domain", range->domain);
    report_json_number(json, "thread", range->thread);
    report_json_bool(json, "pushed", range->pushed);
    report_json_time(json, "start_ns", range->start_ns, true);
    report_json_time(json, "end_ns", range->end_ns, range->has_end);
    report_json_number_or_null(json, "end_thread", range->end_thread, range->has_end);
    base_json_end_object(json);
    return !json->failed;
}

static bool each_path(void *user, const struct profile_path *path)
{
    struct json_writing *writing = user;
    struct base_json *json = &writing->json;
    base_json_begin_object(json);
    report_json_number(json, "id", path->number);
    report_json_bool(json, "truncated", path->truncated);
    report_json_string(json, "called", path->called);
    report_json_key(json, "frames");
    report_json_frames(json, writing->data, path->frames, path->frame_count, true);
    base_json_end_object(json);
    return !json->failed;
}

// --- The document --------------------------------------------------------------------------------

static void put_notes(struct base_json *json, const struct report_data *data)
{
    report_json_key(json, "notes");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->notes.count; i++) {
        base_json_begin_object(json);
        report_json_string(json, "severity", profile_severity_word(data->notes.items[i].severity));
        report_json_string(json, "text", data->notes.items[i].text);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    report_json_key(json, "dropped");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->dropped.count; i++) {
        base_json_begin_object(json);
        report_json_string(json, "kind", data->dropped.items[i].kind);
        report_json_number(json, "count", data->dropped.items[i].count);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

static enum base_code put_rows(struct json_writing *writing, struct profile *profile,
                               struct base_error *error)
{
    struct base_json *json = &writing->json;
    report_json_key(json, "objects");
    base_json_begin_array(json);
    for (size_t i = 0; i < writing->data->objects.count && !writing->paths.failed; i++)
        put_object(writing, &writing->data->objects.items[i]);
    base_json_end_array(json);
    BASE_RETURN_IF_NO_MEMORY(writing->paths.failed, error);
    enum base_code code = profile_accesses_begin(profile, &writing->accesses, error);
    writing->access = profile_accesses_next(writing->accesses);
#define ROWS(key, what)                                                   \
    if (code == BASE_OK && !json->failed) {                               \
        base_json_key(json, key);                                         \
        base_json_begin_array(json);                                      \
        code = profile_each_##what(profile, each_##what, writing, error); \
        base_json_end_array(json);                                        \
    }
    ROWS("calls", call)
    enum base_code ended = profile_accesses_end(writing->accesses, code == BASE_OK ? error : NULL);
    code = code == BASE_OK ? ended : code;
    ROWS("graphs", graph)
    ROWS("paths", path)
    ROWS("nvtx_ranges", nvtx_range)
#undef ROWS
    return code == BASE_OK && !json->failed ? report_json_kernels(json, writing->data, error)
                                            : code;
}

enum base_code report_json(struct profile *profile, const struct report_rules *rules,
                           report_write *write, void *user, struct base_error *error)
{
    struct report_data data = {.wants_flow = true};
    struct json_writing writing = {.data = &data, .paths = {.arena = &data.arena}};
    struct base_json *json = &writing.json;
    enum base_code code = report_data_load_by(&data, profile, rules, error);
    if (code == BASE_OK) {
        base_json_init(json, write, user, 0);
        base_json_begin_object(json);
        report_json_string(json, "glint", GLINT_VERSION);
        report_json_number(json, "schema", 1);
        report_json_program(json, &data);
        report_json_devices(json, &data);
        report_json_summary(json, &data);
        code = put_rows(&writing, profile, error);
    }
    if (code == BASE_OK) {
        report_json_collectives(json, &data);
        if (!report_json_findings(json, &data, &writing.paths) || !report_json_flow(json, &data))
            code = base_no_memory(error);
    }
    if (code == BASE_OK) {
        put_notes(json, &data);
        base_json_end_object(json);
        if (!base_json_finish(json) || !write(user, "\n", 1))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_map_fini(&writing.paths.made);
    report_data_fini(&data);
    return code;
}
