// SPDX-License-Identifier: Apache-2.0
// Graph nodes: adds them, and reads and changes their parameters. A kernel is a host function in
// the runtime but a function of a context in the driver, and the descriptions of copies differ.
// Everything else is the same in both APIs.
#include "node.h"

#include <string.h>

// --- Parameters ---------------------------------------------------------------------------------

static CUcontext current(void)
{
    CUcontext context = NULL;
    cuCtxGetCurrent(&context);
    return context;
}

static cudaError_t to_driver_kernel(const struct cudaKernelNodeParams *from,
                                    CUDA_KERNEL_NODE_PARAMS *to)
{
    cudaError_t error = from ? runtime_begin() : cudaErrorInvalidValue;
    if (error)
        return error;
    *to = (CUDA_KERNEL_NODE_PARAMS){
        .gridDimX = from->gridDim.x,
        .gridDimY = from->gridDim.y,
        .gridDimZ = from->gridDim.z,
        .blockDimX = from->blockDim.x,
        .blockDimY = from->blockDim.y,
        .blockDimZ = from->blockDim.z,
        .sharedMemBytes = from->sharedMemBytes,
        .kernelParams = from->kernelParams,
        .extra = from->extra,
    };
    return runtime_function(from->func, &to->func);
}

static cudaError_t to_driver_copy(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to)
{
    cudaError_t error = from ? runtime_begin() : cudaErrorInvalidValue;
    return error ? error : runtime_convert_copy(from, to);
}

static cudaError_t line_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                             CUDA_MEMCPY3D *to)
{
    const struct cudaMemcpy3DParms line = {
        .srcPtr = {(void *)(uintptr_t)src, count, count, 1},
        .dstPtr = {dst, count, count, 1},
        .extent = {count, 1, 1},
        .kind = kind,
    };
    return to_driver_copy(&line, to);
}

// Describes a copy from or to a variable, at an offset in it.
static cudaError_t symbol_copy(void *other, const void *symbol, bool to_symbol, size_t count,
                               size_t offset, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *to)
{
    CUdeviceptr address;
    size_t size_bytes;
    cudaError_t error = runtime_symbol(symbol, &address, &size_bytes);
    if (error)
        return error;
    if (offset > size_bytes || count > size_bytes - offset)
        return cudaErrorInvalidValue;
    void *place = (void *)(uintptr_t)(address + offset);
    return to_symbol ? line_copy(place, other, count, kind, to)
                     : line_copy(other, place, count, kind, to);
}

static cudaError_t to_driver_fill(const struct cudaMemsetParams *from, CUDA_MEMSET_NODE_PARAMS *to)
{
    cudaError_t error = from ? runtime_begin() : cudaErrorInvalidValue;
    if (!error)
        *to = (CUDA_MEMSET_NODE_PARAMS){runtime_address(from->dst), from->pitch, from->value,
                                        from->elementSize,          from->width, from->height};
    return error;
}

// Converts a node of any type. from_driver_node() converts the driver's output fields back.
static cudaError_t to_driver_node(const struct cudaGraphNodeParams *from, CUgraphNodeParams *to)
{
    cudaError_t error = from ? runtime_begin() : cudaErrorInvalidValue;
    if (error)
        return error;
    memset(to, 0, sizeof *to);
    to->type = (CUgraphNodeType)from->type;
    switch (from->type) {
    case cudaGraphNodeTypeKernel:
        to->kernel = (CUDA_KERNEL_NODE_PARAMS_v3){
            .gridDimX = from->kernel.gridDim.x,
            .gridDimY = from->kernel.gridDim.y,
            .gridDimZ = from->kernel.gridDim.z,
            .blockDimX = from->kernel.blockDim.x,
            .blockDimY = from->kernel.blockDim.y,
            .blockDimZ = from->kernel.blockDim.z,
            .sharedMemBytes = from->kernel.sharedMemBytes,
            .kernelParams = from->kernel.kernelParams,
            .extra = from->kernel.extra,
        };
        return runtime_function(from->kernel.func, &to->kernel.func);
    case cudaGraphNodeTypeMemcpy:
        to->memcpy.flags = from->memcpy.flags;
        to->memcpy.copyCtx = current();
        return runtime_convert_copy(&from->memcpy.copyParams, &to->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        to->memset = (CUDA_MEMSET_NODE_PARAMS_v2){
            .dst = runtime_address(from->memset.dst),
            .pitch = from->memset.pitch,
            .value = from->memset.value,
            .elementSize = from->memset.elementSize,
            .width = from->memset.width,
            .height = from->memset.height,
            .ctx = current(),
        };
        return cudaSuccess;
    case cudaGraphNodeTypeConditional:
        to->conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
            .handle = from->conditional.handle,
            .type = (CUgraphConditionalNodeType)from->conditional.type,
            .size = from->conditional.size,
            .ctx = current(),
        };
        return cudaSuccess;
    default: // both APIs use the same layout
        memcpy(to->reserved1, from->reserved1, sizeof to->reserved1);
        return cudaSuccess;
    }
}

// Copies the output fields of a newly added node.
static void from_driver_node(const CUgraphNodeParams *from, struct cudaGraphNodeParams *to)
{
    if (to->type == cudaGraphNodeTypeMemAlloc)
        to->alloc.dptr = (void *)(uintptr_t)from->alloc.dptr;
    if (to->type == cudaGraphNodeTypeConditional)
        to->conditional.phGraph_out = from->conditional.phGraph_out;
}

// --- Adding -------------------------------------------------------------------------------------

cudaError_t runtime_node_add(cudaGraphNode_t *node, cudaGraph_t graph,
                             const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
                             size_t count, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams driver_params;
    RUNTIME_TRY(to_driver_node(params, &driver_params));
    RUNTIME_TRY(runtime_code(cuGraphAddNode_v2(
        node, graph, dependencies, (const CUgraphEdgeData *)edges, count, &driver_params)));
    from_driver_node(&driver_params, params);
    return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    RUNTIME_TRY(to_driver_kernel(pNodeParams, &params));
    return runtime_end(runtime_code(
        cuGraphAddKernelNode_v2(pGraphNode, graph, pDependencies, numDependencies, &params)));
}

static cudaError_t add_copy(cudaGraphNode_t *node, cudaGraph_t graph,
                            const cudaGraphNode_t *dependencies, size_t count,
                            const CUDA_MEMCPY3D *copy)
{
    return runtime_end(
        runtime_code(cuGraphAddMemcpyNode(node, graph, dependencies, count, copy, current())));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const struct cudaMemcpy3DParms *pCopyParams)
{
    CUDA_MEMCPY3D copy;
    RUNTIME_TRY(to_driver_copy(pCopyParams, &copy));
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &copy);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                     void *dst, const void *src, size_t count,
                                     enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;
    RUNTIME_TRY(line_copy(dst, src, count, kind, &copy));
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &copy);
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies, const void *symbol,
                                           const void *src, size_t count, size_t offset,
                                           enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;
    RUNTIME_TRY(symbol_copy((void *)(uintptr_t)src, symbol, true, count, offset, kind, &copy));
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &copy);
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies,
                                             size_t numDependencies, void *dst, const void *symbol,
                                             size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;
    RUNTIME_TRY(symbol_copy(dst, symbol, false, count, offset, kind, &copy));
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &copy);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const struct cudaMemsetParams *pMemsetParams)
{
    CUDA_MEMSET_NODE_PARAMS params;
    RUNTIME_TRY(to_driver_fill(pMemsetParams, &params));
    return runtime_end(runtime_code(cuGraphAddMemsetNode(pGraphNode, graph, pDependencies,
                                                         numDependencies, &params, current())));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                 const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                 const struct cudaHostNodeParams *pNodeParams)
{
    return RUNTIME(cuGraphAddHostNode(pGraphNode, graph, pDependencies, numDependencies,
                                      (const CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                       cudaGraph_t childGraph)
{
    return RUNTIME(
        cuGraphAddChildGraphNode(pGraphNode, graph, pDependencies, numDependencies, childGraph));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                  const cudaGraphNode_t *pDependencies, size_t numDependencies)
{
    return RUNTIME(cuGraphAddEmptyNode(pGraphNode, graph, pDependencies, numDependencies));
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                        const cudaGraphNode_t *pDependencies,
                                        size_t numDependencies, cudaEvent_t event)
{
    return RUNTIME(
        cuGraphAddEventRecordNode(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                      cudaEvent_t event)
{
    return RUNTIME(
        cuGraphAddEventWaitNode(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                     struct cudaMemAllocNodeParams *nodeParams)
{
    return RUNTIME(cuGraphAddMemAllocNode(pGraphNode, graph, pDependencies, numDependencies,
                                          (CUDA_MEM_ALLOC_NODE_PARAMS *)nodeParams));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                    void *dptr)
{
    return RUNTIME(cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies,
                                         runtime_address(dptr)));
}

// --- Reading nodes ------------------------------------------------------------------------------

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
    CUgraphNodeType type;
    if (!pType)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuGraphNodeGetType(node, &type)));
    *pType = (enum cudaGraphNodeType)type;
    return cudaSuccess;
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
                                     cudaGraph_t clonedGraph)
{
    return RUNTIME(cuGraphNodeFindInClone(pNode, originalNode, clonedGraph));
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
    return RUNTIME(cuGraphDestroyNode(node));
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                    unsigned int *isEnabled)
{
    return RUNTIME(cuGraphNodeGetEnabled(hGraphExec, hNode, isEnabled));
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                    unsigned int isEnabled)
{
    return RUNTIME(cuGraphNodeSetEnabled(hGraphExec, hNode, isEnabled));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    if (!pNodeParams)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuGraphKernelNodeGetParams_v2(node, &params)));
    *pNodeParams = (struct cudaKernelNodeParams){
        .func = runtime_host_function(params.func ? params.func : (CUfunction)params.kern),
        .gridDim = {params.gridDimX, params.gridDimY, params.gridDimZ},
        .blockDim = {params.blockDimX, params.blockDimY, params.blockDimZ},
        .sharedMemBytes = params.sharedMemBytes,
        .kernelParams = params.kernelParams,
        .extra = params.extra,
    };
    return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                            cudaLaunchAttributeValue *value_out)
{
    return RUNTIME(cuGraphKernelNodeGetAttribute(hNode, (CUkernelNodeAttrID)attr,
                                                 (CUkernelNodeAttrValue *)value_out));
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                            const cudaLaunchAttributeValue *value)
{
    return RUNTIME(cuGraphKernelNodeSetAttribute(hNode, (CUkernelNodeAttrID)attr,
                                                 (const CUkernelNodeAttrValue *)value));
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    return RUNTIME(cuGraphKernelNodeCopyAttributes(hDst, hSrc));
}

// The driver describes positions in an array in bytes, but the runtime in elements. A copy with an
// array is therefore converted by the array's element size.
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                         struct cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D copy;
    if (!pNodeParams)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuGraphMemcpyNodeGetParams(node, &copy)));
    bool from_array = copy.srcMemoryType == CU_MEMORYTYPE_ARRAY;
    bool to_array = copy.dstMemoryType == CU_MEMORYTYPE_ARRAY;
    size_t element = 1;
    if (from_array || to_array) {
        CUDA_ARRAY3D_DESCRIPTOR description = {0};
        RUNTIME_TRY(runtime_code(
            cuArray3DGetDescriptor_v2(&description, from_array ? copy.srcArray : copy.dstArray)));
        element = (size_t)description.NumChannels * runtime_format_bytes(description.Format);
    }
    bool from_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
    bool to_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
    *pNodeParams = (struct cudaMemcpy3DParms){
        .srcArray = from_array ? (cudaArray_t)copy.srcArray : NULL,
        .srcPos = {copy.srcXInBytes / (from_array ? element : 1), copy.srcY, copy.srcZ},
        .dstArray = to_array ? (cudaArray_t)copy.dstArray : NULL,
        .dstPos = {copy.dstXInBytes / (to_array ? element : 1), copy.dstY, copy.dstZ},
        .extent = {copy.WidthInBytes / element, copy.Height, copy.Depth},
        .kind = copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED ? cudaMemcpyDefault
                : from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                            : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice),
    };
    if (!from_array)
        pNodeParams->srcPtr = (struct cudaPitchedPtr){
            from_host ? (void *)(uintptr_t)copy.srcHost : (void *)(uintptr_t)copy.srcDevice,
            copy.srcPitch, copy.WidthInBytes, copy.srcHeight};
    if (!to_array)
        pNodeParams->dstPtr =
            (struct cudaPitchedPtr){to_host ? copy.dstHost : (void *)(uintptr_t)copy.dstDevice,
                                    copy.dstPitch, copy.WidthInBytes, copy.dstHeight};
    return cudaSuccess;
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams)
{
    CUDA_MEMSET_NODE_PARAMS params;
    if (!pNodeParams)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuGraphMemsetNodeGetParams(node, &params)));
    *pNodeParams = (struct cudaMemsetParams){
        (void *)(uintptr_t)params.dst,
        params.pitch,
        params.value,
        params.elementSize,
        params.width,
        params.height,
    };
    return cudaSuccess;
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams)
{
    return RUNTIME(cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    return RUNTIME(cuGraphChildGraphNodeGetGraph(node, pGraph));
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    return RUNTIME(cuGraphEventRecordNodeGetEvent(node, event_out));
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    return RUNTIME(cuGraphEventWaitNodeGetEvent(node, event_out));
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                           struct cudaMemAllocNodeParams *params_out)
{
    return RUNTIME(cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params_out));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    return RUNTIME(cuGraphMemFreeNodeGetParams(node, dptr_out));
}

// --- Changing nodes of graphs and of executable graphs ------------------------------------------

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    RUNTIME_TRY(to_driver_kernel(pNodeParams, &params));
    return runtime_end(runtime_code(cuGraphKernelNodeSetParams_v2(node, &params)));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    RUNTIME_TRY(to_driver_kernel(pNodeParams, &params));
    return runtime_end(runtime_code(cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, &params)));
}

// If exec is NULL, changes the graph's node.
static cudaError_t set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D *copy)
{
    return runtime_end(
        runtime_code(exec ? cuGraphExecMemcpyNodeSetParams(exec, node, copy, current())
                          : cuGraphMemcpyNodeSetParams(node, copy)));
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaMemcpy3DParms *pNodeParams)
{
    return cudaGraphExecMemcpyNodeSetParams(NULL, node, pNodeParams);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const struct cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D copy;
    RUNTIME_TRY(to_driver_copy(pNodeParams, &copy));
    return set_copy(hGraphExec, node, &copy);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
                                           size_t count, enum cudaMemcpyKind kind)
{
    return cudaGraphExecMemcpyNodeSetParams1D(NULL, node, dst, src, count, kind);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                               void *dst, const void *src, size_t count,
                                               enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;
    RUNTIME_TRY(line_copy(dst, src, count, kind, &copy));
    return set_copy(hGraphExec, node, &copy);
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                 const void *src, size_t count, size_t offset,
                                                 enum cudaMemcpyKind kind)
{
    return cudaGraphExecMemcpyNodeSetParamsToSymbol(NULL, node, symbol, src, count, offset, kind);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                     cudaGraphNode_t node, const void *symbol,
                                                     const void *src, size_t count, size_t offset,
                                                     enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;
    RUNTIME_TRY(symbol_copy((void *)(uintptr_t)src, symbol, true, count, offset, kind, &copy));
    return set_copy(hGraphExec, node, &copy);
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                   const void *symbol, size_t count, size_t offset,
                                                   enum cudaMemcpyKind kind)
{
    return cudaGraphExecMemcpyNodeSetParamsFromSymbol(NULL, node, dst, symbol, count, offset, kind);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                       cudaGraphNode_t node, void *dst,
                                                       const void *symbol, size_t count,
                                                       size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;
    RUNTIME_TRY(symbol_copy(dst, symbol, false, count, offset, kind, &copy));
    return set_copy(hGraphExec, node, &copy);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaMemsetParams *pNodeParams)
{
    CUDA_MEMSET_NODE_PARAMS params;
    RUNTIME_TRY(to_driver_fill(pNodeParams, &params));
    return runtime_end(runtime_code(cuGraphMemsetNodeSetParams(node, &params)));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *pNodeParams)
{
    CUDA_MEMSET_NODE_PARAMS params;
    RUNTIME_TRY(to_driver_fill(pNodeParams, &params));
    return runtime_end(
        runtime_code(cuGraphExecMemsetNodeSetParams(hGraphExec, node, &params, current())));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                       const struct cudaHostNodeParams *pNodeParams)
{
    return RUNTIME(cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams *pNodeParams)
{
    return RUNTIME(
        cuGraphExecHostNodeSetParams(hGraphExec, node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                 cudaGraph_t childGraph)
{
    return RUNTIME(cuGraphExecChildGraphNodeSetParams(hGraphExec, node, childGraph));
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    return RUNTIME(cuGraphEventRecordNodeSetEvent(node, event));
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    return RUNTIME(cuGraphEventWaitNodeSetEvent(node, event));
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                 cudaEvent_t event)
{
    return RUNTIME(cuGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event));
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                               cudaEvent_t event)
{
    return RUNTIME(cuGraphExecEventWaitNodeSetEvent(hGraphExec, hNode, event));
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams params;
    RUNTIME_TRY(to_driver_node(nodeParams, &params));
    return runtime_end(runtime_code(cuGraphNodeSetParams(node, &params)));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                       struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams params;
    RUNTIME_TRY(to_driver_node(nodeParams, &params));
    return runtime_end(runtime_code(cuGraphExecNodeSetParams(graphExec, node, &params)));
}
