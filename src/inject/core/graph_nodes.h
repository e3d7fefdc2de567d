// SPDX-License-Identifier: Apache-2.0
// What a graph does, as the driver describes it: its nodes with their parameters, with those of
// child graphs in their places, in an order that the edges allow; and the edges.
#ifndef GLINT_INJECT_CORE_GRAPH_NODES_H
#define GLINT_INJECT_CORE_GRAPH_NODES_H

#include "call.h"

struct core_node {
    CUgraphNode handle;
    CUdeviceptr address; // address of the memory that it allocates or frees
    uint32_t children;   // of a child graph: number of the following nodes that belong to it
    bool disabled;
    bool loose; // allocates memory that no node of the graph frees: each launch makes a new object
    bool leads, follows; // an edge of its own graph starts, or ends, at it
    struct event_node reported;
};

struct core_graph {
    uint64_t number;
    BASE_ARRAY(struct core_node) nodes;
    BASE_ARRAY(struct event_edge) edges;
};

// Fills an empty graph. Memory of its nodes that is not an object yet becomes one, made by the
// call. depth: 1 for a graph within a graph.
void core_graph_expand(struct core_graph *graph, CUgraph handle, struct core_call *call,
                       unsigned depth);
void core_graph_fini(struct core_graph *graph);

struct event_node core_graph_kernel_node(const CUDA_KERNEL_NODE_PARAMS *params);
struct event_node core_graph_copy_node(const CUDA_MEMCPY3D *copy);
struct event_node core_graph_set_node(const CUDA_MEMSET_NODE_PARAMS *set);
struct event_node core_graph_event_node(uint8_t kind, CUevent event);
CUDA_KERNEL_NODE_PARAMS core_graph_newer_params(const CUDA_KERNEL_NODE_PARAMS_v1 *params);

// Get and set the parameters of a kernel node, also of drivers before CUDA 12, which have no
// library kernels. exec: in this executable; NULL: in the node's graph. Call the driver.
bool core_graph_get_params(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *params);
CUresult core_graph_set_params(CUgraphExec exec, CUgraphNode handle,
                               const CUDA_KERNEL_NODE_PARAMS *params);

// Begins an object for memory of a graph. Returns its number.
uint64_t core_graph_begin_memory(struct core_call *call, CUdeviceptr address, uint64_t bytes);

#endif
