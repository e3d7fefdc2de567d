// SPDX-License-Identifier: Apache-2.0
// Kernels that executable graphs launch.
#ifndef GLINT_INJECT_PROBE_GRAPH_H
#define GLINT_INJECT_PROBE_GRAPH_H

#include "inject/core/graph_nodes.h"
#include "probe.h"

// An executable graph was made of a graph, whose nodes are recorded as `nodes`.
void probe_exec_made(const struct core_call *call, CUgraphExec exec, CUgraph graph,
                     const struct core_graph *nodes);
// It is about to be updated as a whole; and was, to `nodes`. It still knows its nodes by the
// handles of `handles`, one for one.
void probe_exec_leave(CUgraphExec exec);
void probe_exec_updated(const struct core_call *call, CUgraphExec exec,
                        const struct core_graph *nodes, const struct core_graph *handles);
// The program has changed a node of it, which has this index among the recorded ones: a kernel; a
// child graph; whether it is enabled.
void probe_exec_set(const struct core_call *call, CUgraphExec exec, uint32_t index,
                    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
void probe_exec_set_child(const struct core_call *call, CUgraphExec exec, uint32_t index,
                          CUgraphNode node, CUgraph child, const struct core_graph *nodes);
void probe_exec_enabled(CUgraphExec exec, uint32_t index, bool enabled);
// Before its launch; and behind it, if call->replays is set.
void probe_exec_launch(struct core_call *call, CUgraphExec exec);
void probe_exec_launched(struct core_call *call);
void probe_exec_end(CUgraphExec exec);
// The program destroys a graph. True: glint destroys it later, when nothing refers to its nodes.
bool probe_graph_keep(CUgraph graph);
void probe_graph_node_end(CUgraphNode node); // before the program destroys it

#endif
