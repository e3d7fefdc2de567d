// SPDX-License-Identifier: Apache-2.0
// Writes calls, graphs and GPU times as the integers of their tables. A launch, the most frequent
// call, is one row of seven numbers: what it shares with others is in `sites` and `launches`.
#include "writer.h"

static enum base_code intern_launch(struct profile_writer *writer,
                                    const struct profile_launch *launch, int64_t *id,
                                    struct base_error *error)
{
    int64_t values[] = {0,
                        launch->kernel,
                        launch->grid[0],
                        launch->grid[1],
                        launch->grid[2],
                        launch->block[0],
                        launch->block[1],
                        launch->block[2],
                        launch->dynamic_shared_bytes,
                        launch->flags};
    enum base_code code =
        profile_intern_row(writer, &writer->launches, PROFILE_TABLE_LAUNCHES, values, error);
    *id = values[0];
    return code;
}

static enum base_code put_copy(struct profile_writer *writer, uint64_t call,
                               const struct profile_copy *copy, struct base_error *error)
{
    const enum base_code code = profile_put(
        writer, PROFILE_TABLE_COPIES,
        (int64_t[]){(int64_t)call, (int64_t)copy->bytes, (int64_t)copy->from, (int64_t)copy->to,
                    (int64_t)copy->from_object, (int64_t)copy->to_object, (int64_t)copy->from_pitch,
                    (int64_t)copy->to_pitch, (int64_t)copy->width_bytes, (int64_t)copy->height,
                    (int64_t)copy->depth, copy->from_memory, copy->to_memory, copy->direction},
        error);
    if (code != BASE_OK || copy->host == PROFILE_HOST_NONE)
        return code;
    return profile_put(writer, PROFILE_TABLE_COPY_HOSTS,
                       (int64_t[]){(int64_t)call, copy->host, (int64_t)copy->block}, error);
}

static enum base_code put_set(struct profile_writer *writer, uint64_t call,
                              const struct profile_set *set, struct base_error *error)
{
    return profile_put(writer, PROFILE_TABLE_SETS,
                       (int64_t[]){(int64_t)call, (int64_t)set->address, (int64_t)set->object,
                                   (int64_t)set->bytes, (int64_t)set->pitch,
                                   (int64_t)set->width_bytes, (int64_t)set->height, set->value,
                                   set->value_bytes},
                       error);
}

// The difference of two times. It may wrap; adding it again wraps back.
static int64_t duration(int64_t start_ns, int64_t end_ns)
{
    return (int64_t)((uint64_t)end_ns - (uint64_t)start_ns);
}

static enum base_code put_detail(struct profile_writer *writer, const struct profile_call *call,
                                 struct base_error *error)
{
    switch (call->kind) {
    case PROFILE_CALL_COPY: return put_copy(writer, call->number, &call->copy, error);
    case PROFILE_CALL_SET: return put_set(writer, call->number, &call->set, error);
    case PROFILE_CALL_ALLOC:
    case PROFILE_CALL_FREE:
    case PROFILE_CALL_MEMORY:
        return profile_put(writer, PROFILE_TABLE_RANGES,
                           (int64_t[]){(int64_t)call->number, (int64_t)call->range.address,
                                       (int64_t)call->range.bytes, (int64_t)call->range.object},
                           error);
    case PROFILE_CALL_SYNC:
    case PROFILE_CALL_EVENT_RECORD:
    case PROFILE_CALL_EVENT_WAIT:
        return profile_put(writer, PROFILE_TABLE_SYNCS,
                           (int64_t[]){(int64_t)call->number, (int64_t)call->sync.event,
                                       call->sync.stream, call->sync.record},
                           error);
    default: return BASE_OK;
    }
}

enum base_code profile_add_call(struct profile_writer *writer, const struct profile_call *call,
                                struct base_error *error)
{
    int64_t detail = 0;
    enum base_code code = BASE_OK;
    if (call->kind == PROFILE_CALL_LAUNCH)
        code = intern_launch(writer, &call->launch, &detail, error);
    else if (call->kind == PROFILE_CALL_GRAPH_LAUNCH)
        detail = (int64_t)call->graph;
    int64_t site[] = {
        0,          call->kind, call->function, call->thread, call->context, call->stream,
        call->path, call->flags};
    if (code == BASE_OK)
        code = profile_intern_row(writer, &writer->sites, PROFILE_TABLE_SITES, site, error);
    if (code == BASE_OK)
        code = profile_put_first(writer, PROFILE_TABLE_CALLS,
                                 (int64_t[]){(int64_t)call->number, call->start_ns,
                                             duration(call->start_ns, call->end_ns), site[0],
                                             call->result, (int64_t)call->waited_ns, detail},
                                 error);
    if (code == BASE_OK)
        code = put_detail(writer, call, error);
    if (code == BASE_OK && call->has_gpu_time)
        code =
            profile_add_time(writer,
                             &(struct profile_time){.call = call->number,
                                                    .start_ns = call->gpu_start_ns,
                                                    .end_ns = call->gpu_end_ns,
                                                    .start_estimated = call->gpu_start_estimated},
                             error);
    return code;
}

enum base_code profile_add_time(struct profile_writer *writer, const struct profile_time *time,
                                struct base_error *error)
{
    const int64_t lasted = duration(time->start_ns, time->end_ns);
    if (time->node == 0)
        return profile_put_first(
            writer, PROFILE_TABLE_GPU_TIMES,
            (int64_t[]){(int64_t)time->call, time->start_ns, lasted, time->start_estimated}, error);
    return profile_put_first(writer, PROFILE_TABLE_NODE_TIMES,
                             (int64_t[]){(int64_t)time->call, time->node, time->start_ns, lasted},
                             error);
}

// The columns of `graph_nodes`.
enum node_column {
    NODE_GRAPH,
    NODE_NODE,
    NODE_KIND,
    NODE_LAUNCH,
    NODE_ADDRESS,
    NODE_OBJECT,
    NODE_BYTES,
    NODE_PITCH,
    NODE_WIDTH,
    NODE_HEIGHT,
    NODE_DEPTH,
    NODE_TO_ADDRESS,
    NODE_TO_OBJECT,
    NODE_TO_PITCH,
    NODE_FROM_MEMORY,
    NODE_TO_MEMORY,
    NODE_DIRECTION,
    NODE_VALUE,
    NODE_VALUE_BYTES,
    NODE_EVENT,
    NODE_COLUMNS
};

static enum base_code put_node(struct profile_writer *writer, uint64_t graph, uint32_t number,
                               const struct profile_node *node, struct base_error *error)
{
    int64_t values[NODE_COLUMNS] = {
        [NODE_GRAPH] = (int64_t)graph, [NODE_NODE] = number, [NODE_KIND] = node->kind};
    enum base_code code = BASE_OK;
    switch (node->kind) {
    case PROFILE_NODE_KERNEL:
        code = intern_launch(writer, &node->launch, &values[NODE_LAUNCH], error);
        break;
    case PROFILE_NODE_COPY:
        values[NODE_ADDRESS] = (int64_t)node->copy.from;
        values[NODE_OBJECT] = (int64_t)node->copy.from_object;
        values[NODE_BYTES] = (int64_t)node->copy.bytes;
        values[NODE_PITCH] = (int64_t)node->copy.from_pitch;
        values[NODE_WIDTH] = (int64_t)node->copy.width_bytes;
        values[NODE_HEIGHT] = (int64_t)node->copy.height;
        values[NODE_DEPTH] = (int64_t)node->copy.depth;
        values[NODE_TO_ADDRESS] = (int64_t)node->copy.to;
        values[NODE_TO_OBJECT] = (int64_t)node->copy.to_object;
        values[NODE_TO_PITCH] = (int64_t)node->copy.to_pitch;
        values[NODE_FROM_MEMORY] = node->copy.from_memory;
        values[NODE_TO_MEMORY] = node->copy.to_memory;
        values[NODE_DIRECTION] = node->copy.direction;
        break;
    case PROFILE_NODE_SET:
        values[NODE_ADDRESS] = (int64_t)node->set.address;
        values[NODE_OBJECT] = (int64_t)node->set.object;
        values[NODE_BYTES] = (int64_t)node->set.bytes;
        values[NODE_PITCH] = (int64_t)node->set.pitch;
        values[NODE_WIDTH] = (int64_t)node->set.width_bytes;
        values[NODE_HEIGHT] = (int64_t)node->set.height;
        values[NODE_VALUE] = node->set.value;
        values[NODE_VALUE_BYTES] = node->set.value_bytes;
        break;
    case PROFILE_NODE_ALLOC:
    case PROFILE_NODE_FREE:
        values[NODE_ADDRESS] = (int64_t)node->range.address;
        values[NODE_OBJECT] = (int64_t)node->range.object;
        values[NODE_BYTES] = (int64_t)node->range.bytes;
        break;
    case PROFILE_NODE_EVENT_RECORD:
    case PROFILE_NODE_EVENT_WAIT: values[NODE_EVENT] = (int64_t)node->event; break;
    default: break;
    }
    return code == BASE_OK ? profile_put(writer, PROFILE_TABLE_GRAPH_NODES, values, error) : code;
}

enum base_code profile_add_graph(struct profile_writer *writer, const struct profile_graph *graph,
                                 struct base_error *error)
{
    enum base_code code =
        profile_put_first(writer, PROFILE_TABLE_GRAPHS,
                          (int64_t[]){(int64_t)graph->number, graph->node_count}, error);
    if (code == BASE_OK) // nodes of an earlier row of this number
        code = profile_drop(writer, &writer->drop_graph, PROFILE_TABLE_GRAPH_NODES, "graph",
                            graph->number, error);
    for (uint32_t i = 0; i < graph->node_count && code == BASE_OK; i++)
        code = put_node(writer, graph->number, i + 1, &graph->nodes[i], error);
    return code;
}

enum base_code profile_add_edge(struct profile_writer *writer, const struct profile_edge *edge,
                                struct base_error *error)
{
    return profile_put(writer, PROFILE_TABLE_GRAPH_EDGES,
                       (int64_t[]){(int64_t)edge->graph, edge->to, edge->from}, error);
}
