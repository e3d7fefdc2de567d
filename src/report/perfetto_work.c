// SPDX-License-Identifier: Apache-2.0
// Writes what the GPU does, on tracks of its streams: launches, copies and sets at GPU times. Work
// without GPU times is on a separate track, at the times of the host's calls. Graph nodes with
// times are on another one.
#include <stdio.h>

#include "perfetto.h"
#include "short_names.h"
#include "units.h"

bool perfetto_is_work(const struct profile_call *call)
{
    return call->result == 0 && !(call->flags & PROFILE_CALL_CAPTURED) &&
           (call->kind == PROFILE_CALL_LAUNCH || call->kind == PROFILE_CALL_COPY ||
            call->kind == PROFILE_CALL_SET || call->kind == PROFILE_CALL_GRAPH_LAUNCH);
}

void perfetto_work_times(const struct profile_call *call, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = call->has_gpu_time ? call->gpu_start_ns : call->start_ns;
    *end_ns = call->has_gpu_time ? call->gpu_end_ns : call->end_ns;
    if (*end_ns < *start_ns)
        *end_ns = *start_ns;
}

// --- Streams -------------------------------------------------------------------------------------

enum times { TIMES_GPU, TIMES_HOST, TIMES_NODES };

static bool take_stream(void *user, const struct profile_stream *stream)
{
    struct perfetto_work *work = user;
    uint64_t *slot = base_map_put(&work->streams, stream->number, NULL);
    struct profile_stream *row = slot ? base_array_push(&work->stream_rows) : NULL;
    work->failed |= !row;
    if (!row)
        return false;
    *row = *stream;
    *slot = work->stream_rows.count;
    return true;
}

static bool take_context(void *user, const struct profile_context *context)
{
    struct perfetto_work *work = user;
    uint64_t *slot = base_map_put(&work->contexts, context->number, NULL);
    work->failed |= !slot;
    if (slot)
        *slot = context->device;
    return slot != NULL;
}

enum base_code perfetto_work_load(struct perfetto_work *work, const struct report_data *data,
                                  struct base_error *error)
{
    work->data = data;
    enum base_code code = profile_each_stream(data->profile, take_stream, work, error);
    if (code == BASE_OK)
        code = profile_each_context(data->profile, take_context, work, error);
    if (code == BASE_OK && work->failed)
        code = base_no_memory(error);
    if (code == BASE_OK)
        code = profile_accesses_begin(data->profile, &work->accesses, error);
    work->access = profile_accesses_next(work->accesses);
    return code;
}

enum base_code perfetto_work_fini(struct perfetto_work *work, struct base_error *error)
{
    for (size_t i = 0; i < work->group_rows.count; i++)
        perfetto_group_fini(&work->group_rows.items[i]);
    base_array_fini(&work->group_rows);
    base_array_fini(&work->stream_rows);
    base_array_fini(&work->graph_launches);
    base_map_fini(&work->groups);
    base_map_fini(&work->streams);
    base_map_fini(&work->contexts);
    base_buf_fini(&work->reads.names);
    base_buf_fini(&work->writes.names);
    return profile_accesses_end(work->accesses, error);
}

// The owner of work: a stream, or a context if the stream is unknown.
struct place {
    uint32_t stream, context;
};

static const char *group_name(struct perfetto_trace *trace, struct place place,
                              const struct profile_stream *stream, enum times times)
{
    static const char *const hosts[] = {
        [TIMES_GPU] = "GPU times", [TIMES_HOST] = "host times", [TIMES_NODES] = "nodes of graphs"};
    bool simulated = profile_program(trace->data->profile)->simulated && times == TIMES_GPU;
    const char *when = simulated ? "simulated times" : hosts[times];
    if (place.stream == 0)
        return perfetto_format(trace, "stream not known (%s)", when);
    if (stream && stream->flags & PROFILE_STREAM_PER_THREAD)
        return perfetto_format(trace, "stream %u of thread %u (%s)", place.stream, stream->thread,
                               when);
    return perfetto_format(
        trace, "stream %u%s (%s)", place.stream,
        stream && stream->flags & PROFILE_STREAM_LEGACY ? ", legacy default" : "", when);
}

static struct perfetto_group *group_of(struct perfetto_trace *trace, struct perfetto_work *work,
                                       struct place place, enum times times)
{
    enum { RANK_STREAMS = 1000, MOST_RANKS = 100000000 };
    uint64_t key = place.stream ? place.stream : (uint64_t)1 << 32 | place.context;
    bool added;
    uint64_t *slot = base_map_put(&work->groups, key << 2 | times, &added);
    struct perfetto_group *group = slot && added ? base_array_push(&work->group_rows) : NULL;
    if (group) {
        *slot = work->group_rows.count;
        const uint64_t *index = base_map_get(&work->streams, place.stream);
        const struct profile_stream *stream = index ? &work->stream_rows.items[*index - 1] : NULL;
        const uint64_t *device =
            base_map_get(&work->contexts, stream ? stream->context : place.context);
        group->parent = perfetto_device_track(trace, device ? (uint32_t)*device : 0);
        group->name = group_name(trace, place, stream, times);
        uint32_t rank = place.stream < MOST_RANKS ? place.stream : MOST_RANKS;
        group->rank = RANK_STREAMS + (int32_t)(4 * rank + times);
    }
    trace->failed |= !slot || *slot == 0;
    return trace->failed ? NULL : &work->group_rows.items[*slot - 1];
}

// --- Touched objects -----------------------------------------------------------------------------

static void add_touched(struct perfetto_trace *trace, struct perfetto_touched *touched,
                        uint64_t number)
{
    enum { MOST_NAMES = 8 };
    const struct report_object *object = number ? report_find_object(trace->data, number) : NULL;
    if (!object || touched->count++ > MOST_NAMES)
        return;
    if (touched->names.length)
        base_buf_puts(&touched->names, ", ");
    if (touched->count > MOST_NAMES)
        base_buf_puts(&touched->names, "...");
    else if (object->name && object->name[0])
        base_buf_puts(&touched->names, object->name);
    else
        base_buf_printf(&touched->names, "(object %llu)", (unsigned long long)number);
}

static void put_touched(struct perfetto_trace *trace, struct perfetto_touched *touched,
                        enum perfetto_annotation annotation)
{
    trace->failed |= touched->names.failed;
    if (touched->names.length)
        perfetto_put_text(trace, annotation, touched->names.text);
    touched->names.length = 0;
    touched->count = 0;
}

static void put_all_touched(struct perfetto_trace *trace, struct perfetto_work *work,
                            const struct profile_call *call)
{
    while (work->access && work->access->call < call->number) // of a missing call
        work->access = profile_accesses_next(work->accesses);
    if (call->kind == PROFILE_CALL_COPY) {
        add_touched(trace, &work->reads, call->copy.from_object);
        add_touched(trace, &work->writes, call->copy.to_object);
    } else if (call->kind == PROFILE_CALL_SET) {
        add_touched(trace, &work->writes, call->set.object);
    }
    for (; work->access && work->access->call == call->number;
         work->access = profile_accesses_next(work->accesses)) {
        if (work->access->read)
            add_touched(trace, &work->reads, work->access->object);
        if (work->access->written)
            add_touched(trace, &work->writes, work->access->object);
    }
    put_touched(trace, &work->reads, PERFETTO_READS_IS);
    put_touched(trace, &work->writes, PERFETTO_WRITES_IS);
}

// --- Slices --------------------------------------------------------------------------------------

static const char *copy_name(enum profile_direction direction)
{
    static const char *const names[REPORT_DIRECTIONS] = {
        [PROFILE_DIRECTION_NONE] = "copy",
        [PROFILE_HOST_TO_DEVICE] = "copy host-to-device",
        [PROFILE_DEVICE_TO_HOST] = "copy device-to-host",
        [PROFILE_DEVICE_TO_DEVICE] = "copy device-to-device",
        [PROFILE_HOST_TO_HOST] = "copy host-to-host",
        [PROFILE_PEER_TO_PEER] = "copy peer-to-peer",
    };
    return names[direction];
}

static bool is_long(const char *name)
{
    return report_text_width(name) > REPORT_NAME_WIDTH;
}

// Slices of long names are cut by what shows them, so the kernel gets its short one.
static const char *kernel_name(const struct report_data *data, uint32_t kernel)
{
    const char *name = report_kernel_name(data, kernel);
    return !name ? "kernel" : is_long(name) ? report_short_kernel(data, kernel) : name;
}

static void put_long_name(struct perfetto_trace *trace, uint32_t kernel)
{
    const char *name = report_kernel_name(trace->data, kernel);
    if (name && is_long(name))
        perfetto_put_text(trace, PERFETTO_KERNEL_IS, name);
}

static const char *work_name(const struct report_data *data, const struct profile_call *call)
{
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH: return kernel_name(data, call->launch.kernel);
    case PROFILE_CALL_COPY: return copy_name(call->copy.direction);
    case PROFILE_CALL_SET: return "set";
    default: return "graph";
    }
}

static const char *node_name(const struct report_data *data, const struct report_node *node)
{
    switch (node->kind) {
    case PROFILE_NODE_KERNEL: return kernel_name(data, node->kernel);
    case PROFILE_NODE_COPY: return copy_name(node->direction);
    default: return profile_node_kind_word(node->kind);
    }
}

static void put_triple(struct perfetto_trace *trace, enum perfetto_annotation annotation,
                       const uint32_t values[3])
{
    char text[40];
    snprintf(text, sizeof(text), "%u x %u x %u", values[0], values[1], values[2]);
    perfetto_put_text(trace, annotation, text);
}

static void put_details(struct perfetto_trace *trace, const struct profile_call *call)
{
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH:
        put_long_name(trace, call->launch.kernel);
        put_triple(trace, PERFETTO_GRID_IS, call->launch.grid);
        put_triple(trace, PERFETTO_BLOCK_IS, call->launch.block);
        break;
    case PROFILE_CALL_COPY: perfetto_put_u64(trace, PERFETTO_BYTES_IS, call->copy.bytes); break;
    case PROFILE_CALL_SET: perfetto_put_u64(trace, PERFETTO_BYTES_IS, call->set.bytes); break;
    default: perfetto_put_u64(trace, PERFETTO_GRAPH_IS, call->graph); break;
    }
    if (call->has_gpu_time && call->gpu_start_estimated)
        perfetto_put_u64(trace, PERFETTO_ESTIMATED_IS, true);
}

void perfetto_put_work(struct perfetto_trace *trace, struct perfetto_work *work,
                       struct perfetto_flows *flows, uint32_t index,
                       const struct profile_call *call)
{
    const struct place place = {call->stream, call->context};
    struct perfetto_group *group =
        group_of(trace, work, place, call->has_gpu_time ? TIMES_GPU : TIMES_HOST);
    int64_t start_ns, end_ns;
    perfetto_work_times(call, &start_ns, &end_ns);
    uint64_t track = group ? perfetto_group_take(trace, group, start_ns, end_ns, NULL) : 0;
    if (!track)
        return;
    perfetto_event(trace, PERFETTO_WORK, PERFETTO_BEGIN, track, start_ns);
    perfetto_name(trace, PERFETTO_CATEGORY_WORK, work_name(trace->data, call));
    perfetto_correlate(trace, call->number);
    if (perfetto_flows_to_work(call))
        perfetto_flow(trace, 2 * call->number, true);
    perfetto_put_flows(trace, flows, index);
    perfetto_put_u64(trace, PERFETTO_CALL_IS, call->number);
    put_details(trace, call);
    put_all_touched(trace, work, call);
    perfetto_event_end(trace);
    perfetto_end(trace, PERFETTO_WORK, track, end_ns);
    if (call->kind == PROFILE_CALL_GRAPH_LAUNCH) {
        struct perfetto_graph_launch *launch = base_array_push(&work->graph_launches);
        trace->failed |= !launch;
        if (launch)
            *launch = (struct perfetto_graph_launch){call->number, call->graph, call->stream,
                                                     call->context};
    }
}

bool perfetto_flows_to_work(const struct profile_call *call)
{
    int64_t start_ns, end_ns;
    if (!perfetto_is_work(call))
        return false;
    perfetto_work_times(call, &start_ns, &end_ns);
    return start_ns >= call->start_ns;
}

// --- Nodes of graphs -----------------------------------------------------------------------------

struct node_walk {
    struct perfetto_trace *trace;
    struct perfetto_work *work;
    size_t next; // position in graph_launches; node times are in the order of calls
};

static bool each_node_time(void *user, const struct profile_time *time)
{
    struct node_walk *walk = user;
    struct perfetto_trace *trace = walk->trace;
    struct perfetto_work *work = walk->work;
    while (walk->next < work->graph_launches.count &&
           work->graph_launches.items[walk->next].call < time->call)
        walk->next++;
    if (walk->next == work->graph_launches.count)
        return false;
    const struct perfetto_graph_launch *launch = &work->graph_launches.items[walk->next];
    const struct report_graph *graph = report_graph_of(trace->data, launch->graph);
    if (launch->call != time->call || !graph || time->node == 0 || time->node > graph->node_count)
        return true;
    struct perfetto_group *group =
        group_of(trace, work, (struct place){launch->stream, launch->context}, TIMES_NODES);
    int64_t end_ns = time->end_ns > time->start_ns ? time->end_ns : time->start_ns;
    uint64_t track = group ? perfetto_group_take(trace, group, time->start_ns, end_ns, NULL) : 0;
    if (!track)
        return false;
    const struct report_node *node = &graph->nodes[time->node - 1];
    perfetto_event(trace, PERFETTO_WORK, PERFETTO_BEGIN, track, time->start_ns);
    perfetto_name(trace, PERFETTO_CATEGORY_NODE, node_name(trace->data, node));
    perfetto_correlate(trace, time->call);
    perfetto_put_u64(trace, PERFETTO_CALL_IS, time->call);
    perfetto_put_u64(trace, PERFETTO_GRAPH_IS, launch->graph);
    perfetto_put_u64(trace, PERFETTO_NODE_IS, time->node);
    if (node->kind == PROFILE_NODE_KERNEL)
        put_long_name(trace, node->kernel);
    if (node->kind == PROFILE_NODE_COPY || node->kind == PROFILE_NODE_SET)
        perfetto_put_u64(trace, PERFETTO_BYTES_IS, node->bytes);
    perfetto_event_end(trace);
    perfetto_end(trace, PERFETTO_WORK, track, end_ns);
    return !perfetto_failed(trace);
}

enum base_code perfetto_put_nodes(struct perfetto_trace *trace, struct perfetto_work *work,
                                  struct base_error *error)
{
    struct node_walk walk = {trace, work, 0};
    return profile_each_node_time(trace->data->profile, each_node_time, &walk, error);
}
