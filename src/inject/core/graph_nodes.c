// SPDX-License-Identifier: Apache-2.0
// Asks the driver what a graph does. The driver is called without locks, and describes graphs
// without waiting for anything.
#include "graph_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "details.h"
#include "kernels.h"
#include "names.h"
#include "object_records.h"

enum { MOST_DEPTH = 8 }; // nesting of child graphs

struct event_node core_graph_kernel_node(const CUDA_KERNEL_NODE_PARAMS *params)
{
    const bool library = !params->func;
    const void *handle = library ? (const void *)params->kern : (const void *)params->func;
    return (struct event_node){
        .kind = EVENT_NODE_KERNEL,
        .launch = {.kernel = core_kernel_of(handle, library),
                   .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
                   .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
                   .dynamic_shared_bytes = params->sharedMemBytes}};
}

CUDA_KERNEL_NODE_PARAMS core_graph_newer_params(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
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
    newer.kernelParams = params->kernelParams;
    newer.extra = params->extra;
    return newer;
}

struct event_node core_graph_copy_node(const CUDA_MEMCPY3D *copy)
{
    return (struct event_node){.kind = EVENT_NODE_COPY, .copy = core_copy_detail_3d(copy)};
}

struct event_node core_graph_set_node(const CUDA_MEMSET_NODE_PARAMS *set)
{
    return (struct event_node){.kind = EVENT_NODE_SET,
                               .set = core_set_detail(set->dst, set->pitch, set->value,
                                                      set->elementSize, set->width, set->height)};
}

uint64_t core_graph_begin_memory(struct core_call *call, CUdeviceptr address, uint64_t bytes)
{
    struct event_object object = {.kind = EVENT_OBJECT_GRAPH, .address = address, .bytes = bytes};
    return core_object_begin(&object, call->context, call->number, 0);
}

struct event_node core_graph_event_node(uint8_t kind, CUevent event)
{
    struct event_node node = {.kind = kind};
    node.event.event = core_event_number(event);
    return node;
}

bool core_graph_get_params(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *params)
{
    CUDA_KERNEL_NODE_PARAMS_v1 older = {0};
    *params = (CUDA_KERNEL_NODE_PARAMS){0};
    if (REAL(cuGraphKernelNodeGetParams_v2)(handle, params) == CUDA_SUCCESS)
        return true;
    if (REAL(cuGraphKernelNodeGetParams)(handle, &older) != CUDA_SUCCESS)
        return false;
    *params = core_graph_newer_params(&older);
    return true;
}

_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, kern) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1),
               "the newer parameters begin with the older ones");

CUresult core_graph_set_params(CUgraphExec exec, CUgraphNode handle,
                               const CUDA_KERNEL_NODE_PARAMS *params)
{
    const CUDA_KERNEL_NODE_PARAMS_v1 *older = (const void *)params;
    if (core_driver_find_real(HOOK_cuGraphKernelNodeSetParams_v2))
        return exec ? REAL(cuGraphExecKernelNodeSetParams_v2)(exec, handle, params)
                    : REAL(cuGraphKernelNodeSetParams_v2)(handle, params);
    return exec ? REAL(cuGraphExecKernelNodeSetParams)(exec, handle, older)
                : REAL(cuGraphKernelNodeSetParams)(handle, older);
}

static struct event_node describe_kernel(CUgraphNode handle)
{
    CUDA_KERNEL_NODE_PARAMS params;
    return core_graph_get_params(handle, &params) ? core_graph_kernel_node(&params)
                                                  : (struct event_node){.kind = EVENT_NODE_OTHER};
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
            return core_graph_copy_node(&copy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (REAL(cuGraphMemsetNodeGetParams)(handle, &set) == CUDA_SUCCESS)
            return core_graph_set_node(&set);
        break;
    case CU_GRAPH_NODE_TYPE_HOST: return (struct event_node){.kind = EVENT_NODE_HOST};
    case CU_GRAPH_NODE_TYPE_GRAPH: return (struct event_node){.kind = EVENT_NODE_GRAPH};
    case CU_GRAPH_NODE_TYPE_EMPTY: return (struct event_node){.kind = EVENT_NODE_EMPTY};
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (REAL(cuGraphEventRecordNodeGetEvent)(handle, &event) == CUDA_SUCCESS)
            return core_graph_event_node(EVENT_NODE_EVENT_RECORD, event);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        if (REAL(cuGraphEventWaitNodeGetEvent)(handle, &event) == CUDA_SUCCESS)
            return core_graph_event_node(EVENT_NODE_EVENT_WAIT, event);
        break;
    default: break;
    }
    return (struct event_node){.kind = EVENT_NODE_OTHER};
}

static void describe_alloc(struct core_node *node, struct core_call *call)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {0};
    struct core_object object;
    if (REAL(cuGraphMemAllocNodeGetParams)(node->handle, &alloc) != CUDA_SUCCESS)
        return;
    node->address = alloc.dptr;
    node->reported = (struct event_node){.kind = EVENT_NODE_ALLOC};
    node->reported.memory.bytes = alloc.bytesize;
    core_objects_find(&core_state.objects, OBJECTS_MEMORY, alloc.dptr, &object);
    node->reported.memory.object = object.start == alloc.dptr && object.kind == EVENT_OBJECT_GRAPH
                                       ? object.number
                                       : core_graph_begin_memory(call, alloc.dptr, alloc.bytesize);
}

static void describe_free(struct core_node *node)
{
    CUdeviceptr address = 0;
    struct core_object object;
    if (REAL(cuGraphMemFreeNodeGetParams)(node->handle, &address) != CUDA_SUCCESS)
        return;
    node->address = address;
    node->reported = (struct event_node){.kind = EVENT_NODE_FREE};
    core_objects_find(&core_state.objects, OBJECTS_MEMORY, address, &object);
    node->reported.memory.object = object.number;
    node->reported.memory.bytes = object.bytes;
}

// --- Order ---------------------------------------------------------------------------------------

struct edges {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t count;
};

static void edges_free(struct edges *edges)
{
    free(edges->from);
    free(edges->to);
    free(edges->data);
    *edges = (struct edges){0};
}

// Returns false if the driver does not describe the edges, or memory runs out.
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
    edges->data = calloc(edges->count, sizeof(*edges->data));
    // The older function refuses graphs whose edges carry data.
    bool good =
        edges->from && edges->to && edges->data &&
        (REAL(cuGraphGetEdges)(graph, edges->from, edges->to, &edges->count) == CUDA_SUCCESS ||
         REAL(cuGraphGetEdges_v2)(graph, edges->from, edges->to, edges->data, &edges->count) ==
             CUDA_SUCCESS);
    if (!good)
        edges_free(edges);
    return good;
}

// Sorts nodes into an order that the edges allow, keeping the given order otherwise. Each node's
// successors lie together in `successors`, from first[node] to first[node + 1].
static void order_by(CUgraphNode *nodes, size_t count, const size_t *first,
                     const size_t *successors, size_t *missing, CUgraphNode *ordered)
{
    size_t done = 0;
    // Nodes without missing predecessors form a queue, which lies in `missing` once they are taken.
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
        if (from && to) {       // always true
            first[*from + 2]++; // shifted by one more than its end, which filling in moves back
            missing[*to]++;
        }
    }
    for (size_t i = 0; good && i < count; i++)
        first[i + 2] += first[i + 1];
    for (size_t i = 0; good && i < edges->count; i++) {
        const uint64_t *from = base_map_get(&index, (uint64_t)(uintptr_t)edges->from[i]);
        const uint64_t *to = base_map_get(&index, (uint64_t)(uintptr_t)edges->to[i]);
        if (from && to)
            successors[first[*from + 1]++] = *to;
    }
    if (good)
        order_by(nodes, count, first, successors, missing, ordered);
    else
        core_no_memory();
    base_map_fini(&index);
    free(first);
    free(missing);
    free(successors);
    free(ordered);
}

// Returns the graph's nodes in order; NULL: unknown. The caller frees the edges, too.
static CUgraphNode *ordered_nodes(CUgraph handle, size_t *count, struct edges *edges)
{
    *count = 0;
    *edges = (struct edges){0};
    if (REAL(cuGraphGetNodes)(handle, NULL, count) != CUDA_SUCCESS || !*count)
        return NULL;
    CUgraphNode *nodes = calloc(*count, sizeof(*nodes));
    if (!nodes || REAL(cuGraphGetNodes)(handle, nodes, count) != CUDA_SUCCESS) {
        free(nodes);
        return NULL;
    }
    if (edges_of(handle, edges))
        order(nodes, *count, edges);
    return nodes;
}

// --- Edges ---------------------------------------------------------------------------------------

static void add_edge(struct core_graph *graph, size_t from, size_t to)
{
    struct event_edge *edge = base_array_push(&graph->edges);
    if (edge)
        *edge = (struct event_edge){(uint32_t)from + 1, (uint32_t)to + 1};
    else
        core_no_memory();
}

// Work that follows a child graph follows those of its nodes that have no successors.
// NOLINTNEXTLINE(misc-no-recursion): as deep as graphs are nested, which is bounded
static void add_edges_from(struct core_graph *graph, size_t from, size_t to)
{
    const struct core_node *nodes = graph->nodes.items;
    const size_t end = from + nodes[from].children;
    if (end == from)
        add_edge(graph, from, to);
    for (size_t i = from + 1; i <= end; i += 1 + nodes[i].children) {
        if (!nodes[i].leads)
            add_edges_from(graph, i, to);
    }
}

// Adds the edges of one graph, whose nodes, with their children, begin at `first`.
static void add_edges(struct core_graph *graph, size_t first, const struct edges *edges)
{
    struct core_node *nodes = graph->nodes.items;
    struct base_map index = {0};
    bool good = true;
    for (size_t i = first; good && nodes && i < graph->nodes.count; i += 1 + nodes[i].children) {
        uint64_t *place = base_map_put(&index, (uint64_t)(uintptr_t)nodes[i].handle, NULL);
        good = place != NULL;
        if (good)
            *place = i;
    }
    for (size_t i = 0; good && i < edges->count; i++) {
        const uint64_t *from = base_map_get(&index, (uint64_t)(uintptr_t)edges->from[i]);
        const uint64_t *to = base_map_get(&index, (uint64_t)(uintptr_t)edges->to[i]);
        // An edge of another type lets the second node start before the first has ended.
        if (!from || !to || edges->data[i].type)
            continue;
        nodes[*from].leads = nodes[*to].follows = true;
        add_edges_from(graph, (size_t)*from, (size_t)*to);
    }
    if (!good)
        core_no_memory();
    base_map_fini(&index);
}

// Nodes of a child graph without predecessors in it follow the node that stands for the graph.
static void lead_to_children(struct core_graph *graph, size_t child)
{
    const struct core_node *nodes = graph->nodes.items;
    for (size_t i = child + 1; i <= child + nodes[child].children; i += 1 + nodes[i].children) {
        if (!nodes[i].follows)
            add_edge(graph, child, i);
    }
}

static void find_loose(struct core_graph *graph)
{
    struct core_node *nodes = graph->nodes.items;
    for (size_t i = 0; nodes && i < graph->nodes.count; i++) {
        nodes[i].loose = nodes[i].reported.kind == EVENT_NODE_ALLOC;
        for (size_t j = i + 1; nodes[i].loose && j < graph->nodes.count; j++) {
            if (nodes[j].reported.kind == EVENT_NODE_FREE && nodes[j].address == nodes[i].address)
                nodes[i].loose = false;
        }
    }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as graphs in graphs, which is bounded
void core_graph_expand(struct core_graph *graph, CUgraph handle, struct core_call *call,
                       unsigned depth)
{
    size_t count;
    struct edges edges = {0};
    const size_t first = graph->nodes.count;
    CUgraphNode *nodes = depth < MOST_DEPTH ? ordered_nodes(handle, &count, &edges) : NULL;
    for (size_t i = 0; nodes && i < count; i++) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUgraph child = NULL;
        REAL(cuGraphNodeGetType)(nodes[i], &type);
        struct core_node *node = base_array_push(&graph->nodes);
        if (!node) {
            core_no_memory();
            break;
        }
        node->handle = nodes[i];
        node->reported = describe(nodes[i], type);
        if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            describe_alloc(node, call);
        else if (type == CU_GRAPH_NODE_TYPE_MEM_FREE)
            describe_free(node);
        if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
            REAL(cuGraphChildGraphNodeGetGraph)(nodes[i], &child) == CUDA_SUCCESS) {
            size_t at = graph->nodes.count - 1;
            core_graph_expand(graph, child, call, depth + 1);
            graph->nodes.items[at].children = (uint32_t)(graph->nodes.count - 1 - at);
            lead_to_children(graph, at);
        }
    }
    add_edges(graph, first, &edges);
    edges_free(&edges);
    free(nodes);
    if (depth == 0)
        find_loose(graph);
}

void core_graph_fini(struct core_graph *graph)
{
    base_array_fini(&graph->nodes);
    base_array_fini(&graph->edges);
}
