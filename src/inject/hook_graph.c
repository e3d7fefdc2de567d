// SPDX-License-Identifier: Apache-2.0
// Hooks of captures and graphs. What a launch of an executable graph does is told once, when it is
// instantiated or changed (EVENT_GRAPH), as a list of nodes in an order that their edges allow; the
// launch then only names it.
#include "call.h"

#include <stdlib.h>
#include <string.h>

// --- Lists of nodes ------------------------------------------------------------------------------

struct node {
    CUgraphNode handle;
    uint32_t children; // of a child graph: nodes that follow and belong to it
    bool disabled;
    struct event_node told;
};

struct graph {
    uint64_t number;
    BASE_ARRAY(struct node) nodes;
};

enum { MOST_DEPTH = 8 }; // of child graphs in child graphs

static void graph_free(struct graph *graph)
{
    if (graph)
        base_array_fini(&graph->nodes);
    free(graph);
}

static struct event_node kernel_node(const CUDA_KERNEL_NODE_PARAMS *params)
{
    const bool library = !params->func;
    const void *handle = library ? (const void *)params->kern : (const void *)params->func;
    return (struct event_node){
        .kind = EVENT_NODE_KERNEL,
        .launch = {.kernel = kernel_of(handle, library),
                   .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
                   .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
                   .dynamic_shared_bytes = params->sharedMemBytes}};
}

static CUDA_KERNEL_NODE_PARAMS newer_params(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS newer = {0};
    newer.func = params->func;
    newer.gridDimX = params->gridDimX;
    newer.gridDimY = params->gridDimY;
    newer.gridDimZ = params->gridDimZ;
    newer.blockDimX = params->blockDimX;
    newer.blockDimY = params->blockDimY;
    newer.blockDimZ = params->blockDimZ;
    newer.sharedMemBytes = params->sharedMemBytes;
    return newer;
}

static struct event_node copy_node(const CUDA_MEMCPY3D *copy)
{
    return (struct event_node){.kind = EVENT_NODE_COPY, .copy = copy_detail_3d(copy)};
}

static struct event_node set_node(const CUDA_MEMSET_NODE_PARAMS *set)
{
    return (struct event_node){.kind = EVENT_NODE_SET,
                               .set = set_detail(set->dst, set->pitch, set->value, set->elementSize,
                                                 set->width, set->height)};
}

static struct event_node memory_node(uint8_t kind, CUdeviceptr address, uint64_t bytes)
{
    struct object object;
    objects_find(&state.objects, OBJECTS_MEMORY, address, &object);
    struct event_node node = {.kind = kind};
    node.memory.object = object.number;
    node.memory.bytes = bytes ? bytes : object.bytes;
    return node;
}

static struct event_node event_node(uint8_t kind, CUevent event)
{
    struct event_node node = {.kind = kind};
    node.event.event = event_number(event);
    return node;
}

static struct event_node describe_kernel(CUgraphNode handle)
{
    CUDA_KERNEL_NODE_PARAMS params = {0};
    CUDA_KERNEL_NODE_PARAMS_v1 older = {0};
    if (REAL(cuGraphKernelNodeGetParams_v2)(handle, &params) == CUDA_SUCCESS)
        return kernel_node(&params);
    if (REAL(cuGraphKernelNodeGetParams)(handle, &older) == CUDA_SUCCESS) {
        params = newer_params(&older);
        return kernel_node(&params);
    }
    return (struct event_node){.kind = EVENT_NODE_OTHER};
}

static struct event_node describe_memory(CUgraphNode handle, CUgraphNodeType type)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {0};
    CUdeviceptr freed = 0;
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
        REAL(cuGraphMemAllocNodeGetParams)(handle, &alloc) == CUDA_SUCCESS)
        return memory_node(EVENT_NODE_ALLOC, alloc.dptr, alloc.bytesize);
    if (type == CU_GRAPH_NODE_TYPE_MEM_FREE &&
        REAL(cuGraphMemFreeNodeGetParams)(handle, &freed) == CUDA_SUCCESS)
        return memory_node(EVENT_NODE_FREE, freed, 0);
    return (struct event_node){.kind = EVENT_NODE_OTHER};
}

static struct event_node describe(CUgraphNode handle, CUgraphNodeType type)
{
    CUDA_MEMCPY3D copy = {0};
    CUDA_MEMSET_NODE_PARAMS set = {0};
    CUevent event = NULL;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return describe_kernel(handle);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (REAL(cuGraphMemcpyNodeGetParams)(handle, &copy) == CUDA_SUCCESS)
            return copy_node(&copy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (REAL(cuGraphMemsetNodeGetParams)(handle, &set) == CUDA_SUCCESS)
            return set_node(&set);
        break;
    case CU_GRAPH_NODE_TYPE_HOST: return (struct event_node){.kind = EVENT_NODE_HOST};
    case CU_GRAPH_NODE_TYPE_GRAPH: return (struct event_node){.kind = EVENT_NODE_GRAPH};
    case CU_GRAPH_NODE_TYPE_EMPTY: return (struct event_node){.kind = EVENT_NODE_EMPTY};
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (REAL(cuGraphEventRecordNodeGetEvent)(handle, &event) == CUDA_SUCCESS)
            return event_node(EVENT_NODE_EVENT_RECORD, event);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        if (REAL(cuGraphEventWaitNodeGetEvent)(handle, &event) == CUDA_SUCCESS)
            return event_node(EVENT_NODE_EVENT_WAIT, event);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return describe_memory(handle, type);
    default: break;
    }
    return (struct event_node){.kind = EVENT_NODE_OTHER};
}

// --- Order ---------------------------------------------------------------------------------------

struct edges {
    CUgraphNode *from, *to;
    size_t count;
};

static void edges_free(struct edges *edges)
{
    free(edges->from);
    free(edges->to);
}

// False: the driver does not tell, or memory ran out.
static bool edges_of(CUgraph graph, struct edges *edges)
{
    *edges = (struct edges){0};
    if (REAL(cuGraphGetEdges)(graph, NULL, NULL, &edges->count) != CUDA_SUCCESS &&
        REAL(cuGraphGetEdges_v2)(graph, NULL, NULL, NULL, &edges->count) != CUDA_SUCCESS)
        return false;
    if (!edges->count)
        return true;
    edges->from = calloc(edges->count, sizeof(*edges->from));
    edges->to = calloc(edges->count, sizeof(*edges->to));
    CUgraphEdgeData *data = calloc(edges->count, sizeof(*data));
    // The older function refuses graphs whose edges hold more than that they are there.
    bool good =
        edges->from && edges->to && data &&
        (REAL(cuGraphGetEdges)(graph, edges->from, edges->to, &edges->count) == CUDA_SUCCESS ||
         REAL(cuGraphGetEdges_v2)(graph, edges->from, edges->to, data, &edges->count) ==
             CUDA_SUCCESS);
    free(data);
    if (!good)
        edges_free(edges);
    return good;
}

// Puts nodes into an order that the edges allow, and where they leave it open as they stand. Each
// node's successors lie together in `successors`, from first[node] to first[node + 1].
static void order_by(CUgraphNode *nodes, size_t count, const size_t *first,
                     const size_t *successors, size_t *missing, CUgraphNode *ordered)
{
    size_t done = 0;
    // Those without anything missing, in a queue that lies in `missing` once they are taken.
    size_t *queue = calloc(count, sizeof(*queue)), head = 0, tail = 0;
    if (!queue)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!missing[i])
            queue[tail++] = i;
    }
    while (head < tail) {
        size_t node = queue[head++];
        ordered[done++] = nodes[node];
        for (size_t at = first[node]; at < first[node + 1]; at++) {
            if (--missing[successors[at]] == 0)
                queue[tail++] = successors[at];
        }
    }
    free(queue);
    if (done == count)
        memcpy(nodes, ordered, count * sizeof(*nodes));
}

static void order(CUgraphNode *nodes, size_t count, const struct edges *edges)
{
    struct base_map index = {0};
    size_t *first = calloc(count + 2, sizeof(*first));
    size_t *missing = calloc(count, sizeof(*missing));
    size_t *successors = calloc(edges->count + 1, sizeof(*successors));
    CUgraphNode *ordered = calloc(count, sizeof(*ordered));
    bool good = first && missing && successors && ordered;
    for (size_t i = 0; good && i < count; i++) {
        uint64_t *place = base_map_put(&index, (uint64_t)(uintptr_t)nodes[i], NULL);
        if (place)
            *place = i;
        good = place != NULL;
    }
    for (size_t i = 0; good && i < edges->count; i++) {
        const uint64_t *from = base_map_get(&index, (uint64_t)(uintptr_t)edges->from[i]);
        const uint64_t *to = base_map_get(&index, (uint64_t)(uintptr_t)edges->to[i]);
        good = from && to;
        if (good) {
            first[*from + 2]++; // shifted by one more than its end, which filling in moves back
            missing[*to]++;
        }
    }
    for (size_t i = 0; good && i < count; i++)
        first[i + 2] += first[i + 1];
    for (size_t i = 0; good && i < edges->count; i++) {
        uint64_t from = *base_map_get(&index, (uint64_t)(uintptr_t)edges->from[i]);
        successors[first[from + 1]++] = *base_map_get(&index, (uint64_t)(uintptr_t)edges->to[i]);
    }
    if (good)
        order_by(nodes, count, first, successors, missing, ordered);
    else
        state_no_memory();
    base_map_fini(&index);
    free(first);
    free(missing);
    free(successors);
    free(ordered);
}

// The graph's nodes in order; NULL where they cannot be told.
static CUgraphNode *ordered_nodes(CUgraph handle, size_t *count)
{
    struct edges edges;
    *count = 0;
    if (REAL(cuGraphGetNodes)(handle, NULL, count) != CUDA_SUCCESS || !*count)
        return NULL;
    CUgraphNode *nodes = calloc(*count, sizeof(*nodes));
    if (!nodes || REAL(cuGraphGetNodes)(handle, nodes, count) != CUDA_SUCCESS) {
        free(nodes);
        return NULL;
    }
    if (edges_of(handle, &edges)) {
        order(nodes, *count, &edges);
        edges_free(&edges);
    }
    return nodes;
}

static void expand(struct graph *graph, CUgraph handle, unsigned depth) // NOLINT(misc-no-recursion)
{
    size_t count;
    CUgraphNode *nodes = depth < MOST_DEPTH ? ordered_nodes(handle, &count) : NULL;
    for (size_t i = 0; nodes && i < count; i++) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUgraph child = NULL;
        REAL(cuGraphNodeGetType)(nodes[i], &type);
        struct node *node = base_array_push(&graph->nodes);
        if (!node) {
            state_no_memory();
            break;
        }
        node->handle = nodes[i];
        node->told = describe(nodes[i], type);
        if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
            REAL(cuGraphChildGraphNodeGetGraph)(nodes[i], &child) == CUDA_SUCCESS) {
            size_t at = graph->nodes.count - 1;
            expand(graph, child, depth + 1);
            graph->nodes.items[at].children = (uint32_t)(graph->nodes.count - 1 - at);
        }
    }
    free(nodes);
}

// --- Executable graphs ---------------------------------------------------------------------------

// Tells the graph under a new number, with the lock held.
static void tell_locked(struct graph *graph)
{
    enum { MOST = (EVENT_MOST_BYTES - sizeof(struct event_graph)) / sizeof(struct event_node) };
    struct event_node *nodes = calloc(graph->nodes.count + 1, sizeof(*nodes));
    graph->number = ++state.graphs_made;
    if (!nodes) {
        state_no_memory();
        return;
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct node *node = &graph->nodes.items[i];
        nodes[i] = node->told;
        if (node->disabled)
            nodes[i] = (struct event_node){.kind = EVENT_NODE_EMPTY};
    }
    size_t done = 0;
    do {
        size_t count = graph->nodes.count - done < MOST ? graph->nodes.count - done : MOST;
        struct event_graph record = {.number = graph->number, .node_count = (uint32_t)count};
        put(EVENT_GRAPH, &record, sizeof(record), nodes + done, count * sizeof(*nodes));
        done += count;
    } while (done < graph->nodes.count);
    free(nodes);
}

static void instantiated(CUgraphExec exec, CUgraph handle)
{
    struct graph *graph = calloc(1, sizeof(*graph));
    if (!graph) {
        state_no_memory();
        return;
    }
    expand(graph, handle, 0);
    pthread_mutex_lock(&state.lock);
    uint64_t *place = base_map_put(&state.graphs, (uint64_t)(uintptr_t)exec, NULL);
    struct graph *old = graph;
    if (place) {
        old = (struct graph *)(uintptr_t)*place; // NOLINT(performance-no-int-to-ptr)
        *place = (uint64_t)(uintptr_t)graph;
        tell_locked(graph);
    }
    pthread_mutex_unlock(&state.lock);
    graph_free(old);
    if (!place)
        state_no_memory();
}

static struct graph *graph_locked(CUgraphExec exec)
{
    const uint64_t *place = base_map_get(&state.graphs, (uint64_t)(uintptr_t)exec);
    return place ? (struct graph *)(uintptr_t)*place : NULL; // NOLINT(performance-no-int-to-ptr)
}

static struct node *node_locked(struct graph *graph, CUgraphNode handle)
{
    for (size_t i = 0; graph && i < graph->nodes.count; i++) {
        if (graph->nodes.items[i].handle == handle)
            return &graph->nodes.items[i];
    }
    return NULL;
}

static void changed(CUgraphExec exec, CUgraphNode handle, struct event_node told)
{
    pthread_mutex_lock(&state.lock);
    struct graph *graph = graph_locked(exec);
    struct node *node = node_locked(graph, handle);
    if (node) {
        node->told = told;
        tell_locked(graph);
    }
    pthread_mutex_unlock(&state.lock);
}

static void enabled(CUgraphExec exec, CUgraphNode handle, bool on)
{
    pthread_mutex_lock(&state.lock);
    struct graph *graph = graph_locked(exec);
    struct node *node = node_locked(graph, handle);
    if (node) {
        node->disabled = !on;
        tell_locked(graph);
    }
    pthread_mutex_unlock(&state.lock);
}

// The child graph must be shaped like the one that is replaced, so its nodes take their places.
static void changed_child(CUgraphExec exec, CUgraphNode handle, CUgraph child)
{
    struct graph fresh = {0};
    expand(&fresh, child, 1);
    pthread_mutex_lock(&state.lock);
    struct graph *graph = graph_locked(exec);
    struct node *node = node_locked(graph, handle);
    if (node && node->children == fresh.nodes.count) {
        for (size_t i = 0; i < fresh.nodes.count; i++)
            node[1 + i].told = fresh.nodes.items[i].told;
        tell_locked(graph);
    }
    pthread_mutex_unlock(&state.lock);
    base_array_fini(&fresh.nodes);
}

static void destroyed(CUgraphExec exec)
{
    pthread_mutex_lock(&state.lock);
    struct graph *graph = graph_locked(exec);
    base_map_remove(&state.graphs, (uint64_t)(uintptr_t)exec);
    pthread_mutex_unlock(&state.lock);
    graph_free(graph);
}

#define INSTANTIATES(symbol, params, args)        \
    HOOKED(symbol, params, args, NO_STREAM, {}, { \
        if (result == CUDA_SUCCESS)               \
            instantiated(*exec, graph);           \
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

HOOKED(cuGraphExecUpdate,
       (CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *about),
       (exec, graph, node, about), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS)
               instantiated(exec, graph);
       })
HOOKED(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *about),
       (exec, graph, about), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS)
               instantiated(exec, graph);
       })
HOOKED(cuGraphExecDestroy, (CUgraphExec exec), (exec), NO_STREAM, { destroyed(exec); }, {})

// --- Changes of nodes ----------------------------------------------------------------------------

#define CHANGES(symbol, params, args, told)       \
    HOOKED(symbol, params, args, NO_STREAM, {}, { \
        if (result == CUDA_SUCCESS)               \
            changed(exec, node, told);            \
    })

HOOKED(cuGraphExecKernelNodeSetParams,
       (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params),
       (exec, node, params), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS) {
               CUDA_KERNEL_NODE_PARAMS newer = newer_params(params);
               changed(exec, node, kernel_node(&newer));
           }
       })
CHANGES(cuGraphExecKernelNodeSetParams_v2,
        (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params),
        (exec, node, params), kernel_node(params))
CHANGES(cuGraphExecMemcpyNodeSetParams,
        (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext context),
        (exec, node, copy, context), copy_node(copy))
CHANGES(cuGraphExecMemsetNodeSetParams,
        (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *set, CUcontext context),
        (exec, node, set, context), set_node(set))
CHANGES(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
        (exec, node, event), event_node(EVENT_NODE_EVENT_RECORD, event))
CHANGES(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
        (exec, node, event), event_node(EVENT_NODE_EVENT_WAIT, event))
HOOKED(cuGraphExecChildGraphNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraph child),
       (exec, node, child), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS)
               changed_child(exec, node, child);
       })
HOOKED(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned on), (exec, node, on),
       NO_STREAM, {}, {
           if (result == CUDA_SUCCESS)
               enabled(exec, node, on != 0);
       })

static void changed_by(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS kernel = {0};
    CUDA_MEMSET_NODE_PARAMS set = {0};
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        memcpy(&kernel, &params->kernel, sizeof(kernel)); // the same fields under another name
        changed(exec, node, kernel_node(&kernel));
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        changed(exec, node, copy_node(&params->memcpy.copyParams));
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&set, &params->memset, sizeof(set)); // which begins alike
        changed(exec, node, set_node(&set));
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        changed(exec, node, event_node(EVENT_NODE_EVENT_RECORD, params->eventRecord.event));
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        changed(exec, node, event_node(EVENT_NODE_EVENT_WAIT, params->eventWait.event));
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH: changed_child(exec, node, params->graph.graph); break;
    default: break; // no more to tell of it
    }
}

HOOKED(cuGraphExecNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params),
       (exec, node, params), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS)
               changed_by(exec, node, params);
       })

// --- Memory of graphs ----------------------------------------------------------------------------

static void allocates(struct call *call, uint64_t address, uint64_t bytes)
{
    struct event_object object = {.kind = EVENT_OBJECT_GRAPH, .address = address, .bytes = bytes};
    uint64_t number =
        call->result == CUDA_SUCCESS ? object_begin(&object, call->context, call->number, 0) : 0;
    call_alloc(call, address, bytes, number);
}

HOOKED(cuGraphAddMemAllocNode,
       (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
        CUDA_MEM_ALLOC_NODE_PARAMS *params),
       (node, graph, dependencies, count, params), NO_STREAM, {}, {
           if (params)
               allocates(&call, params->dptr, params->bytesize);
       })

// Adding a node is told only where it makes an object.
static void added(struct call *call, const CUgraphNodeParams *params)
{
    if (call->result != CUDA_SUCCESS || params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return;
    call->kind = EVENT_CALL_ALLOC;
    call_tell(call);
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

static void launches(struct call *call, CUgraphExec exec)
{
    pthread_mutex_lock(&state.lock);
    const struct graph *graph = graph_locked(exec);
    call->detail.graph = graph ? (struct event_graph){.number = graph->number,
                                                      .node_count = (uint32_t)graph->nodes.count}
                               : (struct event_graph){0};
    pthread_mutex_unlock(&state.lock);
}

HOOKED_BOTH(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream), stream,
            { launches(&call, exec); }, {})

// --- Capture -------------------------------------------------------------------------------------

#define BEGINS(symbol, params, args)                       \
    HOOKED_BOTH(symbol, _ptsz, params, args, stream, {}, { \
        if (result == CUDA_SUCCESS)                        \
            atomic_fetch_add(&state.captures, 1);          \
    })

BEGINS(cuStreamBeginCapture, (CUstream stream), (stream))
BEGINS(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGINS(cuStreamBeginCaptureToGraph,
       (CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
        const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode),
       (stream, graph, dependencies, data, count, mode))

static bool in_capture(const struct call *call)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return call->stream &&
           REAL(cuStreamIsCapturing)(call->stream->handle, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// A capture is over also where it had gone wrong, but not where the call itself was wrong.
static void capture_ended(const struct call *call, bool was)
{
    uint32_t count = atomic_load(&state.captures);
    if (!was || in_capture(call))
        return;
    while (count && !atomic_compare_exchange_weak(&state.captures, &count, count - 1))
        ;
}

HOOKED_BOTH(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *graph), (stream, graph), stream,
            bool was = in_capture(&call);
            call.flags &= (uint8_t)~EVENT_CALL_CAPTURED, { capture_ended(&call, was); })
