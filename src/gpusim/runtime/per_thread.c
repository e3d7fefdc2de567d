// SPDX-License-Identifier: Apache-2.0
// The functions for programs built with --default-stream per-thread whose stream is not a parameter
// but a field of a structure. calls.awk generates the others.
#include "per_thread.h"

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
                                     void **args)
{
    cudaLaunchConfig_t own;
    if (config) {
        own = *config;
        own.stream = runtime_per_thread(own.stream);
        config = &own;
    }
    return cudaLaunchKernelExC(config, func, args);
}

cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                cudaGraphInstantiateParams *instantiateParams)
{
    if (!instantiateParams)
        return runtime_end(cudaErrorInvalidValue);
    cudaGraphInstantiateParams own = *instantiateParams;
    own.uploadStream = runtime_per_thread(own.uploadStream);
    cudaError_t error = cudaGraphInstantiateWithParams(pGraphExec, graph, &own);
    instantiateParams->errNode_out = own.errNode_out;
    instantiateParams->result_out = own.result_out;
    return error;
}
