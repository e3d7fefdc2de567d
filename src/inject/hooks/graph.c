// SPDX-License-Identifier: Apache-2.0
// Hooks of captures and graphs. What a launch of an executable graph does is recorded once, when
// the graph is instantiated or changed (EVENT_GRAPH, EVENT_EDGES): a list of nodes in an order that
// their edges allow, and the edges. The launch then only names it.

#include <stdlib.h>
#include <string.h>

#include "inject/core/object_records.h"
#include "inject/probe/graph.h"
#include "inject/shadow/shadow.h"
#include "inject/uses/first_use.h"

// --- Executable graphs ---------------------------------------------------------------------------

static void takes(struct core_call *call, CUgraphExec exec)
{
    if (probe_state)
        probe_exec_take(call, exec);
}

static void graph_free(struct core_graph *graph)
{
    if (graph)
        core_graph_fini(graph);
    free(graph);
}

static void tell_edges(const struct core_graph *graph)
{
    enum { MOST = (EVENT_MOST_BYTES - sizeof(struct event_edges)) / sizeof(struct event_edge) };
    for (size_t done = 0, count; done < graph->edges.count; done += count) {
        count = graph->edges.count - done < MOST ? graph->edges.count - done : MOST;
        struct event_edges record = {.number = graph->number, .edge_count = (uint32_t)count};
        core_put(EVENT_EDGES, &record, sizeof(record), graph->edges.items + done,
                 count * sizeof(struct event_edge));
    }
}

// Records the graph under a new number. Needs the lock.
static void tell_locked(struct core_graph *graph)
{
    enum { MOST = (EVENT_MOST_BYTES - sizeof(struct event_graph)) / sizeof(struct event_node) };
    struct event_node *nodes = calloc(graph->nodes.count + 1, sizeof(*nodes));
    graph->number = ++core_state.graphs_made;
    if (!nodes) {
        core_no_memory();
        return;
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct core_node *node = &graph->nodes.items[i];
        nodes[i] = node->reported;
        if (node->disabled)
            nodes[i] = (struct event_node){.kind = EVENT_NODE_EMPTY};
    }
    size_t done = 0;
    do {
        size_t count = graph->nodes.count - done < MOST ? graph->nodes.count - done : MOST;
        struct event_graph record = {.number = graph->number, .node_count = (uint32_t)count};
        core_put(EVENT_GRAPH, &record, sizeof(record), nodes + done, count * sizeof(*nodes));
        done += count;
    } while (done < graph->nodes.count);
    tell_edges(graph);
    free(nodes);
}

static struct core_graph *graph_locked(CUgraphExec exec)
{
    const uint64_t *place = base_map_get(&core_state.graphs, (uint64_t)(uintptr_t)exec);
    return place ? (struct core_graph *)(uintptr_t)*place
                 : NULL; // NOLINT(performance-no-int-to-ptr)
}

// An executable identifies its nodes by those of the graph that it was made from, also if it was
// updated from another.
static void keep_handles(struct core_graph *graph, const struct core_graph *old)
{
    for (size_t i = 0; old && old->nodes.count == graph->nodes.count && i < old->nodes.count; i++)
        graph->nodes.items[i].handle = old->nodes.items[i].handle;
}

// Launches of a graph may record events, on streams that are not known.
static void look_for_records(const struct core_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (graph->nodes.items[i].reported.kind == EVENT_NODE_EVENT_RECORD)
            core_order_distrust();
    }
}

// Says that the executable now does what the graph does. updated: it did something else before.
static void instantiated(struct core_call *call, CUgraphExec exec, CUgraph handle, bool updated)
{
    struct core_graph *graph = calloc(1, sizeof(*graph));
    if (!graph) {
        core_no_memory();
        return;
    }
    core_graph_expand(graph, handle, call, 0);
    look_for_records(graph);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const struct core_graph *before =
        updated ? graph_locked(exec) : NULL; // no other thread changes it meanwhile
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (probe_state && before)
        probe_exec_updated(call, exec, graph, before);
    else if (probe_state)
        probe_exec_made(call, exec, handle, graph);
    keep_handles(graph, before);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    uint64_t *place = base_map_put(&core_state.graphs, (uint64_t)(uintptr_t)exec, NULL);
    struct core_graph *old = graph;
    if (place) {
        old = (struct core_graph *)(uintptr_t)*place; // NOLINT(performance-no-int-to-ptr)
        *place = (uint64_t)(uintptr_t)graph;
        tell_locked(graph);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    graph_free(old);
    if (!place)
        core_no_memory();
}

static struct core_node *node_locked(struct core_graph *graph, CUgraphNode handle)
{
    for (size_t i = 0; graph && i < graph->nodes.count; i++) {
        if (graph->nodes.items[i].handle == handle)
            return &graph->nodes.items[i];
    }
    return NULL;
}

// Returns the node's index; NO_NODE: the executable has no such node.
#define NO_NODE UINT32_MAX
static uint32_t changed(CUgraphExec exec, CUgraphNode handle, struct event_node reported)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_graph *graph = graph_locked(exec);
    struct core_node *node = node_locked(graph, handle);
    const uint32_t index = node ? (uint32_t)(node - graph->nodes.items) : NO_NODE;
    if (node) {
        node->reported = reported;
        tell_locked(graph);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return index;
}

static void changed_kernel(struct core_call *call, CUgraphExec exec, CUgraphNode handle,
                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    const uint32_t index = changed(exec, handle, core_graph_kernel_node(params));
    if (probe_state && index != NO_NODE)
        probe_exec_set(call, exec, index, handle, params);
}

static void enabled(CUgraphExec exec, CUgraphNode handle, bool on)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_graph *graph = graph_locked(exec);
    struct core_node *node = node_locked(graph, handle);
    const uint32_t index = node ? (uint32_t)(node - graph->nodes.items) : NO_NODE;
    if (node) {
        node->disabled = !on;
        tell_locked(graph);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (probe_state && index != NO_NODE)
        probe_exec_enabled(exec, index, on);
}

// The child graph must have the shape of the one that it replaces, so its nodes take their places.
static void changed_child(struct core_call *call, CUgraphExec exec, CUgraphNode handle,
                          CUgraph child)
{
    struct core_graph fresh = {0};
    core_graph_expand(&fresh, child, call, 1);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_graph *graph = graph_locked(exec);
    struct core_node *node = node_locked(graph, handle);
    const bool same = node && node->children == fresh.nodes.count;
    const uint32_t index = same ? (uint32_t)(node - graph->nodes.items) : NO_NODE;
    if (same) {
        for (size_t i = 0; i < fresh.nodes.count; i++)
            node[1 + i].reported = fresh.nodes.items[i].reported;
        tell_locked(graph);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (probe_state && same)
        probe_exec_set_child(call, exec, index, handle, child, &fresh);
    core_graph_fini(&fresh);
}

// Memory that the graph's own nodes free ends with the executable, because a graph with memory has
// one executable at a time. Memory that it left to the program stays.
static void destroyed(struct core_call *call, CUgraphExec exec)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_graph *graph = graph_locked(exec);
    base_map_remove(&core_state.graphs, (uint64_t)(uintptr_t)exec);
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (probe_state) {
        takes(call, exec);
        call->exec = NULL;
        probe_exec_end(exec);
    }
    for (size_t i = 0; graph && i < graph->nodes.count; i++) {
        const struct core_node *node = &graph->nodes.items[i];
        struct core_object object;
        if (node->reported.kind == EVENT_NODE_ALLOC && !node->loose &&
            core_objects_find(&core_state.objects, OBJECTS_MEMORY, node->address, &object) &&
            object.number == node->reported.memory.object &&
            core_objects_take(&core_state.objects, OBJECTS_MEMORY, node->address, &object))
            core_object_end(&object, call->number, 0);
    }
    graph_free(graph);
}

#define INSTANTIATES(symbol, params, args)            \
    HOOKED(symbol, params, args, NO_STREAM, {}, {     \
        if (result == CUDA_SUCCESS)                   \
            instantiated(&call, *exec, graph, false); \
    })

INSTANTIATES(cuGraphInstantiate,
             (CUgraphExec * exec, CUgraph graph, CUgraphNode *node, char *log, size_t bytes),
             (exec, graph, node, log, bytes))
INSTANTIATES(cuGraphInstantiate_v2,
             (CUgraphExec * exec, CUgraph graph, CUgraphNode *node, char *log, size_t bytes),
             (exec, graph, node, log, bytes))
INSTANTIATES(cuGraphInstantiateWithFlags,
             (CUgraphExec * exec, CUgraph graph, unsigned long long flags), (exec, graph, flags))
INSTANTIATES(cuGraphInstantiateWithParams,
             (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
             (exec, graph, params))
INSTANTIATES(cuGraphInstantiateWithParams_ptsz,
             (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
             (exec, graph, params))

static void updates(struct core_call *call, CUgraphExec exec)
{
    takes(call, exec);
    if (probe_state)
        probe_exec_leave(exec);
}

HOOKED(
    cuGraphExecUpdate,
    (CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *about),
    (exec, graph, node, about), NO_STREAM, { updates(&call, exec); },
    {
        if (result == CUDA_SUCCESS)
            instantiated(&call, exec, graph, true);
    })
HOOKED(
    cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *about),
    (exec, graph, about), NO_STREAM, { updates(&call, exec); },
    {
        if (result == CUDA_SUCCESS)
            instantiated(&call, exec, graph, true);
    })
HOOKED(cuGraphExecDestroy, (CUgraphExec exec), (exec), NO_STREAM, { destroyed(&call, exec); }, {})

// --- Changes of nodes ----------------------------------------------------------------------------

#define CHANGES_BY(symbol, params, args, ...) \
    HOOKED(                                   \
        symbol, params, args, NO_STREAM, { takes(&call, exec); }, __VA_ARGS__)
#define CHANGES(symbol, params, args, reported) \
    CHANGES_BY(symbol, params, args, {          \
        if (result == CUDA_SUCCESS)             \
            changed(exec, node, reported);      \
    })

CHANGES_BY(cuGraphExecKernelNodeSetParams,
           (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params),
           (exec, node, params), {
               if (result == CUDA_SUCCESS) {
                   CUDA_KERNEL_NODE_PARAMS newer = core_graph_newer_params(params);
                   changed_kernel(&call, exec, node, &newer);
               }
           })
CHANGES_BY(cuGraphExecKernelNodeSetParams_v2,
           (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params),
           (exec, node, params), {
               if (result == CUDA_SUCCESS)
                   changed_kernel(&call, exec, node, params);
           })
CHANGES(cuGraphExecMemcpyNodeSetParams,
        (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext context),
        (exec, node, copy, context), core_graph_copy_node(copy))
CHANGES(cuGraphExecMemsetNodeSetParams,
        (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *set, CUcontext context),
        (exec, node, set, context), core_graph_set_node(set))
CHANGES(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
        (exec, node, event), core_graph_event_node(EVENT_NODE_EVENT_RECORD, event))
CHANGES(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
        (exec, node, event), core_graph_event_node(EVENT_NODE_EVENT_WAIT, event))
CHANGES_BY(cuGraphExecChildGraphNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraph child),
           (exec, node, child), {
               if (result == CUDA_SUCCESS)
                   changed_child(&call, exec, node, child);
           })
CHANGES_BY(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned on),
           (exec, node, on), {
               if (result == CUDA_SUCCESS)
                   enabled(exec, node, on != 0);
           })

static void changed_by(struct core_call *call, CUgraphExec exec, CUgraphNode node,
                       const CUgraphNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS kernel = {0};
    CUDA_MEMSET_NODE_PARAMS set = {0};
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        memcpy(&kernel, &params->kernel, sizeof(kernel)); // the same fields under another name
        changed_kernel(call, exec, node, &kernel);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        changed(exec, node, core_graph_copy_node(&params->memcpy.copyParams));
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&set, &params->memset, sizeof(set)); // which begins with the same fields
        changed(exec, node, core_graph_set_node(&set));
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        changed(exec, node,
                core_graph_event_node(EVENT_NODE_EVENT_RECORD, params->eventRecord.event));
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        changed(exec, node, core_graph_event_node(EVENT_NODE_EVENT_WAIT, params->eventWait.event));
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH: changed_child(call, exec, node, params->graph.graph); break;
    default: break; // nothing more is recorded of it
    }
}

CHANGES_BY(cuGraphExecNodeSetParams,
           (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params), (exec, node, params), {
               if (result == CUDA_SUCCESS)
                   changed_by(&call, exec, node, params);
           })

// --- Memory of graphs ----------------------------------------------------------------------------

static void allocates(struct core_call *call, uint64_t address, uint64_t bytes)
{
    const bool good = call->result == CUDA_SUCCESS;
    core_call_alloc(call, address, bytes, good ? core_graph_begin_memory(call, address, bytes) : 0);
}

HOOKED(cuGraphAddMemAllocNode,
       (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
        CUDA_MEM_ALLOC_NODE_PARAMS *params),
       (node, graph, dependencies, count, params), NO_STREAM, {}, {
           if (params)
               allocates(&call, params->dptr, params->bytesize);
       })

// The call that adds a node is recorded only if it makes an object.
static void added(struct core_call *call, const CUgraphNodeParams *params)
{
    if (call->result != CUDA_SUCCESS || params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return;
    call->kind = EVENT_CALL_ALLOC;
    core_call_tell(call);
    allocates(call, params->alloc.dptr, params->alloc.bytesize);
}

HOOKED(cuGraphAddNode,
       (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
        CUgraphNodeParams *params),
       (node, graph, dependencies, count, params), NO_STREAM, {}, { added(&call, params); })
HOOKED(cuGraphAddNode_v2,
       (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies,
        const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params),
       (node, graph, dependencies, data, count, params), NO_STREAM, {}, { added(&call, params); })

// --- Launching -----------------------------------------------------------------------------------

// If the program has freed memory that earlier launches left to it, the next launch allocates a new
// object.
static void renew_memory_locked(struct core_graph *graph, struct core_call *call)
{
    bool renewed = false;
    for (size_t i = 0; graph && i < graph->nodes.count; i++) {
        struct core_node *node = &graph->nodes.items[i];
        struct core_object object;
        if (!node->loose)
            continue;
        core_objects_find(&core_state.objects, OBJECTS_MEMORY, node->address, &object);
        if (object.number != node->reported.memory.object) {
            node->reported.memory.object =
                core_graph_begin_memory(call, node->address, node->reported.memory.bytes);
            renewed = true;
        }
    }
    if (renewed)
        tell_locked(graph);
}

static void launches(struct core_call *call, CUgraphExec exec)
{
    takes(call, exec);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_graph *graph = graph_locked(exec);
    renew_memory_locked(graph, call);
    call->detail.graph = graph ? (struct event_graph){.number = graph->number,
                                                      .node_count = (uint32_t)graph->nodes.count}
                               : (struct event_graph){0};
    uses_graph(call, graph);
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (probe_state)
        probe_exec_launch(call, exec, graph); // no other thread changes the graph meanwhile
}

HOOKED_BOTH(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream), stream,
            { launches(&call, exec); }, {})
HOOKED_BOTH(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream), stream,
            { takes(&call, exec); }, {})

// --- Capture -------------------------------------------------------------------------------------

// Called before a capture begins. From then on no thread of glint queries streams or uses the
// legacy stream, and none uses the captured stream, which has no read-back left. Otherwise glint's
// work would become part of the capture, or end it.
static void captures(const struct core_call *call)
{
    atomic_fetch_add(&core_state.captures, 1);
    core_await_asking();
    if (!probe_state || !call->stream)
        return;
    shadow_stream_leave(call->stream);
    if (call->stream->context->legacy)
        shadow_stream_leave(call->stream->context->legacy);
}

#define BEGINS(symbol, params, args)                               \
    HOOKED_BOTH(                                                   \
        symbol, _ptsz, params, args, stream, { captures(&call); }, \
        {                                                          \
            if (result != CUDA_SUCCESS)                            \
                atomic_fetch_sub(&core_state.captures, 1);         \
        })

BEGINS(cuStreamBeginCapture, (CUstream stream), (stream))
BEGINS(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGINS(cuStreamBeginCaptureToGraph,
       (CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
        const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode),
       (stream, graph, dependencies, data, count, mode))

static bool in_capture(const struct core_call *call)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return call->stream &&
           REAL(cuStreamIsCapturing)(call->stream->handle, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// A capture has also ended if it was invalidated, but not if the call itself was invalid.
static void capture_ended(const struct core_call *call, bool was)
{
    uint32_t count = atomic_load(&core_state.captures);
    if (!was || in_capture(call))
        return;
    while (count && !atomic_compare_exchange_weak(&core_state.captures, &count, count - 1))
        ;
}

HOOKED_BOTH(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *graph), (stream, graph), stream,
            bool was = in_capture(&call);
            call.flags &= (uint8_t)~EVENT_CALL_CAPTURED, { capture_ended(&call, was); })
