// SPDX-License-Identifier: Apache-2.0
// libcudart.so.13: the functions whose signatures or structures are specific to CUDA 13. v12.c and
// v11.c have their earlier versions.
#include "gpusim/runtime/node.h"
#include "gpusim/runtime/runtime.h"

const int runtime_version = 13000;

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    return runtime_end(runtime_properties(prop, device));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    return runtime_end(runtime_pointer(attributes, ptr));
}

// --- Memory -------------------------------------------------------------------------------------

static CUmemLocation to_driver_location(struct cudaMemLocation from)
{
    return (CUmemLocation){.type = (CUmemLocationType)from.type, .id = from.id};
}

cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    return RUNTIME(cuMemAdvise_v2(runtime_address(devPtr), count, (CUmem_advise)advice,
                                  to_driver_location(location)));
}

cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream)
{
    return RUNTIME(cuMemPrefetchAsync_v2(runtime_address(devPtr), count,
                                         to_driver_location(location), flags, stream));
}

cudaError_t cudaMemPrefetchAsync_ptsz(const void *devPtr, size_t count,
                                      struct cudaMemLocation location, unsigned int flags,
                                      cudaStream_t stream)
{
    return cudaMemPrefetchAsync(devPtr, count, location, flags, runtime_per_thread(stream));
}

// Ignores the attributes, which are only hints.
cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
                                 size_t count, struct cudaMemcpyAttributes *attrs,
                                 size_t *attrsIdxs, size_t numAttrs, cudaStream_t stream)
{
    (void)attrs, (void)attrsIdxs, (void)numAttrs;
    if (!dsts || !srcs || !sizes)
        return runtime_end(cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        RUNTIME_TRY(
            runtime_copy(dsts[i], srcs[i], sizes[i], cudaMemcpyDefault, RUNTIME_ON(stream)));
    return cudaSuccess;
}

cudaError_t cudaMemcpyBatchAsync_ptsz(void *const *dsts, const void *const *srcs,
                                      const size_t *sizes, size_t count,
                                      struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                      size_t numAttrs, cudaStream_t stream)
{
    return cudaMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs,
                                runtime_per_thread(stream));
}

// --- Graphs -------------------------------------------------------------------------------------

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                 unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(pGraphExec, graph, flags);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphExecUpdateResultInfo *resultInfo)
{
    return RUNTIME(
        cuGraphExecUpdate_v2(hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)resultInfo));
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t *pDependencies,
                             const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                             struct cudaGraphNodeParams *nodeParams)
{
    return runtime_node_add(pGraphNode, graph, pDependencies, dependencyData, numDependencies,
                            nodeParams);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
                                     size_t numDependencies)
{
    return RUNTIME(cuGraphAddDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edgeData,
                                             numDependencies));
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
    return RUNTIME(cuGraphRemoveDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edgeData,
                                                numDependencies));
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *edgeData, size_t *numEdges)
{
    return RUNTIME(cuGraphGetEdges_v2(graph, from, to, (CUgraphEdgeData *)edgeData, numEdges));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                         cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
    return RUNTIME(cuGraphNodeGetDependencies_v2(node, pDependencies, (CUgraphEdgeData *)edgeData,
                                                 pNumDependencies));
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
                                           cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes)
{
    return RUNTIME(cuGraphNodeGetDependentNodes_v2(
        node, pDependentNodes, (CUgraphEdgeData *)edgeData, pNumDependentNodes));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     enum cudaStreamCaptureStatus *captureStatus_out,
                                     unsigned long long *id_out, cudaGraph_t *graph_out,
                                     const cudaGraphNode_t **dependencies_out,
                                     const cudaGraphEdgeData **edgeData_out,
                                     size_t *numDependencies_out)
{
    return runtime_capture_info(stream, captureStatus_out, id_out, graph_out, dependencies_out,
                                edgeData_out, numDependencies_out);
}

cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream,
                                          enum cudaStreamCaptureStatus *captureStatus_out,
                                          unsigned long long *id_out, cudaGraph_t *graph_out,
                                          const cudaGraphNode_t **dependencies_out,
                                          const cudaGraphEdgeData **edgeData_out,
                                          size_t *numDependencies_out)
{
    return cudaStreamGetCaptureInfo(runtime_per_thread(stream), captureStatus_out, id_out,
                                    graph_out, dependencies_out, edgeData_out, numDependencies_out);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                const cudaGraphEdgeData *dependencyData,
                                                size_t numDependencies, unsigned int flags)
{
    return RUNTIME(cuStreamUpdateCaptureDependencies_v2(
        stream, dependencies, (const CUgraphEdgeData *)dependencyData, numDependencies, flags));
}

cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream,
                                                     cudaGraphNode_t *dependencies,
                                                     const cudaGraphEdgeData *dependencyData,
                                                     size_t numDependencies, unsigned int flags)
{
    return cudaStreamUpdateCaptureDependencies(runtime_per_thread(stream), dependencies,
                                               dependencyData, numDependencies, flags);
}
