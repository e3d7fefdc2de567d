// SPDX-License-Identifier: Apache-2.0
// Launches of executable graphs: which of their kernels are watched this time, and with values,
// what their other nodes write.
#include <stdlib.h>

#include "exec.h"
#include "inject/core/details.h"

// --- Launches ------------------------------------------------------------------------------------

static bool is_disabled(const struct probe_exec *exec, const struct probe_node *node)
{
    return node->disabled ||
           (node->child != NO_CHILD && exec->children.items[node->child].disabled);
}

static bool make_room(struct probe_exec *exec)
{
    if (exec->room >= exec->nodes.count)
        return true;
    struct shadow_ticket **tickets =
        realloc(exec->tickets, exec->nodes.count * sizeof(*exec->tickets));
    if (tickets)
        exec->tickets = tickets;
    uint32_t *numbers = realloc(exec->numbers, exec->nodes.count * sizeof(*exec->numbers));
    if (numbers)
        exec->numbers = numbers;
    if (!tickets || !numbers) {
        core_no_memory();
        return false;
    }
    exec->room = exec->nodes.count;
    return true;
}

// Decides which nodes this launch watches.
static void choose(struct probe_exec *exec)
{
    CUstreamCaptureMode mode;
    const bool relaxed = probe_relax(&mode);
    for (size_t i = 0; i < exec->nodes.count; i++) {
        struct probe_node *node = &exec->nodes.items[i];
        if (!is_disabled(exec, node))
            probe_exec_set_node(exec, node, probe_kernel_chosen(node->kernel));
    }
    probe_exec_set_children(exec);
    probe_unrelax(relaxed, &mode);
    exec->watched = 0;
    for (size_t i = 0; i < exec->nodes.count; i++) {
        const struct probe_node *node = &exec->nodes.items[i];
        if (is_disabled(exec, node))
            continue;
        if (!node->live) {
            probe_kernel_unwatched(node->kernel, exec->context);
            continue;
        }
        exec->tickets[exec->watched] = node->ticket;
        exec->numbers[exec->watched++] = node->index + 1;
    }
}

// --- What other nodes write ----------------------------------------------------------------------

static void add_range(struct shadow_graph_work *work, uint64_t address, uint64_t bytes)
{
    struct core_objects_piece piece;
    struct shadow_range *range = NULL;
    if (!bytes)
        return;
    if (core_objects_find_piece(&core_state.objects, address, &piece))
        range = base_array_push(&work->ranges);
    work->unseen |= !range;
    if (range)
        *range = (struct shadow_range){address, address + bytes};
}

static void add_node(struct shadow_graph_work *work, const struct core_node *node)
{
    const struct event_copy *copy = &node->reported.copy;
    const struct event_set *set = &node->reported.set;
    switch (node->reported.kind) {
    case EVENT_NODE_COPY:
        if (copy->to_memory == EVENT_MEMORY_DEVICE || copy->to_memory == EVENT_MEMORY_UNKNOWN)
            add_range(work, copy->to,
                      core_extent(copy->width_bytes, copy->height, copy->to_pitch, copy->depth,
                                  copy->to_slice));
        break;
    case EVENT_NODE_SET:
        add_range(work, set->address, core_extent(set->width_bytes, set->height, set->pitch, 1, 0));
        break;
    // It may be a launch of another executable, whose nodes the driver does not list.
    case EVENT_NODE_GRAPH: work->unseen |= !node->children; break;
    case EVENT_NODE_OTHER: work->unseen = true; break;
    default: break;
    }
}

// Lists what nodes other than watched kernels write, as they are now.
static void list_work(struct probe_exec *exec, const struct core_graph *graph)
{
    struct shadow_graph_work *work = &exec->work;
    size_t kernels = 0;
    work->ranges.count = 0;
    work->unseen = !graph;
    for (size_t i = 0; graph && i < graph->nodes.count; i++) {
        const struct core_node *node = &graph->nodes.items[i];
        if (node->disabled) {
            // Whether the nodes of a child graph run is not known.
            work->unseen |= node->reported.kind == EVENT_NODE_GRAPH;
            continue;
        }
        kernels += node->reported.kind == EVENT_NODE_KERNEL;
        add_node(work, node);
    }
    work->unseen |= kernels != exec->watched;
}

// --- Launching -----------------------------------------------------------------------------------

void probe_exec_launch(struct core_call *call, CUgraphExec handle, const struct core_graph *graph)
{
    struct probe_exec *exec = probe_exec_find(handle);
    const bool values = probe_state->facts & INSTRUMENT_VALUES;
    if (exec)
        probe_passed_replay(call, &exec->passed);
    if (!exec || (!exec->nodes.count && !values))
        return;
    if (call->flags & EVENT_CALL_CAPTURED || !call->stream ||
        call->stream->context != exec->context || call->current != exec->context ||
        stack_is_small() || !make_room(exec)) {
        probe_exec_set_nodes(exec, false);
        for (size_t i = 0; i < exec->nodes.count; i++)
            probe_kernel_unwatched(exec->nodes.items[i].kernel, exec->context);
        return;
    }
    choose(exec);
    if (exec->last && exec->last != call->stream->number)
        REAL(cuStreamWaitEvent)(call->stream->handle, exec->done, 0);
    if (values)
        list_work(exec, graph);
    if (!exec->watched && (!values || exec->work.unseen))
        return;
    if (core_state.timestamps)
        core_gpu_time_prepare(call);
    shadow_replay(call->stream, exec->tickets, exec->watched, values ? &exec->work : NULL);
    core_stream_work(call->stream);
    call->replays = exec;
    if (exec->watched)
        call->flags |= EVENT_CALL_REPLAYS;
}

void probe_exec_launched(struct core_call *call)
{
    struct probe_exec *exec = call->replays;
    CUstreamCaptureMode mode;
    shadow_replayed(call->stream, exec->tickets, exec->numbers, exec->watched, call->number,
                    call->result == CUDA_SUCCESS);
    core_stream_work(call->stream);
    const bool relaxed = probe_relax(&mode);
    if (!exec->done && REAL(cuEventCreate)(&exec->done, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        exec->done = NULL;
    probe_unrelax(relaxed, &mode);
    if (exec->done && REAL(cuEventRecord)(exec->done, call->stream->handle) == CUDA_SUCCESS)
        exec->last = call->stream->number;
}
