// SPDX-License-Identifier: Apache-2.0
// Functions on graph nodes whose signatures differ between CUDA versions; runtime/versions builds
// the API functions on them.
#ifndef GLINT_GPUSIM_RUNTIME_NODE_H
#define GLINT_GPUSIM_RUNTIME_NODE_H

#include "runtime.h"

// Implements CUDA 13's cudaGraphAddNode. edges may be NULL. Records its error.
cudaError_t runtime_node_add(cudaGraphNode_t *node, cudaGraph_t graph,
                             const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
                             size_t count, struct cudaGraphNodeParams *params);

#endif
