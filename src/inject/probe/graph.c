// SPDX-License-Identifier: Apache-2.0
// Kernels that executable graphs launch. glint leaves a graph as the program made it, so that all
// queries about it stay correct. It sets the kernel nodes of the executable to clones, each with
// its own launch context (exec_nodes.c), and chooses at each launch which are watched
// (exec_launch.c). This file knows which executables there are.
//
// The driver identifies an executable's nodes by those of the graph it was made from, so glint
// keeps a graph until its last executable has ended. While the program updates an executable as a
// whole, or captures a launch of it, the nodes are set to the program's kernels.
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exec.h"

struct probe_graph {
    uint32_t execs;
    bool destroyed; // the program has destroyed it
};

// --- Graphs --------------------------------------------------------------------------------------

static void *at(const struct base_map *map, const void *handle)
{
    const uint64_t *place = base_map_get(map, (uint64_t)(uintptr_t)handle);
    return place ? (void *)(uintptr_t)*place : NULL; // NOLINT(performance-no-int-to-ptr)
}

struct probe_exec *probe_exec_find(CUgraphExec handle)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_exec *exec = at(&probe_state->execs, handle);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    return exec;
}

// --- Whose turn it is ----------------------------------------------------------------------------

static void pause_a_little(void)
{
    const struct timespec pause = {0, 20000};
    nanosleep(&pause, NULL);
}

void probe_exec_take(struct core_call *call, CUgraphExec handle)
{
    for (;;) {
        util_mutex_lock(&probe_state->lock, RANK_PROBE);
        struct probe_exec *exec = at(&probe_state->execs, handle);
        const bool waits = exec && exec->taken;
        if (exec && !waits) {
            exec->taken = true;
            call->exec = exec;
        }
        util_mutex_unlock(&probe_state->lock, RANK_PROBE);
        if (!waits)
            return;
        pause_a_little(); // until the other thread has changed its nodes
    }
}

static void release(struct probe_exec *exec)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    exec->taken = false;
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
}

void probe_exec_release(struct core_call *call)
{
    if (call->exec)
        release(call->exec);
    call->exec = NULL;
}

// --- Graphs that executables were made from ------------------------------------------------------

static bool hold_graph_locked(CUgraph handle)
{
    struct probe_graph *graph = at(&probe_state->graphs, handle);
    if (!graph) {
        uint64_t *place = base_map_put(&probe_state->graphs, (uint64_t)(uintptr_t)handle, NULL);
        graph = place ? calloc(1, sizeof(*graph)) : NULL;
        if (!graph) {
            base_map_remove(&probe_state->graphs, (uint64_t)(uintptr_t)handle);
            return false;
        }
        *place = (uint64_t)(uintptr_t)graph;
    }
    graph->execs++;
    return true;
}

static void drop_graph(CUgraph handle)
{
    bool destroy = false;
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_graph *graph = at(&probe_state->graphs, handle);
    if (graph && --graph->execs == 0) {
        destroy = graph->destroyed;
        base_map_remove(&probe_state->graphs, (uint64_t)(uintptr_t)handle);
        free(graph);
    }
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (destroy)
        REAL(cuGraphDestroy)(handle);
}

bool probe_graph_keep(CUgraph handle)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_graph *graph = at(&probe_state->graphs, handle);
    const bool keep = graph && !graph->destroyed;
    if (keep)
        graph->destroyed = true;
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    return keep;
}

// --- Executables ---------------------------------------------------------------------------------

// nodes: what the executable does now. handles: the nodes by which it identifies them.
static void adopt_all(struct probe_exec *exec, const struct core_graph *nodes,
                      const struct core_graph *handles)
{
    CUstreamCaptureMode mode;
    CUgraph child;
    const bool relaxed = probe_relax(&mode);
    for (size_t i = 0; i < nodes->nodes.count; i += 1 + nodes->nodes.items[i].children) {
        const struct core_node *node = &nodes->nodes.items[i];
        const CUgraphNode handle = handles->nodes.items[i].handle;
        if (node->reported.kind == EVENT_NODE_KERNEL)
            probe_exec_adopt_as(exec, (uint32_t)i, handle, NO_CHILD, node->handle);
        else if (node->reported.kind == EVENT_NODE_GRAPH &&
                 REAL(cuGraphChildGraphNodeGetGraph)(node->handle, &child) == CUDA_SUCCESS)
            probe_exec_adopt_child(exec, (uint32_t)i, handle, child, node + 1, node->children);
    }
    probe_unrelax(relaxed, &mode);
}

static void clear(struct probe_exec *exec)
{
    for (size_t i = 0; i < exec->nodes.count; i++)
        probe_node_fini(&exec->nodes.items[i]);
    for (size_t i = 0; i < exec->children.count; i++)
        REAL(cuGraphDestroy)(exec->children.items[i].copy);
    exec->nodes.count = exec->children.count = exec->passed.words.count = 0;
}

static void exec_free(struct probe_exec *exec)
{
    clear(exec);
    if (exec->done)
        REAL(cuEventDestroy_v2)(exec->done);
    base_array_fini(&exec->nodes);
    base_array_fini(&exec->children);
    base_array_fini(&exec->work.ranges);
    base_array_fini(&exec->passed.words);
    free(exec->tickets);
    free(exec->numbers);
    free(exec);
}

static bool enter(struct probe_exec *exec)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    uint64_t *place =
        hold_graph_locked(exec->graph)
            ? base_map_put(&probe_state->execs, (uint64_t)(uintptr_t)exec->handle, NULL)
            : NULL;
    if (place)
        *place = (uint64_t)(uintptr_t)exec;
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    return place != NULL;
}

// Notes child graphs that the driver does not describe. A captured launch of another executable may
// be such a node.
static void look_for_hidden(const struct core_graph *nodes)
{
    CUgraph child;
    for (size_t i = 0; i < nodes->nodes.count; i++) {
        const struct core_node *node = &nodes->nodes.items[i];
        if (node->reported.kind == EVENT_NODE_GRAPH && !node->children &&
            REAL(cuGraphChildGraphNodeGetGraph)(node->handle, &child) != CUDA_SUCCESS &&
            !atomic_exchange(&probe_state->hidden, true))
            core_note(
                EVENT_WARNING,
                "the driver does not describe some child graphs: their kernels are not watched");
    }
}

// Returns whether the graph is launched from the device. Its nodes cannot be changed.
static bool is_for_device(CUgraphExec handle)
{
    cuuint64_t flags = 0;
    return REAL(cuGraphExecGetFlags)(handle, &flags) == CUDA_SUCCESS &&
           flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
}

void probe_exec_made(struct core_call *call, CUgraphExec handle, CUgraph graph,
                     const struct core_graph *nodes)
{
    probe_exec_end(handle); // ends an older executable whose handle the driver has reused
    look_for_hidden(nodes);
    const bool has = probe_has_kernels(nodes->nodes.items, nodes->nodes.count);
    if (!call->current || (!has && !(probe_state->facts & INSTRUMENT_VALUES)))
        return;
    if (is_for_device(handle)) {
        core_note(EVENT_WARNING, "kernels of graphs that are launched from the device are not "
                                 "watched");
        return;
    }
    struct probe_exec *exec = calloc(1, sizeof(*exec));
    if (!exec) {
        core_no_memory();
        return;
    }
    exec->handle = handle;
    exec->graph = graph;
    exec->context = call->current;
    exec->taken = true;
    if (!enter(exec)) {
        core_no_memory();
        exec_free(exec);
        return;
    }
    call->exec = exec;
    adopt_all(exec, nodes, nodes);
}

void probe_exec_end(CUgraphExec handle)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_exec *exec = at(&probe_state->execs, handle);
    base_map_remove(&probe_state->execs, (uint64_t)(uintptr_t)handle);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (!exec)
        return;
    const CUgraph graph = exec->graph;
    exec_free(exec);
    drop_graph(graph);
}

void probe_exec_leave(CUgraphExec handle)
{
    struct probe_exec *exec = probe_exec_find(handle);
    if (exec)
        probe_exec_set_nodes(exec, false);
}

void probe_exec_updated(const struct core_call *call, CUgraphExec handle,
                        const struct core_graph *nodes, const struct core_graph *handles)
{
    struct probe_exec *exec = probe_exec_find(handle);
    if (!exec)
        return;
    clear(exec);
    if (call->current == exec->context && nodes->nodes.count == handles->nodes.count)
        adopt_all(exec, nodes, handles);
}

void probe_exec_set(const struct core_call *call, CUgraphExec handle, uint32_t index,
                    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct probe_exec *exec = probe_exec_find(handle);
    CUstreamCaptureMode mode;
    bool disabled = false;
    if (!exec)
        return;
    for (size_t i = 0; i < exec->nodes.count; i++) {
        if (exec->nodes.items[i].index == index) {
            disabled = exec->nodes.items[i].disabled;
            probe_exec_forget(exec, i);
            break;
        }
    }
    probe_passed_forget(&exec->passed, index, 1);
    if (call->current != exec->context)
        return;
    const bool relaxed = probe_relax(&mode);
    const size_t before = exec->nodes.count;
    probe_exec_adopt(exec, index, node, NO_CHILD, params);
    if (exec->nodes.count > before)
        exec->nodes.items[before].disabled = disabled;
    probe_unrelax(relaxed, &mode);
}

void probe_exec_set_child(const struct core_call *call, CUgraphExec handle, uint32_t index,
                          CUgraphNode node, CUgraph child, const struct core_graph *nodes)
{
    struct probe_exec *exec = probe_exec_find(handle);
    CUstreamCaptureMode mode;
    bool disabled = false;
    if (!exec)
        return;
    for (size_t c = 0; c < exec->children.count; c++) {
        struct probe_child *old = &exec->children.items[c];
        if (old->index != index || !old->copy)
            continue;
        for (size_t i = exec->nodes.count; i-- > 0;) {
            if (exec->nodes.items[i].child == c)
                probe_exec_forget(exec, i);
        }
        REAL(cuGraphDestroy)(old->copy);
        disabled = old->disabled;
        *old = (struct probe_child){0}; // others are identified by their index
    }
    probe_passed_forget(&exec->passed, index + 1, (uint32_t)nodes->nodes.count);
    if (call->current != exec->context)
        return;
    const bool relaxed = probe_relax(&mode);
    const size_t before = exec->children.count;
    probe_exec_adopt_child(exec, index, node, child, nodes->nodes.items, nodes->nodes.count);
    if (exec->children.count > before)
        exec->children.items[before].disabled = disabled;
    probe_unrelax(relaxed, &mode);
}

void probe_exec_enabled(CUgraphExec handle, uint32_t index, bool enabled)
{
    struct probe_exec *exec = probe_exec_find(handle);
    for (size_t i = 0; exec && i < exec->nodes.count; i++) {
        if (exec->nodes.items[i].index == index && exec->nodes.items[i].child == NO_CHILD)
            exec->nodes.items[i].disabled = !enabled;
    }
    for (size_t i = 0; exec && i < exec->children.count; i++) {
        if (exec->children.items[i].index == index)
            exec->children.items[i].disabled = !enabled;
    }
}

static struct probe_exec *exec_with(CUgraphNode handle, size_t *index)
{
    for (size_t e = 0; e < probe_state->execs.count; e++) {
        const struct base_map_entry *entry = &probe_state->execs.entries[e];
        struct probe_exec *exec = (struct probe_exec *)(uintptr_t)entry->value; // NOLINT
        for (*index = 0; !entry->removed && *index < exec->nodes.count; ++*index) {
            if (exec->nodes.items[*index].handle == handle)
                return exec;
        }
    }
    return NULL;
}

// After this, glint no longer asks the driver about the node.
void probe_graph_node_end(CUgraphNode handle)
{
    struct probe_exec *exec;
    do {
        size_t index;
        util_mutex_lock(&probe_state->lock, RANK_PROBE);
        exec = exec_with(handle, &index);
        const bool waits = exec && exec->taken;
        if (exec && !waits)
            exec->taken = true;
        util_mutex_unlock(&probe_state->lock, RANK_PROBE);
        if (waits) {
            pause_a_little();
        } else if (exec) {
            probe_exec_set_node(exec, &exec->nodes.items[index], false);
            probe_exec_forget(exec, index);
            release(exec);
        }
    } while (exec);
}

// --- Giving memory back --------------------------------------------------------------------------

void probe_exec_withdraw(struct core_call *call)
{
    struct probe_exec *exec = call->replays;
    if (!exec)
        return;
    shadow_replayed(call->stream, exec->tickets, exec->numbers, exec->watched, call->number, false);
    call->replays = NULL;
    call->flags &= (uint8_t)~EVENT_CALL_REPLAYS;
    probe_exec_set_nodes(exec, false);
}

// Takes an executable of the context that has watched nodes; NULL: there is none that can be taken.
static struct probe_exec *take_any(const struct core_context *context)
{
    struct probe_exec *found = NULL;
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    for (size_t i = 0; i < probe_state->execs.count && !found; i++) {
        const struct base_map_entry *entry = &probe_state->execs.entries[i];
        struct probe_exec *exec = (struct probe_exec *)(uintptr_t)entry->value; // NOLINT
        if (!entry->removed && !exec->taken && exec->context == context && exec->nodes.count &&
            !exec->stuck)
            found = exec;
    }
    if (found)
        found->taken = true;
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    return found;
}

void probe_exec_leave_all(const struct core_context *context)
{
    for (struct probe_exec *exec; (exec = take_any(context));) {
        probe_exec_leave_nodes(exec);
        release(exec);
    }
}
