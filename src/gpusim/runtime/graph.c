// SPDX-License-Identifier: Apache-2.0
// Stream capture, graphs, and executable graphs. node.c implements nodes and their parameters.
// Functions with edge data differ between CUDA versions (versions/).
#include "runtime.h"

// --- Capture ------------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return RUNTIME(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t *dependencies,
                                          const cudaGraphEdgeData *dependencyData,
                                          size_t numDependencies, enum cudaStreamCaptureMode mode)
{
    return RUNTIME(cuStreamBeginCaptureToGraph(stream, graph, dependencies,
                                               (const CUgraphEdgeData *)dependencyData,
                                               numDependencies, (CUstreamCaptureMode)mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    return RUNTIME(cuStreamEndCapture(stream, pGraph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
    CUstreamCaptureStatus status;
    if (!pCaptureStatus)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuStreamIsCapturing(stream, &status)));
    *pCaptureStatus = (enum cudaStreamCaptureStatus)status;
    return cudaSuccess;
}

cudaError_t runtime_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                 unsigned long long *id, cudaGraph_t *graph,
                                 const cudaGraphNode_t **dependencies,
                                 const cudaGraphEdgeData **edges, size_t *count)
{
    CUstreamCaptureStatus found;
    cuuint64_t found_id = 0;
    if (!status)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuStreamGetCaptureInfo_v3(stream, &found, &found_id, graph, dependencies,
                                                  (const CUgraphEdgeData **)edges, count)));
    *status = (enum cudaStreamCaptureStatus)found;
    if (id)
        *id = found_id;
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    if (!mode)
        return runtime_end(cudaErrorInvalidValue);
    CUstreamCaptureMode exchanged = (CUstreamCaptureMode)*mode;
    RUNTIME_TRY(RUNTIME(cuThreadExchangeStreamCaptureMode(&exchanged)));
    *mode = (enum cudaStreamCaptureMode)exchanged;
    return cudaSuccess;
}

// --- Graphs -------------------------------------------------------------------------------------

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    return RUNTIME(cuGraphCreate(pGraph, flags));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return RUNTIME(cuGraphDestroy(graph));
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    return RUNTIME(cuGraphClone(pGraphClone, originalGraph));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    return RUNTIME(cuGraphGetNodes(graph, nodes, numNodes));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
                                  size_t *pNumRootNodes)
{
    return RUNTIME(cuGraphGetRootNodes(graph, pRootNodes, pNumRootNodes));
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    return RUNTIME(cuGraphDebugDotPrint(graph, path, flags));
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
                                             cudaGraph_t graph, unsigned int defaultLaunchValue,
                                             unsigned int flags)
{
    CUcontext context;
    CUgraphConditionalHandle handle = 0;
    if (!pHandle_out)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_code(cuCtxGetCurrent(&context)));
    RUNTIME_TRY(runtime_code(
        cuGraphConditionalHandleCreate(&handle, graph, context, defaultLaunchValue, flags)));
    *pHandle_out = handle;
    return cudaSuccess;
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
                                 unsigned int initialRefcount, unsigned int flags)
{
    return RUNTIME(cuUserObjectCreate(object_out, ptr, destroy, initialRefcount, flags));
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    return RUNTIME(cuUserObjectRetain(object, count));
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    return RUNTIME(cuUserObjectRelease(object, count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                      unsigned int count, unsigned int flags)
{
    return RUNTIME(cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                       unsigned int count)
{
    return RUNTIME(cuGraphReleaseUserObject(graph, object, count));
}

// --- Executable graphs --------------------------------------------------------------------------

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return RUNTIME(cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *instantiateParams)
{
    // Both APIs use the same layout.
    return RUNTIME(cuGraphInstantiateWithParams(
        pGraphExec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)instantiateParams));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    return RUNTIME(cuGraphExecDestroy(graphExec));
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    cuuint64_t found = 0;
    if (!flags)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuGraphExecGetFlags(graphExec, &found)));
    *flags = found;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    return RUNTIME(cuGraphLaunch(graphExec, stream));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    return RUNTIME(cuGraphUpload(graphExec, stream));
}

// --- Memory of graphs ---------------------------------------------------------------------------

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    return RUNTIME(cuDeviceGraphMemTrim(device));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                           void *value)
{
    return RUNTIME(cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                           void *value)
{
    return RUNTIME(cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}
