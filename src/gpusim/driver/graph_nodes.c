// SPDX-License-Identifier: Apache-2.0
// The types of nodes: adds each to a graph, and reads and changes its description.
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "condition.h"
#include "context.h"
#include "copy.h"
#include "event.h"
#include "graph.h"
#include "graph_memory.h"
#include "launch.h"
#include "memory.h"
#include "module.h"
#include "pool.h"

// --- Operations from descriptions ----------------------------------------------------------------

CUresult driver_kernel_op(const CUDA_KERNEL_NODE_PARAMS *params, struct driver_op *op)
{
    DRIVER_REJECT(!params, CUDA_ERROR_INVALID_VALUE);
    const void *handle = params->func ? (const void *)params->func : (const void *)params->kern;
    // Without a context of its own, a kernel runs on the current one's device.
    const struct driver_context *context = (const struct driver_context *)params->ctx;
    struct driver_launch launch = {
        .function =
            context ? driver_function_on(handle, context->device) : driver_function_of(handle),
        .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
        .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
        .shared_bytes = params->sharedMemBytes,
        .params = params->kernelParams,
        .extra = params->extra};
    return driver_launch_op(&launch, op);
}

CUresult driver_copy_op(const CUDA_MEMCPY3D *params, struct driver_op *op)
{
    DRIVER_REJECT(!params, CUDA_ERROR_INVALID_VALUE);
    *op = (struct driver_op){.kind = DRIVER_OP_COPY};
    enum driver_place dst, src;
    driver_lock();
    CUresult result = driver_box_of_3d(params, &op->copy.box, &dst, &src);
    op->copy.is_peer = result == CUDA_SUCCESS && driver_box_is_peer(&op->copy.box);
    driver_unlock();
    op->copy.on_device = dst == DRIVER_PLACE_DEVICE && src == DRIVER_PLACE_DEVICE;
    return result;
}

CUresult driver_fill_op(const CUDA_MEMSET_NODE_PARAMS *params, struct driver_op *op)
{
    DRIVER_REJECT(!params, CUDA_ERROR_INVALID_VALUE);
    unsigned bytes = params->elementSize;
    DRIVER_REJECT((bytes != 1 && bytes != 2 && bytes != 4) || !params->width || !params->height,
                  CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    CUresult result =
        driver_fill_check(params->dst, params->pitch, params->width * bytes, params->height);
    driver_unlock();
    *op = (struct driver_op){.kind = DRIVER_OP_FILL,
                             .fill = {.dst = (char *)(uintptr_t)params->dst,
                                      .pitch = params->pitch,
                                      .width = params->width,
                                      .height = params->height,
                                      .value = params->value,
                                      .element_bytes = (uint8_t)bytes}};
    return result;
}

void driver_node_describe_copy(struct driver_node *node)
{
    const struct driver_box *box = &node->op.copy.box;
    node->copy = (CUDA_MEMCPY3D){
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (CUdeviceptr)(uintptr_t)box->src,
        .srcPitch = box->src_pitch,
        .srcHeight = box->src_pitch && box->src_slice ? box->src_slice / box->src_pitch : 0,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (CUdeviceptr)(uintptr_t)box->dst,
        .dstPitch = box->dst_pitch,
        .dstHeight = box->dst_pitch && box->dst_slice ? box->dst_slice / box->dst_pitch : 0,
        .WidthInBytes = box->width,
        .Height = box->height,
        .Depth = box->depth};
}

// --- Adding --------------------------------------------------------------------------------------

static CUresult add(CUgraphNode *out, CUgraph handle, const CUgraphNode *dependencies, size_t count,
                    CUgraphNodeType type, struct driver_op *op, struct driver_node **made)
{
    struct driver_graph *graph = (struct driver_graph *)handle;
    struct driver_node *node;
    if (!out || !driver_graph_valid(graph) || (count && !dependencies)) {
        driver_op_fini(op);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (graph->is_moved && (op->kind == DRIVER_OP_ALLOC || op->kind == DRIVER_OP_FREE)) {
        driver_op_fini(op);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    DRIVER_TRY(
        driver_graph_add(graph, type, op, (struct driver_node *const *)dependencies, count, &node));
    *out = (CUgraphNode)node;
    if (made)
        *made = node;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    struct driver_op op;
    DRIVER_TRY(driver_kernel_op(nodeParams, &op));
    return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL, &op,
               NULL);
}

static CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = params->func,
                                     .gridDimX = params->gridDimX,
                                     .gridDimY = params->gridDimY,
                                     .gridDimZ = params->gridDimZ,
                                     .blockDimX = params->blockDimX,
                                     .blockDimY = params->blockDimY,
                                     .blockDimZ = params->blockDimZ,
                                     .sharedMemBytes = params->sharedMemBytes,
                                     .kernelParams = params->kernelParams,
                                     .extra = params->extra};
}

CUresult cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    CUDA_KERNEL_NODE_PARAMS params = newer(nodeParams);
    return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    DRIVER_BEGIN();
    struct driver_op op;
    DRIVER_TRY(driver_copy_op(copyParams, &op));
    struct driver_node *node;
    DRIVER_TRY(add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMCPY,
                   &op, &node));
    node->copy = *copyParams;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    DRIVER_BEGIN();
    struct driver_op op;
    DRIVER_TRY(driver_fill_op(memsetParams, &op));
    return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET, &op,
               NULL);
}

CUresult cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                            const CUgraphNode *dependencies, size_t numDependencies,
                            const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!nodeParams || !nodeParams->fn, CUDA_ERROR_INVALID_VALUE);
    struct driver_op op = {.kind = DRIVER_OP_HOST, .host = {nodeParams->fn, nodeParams->userData}};
    return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST, &op,
               NULL);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                             const CUgraphNode *dependencies, size_t numDependencies)
{
    DRIVER_BEGIN();
    struct driver_op op = {.kind = DRIVER_OP_EMPTY};
    return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY, &op,
               NULL);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  CUgraph childGraph)
{
    DRIVER_BEGIN();
    struct driver_graph *child = (struct driver_graph *)childGraph;
    DRIVER_REJECT(!driver_graph_valid(child), CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(driver_graph_is_unique(child), CUDA_ERROR_NOT_SUPPORTED);
    struct driver_graph *copy = driver_graph_copy(child);
    DRIVER_REJECT(!copy, CUDA_ERROR_OUT_OF_MEMORY);
    copy->is_child = true;
    struct driver_op op = {.kind = DRIVER_OP_EMPTY}; // the operation is made at instantiation
    struct driver_node *node;
    CUresult result = add(phGraphNode, hGraph, dependencies, numDependencies,
                          CU_GRAPH_NODE_TYPE_GRAPH, &op, &node);
    if (result != CUDA_SUCCESS)
        driver_graph_free(copy);
    else
        node->child = copy;
    return result;
}

static bool contains(const struct driver_graph *graph, const struct driver_graph *inner)
{
    if (graph == inner)
        return true;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct driver_graph *child = graph->nodes.items[i]->child;
        const struct driver_branches *branches = graph->nodes.items[i]->branches;
        if (child && contains(child, inner))
            return true;
        for (unsigned k = 0; branches && k < branches->count; k++) {
            if (contains(branches->bodies[k], inner))
                return true;
        }
    }
    return false;
}

// Moves the graph itself, with the memory that it allocates, into the node.
static CUresult add_moved_child(CUgraphNode *out, CUgraph handle, const CUgraphNode *dependencies,
                                size_t count, CUgraph child_handle)
{
    DRIVER_BEGIN();
    struct driver_graph *child = (struct driver_graph *)child_handle;
    const struct driver_graph *graph = (const struct driver_graph *)handle;
    DRIVER_REJECT(!driver_graph_valid(child) || !driver_graph_valid(graph) || child->is_child ||
                      contains(child, graph),
                  CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(child->instances->count && driver_graph_is_unique(child),
                  CUDA_ERROR_NOT_SUPPORTED);
    struct driver_op op = {.kind = DRIVER_OP_EMPTY}; // the operation is made at instantiation
    struct driver_node *node;
    DRIVER_TRY(add(out, handle, dependencies, count, CU_GRAPH_NODE_TYPE_GRAPH, &op, &node));
    node->child = child;
    child->is_child = child->is_moved = true;
    return CUDA_SUCCESS;
}

static CUresult add_event_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
                               size_t count, CUgraphNodeType type, CUevent handle)
{
    struct driver_event *event = (struct driver_event *)handle;
    DRIVER_REJECT(!driver_event_valid(event), CUDA_ERROR_INVALID_VALUE);
    struct driver_op op = {.kind = type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? DRIVER_OP_RECORD
                                                                           : DRIVER_OP_WAIT,
                           .mark = {.event = event}};
    return add(out, graph, dependencies, count, type, &op, NULL);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   CUevent event)
{
    DRIVER_BEGIN();
    return add_event_node(phGraphNode, hGraph, dependencies, numDependencies,
                          CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 CUevent event)
{
    DRIVER_BEGIN();
    return add_event_node(phGraphNode, hGraph, dependencies, numDependencies,
                          CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

// Returns the device on which the node allocates, or NULL.
static struct driver_device *alloc_device(const CUDA_MEM_ALLOC_NODE_PARAMS *params,
                                          struct driver_device *otherwise)
{
    const CUmemLocation *location = &params->poolProps.location;
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? driver_device_at(location->id)
                                                         : otherwise;
}

// Stores which devices the node admits to its memory, a bit for each.
static CUresult admitted_by(const CUDA_MEM_ALLOC_NODE_PARAMS *params,
                            struct driver_device *otherwise, uint32_t *devices)
{
    const struct driver_device *own = alloc_device(params, otherwise);
    DRIVER_REJECT(!own || (params->accessDescCount && !params->accessDescs),
                  CUDA_ERROR_INVALID_VALUE);
    *devices = 0;
    for (size_t i = 0; i < params->accessDescCount; i++) {
        const CUmemAccessDesc *desc = &params->accessDescs[i];
        const struct driver_device *device = driver_device_at(desc->location.id);
        if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            continue;
        DRIVER_REJECT(!device || !driver_devices_linked(device, own), CUDA_ERROR_INVALID_VALUE);
        if (desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            *devices |= UINT32_C(1) << driver_ordinal(device);
    }
    return CUDA_SUCCESS;
}

// The address is fixed when the node is added. The memory is in use from this node to the node that
// frees it.
CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!nodeParams || !nodeParams->bytesize, CUDA_ERROR_INVALID_VALUE);
    struct driver_allocation *allocation = NULL;
    uint32_t admitted;
    DRIVER_TRY(admitted_by(nodeParams, context->device, &admitted));
    driver_lock();
    struct driver_pool *pool = driver_pool_default(alloc_device(nodeParams, context->device));
    CUresult result =
        pool ? driver_pool_reserve(pool, NULL, context, nodeParams->bytesize, &allocation)
             : CUDA_ERROR_OUT_OF_MEMORY;
    driver_unlock();
    DRIVER_TRY(result);
    struct driver_op op = {.kind = DRIVER_OP_ALLOC,
                           .memory = {.address = allocation->address,
                                      .size_bytes = allocation->size_bytes,
                                      .pool = pool,
                                      .admitted = admitted}};
    driver_lock();
    result = driver_graph_memory_make(allocation, &op);
    if (result != CUDA_SUCCESS)
        driver_pool_discard(allocation);
    driver_unlock();
    DRIVER_TRY(result);
    nodeParams->dptr = op.memory.address;
    struct driver_node *node;
    DRIVER_TRY(add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                   &op, &node));
    node->alloc = *nodeParams;
    node->alloc.accessDescs = NULL;
    node->alloc.accessDescCount = 0;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                               const CUgraphNode *dependencies, size_t numDependencies,
                               CUdeviceptr dptr)
{
    DRIVER_BEGIN();
    driver_lock();
    struct driver_allocation *allocation = driver_memory_find(dptr);
    bool good = allocation && allocation->address == dptr && allocation->kind == DRIVER_MEMORY_POOL;
    struct driver_op op = {.kind = DRIVER_OP_FREE, .memory = {.address = dptr}};
    driver_unlock();
    DRIVER_REJECT(!good, CUDA_ERROR_INVALID_VALUE);
    return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_FREE, &op,
               NULL);
}

static bool has_count(const CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    switch ((int)params->type) {
    case CU_GRAPH_COND_TYPE_IF: return params->size == 1 || params->size == 2;
    case CU_GRAPH_COND_TYPE_WHILE: return params->size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH: return params->size > 0;
    default: return false;
    }
}

// Makes empty bodies. On success the condition is held.
static CUresult make_branches(const CUDA_CONDITIONAL_NODE_PARAMS *params,
                              struct driver_branches **made)
{
    struct driver_branches *branches =
        calloc(1, sizeof *branches + (size_t)params->size * sizeof(struct driver_graph *));
    DRIVER_REJECT(!branches, CUDA_ERROR_OUT_OF_MEMORY);
    driver_lock();
    struct driver_condition *condition = driver_condition_of(params->handle);
    const bool good = condition && !condition->has_node;
    if (good) {
        condition->references++;
        condition->has_node = true;
    }
    driver_unlock();
    if (!good) {
        free(branches);
        return CUDA_ERROR_INVALID_VALUE;
    }
    branches->condition = condition;
    branches->type = params->type;
    while (branches->count < params->size) {
        struct driver_graph *body = driver_graph_new();
        if (!body) {
            driver_branches_free(branches);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        body->is_child = true;
        branches->bodies[branches->count++] = body;
    }
    *made = branches;
    return CUDA_SUCCESS;
}

static CUresult add_conditional(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
                                size_t count, CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!has_count(params), CUDA_ERROR_INVALID_VALUE);
    struct driver_branches *branches;
    DRIVER_TRY(make_branches(params, &branches));
    struct driver_op op = {.kind = DRIVER_OP_EMPTY}; // the operation is made at instantiation
    struct driver_node *node;
    CUresult result =
        add(out, graph, dependencies, count, CU_GRAPH_NODE_TYPE_CONDITIONAL, &op, &node);
    if (result != CUDA_SUCCESS) {
        driver_lock();
        branches->condition->has_node = false;
        driver_unlock();
        driver_branches_free(branches);
        return result;
    }
    node->branches = branches;
    params->phGraph_out = (CUgraph *)branches->bodies;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                           const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                           size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    (void)dependencyData;
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    switch ((int)nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies,
                                       (CUDA_KERNEL_NODE_PARAMS *)&nodeParams->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphAddMemcpyNode(phGraphNode, hGraph, dependencies, numDependencies,
                                    &nodeParams->memcpy.copyParams, nodeParams->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphAddMemsetNode(phGraphNode, hGraph, dependencies, numDependencies,
                                    (CUDA_MEMSET_NODE_PARAMS *)&nodeParams->memset,
                                    nodeParams->memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cuGraphAddHostNode(phGraphNode, hGraph, dependencies, numDependencies,
                                  (CUDA_HOST_NODE_PARAMS *)&nodeParams->host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        if (nodeParams->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
            return add_moved_child(phGraphNode, hGraph, dependencies, numDependencies,
                                   nodeParams->graph.graph);
        return cuGraphAddChildGraphNode(phGraphNode, hGraph, dependencies, numDependencies,
                                        nodeParams->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return cuGraphAddEmptyNode(phGraphNode, hGraph, dependencies, numDependencies);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuGraphAddEventWaitNode(phGraphNode, hGraph, dependencies, numDependencies,
                                       nodeParams->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphAddEventRecordNode(phGraphNode, hGraph, dependencies, numDependencies,
                                         nodeParams->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return cuGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies,
                                      (CUDA_MEM_ALLOC_NODE_PARAMS *)&nodeParams->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return cuGraphAddMemFreeNode(phGraphNode, hGraph, dependencies, numDependencies,
                                     nodeParams->free.dptr);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return add_conditional(phGraphNode, hGraph, dependencies, numDependencies,
                               &nodeParams->conditional);
    default: return driver_not_there("cuGraphAddNode with a node of this type");
    }
}

CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                        size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

// --- Reading and changing ------------------------------------------------------------------------

#define NODE_OF(node, handle, kind)                            \
    struct driver_node *node = (struct driver_node *)(handle); \
    DRIVER_REJECT(!driver_node_valid(node) || node->type != (kind), CUDA_ERROR_INVALID_VALUE)

static void replace(struct driver_node *node, const struct driver_op *op)
{
    driver_op_fini(&node->op);
    node->op = *op;
    free(node->param_pointers);
    node->param_pointers = NULL;
}

// Returns pointers to the node's copies of the parameters, or NULL when memory runs out.
static void **pointers_of(struct driver_node *node)
{
    const struct sim_kernel_info *info = node->op.launch.function->info;
    if (!node->param_pointers)
        node->param_pointers = calloc(info->param_count + 1, sizeof(void *));
    for (uint32_t i = 0; node->param_pointers && i < info->param_count; i++)
        node->param_pointers[i] = (char *)node->op.launch.params + info->params[i].offset;
    return node->param_pointers;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    const struct driver_op *op = &node->op;
    *nodeParams = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)op->launch.function,
                                            .gridDimX = op->launch.grid[0],
                                            .gridDimY = op->launch.grid[1],
                                            .gridDimZ = op->launch.grid[2],
                                            .blockDimX = op->launch.block[0],
                                            .blockDimY = op->launch.block[1],
                                            .blockDimZ = op->launch.block[2],
                                            .sharedMemBytes = op->launch.shared_bytes,
                                            .kernelParams = pointers_of(node)};
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    CUDA_KERNEL_NODE_PARAMS params;
    DRIVER_TRY(cuGraphKernelNodeGetParams_v2(hNode, &params));
    memcpy(nodeParams, &params, sizeof *nodeParams);
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    struct driver_op op;
    DRIVER_TRY(driver_kernel_op(nodeParams, &op));
    memcpy(op.launch.cluster, node->op.launch.cluster, sizeof op.launch.cluster);
    op.launch.cluster_policy = node->op.launch.cluster_policy;
    replace(node, &op);
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    CUDA_KERNEL_NODE_PARAMS params = newer(nodeParams);
    return cuGraphKernelNodeSetParams_v2(hNode, &params);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    CUDA_KERNEL_NODE_PARAMS params = newer(nodeParams);
    return cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, &params);
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue *value)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    DRIVER_REJECT(!value, CUDA_ERROR_INVALID_VALUE);
    if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        node->op.launch.cooperative = value->cooperative != 0;
    if (attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        struct driver_op op = node->op;
        op.launch.cluster[0] = value->clusterDim.x;
        op.launch.cluster[1] = value->clusterDim.y;
        op.launch.cluster[2] = value->clusterDim.z;
        DRIVER_TRY(driver_cluster_check(&op));
        memcpy(node->op.launch.cluster, op.launch.cluster, sizeof op.launch.cluster);
    }
    if (attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        node->op.launch.cluster_policy = (int)value->clusterSchedulingPolicyPreference;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue *value_out)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    DRIVER_REJECT(!value_out, CUDA_ERROR_INVALID_VALUE);
    memset(value_out, 0, sizeof *value_out);
    if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        value_out->cooperative = node->op.launch.cooperative;
    if (attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        value_out->clusterDim.x = node->op.launch.cluster[0];
        value_out->clusterDim.y = node->op.launch.cluster[1];
        value_out->clusterDim.z = node->op.launch.cluster[2];
    }
    if (attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        value_out->clusterSchedulingPolicyPreference =
            (CUclusterSchedulingPolicy)node->op.launch.cluster_policy;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    DRIVER_BEGIN();
    NODE_OF(to, dst, CU_GRAPH_NODE_TYPE_KERNEL);
    NODE_OF(from, src, CU_GRAPH_NODE_TYPE_KERNEL);
    to->op.launch.cooperative = from->op.launch.cooperative;
    memcpy(to->op.launch.cluster, from->op.launch.cluster, sizeof to->op.launch.cluster);
    to->op.launch.cluster_policy = from->op.launch.cluster_policy;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    *nodeParams = node->copy;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
    struct driver_op op;
    DRIVER_TRY(driver_copy_op(nodeParams, &op));
    replace(node, &op);
    node->copy = *nodeParams;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_MEMSET);
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    *nodeParams = (CUDA_MEMSET_NODE_PARAMS){.dst = (CUdeviceptr)(uintptr_t)node->op.fill.dst,
                                            .pitch = node->op.fill.pitch,
                                            .value = node->op.fill.value,
                                            .elementSize = node->op.fill.element_bytes,
                                            .width = node->op.fill.width,
                                            .height = node->op.fill.height};
    return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_MEMSET);
    struct driver_op op;
    DRIVER_TRY(driver_fill_op(nodeParams, &op));
    replace(node, &op);
    return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_HOST);
    DRIVER_REJECT(!nodeParams, CUDA_ERROR_INVALID_VALUE);
    *nodeParams = (CUDA_HOST_NODE_PARAMS){node->op.host.function, node->op.host.user};
    return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_HOST);
    DRIVER_REJECT(!nodeParams || !nodeParams->fn, CUDA_ERROR_INVALID_VALUE);
    node->op.host.function = nodeParams->fn;
    node->op.host.user = nodeParams->userData;
    return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_GRAPH);
    DRIVER_REJECT(!phGraph || !node->child, CUDA_ERROR_INVALID_VALUE);
    *phGraph = (CUgraph)node->child;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    DRIVER_REJECT(!params_out, CUDA_ERROR_INVALID_VALUE);
    *params_out = node->alloc;
    params_out->dptr = node->op.memory.address;
    params_out->bytesize = node->op.memory.size_bytes;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    DRIVER_BEGIN();
    NODE_OF(node, hNode, CU_GRAPH_NODE_TYPE_MEM_FREE);
    DRIVER_REJECT(!dptr_out, CUDA_ERROR_INVALID_VALUE);
    *dptr_out = node->op.memory.address;
    return CUDA_SUCCESS;
}

static CUresult get_event(CUgraphNode handle, CUgraphNodeType type, CUevent *event)
{
    NODE_OF(node, handle, type);
    DRIVER_REJECT(!event, CUDA_ERROR_INVALID_VALUE);
    *event = (CUevent)node->op.mark.event;
    return CUDA_SUCCESS;
}

static CUresult set_event(CUgraphNode handle, CUgraphNodeType type, CUevent event)
{
    NODE_OF(node, handle, type);
    DRIVER_REJECT(!driver_event_valid((struct driver_event *)event), CUDA_ERROR_INVALID_VALUE);
    node->op.mark.event = (struct driver_event *)event;
    return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    DRIVER_BEGIN();
    return get_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    DRIVER_BEGIN();
    return set_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    DRIVER_BEGIN();
    return get_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    DRIVER_BEGIN();
    return set_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}
