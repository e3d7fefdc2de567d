// SPDX-License-Identifier: Apache-2.0
// Executable graphs and those of their nodes that glint knows. Internal header of graph.c,
// exec_nodes.c and exec_launch.c.
#ifndef GLINT_INJECT_PROBE_EXEC_H
#define GLINT_INJECT_PROBE_EXEC_H

#include "graph.h"
#include "inject/shadow/graph.h"
#include "inject/shadow/graph_scan.h"
#include "kernel.h"
#include "passed.h"

#define NO_CHILD SIZE_MAX

struct probe_node {
    uint32_t index;     // among the graph's nodes, as recorded
    CUgraphNode handle; // by which the executable, or the copy of its child graph, identifies it
    size_t child;       // index among the executable's children; NO_CHILD: the node is its own
    struct probe_kernel *kernel;
    const struct probe_clone *clone;
    struct probe_params *params;
    CUDA_KERNEL_NODE_PARAMS program; // as the program set it, with the values in params
    struct shadow_ticket *ticket;
    bool on;       // set to the clone, in the graph that `handle` belongs to
    bool live;     // set to the clone in the executable
    bool disabled; // does not run
};

struct probe_child { // a node that is a child graph
    uint32_t index;
    CUgraphNode handle;
    CUgraph copy;
    bool changed;  // not given to the executable yet
    bool failed;   // the executable refuses it
    bool disabled; // does not run
};

// The program launches and changes an executable from one thread at a time, and glint from another
// one when it gives memory back. Whoever does has taken it (graph.h).
struct probe_exec {
    bool taken; // protected by probe_state->lock
    CUgraphExec handle;
    CUgraph graph;
    struct core_context *context;
    BASE_ARRAY(struct probe_node) nodes;
    BASE_ARRAY(struct probe_child) children;
    struct probe_passed_nodes passed; // nodes whose kernels have no probes
    // Watched nodes of the launch that is being made.
    struct shadow_ticket **tickets;
    uint32_t *numbers;
    size_t watched, room;
    struct shadow_graph_work work; // values: what its other nodes write
    // Launches of one executable may follow each other on different streams. Their results in
    // shadow memory must be read before the next launch.
    CUevent done;
    uint32_t last; // number of the stream of the last launch; 0: none yet
    bool stuck;    // the driver has refused to set a node back
};

// Returns NULL if glint does not know the executable (graph.c). The caller has taken it.
struct probe_exec *probe_exec_find(CUgraphExec handle);

bool probe_has_kernels(const struct core_node *nodes, size_t count);
// Watch a kernel node, if possible, or note what it is passed. The executable's context is current.
// program: what the program has set; or the node `like` has it. child: as in struct probe_node.
void probe_exec_adopt(struct probe_exec *exec, uint32_t index, CUgraphNode handle, size_t child,
                      const CUDA_KERNEL_NODE_PARAMS *program);
void probe_exec_adopt_as(struct probe_exec *exec, uint32_t index, CUgraphNode handle, size_t child,
                         CUgraphNode like);
// Watches the kernels of a child graph. handle: its node in the executable. nodes: the recorded
// nodes of `graph`, the child.
void probe_exec_adopt_child(struct probe_exec *exec, uint32_t index, CUgraphNode handle,
                            CUgraph graph, const struct core_node *nodes, size_t count);
// Ends the watching of a node, by its place among exec->nodes.
void probe_exec_forget(struct probe_exec *exec, size_t at_index);
void probe_node_fini(struct probe_node *node);

// Set nodes to the clones, or to the program's kernels. What changes in a copy of a child graph
// takes effect when probe_exec_set_children gives it to the executable.
void probe_exec_set_node(struct probe_exec *exec, struct probe_node *node, bool on);
void probe_exec_set_children(struct probe_exec *exec);
void probe_exec_set_nodes(struct probe_exec *exec, bool on);
// Sets all nodes to the program's kernels, and ends their watching.
void probe_exec_leave_nodes(struct probe_exec *exec);

#endif
