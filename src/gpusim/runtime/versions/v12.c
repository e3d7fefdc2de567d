// SPDX-License-Identifier: Apache-2.0
// libcudart.so.12: the functions whose signatures or structures are specific to CUDA 12. old.c has
// those that it shares with CUDA 11. A function with the suffix _v2 here has no suffix in CUDA 13.
#include "gpusim/runtime/node.h"
#include "old.h"

const int runtime_version = 12090;

cudaError_t v12_properties(struct runtime_properties_12 *properties, int device)
    EXPORTED_AS("cudaGetDeviceProperties_v2");
cudaError_t v12_properties(struct runtime_properties_12 *properties, int device)
{
    return runtime_end(runtime_old_properties(properties, device));
}

cudaError_t v12_elapsed(float *ms, cudaEvent_t start, cudaEvent_t end)
    EXPORTED_AS("cudaEventElapsedTime_v2");
cudaError_t v12_elapsed(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return cudaEventElapsedTime(ms, start, end);
}

// --- Managed memory -----------------------------------------------------------------------------

static CUmemLocation to_driver_location(struct cudaMemLocation from)
{
    return (CUmemLocation){.type = (CUmemLocationType)from.type, .id = from.id};
}

cudaError_t v12_advise(const void *pointer, size_t count, enum cudaMemoryAdvise advice,
                       struct cudaMemLocation location) EXPORTED_AS("cudaMemAdvise_v2");
cudaError_t v12_advise(const void *pointer, size_t count, enum cudaMemoryAdvise advice,
                       struct cudaMemLocation location)
{
    return RUNTIME(cuMemAdvise_v2(runtime_address(pointer), count, (CUmem_advise)advice,
                                  to_driver_location(location)));
}

cudaError_t v12_prefetch(const void *pointer, size_t count, struct cudaMemLocation location,
                         unsigned flags, cudaStream_t stream)
    EXPORTED_AS("cudaMemPrefetchAsync_v2");
cudaError_t v12_prefetch(const void *pointer, size_t count, struct cudaMemLocation location,
                         unsigned flags, cudaStream_t stream)
{
    return RUNTIME(cuMemPrefetchAsync_v2(runtime_address(pointer), count,
                                         to_driver_location(location), flags, stream));
}

cudaError_t v12_prefetch_ptsz(const void *pointer, size_t count, struct cudaMemLocation location,
                              unsigned flags, cudaStream_t stream)
    EXPORTED_AS("cudaMemPrefetchAsync_v2_ptsz");
cudaError_t v12_prefetch_ptsz(const void *pointer, size_t count, struct cudaMemLocation location,
                              unsigned flags, cudaStream_t stream)
{
    return v12_prefetch(pointer, count, location, flags, runtime_per_thread(stream));
}

cudaError_t v12_copy_batch(void **dsts, void **srcs, size_t *sizes, size_t count,
                           struct cudaMemcpyAttributes *attributes, size_t *attribute_indices,
                           size_t attribute_count, size_t *failed, cudaStream_t stream)
    EXPORTED_AS("cudaMemcpyBatchAsync");
cudaError_t v12_copy_batch(void **dsts, void **srcs, size_t *sizes, size_t count,
                           struct cudaMemcpyAttributes *attributes, size_t *attribute_indices,
                           size_t attribute_count, size_t *failed, cudaStream_t stream)
{
    (void)attributes, (void)attribute_indices, (void)attribute_count; // only hints
    if (!dsts || !srcs || !sizes)
        return runtime_end(cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        if (failed)
            *failed = i;
        RUNTIME_TRY(
            runtime_copy(dsts[i], srcs[i], sizes[i], cudaMemcpyDefault, RUNTIME_ON(stream)));
    }
    return cudaSuccess;
}

// --- Graphs -------------------------------------------------------------------------------------

cudaError_t v12_instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
    EXPORTED_AS("cudaGraphInstantiate");
cudaError_t v12_instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

cudaError_t v12_update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
    EXPORTED_AS("cudaGraphExecUpdate");
cudaError_t v12_update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    return RUNTIME(cuGraphExecUpdate_v2(exec, graph, (CUgraphExecUpdateResultInfo *)info));
}

cudaError_t v12_add_node(cudaGraphNode_t *node, cudaGraph_t graph,
                         const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
                         size_t count, struct cudaGraphNodeParams *params)
    EXPORTED_AS("cudaGraphAddNode_v2");
cudaError_t v12_add_node(cudaGraphNode_t *node, cudaGraph_t graph,
                         const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
                         size_t count, struct cudaGraphNodeParams *params)
{
    return runtime_node_add(node, graph, dependencies, edges, count, params);
}

cudaError_t v12_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                 const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                 size_t count) EXPORTED_AS("cudaGraphAddDependencies_v2");
cudaError_t v12_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                 const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                 size_t count)
{
    return RUNTIME(
        cuGraphAddDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, count));
}

cudaError_t v12_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                    const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                    size_t count) EXPORTED_AS("cudaGraphRemoveDependencies_v2");
cudaError_t v12_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                    const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                    size_t count)
{
    return RUNTIME(
        cuGraphRemoveDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, count));
}

cudaError_t v12_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                      cudaGraphEdgeData *edges, size_t *count) EXPORTED_AS("cudaGraphGetEdges_v2");
cudaError_t v12_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                      cudaGraphEdgeData *edges, size_t *count)
{
    return RUNTIME(cuGraphGetEdges_v2(graph, from, to, (CUgraphEdgeData *)edges, count));
}

cudaError_t v12_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                             size_t *count) EXPORTED_AS("cudaGraphNodeGetDependencies_v2");
cudaError_t v12_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                             size_t *count)
{
    return RUNTIME(cuGraphNodeGetDependencies_v2(node, nodes, (CUgraphEdgeData *)edges, count));
}

cudaError_t v12_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                           size_t *count) EXPORTED_AS("cudaGraphNodeGetDependentNodes_v2");
cudaError_t v12_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                           size_t *count)
{
    return RUNTIME(cuGraphNodeGetDependentNodes_v2(node, nodes, (CUgraphEdgeData *)edges, count));
}

// --- Capture ------------------------------------------------------------------------------------

cudaError_t v12_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                             unsigned long long *id, cudaGraph_t *graph,
                             const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
                             size_t *count) EXPORTED_AS("cudaStreamGetCaptureInfo_v3");
cudaError_t v12_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                             unsigned long long *id, cudaGraph_t *graph,
                             const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
                             size_t *count)
{
    return runtime_capture_info(stream, status, id, graph, dependencies, edges, count);
}

cudaError_t v12_capture_info_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                  unsigned long long *id, cudaGraph_t *graph,
                                  const cudaGraphNode_t **dependencies,
                                  const cudaGraphEdgeData **edges, size_t *count)
    EXPORTED_AS("cudaStreamGetCaptureInfo_v3_ptsz");
cudaError_t v12_capture_info_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                  unsigned long long *id, cudaGraph_t *graph,
                                  const cudaGraphNode_t **dependencies,
                                  const cudaGraphEdgeData **edges, size_t *count)
{
    return v12_capture_info(runtime_per_thread(stream), status, id, graph, dependencies, edges,
                            count);
}

cudaError_t v12_update_capture(cudaStream_t stream, cudaGraphNode_t *dependencies,
                               const cudaGraphEdgeData *edges, size_t count, unsigned flags)
    EXPORTED_AS("cudaStreamUpdateCaptureDependencies_v2");
cudaError_t v12_update_capture(cudaStream_t stream, cudaGraphNode_t *dependencies,
                               const cudaGraphEdgeData *edges, size_t count, unsigned flags)
{
    return RUNTIME(cuStreamUpdateCaptureDependencies_v2(
        stream, dependencies, (const CUgraphEdgeData *)edges, count, flags));
}

cudaError_t v12_update_capture_ptsz(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                    const cudaGraphEdgeData *edges, size_t count, unsigned flags)
    EXPORTED_AS("cudaStreamUpdateCaptureDependencies_v2_ptsz");
cudaError_t v12_update_capture_ptsz(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                    const cudaGraphEdgeData *edges, size_t count, unsigned flags)
{
    return v12_update_capture(runtime_per_thread(stream), dependencies, edges, count, flags);
}
