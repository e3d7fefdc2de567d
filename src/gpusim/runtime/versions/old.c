// SPDX-License-Identifier: Apache-2.0
// The functions that libcudart.so.12 and libcudart.so.11.0 share, and that libcudart.so.13 lacks or
// has with another signature.
#include "old.h"

#include <string.h>

#include "gpusim/runtime/node.h"

_Static_assert(sizeof(struct runtime_properties_12) == 1032, "as compiled programs have it");
_Static_assert(RUNTIME_PROPERTIES_11_BYTES == 728, "as compiled programs have it");

// --- Devices ------------------------------------------------------------------------------------

cudaError_t runtime_old_properties(struct runtime_properties_12 *to, int device)
{
    struct cudaDeviceProp from;
    cudaError_t error = to ? runtime_properties(&from, device) : cudaErrorInvalidValue;
    if (error)
        return error;
    memset(to, 0, sizeof *to);
// Copies a run of consecutive fields that both structures have, from `first` to `last` inclusive.
#define COPY(first, last)                                                       \
    do {                                                                        \
        _Static_assert(offsetof(struct runtime_properties_12, last) -           \
                               offsetof(struct runtime_properties_12, first) == \
                           offsetof(struct cudaDeviceProp, last) -              \
                               offsetof(struct cudaDeviceProp, first),          \
                       "the same fields between " #first " and " #last);        \
        memcpy(&to->first, &from.first,                                         \
               offsetof(struct cudaDeviceProp, last) + sizeof from.last -       \
                   offsetof(struct cudaDeviceProp, first));                     \
    } while (0)
    COPY(name, maxGridSize);
    COPY(totalConstMem, texturePitchAlignment);
    COPY(multiProcessorCount, multiProcessorCount);
    COPY(integrated, canMapHostMemory);
    COPY(maxTexture1D, maxTexture1DMipmap);
    COPY(maxTexture2D, maxSurfaceCubemapLayered);
    COPY(surfaceAlignment, unifiedAddressing);
    COPY(memoryBusWidth, localL1CacheSupported);
    COPY(sharedMemPerMultiprocessor, hostNativeAtomicSupported);
    COPY(pageableMemoryAccess, cooperativeLaunch);
    COPY(sharedMemPerBlockOptin, unifiedFunctionPointers);
#undef COPY
    const struct {
        int *value;
        CUdevice_attribute attribute;
    } others[] = {
        {&to->clockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
        {&to->deviceOverlap, CU_DEVICE_ATTRIBUTE_GPU_OVERLAP},
        {&to->kernelExecTimeoutEnabled, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT},
        {&to->computeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
        {&to->maxTexture1DLinear, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH},
        {&to->memoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
        {&to->singleToDoublePrecisionPerfRatio,
         CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO},
        {&to->cooperativeMultiDeviceLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cuDeviceGetAttribute(others[i].value, others[i].attribute, device);
    return cudaSuccess;
}

cudaError_t old_properties(void *properties, int device) EXPORTED_AS("cudaGetDeviceProperties");
cudaError_t old_properties(void *properties, int device)
{
    struct runtime_properties_12 all;
    if (!properties)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_old_properties(&all, device));
    memcpy(properties, &all, RUNTIME_PROPERTIES_11_BYTES);
    return cudaSuccess;
}

cudaError_t old_pointer(struct runtime_pointer_12 *attributes, const void *pointer)
    EXPORTED_AS("cudaPointerGetAttributes");
cudaError_t old_pointer(struct runtime_pointer_12 *attributes, const void *pointer)
{
    struct cudaPointerAttributes found;
    if (!attributes)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_pointer(&found, pointer));
    *attributes = (struct runtime_pointer_12){found.type, found.device, found.devicePointer,
                                              found.hostPointer};
    return cudaSuccess;
}

// --- Managed memory, with a device number as location -------------------------------------------

static CUmemLocation location_of(int device)
{
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    if (device == cudaCpuDeviceId)
        location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST};
    return location;
}

cudaError_t old_advise(const void *pointer, size_t count, enum cudaMemoryAdvise advice, int device)
    EXPORTED_AS("cudaMemAdvise");
cudaError_t old_advise(const void *pointer, size_t count, enum cudaMemoryAdvise advice, int device)
{
    return RUNTIME(
        cuMemAdvise_v2(runtime_address(pointer), count, (CUmem_advise)advice, location_of(device)));
}

cudaError_t old_prefetch(const void *pointer, size_t count, int device, cudaStream_t stream)
    EXPORTED_AS("cudaMemPrefetchAsync");
cudaError_t old_prefetch(const void *pointer, size_t count, int device, cudaStream_t stream)
{
    return RUNTIME(
        cuMemPrefetchAsync_v2(runtime_address(pointer), count, location_of(device), 0, stream));
}

cudaError_t old_prefetch_ptsz(const void *pointer, size_t count, int device, cudaStream_t stream)
    EXPORTED_AS("cudaMemPrefetchAsync_ptsz");
cudaError_t old_prefetch_ptsz(const void *pointer, size_t count, int device, cudaStream_t stream)
{
    return old_prefetch(pointer, count, device, runtime_per_thread(stream));
}

// --- Graphs without edge data -------------------------------------------------------------------

cudaError_t old_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                 const cudaGraphNode_t *to, size_t count)
    EXPORTED_AS("cudaGraphAddDependencies");
cudaError_t old_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                 const cudaGraphNode_t *to, size_t count)
{
    return RUNTIME(cuGraphAddDependencies_v2(graph, from, to, NULL, count));
}

cudaError_t old_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                    const cudaGraphNode_t *to, size_t count)
    EXPORTED_AS("cudaGraphRemoveDependencies");
cudaError_t old_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                    const cudaGraphNode_t *to, size_t count)
{
    return RUNTIME(cuGraphRemoveDependencies_v2(graph, from, to, NULL, count));
}

cudaError_t old_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
    EXPORTED_AS("cudaGraphGetEdges");
cudaError_t old_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
{
    return RUNTIME(cuGraphGetEdges_v2(graph, from, to, NULL, count));
}

cudaError_t old_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
    EXPORTED_AS("cudaGraphNodeGetDependencies");
cudaError_t old_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
{
    return RUNTIME(cuGraphNodeGetDependencies_v2(node, nodes, NULL, count));
}

cudaError_t old_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
    EXPORTED_AS("cudaGraphNodeGetDependentNodes");
cudaError_t old_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
{
    return RUNTIME(cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count));
}

cudaError_t old_add_node(cudaGraphNode_t *node, cudaGraph_t graph,
                         const cudaGraphNode_t *dependencies, size_t count,
                         struct cudaGraphNodeParams *params) EXPORTED_AS("cudaGraphAddNode");
cudaError_t old_add_node(cudaGraphNode_t *node, cudaGraph_t graph,
                         const cudaGraphNode_t *dependencies, size_t count,
                         struct cudaGraphNodeParams *params)
{
    return runtime_node_add(node, graph, dependencies, NULL, count, params);
}

// --- Capture ------------------------------------------------------------------------------------

cudaError_t old_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                             unsigned long long *id) EXPORTED_AS("cudaStreamGetCaptureInfo");
cudaError_t old_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                             unsigned long long *id)
{
    return runtime_capture_info(stream, status, id, NULL, NULL, NULL, NULL);
}

cudaError_t old_capture_info_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                  unsigned long long *id)
    EXPORTED_AS("cudaStreamGetCaptureInfo_ptsz");
cudaError_t old_capture_info_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                  unsigned long long *id)
{
    return runtime_capture_info(runtime_per_thread(stream), status, id, NULL, NULL, NULL, NULL);
}

cudaError_t old_capture_info_2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id, cudaGraph_t *graph,
                               const cudaGraphNode_t **dependencies, size_t *count)
    EXPORTED_AS("cudaStreamGetCaptureInfo_v2");
cudaError_t old_capture_info_2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id, cudaGraph_t *graph,
                               const cudaGraphNode_t **dependencies, size_t *count)
{
    return runtime_capture_info(stream, status, id, graph, dependencies, NULL, count);
}

cudaError_t old_capture_info_2_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                    unsigned long long *id, cudaGraph_t *graph,
                                    const cudaGraphNode_t **dependencies, size_t *count)
    EXPORTED_AS("cudaStreamGetCaptureInfo_v2_ptsz");
cudaError_t old_capture_info_2_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                    unsigned long long *id, cudaGraph_t *graph,
                                    const cudaGraphNode_t **dependencies, size_t *count)
{
    return runtime_capture_info(runtime_per_thread(stream), status, id, graph, dependencies, NULL,
                                count);
}

cudaError_t old_update_capture(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count,
                               unsigned flags) EXPORTED_AS("cudaStreamUpdateCaptureDependencies");
cudaError_t old_update_capture(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count,
                               unsigned flags)
{
    return RUNTIME(cuStreamUpdateCaptureDependencies_v2(stream, dependencies, NULL, count, flags));
}

cudaError_t old_update_capture_ptsz(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                    size_t count, unsigned flags)
    EXPORTED_AS("cudaStreamUpdateCaptureDependencies_ptsz");
cudaError_t old_update_capture_ptsz(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                    size_t count, unsigned flags)
{
    return old_update_capture(runtime_per_thread(stream), dependencies, count, flags);
}

// --- Functions that CUDA 13 removed -------------------------------------------------------------

cudaError_t old_thread_synchronize(void) EXPORTED_AS("cudaThreadSynchronize");
cudaError_t old_thread_synchronize(void)
{
    return cudaDeviceSynchronize();
}

cudaError_t old_thread_exit(void) EXPORTED_AS("cudaThreadExit");
cudaError_t old_thread_exit(void)
{
    return cudaDeviceReset();
}

cudaError_t old_thread_get_limit(size_t *value, enum cudaLimit limit)
    EXPORTED_AS("cudaThreadGetLimit");
cudaError_t old_thread_get_limit(size_t *value, enum cudaLimit limit)
{
    return cudaDeviceGetLimit(value, limit);
}

cudaError_t old_thread_set_limit(enum cudaLimit limit, size_t value)
    EXPORTED_AS("cudaThreadSetLimit");
cudaError_t old_thread_set_limit(enum cudaLimit limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}

cudaError_t old_thread_get_cache(enum cudaFuncCache *config)
    EXPORTED_AS("cudaThreadGetCacheConfig");
cudaError_t old_thread_get_cache(enum cudaFuncCache *config)
{
    return cudaDeviceGetCacheConfig(config);
}

cudaError_t old_thread_set_cache(enum cudaFuncCache config) EXPORTED_AS("cudaThreadSetCacheConfig");
cudaError_t old_thread_set_cache(enum cudaFuncCache config)
{
    return cudaDeviceSetCacheConfig(config);
}

// No supported device lacks double precision, so there is nothing to convert.
cudaError_t old_set_double(double *value) EXPORTED_AS("cudaSetDoubleForDevice");
cudaError_t old_set_double(double *value)
{
    (void)value;
    return cudaSuccess;
}

cudaError_t old_set_double_host(double *value) EXPORTED_AS("cudaSetDoubleForHost");
cudaError_t old_set_double_host(double *value)
{
    (void)value;
    return cudaSuccess;
}

cudaError_t old_launch_multi(void *list, unsigned devices, unsigned flags)
    EXPORTED_AS("cudaLaunchCooperativeKernelMultiDevice");
cudaError_t old_launch_multi(void *list, unsigned devices, unsigned flags)
{
    (void)list, (void)devices, (void)flags;
    return runtime_missing("cudaLaunchCooperativeKernelMultiDevice");
}

cudaError_t old_create_texture(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                               const struct cudaTextureDesc *texture,
                               const struct cudaResourceViewDesc *view)
    EXPORTED_AS("cudaCreateTextureObject_v2");
cudaError_t old_create_texture(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                               const struct cudaTextureDesc *texture,
                               const struct cudaResourceViewDesc *view)
{
    return cudaCreateTextureObject(object, resource, texture, view);
}

cudaError_t old_texture_description(struct cudaTextureDesc *texture, cudaTextureObject_t object)
    EXPORTED_AS("cudaGetTextureObjectTextureDesc_v2");
cudaError_t old_texture_description(struct cudaTextureDesc *texture, cudaTextureObject_t object)
{
    return cudaGetTextureObjectTextureDesc(texture, object);
}

#define REFUSED(name)                                    \
    cudaError_t refused_##name(void) DIRECTLY_AS(#name); \
    cudaError_t refused_##name(void)                     \
    {                                                    \
        return runtime_refuse(#name);                    \
    }

REFUSED(cudaSignalExternalSemaphoresAsync_v2)
REFUSED(cudaSignalExternalSemaphoresAsync_v2_ptsz)
REFUSED(cudaWaitExternalSemaphoresAsync_v2)
REFUSED(cudaWaitExternalSemaphoresAsync_v2_ptsz)
