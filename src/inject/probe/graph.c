// SPDX-License-Identifier: Apache-2.0
// Kernels that executable graphs launch. glint leaves a graph as the program made it, so that all
// queries about it stay correct. It sets the kernel nodes of the executable to clones, each with
// its own launch context. Nodes of child graphs are set in a copy of the child, which is then given
// to the executable.
//
// The driver identifies an executable's nodes by those of the graph it was made from, so glint
// keeps a graph until its last executable has ended. While the program updates an executable as a
// whole, or captures a launch of it, the nodes are set to the program's kernels.
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "inject/core/details.h"
#include "inject/core/kernels.h"
#include "inject/shadow/graph.h"
#include "inject/shadow/graph_scan.h"
#include "inject/shadow/model.h"
#include "passed.h"

#define NO_CHILD SIZE_MAX

struct probe_node {
    uint32_t index;     // among the graph's nodes, as recorded
    CUgraphNode handle; // by which the executable, or the copy of its child graph, identifies it
    size_t child;       // index among the executable's children; NO_CHILD: the node is its own
    struct probe_kernel *kernel;
    const struct probe_clone *clone;
    struct probe_params *params;
    CUDA_KERNEL_NODE_PARAMS program; // as the program set it, with the values in params
    struct shadow_ticket *ticket;
    bool on;       // set to the clone, in the graph that `handle` belongs to
    bool live;     // set to the clone in the executable
    bool disabled; // does not run
};

struct probe_child { // a node that is a child graph
    uint32_t index;
    CUgraphNode handle;
    CUgraph copy;
    bool changed;  // not given to the executable yet
    bool failed;   // the executable refuses it
    bool disabled; // does not run
};

// The program launches and changes an executable from one thread at a time.
struct probe_exec {
    CUgraphExec handle;
    CUgraph graph;
    struct core_context *context;
    BASE_ARRAY(struct probe_node) nodes;
    BASE_ARRAY(struct probe_child) children;
    struct probe_passed_nodes passed; // nodes whose kernels have no probes
    // Watched nodes of the launch that is being made.
    struct shadow_ticket **tickets;
    uint32_t *numbers;
    size_t watched, room;
    struct shadow_graph_work work; // values: what its other nodes write
    // Launches of one executable may follow each other on different streams. Their results in
    // shadow memory must be read before the next launch.
    CUevent done;
    uint32_t last; // number of the stream of the last launch; 0: none yet
};

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

static struct probe_exec *find(CUgraphExec handle)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_exec *exec = at(&probe_state->execs, handle);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    return exec;
}

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

// --- Nodes ---------------------------------------------------------------------------------------

static void set(struct probe_exec *exec, struct probe_node *node, bool on)
{
    CUDA_KERNEL_NODE_PARAMS params = node->program;
    struct probe_child *child = node->child == NO_CHILD ? NULL : &exec->children.items[node->child];
    if (node->on == on || (child && child->failed))
        return;
    if (on) {
        params.func = node->clone->function;
        params.kern = NULL;
    }
    if (core_graph_set_params(child ? NULL : exec->handle, node->handle, &params) != CUDA_SUCCESS)
        return;
    node->on = on;
    if (child)
        child->changed = true;
    else
        node->live = on;
}

// Gives the executable the child graphs whose copies were changed.
static void set_children(struct probe_exec *exec)
{
    for (size_t i = 0; i < exec->children.count; i++) {
        struct probe_child *child = &exec->children.items[i];
        if (!child->changed)
            continue;
        child->changed = false;
        child->failed = REAL(cuGraphExecChildGraphNodeSetParams)(exec->handle, child->handle,
                                                                 child->copy) != CUDA_SUCCESS;
        for (size_t k = 0; !child->failed && k < exec->nodes.count; k++) {
            if (exec->nodes.items[k].child == i)
                exec->nodes.items[k].live = exec->nodes.items[k].on;
        }
    }
}

static void set_all(struct probe_exec *exec, bool on)
{
    CUstreamCaptureMode mode;
    const bool relaxed = probe_relax(&mode);
    for (size_t i = 0; i < exec->nodes.count; i++)
        set(exec, &exec->nodes.items[i], on);
    set_children(exec);
    probe_unrelax(relaxed, &mode);
}

static void node_fini(struct probe_node *node)
{
    shadow_release(node->ticket);
    probe_kernel_drop(node->kernel);
    free(node->params);
}

// shape.partly stays false, because the stream on which the executable will be launched is unknown.
static bool is_lost(const struct probe_exec *exec, CUgraphNode handle,
                    const CUDA_KERNEL_NODE_PARAMS *program, const struct probe_kernel *kernel,
                    struct probe_clone *clone)
{
    CUkernelNodeAttrValue value;
    struct probe_shape shape = {
        .grid = {program->gridDimX, program->gridDimY, program->gridDimZ},
        .block = {program->blockDimX, program->blockDimY, program->blockDimZ},
        .shared_bytes = program->sharedMemBytes,
    };
    if (REAL(cuGraphKernelNodeGetAttribute)(handle, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION,
                                            &value) == CUDA_SUCCESS) {
        shape.cluster[0] = value.clusterDim.x;
        shape.cluster[1] = value.clusterDim.y;
        shape.cluster[2] = value.clusterDim.z;
    }
    shape.cooperative = REAL(cuGraphKernelNodeGetAttribute)(
                            handle, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &value) == CUDA_SUCCESS &&
                        value.cooperative;
    return probe_fit_is_lost(kernel, clone, exec->context, &shape);
}

// Returns whether a kernel may change the node: its parameters, or whether it runs.
static bool is_updatable(CUgraphNode handle)
{
    CUkernelNodeAttrValue value = {0};
    return REAL(cuGraphKernelNodeGetAttribute)(
               handle, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) == CUDA_SUCCESS &&
           value.deviceUpdatableKernelNode.deviceUpdatable;
}

// Watches a kernel node, if possible. The executable's context is current.
static void adopt_kernel(struct probe_exec *exec, uint32_t index, CUgraphNode handle, size_t child,
                         const CUDA_KERNEL_NODE_PARAMS *program, const void *function,
                         struct probe_kernel *kernel, uint32_t number)
{
    if (!kernel->about || (program->ctx && program->ctx != exec->context->handle))
        return;
    if (is_updatable(handle)) {
        probe_kernel_note(kernel, "nodes that kernels can change are not watched");
        return;
    }
    struct probe_clone *clone = probe_kernel_clone(kernel, function, exec->context);
    if (clone && is_lost(exec, handle, program, kernel, clone)) {
        probe_kernel_note(kernel, PROBE_FIT_LOST);
        return;
    }
    struct probe_params *params =
        clone ? probe_params_make(kernel, clone, program->kernelParams, program->extra) : NULL;
    if (!params)
        return;
    const struct shadow_launch about = {
        .stream = exec->context->legacy,
        .kernel = kernel->about,
        .kernel_number = number,
        .given = params->given,
        .roots = params->roots,
        .params = params->values,
        .grid = {program->gridDimX, program->gridDimY, program->gridDimZ},
        .block = {program->blockDimX, program->blockDimY, program->blockDimZ},
        .dynamic_bytes = program->sharedMemBytes,
        .turn = true, // so that a note says that nodes have no live ranges
        .facts = probe_state->facts,
    };
    shadow_aim(&about, params->roots);
    struct shadow_ticket *ticket = shadow_begin_node(&about, params->context);
    struct probe_node *node = ticket ? base_array_push(&exec->nodes) : NULL;
    if (!node) {
        shadow_release(ticket);
        free(params);
        return;
    }
    probe_kernel_hold(kernel);
    *node = (struct probe_node){.index = index,
                                .handle = handle,
                                .child = child,
                                .kernel = kernel,
                                .clone = clone,
                                .params = params,
                                .program = *program,
                                .ticket = ticket};
    node->program.kernelParams = params->pointers;
    node->program.extra = NULL;
}

static void adopt(struct probe_exec *exec, uint32_t index, CUgraphNode handle, size_t child,
                  const CUDA_KERNEL_NODE_PARAMS *program)
{
    const bool library = !program->func;
    const void *function = library ? (const void *)program->kern : (const void *)program->func;
    const uint32_t number = core_kernel_of(function, library);
    struct probe_kernel *kernel = number ? probe_kernel_of(function) : NULL;
    const size_t before = exec->nodes.count;
    if (!kernel)
        return;
    probe_kernel_tell(kernel, number);
    adopt_kernel(exec, index, handle, child, program, function, kernel, number);
    if (exec->nodes.count > before)
        return;
    probe_kernel_unwatched(kernel, exec->context);
    probe_passed_add(&exec->passed, index, function, program);
}

static void adopt_as(struct probe_exec *exec, uint32_t index, CUgraphNode handle, size_t child,
                     CUgraphNode like)
{
    CUDA_KERNEL_NODE_PARAMS params;
    if (core_graph_get_params(like, &params))
        adopt(exec, index, handle, child, &params);
}

static void forget(struct probe_exec *exec, size_t at_index)
{
    node_fini(&exec->nodes.items[at_index]);
    exec->nodes.items[at_index] = exec->nodes.items[--exec->nodes.count];
}

// --- Child graphs --------------------------------------------------------------------------------

static bool has_kernels(const struct core_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].reported.kind == EVENT_NODE_KERNEL)
            return true;
    }
    return false;
}

// nodes: the recorded nodes of the child graph, the first of which has this index. copy: a copy of
// that graph.
// NOLINTNEXTLINE(misc-no-recursion): as deep as graphs are nested, which is bounded
static void adopt_copies(struct probe_exec *exec, size_t child, CUgraph copy,
                         const struct core_node *nodes, size_t count, uint32_t index)
{
    for (size_t i = 0; i < count; i += 1 + nodes[i].children) {
        CUgraphNode node;
        CUgraph inner;
        if (REAL(cuGraphNodeFindInClone)(&node, nodes[i].handle, copy) != CUDA_SUCCESS)
            continue;
        if (nodes[i].reported.kind == EVENT_NODE_KERNEL)
            adopt_as(exec, index + (uint32_t)i, node, child, node);
        else if (nodes[i].reported.kind == EVENT_NODE_GRAPH &&
                 REAL(cuGraphChildGraphNodeGetGraph)(node, &inner) == CUDA_SUCCESS)
            adopt_copies(exec, child, inner, nodes + i + 1, nodes[i].children,
                         index + (uint32_t)i + 1);
    }
}

// handle: the child graph's node in the executable. nodes: the recorded nodes of `graph`, the
// child.
static void adopt_child(struct probe_exec *exec, uint32_t index, CUgraphNode handle, CUgraph graph,
                        const struct core_node *nodes, size_t count)
{
    CUgraph copy;
    const size_t before = exec->nodes.count;
    if (!has_kernels(nodes, count) || REAL(cuGraphClone)(&copy, graph) != CUDA_SUCCESS)
        return;
    struct probe_child *child = base_array_push(&exec->children);
    if (child) {
        *child = (struct probe_child){.index = index, .handle = handle, .copy = copy};
        adopt_copies(exec, exec->children.count - 1, copy, nodes, count, index + 1);
        if (exec->nodes.count > before)
            return;
        exec->children.count--;
    }
    REAL(cuGraphDestroy)(copy);
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
            adopt_as(exec, (uint32_t)i, handle, NO_CHILD, node->handle);
        else if (node->reported.kind == EVENT_NODE_GRAPH &&
                 REAL(cuGraphChildGraphNodeGetGraph)(node->handle, &child) == CUDA_SUCCESS)
            adopt_child(exec, (uint32_t)i, handle, child, node + 1, node->children);
    }
    probe_unrelax(relaxed, &mode);
}

static void clear(struct probe_exec *exec)
{
    for (size_t i = 0; i < exec->nodes.count; i++)
        node_fini(&exec->nodes.items[i]);
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

void probe_exec_made(const struct core_call *call, CUgraphExec handle, CUgraph graph,
                     const struct core_graph *nodes)
{
    probe_exec_end(handle); // ends an older executable whose handle the driver has reused
    look_for_hidden(nodes);
    const bool has = has_kernels(nodes->nodes.items, nodes->nodes.count);
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
    if (!enter(exec)) {
        core_no_memory();
        exec_free(exec);
        return;
    }
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
    struct probe_exec *exec = find(handle);
    if (exec)
        set_all(exec, false);
}

void probe_exec_updated(const struct core_call *call, CUgraphExec handle,
                        const struct core_graph *nodes, const struct core_graph *handles)
{
    struct probe_exec *exec = find(handle);
    if (!exec)
        return;
    clear(exec);
    if (call->current == exec->context && nodes->nodes.count == handles->nodes.count)
        adopt_all(exec, nodes, handles);
}

void probe_exec_set(const struct core_call *call, CUgraphExec handle, uint32_t index,
                    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct probe_exec *exec = find(handle);
    CUstreamCaptureMode mode;
    bool disabled = false;
    if (!exec)
        return;
    for (size_t i = 0; i < exec->nodes.count; i++) {
        if (exec->nodes.items[i].index == index) {
            disabled = exec->nodes.items[i].disabled;
            forget(exec, i);
            break;
        }
    }
    probe_passed_forget(&exec->passed, index, 1);
    if (call->current != exec->context)
        return;
    const bool relaxed = probe_relax(&mode);
    const size_t before = exec->nodes.count;
    adopt(exec, index, node, NO_CHILD, params);
    if (exec->nodes.count > before)
        exec->nodes.items[before].disabled = disabled;
    probe_unrelax(relaxed, &mode);
}

void probe_exec_set_child(const struct core_call *call, CUgraphExec handle, uint32_t index,
                          CUgraphNode node, CUgraph child, const struct core_graph *nodes)
{
    struct probe_exec *exec = find(handle);
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
                forget(exec, i);
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
    adopt_child(exec, index, node, child, nodes->nodes.items, nodes->nodes.count);
    if (exec->children.count > before)
        exec->children.items[before].disabled = disabled;
    probe_unrelax(relaxed, &mode);
}

void probe_exec_enabled(CUgraphExec handle, uint32_t index, bool enabled)
{
    struct probe_exec *exec = find(handle);
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
        util_mutex_unlock(&probe_state->lock, RANK_PROBE);
        if (exec) {
            set(exec, &exec->nodes.items[index], false);
            forget(exec, index);
        }
    } while (exec);
}

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
            set(exec, node, probe_kernel_chosen(node->kernel));
    }
    set_children(exec);
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
    struct probe_exec *exec = find(handle);
    const bool values = probe_state->facts & INSTRUMENT_VALUES;
    if (exec)
        probe_passed_replay(call, &exec->passed);
    if (!exec || (!exec->nodes.count && !values))
        return;
    if (call->flags & EVENT_CALL_CAPTURED || !call->stream ||
        call->stream->context != exec->context || call->current != exec->context ||
        !make_room(exec)) {
        set_all(exec, false);
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
