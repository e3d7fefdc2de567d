// SPDX-License-Identifier: Apache-2.0
// User objects, which live as long as a graph needs them; cuGraphNodeSetParams for nodes of any
// kind; and a picture of a graph for Graphviz.
#include <stdio.h>
#include <stdlib.h>

#include "graph.h"
#include "module.h"

#define USER_OBJECT_MAGIC UINT64_C(0x676c696e74757372)

struct driver_user_object {
    uint64_t magic;
    _Atomic unsigned references;
    CUhostFn destroy;
    void *user;
};

static struct driver_user_object *object_of(CUuserObject handle)
{
    struct driver_user_object *object = (struct driver_user_object *)handle;
    return object && object->magic == USER_OBJECT_MAGIC ? object : NULL;
}

void driver_user_object_hold(struct driver_user_object *object)
{
    atomic_fetch_add(&object->references, 1);
}

static void release(struct driver_user_object *object, unsigned count)
{
    if (atomic_fetch_sub(&object->references, count) != count)
        return;
    object->magic = 0;
    object->destroy(object->user);
    free(object);
}

void driver_user_object_release(struct driver_user_object *object)
{
    release(object, 1);
}

CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!object_out || !destroy || !initialRefcount, CUDA_ERROR_INVALID_VALUE);
    struct driver_user_object *object = calloc(1, sizeof *object);
    DRIVER_REJECT(!object, CUDA_ERROR_OUT_OF_MEMORY);
    object->magic = USER_OBJECT_MAGIC;
    object->references = initialRefcount;
    object->destroy = destroy;
    object->user = ptr;
    *object_out = (CUuserObject)object;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
    DRIVER_BEGIN();
    struct driver_user_object *object = object_of(handle);
    DRIVER_REJECT(!object || !count, CUDA_ERROR_INVALID_VALUE);
    atomic_fetch_add(&object->references, count);
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
    DRIVER_BEGIN();
    struct driver_user_object *object = object_of(handle);
    DRIVER_REJECT(!object || !count || count > object->references, CUDA_ERROR_INVALID_VALUE);
    release(object, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph hGraph, CUuserObject handle, unsigned int count,
                                 unsigned int flags)
{
    DRIVER_BEGIN();
    struct driver_graph *graph = (struct driver_graph *)hGraph;
    struct driver_user_object *object = object_of(handle);
    DRIVER_REJECT(!driver_graph_valid(graph) || !object || !count, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; i++) {
        struct driver_user_object **slot = base_array_push(&graph->objects);
        DRIVER_REJECT(!slot, CUDA_ERROR_OUT_OF_MEMORY);
        *slot = object;
        // With CU_GRAPH_USER_OBJECT_MOVE, the caller's references pass to the graph.
        if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
            driver_user_object_hold(object);
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph hGraph, CUuserObject handle, unsigned int count)
{
    DRIVER_BEGIN();
    struct driver_graph *graph = (struct driver_graph *)hGraph;
    struct driver_user_object *object = object_of(handle);
    DRIVER_REJECT(!driver_graph_valid(graph) || !object || !count, CUDA_ERROR_INVALID_VALUE);
    unsigned found = 0;
    for (size_t i = graph->objects.count; i-- > 0 && found < count;)
        if (graph->objects.items[i] == object) {
            graph->objects.items[i] = graph->objects.items[--graph->objects.count];
            found++;
        }
    if (found)
        release(object, found);
    return found == count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// --- Functions for nodes of any type -------------------------------------------------------------

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    switch ((int)nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return cuGraphKernelNodeSetParams_v2(hNode, (CUDA_KERNEL_NODE_PARAMS *)&nodeParams->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphMemcpyNodeSetParams(hNode, &nodeParams->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphMemsetNodeSetParams(hNode, (CUDA_MEMSET_NODE_PARAMS *)&nodeParams->memset);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cuGraphHostNodeSetParams(hNode, (CUDA_HOST_NODE_PARAMS *)&nodeParams->host);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuGraphEventWaitNodeSetEvent(hNode, nodeParams->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphEventRecordNodeSetEvent(hNode, nodeParams->eventRecord.event);
    default: return driver_not_there("cuGraphNodeSetParams with a node of this type");
    }
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                  CUgraphNodeParams *nodeParams)
{
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    switch ((int)nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode,
                                                 (CUDA_KERNEL_NODE_PARAMS *)&nodeParams->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphExecMemcpyNodeSetParams(hGraphExec, hNode, &nodeParams->memcpy.copyParams,
                                              nodeParams->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphExecMemsetNodeSetParams(hGraphExec, hNode,
                                              (CUDA_MEMSET_NODE_PARAMS *)&nodeParams->memset,
                                              nodeParams->memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cuGraphExecHostNodeSetParams(hGraphExec, hNode,
                                            (CUDA_HOST_NODE_PARAMS *)&nodeParams->host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, nodeParams->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuGraphExecEventWaitNodeSetEvent(hGraphExec, hNode, nodeParams->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, nodeParams->eventRecord.event);
    default: return driver_not_there("cuGraphExecNodeSetParams with a node of this type");
    }
}

// --- Graphviz output -----------------------------------------------------------------------------

static const char *type_name(CUgraphNodeType type)
{
    static const char *const names[] = {
        "KERNEL",    "MEMCPY",     "MEMSET",       "HOST",           "CHILD_GRAPH",
        "EMPTY",     "EVENT_WAIT", "EVENT_RECORD", "EXT_SEM_SIGNAL", "EXT_SEM_WAIT",
        "MEM_ALLOC", "MEM_FREE",   "BATCH_MEM_OP", "CONDITIONAL"};
    return (unsigned)type < sizeof names / sizeof names[0] ? names[type] : "NODE";
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    DRIVER_BEGIN();
    const struct driver_graph *graph = (const struct driver_graph *)hGraph;
    DRIVER_REJECT(!driver_graph_valid(graph) || !path, CUDA_ERROR_INVALID_VALUE);
    FILE *file = fopen(path, "w");
    DRIVER_REJECT(!file, CUDA_ERROR_OPERATING_SYSTEM);
    fprintf(file, "digraph dot {\n");
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct driver_node *node = graph->nodes.items[i];
        node->index = i;
        fprintf(file, "node_%zu [label=\"%zu\\n%s%s%s\"];\n", i, i, type_name(node->type),
                node->type == CU_GRAPH_NODE_TYPE_KERNEL ? "\\n" : "",
                node->type == CU_GRAPH_NODE_TYPE_KERNEL ? node->op.launch.function->info->name
                                                        : "");
    }
    for (size_t i = 0; i < graph->nodes.count; i++)
        for (size_t k = 0; k < graph->nodes.items[i]->follow_count; k++)
            fprintf(file, "node_%zu -> node_%zu;\n", graph->nodes.items[i]->follows[k]->index, i);
    fprintf(file, "}\n");
    return fclose(file) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
