// SPDX-License-Identifier: Apache-2.0
// Kernels that executable graphs launch.
#ifndef GLINT_INJECT_PROBE_GRAPH_H
#define GLINT_INJECT_PROBE_GRAPH_H

#include "inject/core/graph_nodes.h"
#include "probe.h"

// Takes the executable for the call, before the driver's function. Waits if another thread has
// taken it. What the call has taken is released by probe_exec_release, at the latest when the call
// ends.
void probe_exec_take(struct core_call *call, CUgraphExec exec);
void probe_exec_release(struct core_call *call);
// Says that a launch of the executable that the call has taken is not made yet, although it was
// prepared: it will launch the program's kernels.
void probe_exec_withdraw(struct core_call *call);
// Makes all executables that nobody has taken launch the program's kernels in the context, which is
// current, from now on.
void probe_exec_leave_all(const struct core_context *context);

// Says that an executable was made of the graph, whose nodes are recorded as `nodes`. Takes it.
void probe_exec_made(struct core_call *call, CUgraphExec exec, CUgraph graph,
                     const struct core_graph *nodes);
// Bracket an update of the whole executable. probe_exec_updated gets the new nodes, and in
// `handles` the nodes by which the executable still identifies them, in the same order.
void probe_exec_leave(CUgraphExec exec);
void probe_exec_updated(const struct core_call *call, CUgraphExec exec,
                        const struct core_graph *nodes, const struct core_graph *handles);
// Say that the program has changed the node with this index among the recorded ones: its kernel,
// its child graph, or whether it is enabled.
void probe_exec_set(const struct core_call *call, CUgraphExec exec, uint32_t index,
                    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
void probe_exec_set_child(const struct core_call *call, CUgraphExec exec, uint32_t index,
                          CUgraphNode node, CUgraph child, const struct core_graph *nodes);
void probe_exec_enabled(CUgraphExec exec, uint32_t index, bool enabled);
// Bracket a launch of the executable. graph: what it does now; NULL: unknown. probe_exec_launched
// is called only if call->replays is set.
void probe_exec_launch(struct core_call *call, CUgraphExec exec, const struct core_graph *graph);
void probe_exec_launched(struct core_call *call);
void probe_exec_end(CUgraphExec exec);
// Called when the program destroys a graph. Returns true if executables still refer to its nodes:
// glint then destroys the graph later, in the program's place.
bool probe_graph_keep(CUgraph graph);
void probe_graph_node_end(CUgraphNode node); // before the program destroys it

#endif
