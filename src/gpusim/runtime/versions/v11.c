// SPDX-License-Identifier: Apache-2.0
// libcudart.so.11.0: the functions whose signatures or structures are specific to CUDA 11. old.c
// has those that it shares with CUDA 12. Texture references are not supported.
#include "old.h"

#include <string.h>

const int runtime_version = 11080;

// CUDA 11's structure ends before the fields for clusters, so nothing may be written beyond it.
cudaError_t v11_attributes(void *attributes, const void *function)
    EXPORTED_AS("cudaFuncGetAttributes");
cudaError_t v11_attributes(void *attributes, const void *function)
{
    struct cudaFuncAttributes all;
    if (!attributes)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_attributes(&all, function));
    memcpy(attributes, &all, offsetof(struct cudaFuncAttributes, clusterDimMustBeSet));
    return cudaSuccess;
}

cudaError_t v11_entry_point(const char *symbol, void **function, unsigned long long flags)
    EXPORTED_AS("cudaGetDriverEntryPoint");
cudaError_t v11_entry_point(const char *symbol, void **function, unsigned long long flags)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, (unsigned)runtime_version, flags,
                                            NULL);
}

cudaError_t v11_entry_point_ptsz(const char *symbol, void **function, unsigned long long flags)
    EXPORTED_AS("cudaGetDriverEntryPoint_ptsz");
cudaError_t v11_entry_point_ptsz(const char *symbol, void **function, unsigned long long flags)
{
    return cudaGetDriverEntryPointByVersion_ptsz(symbol, function, (unsigned)runtime_version, flags,
                                                 NULL);
}

// --- Graphs -------------------------------------------------------------------------------------

cudaError_t v11_instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                            char *log, size_t log_bytes) EXPORTED_AS("cudaGraphInstantiate");
cudaError_t v11_instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                            char *log, size_t log_bytes)
{
    if (error_node)
        *error_node = NULL;
    if (log && log_bytes)
        log[0] = '\0';
    return cudaGraphInstantiateWithFlags(exec, graph, 0);
}

cudaError_t v11_update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                       enum cudaGraphExecUpdateResult *result) EXPORTED_AS("cudaGraphExecUpdate");
cudaError_t v11_update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                       enum cudaGraphExecUpdateResult *result)
{
    CUgraphExecUpdateResultInfo info = {0};
    cudaError_t error = RUNTIME(cuGraphExecUpdate_v2(exec, graph, &info));
    if (error_node)
        *error_node = info.errorNode;
    if (result)
        *result = (enum cudaGraphExecUpdateResult)info.result;
    return error;
}

// --- Texture and surface references -------------------------------------------------------------

// A program that declares a reference registers it before main(), which succeeds. Only the use of a
// reference fails.
void v11_register_texture(void) EXPORTED_AS("__cudaRegisterTexture");
void v11_register_texture(void) {}

void v11_register_surface(void) EXPORTED_AS("__cudaRegisterSurface");
void v11_register_surface(void) {}

#define REFUSED(name)                                    \
    cudaError_t refused_##name(void) DIRECTLY_AS(#name); \
    cudaError_t refused_##name(void)                     \
    {                                                    \
        return runtime_refuse(#name);                    \
    }

REFUSED(cudaBindSurfaceToArray)
REFUSED(cudaBindTexture)
REFUSED(cudaBindTexture2D)
REFUSED(cudaBindTextureToArray)
REFUSED(cudaBindTextureToMipmappedArray)
REFUSED(cudaGetSurfaceReference)
REFUSED(cudaGetTextureAlignmentOffset)
REFUSED(cudaGetTextureReference)
REFUSED(cudaUnbindTexture)
