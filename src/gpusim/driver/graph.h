// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes with operations and dependencies (graph.c), and executable graphs, which are
// immutable lists of steps in an order that respects the dependencies (graph_exec.c).
#ifndef GLINT_GPUSIM_DRIVER_GRAPH_H
#define GLINT_GPUSIM_DRIVER_GRAPH_H

#include "capture.h"
#include "op.h"
#include "stream.h"

struct driver_node {
    uint64_t magic;
    struct driver_graph *graph;
    CUgraphNodeType type;
    struct driver_op op;
    struct driver_node **follows;
    size_t follow_count;
    CUDA_MEMCPY3D copy; // of a memcpy node: its parameters
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    struct driver_graph *child;         // owned
    struct driver_branches *branches;   // owned: of a conditional node
    const struct driver_node *original; // of a clone's node
    void **param_pointers;              // owned: into the operation's parameters, for the getters
    size_t index;                       // scratch
};

// What a conditional node runs.
struct driver_branches {
    struct driver_condition *condition; // held
    CUgraphConditionalNodeType type;
    unsigned count;
    struct driver_graph *bodies[]; // owned
};

void driver_branches_free(struct driver_branches *branches);

struct driver_user_object;

// Counts the executable graphs of a graph. The graph and each of them hold a reference.
struct driver_instances {
    _Atomic unsigned references, count;
};

struct driver_graph {
    uint64_t magic;
    BASE_ARRAY(struct driver_node *) nodes; // owned
    bool is_child;                          // belongs to a node
    bool is_moved;                          // a child whose ownership was moved to its node
    struct driver_instances *instances;     // held
    BASE_ARRAY(struct driver_user_object *) objects;  // held; one entry for each reference
    BASE_ARRAY(struct driver_condition *) conditions; // held
};

// One operation of an executable graph.
struct driver_step {
    struct driver_op op;
    CUgraphNodeType type;
    const struct driver_node *node; // only compared, never dereferenced: it may be freed
    bool enabled;
    size_t *follows; // indices of earlier steps; owned
    size_t follow_count;
};

// An executable graph. It is never changed while it has more than one reference, so that updates do
// not affect launches in progress.
struct driver_exec {
    _Atomic unsigned references;
    struct driver_step *steps;
    size_t step_count;
    BASE_ARRAY(struct driver_user_object *) objects; // held
};

void driver_user_object_hold(struct driver_user_object *object);
void driver_user_object_release(struct driver_user_object *object);

bool driver_graph_valid(const struct driver_graph *graph);
bool driver_node_valid(const struct driver_node *node);
struct driver_graph *driver_graph_new(void);
void driver_graph_free(struct driver_graph *graph);
struct driver_graph *driver_graph_copy(const struct driver_graph *graph); // NULL: out of memory
// Adds a node and takes ownership of *op. The caller may hold the lock or not: CUDA requires that
// only one thread at a time uses a graph.
CUresult driver_graph_add(struct driver_graph *graph, CUgraphNodeType type, struct driver_op *op,
                          struct driver_node *const *follows, size_t follow_count,
                          struct driver_node **made);
// Returns whether the graph or a child allocates or frees memory. CUDA does not allow removal of
// nodes and edges of such a graph.
bool driver_graph_has_memory(const struct driver_graph *graph);
// Returns whether the graph has memory or conditional nodes. CUDA allows one executable graph of
// such a graph at a time, and no copies of it.
bool driver_graph_is_unique(const struct driver_graph *graph);
void driver_instances_release(struct driver_instances *instances);
// Makes the node depend on `before`.
CUresult driver_node_follow(struct driver_node *node, struct driver_node *before);
// Returns whether `from` is `to` or depends on it.
bool driver_node_reaches(struct driver_node *from, const struct driver_node *to);
// Fills node->copy from the node's operation.
void driver_node_describe_copy(struct driver_node *node);

// Instantiates the graph. On failure *bad is the node at fault, or NULL.
CUresult driver_exec_create(const struct driver_graph *graph, struct driver_exec **made,
                            const struct driver_node **bad);

// Returns an error if memory that the graph allocates is still allocated by an earlier launch,
// unless this launch frees it first. Locked.
CUresult driver_exec_check_memory(const struct driver_exec *exec, bool frees_first);
// Commands of any stream, borrowed.
struct driver_waits {
    BASE_ARRAY(struct driver_command *) of;
};
// Adds the commands that last used or freed the memory that the graph allocates. A launch must
// follow them: otherwise a late free would free the memory of the launch. Returns false when memory
// runs out. Locked.
bool driver_exec_memory_waits(const struct driver_exec *exec, struct driver_waits *waits);
// Marks the memory that the graph allocates and does not free as allocated by the command. Locked.
void driver_exec_give_memory(const struct driver_exec *exec, struct driver_command *command);

// Make operations from the parameters of nodes.
CUresult driver_kernel_op(const CUDA_KERNEL_NODE_PARAMS *params, struct driver_op *op);
CUresult driver_copy_op(const CUDA_MEMCPY3D *params, struct driver_op *op);
CUresult driver_fill_op(const CUDA_MEMSET_NODE_PARAMS *params, struct driver_op *op);

// Frees the memory that earlier launches allocated and the program did not free.
void driver_exec_free_memory(const struct driver_exec *exec);
// Gives conditions the values that they have at a launch. Not locked.
void driver_exec_assign_conditions(const struct driver_exec *exec);
// Runs all steps. records: see struct driver_op. *duration_ns is simulated time. Not locked.
CUresult driver_exec_run(struct driver_exec *exec, struct driver_command *const *records,
                         uint64_t start_ns, uint64_t *duration_ns);
void driver_exec_hold(struct driver_exec *exec);
void driver_exec_release(struct driver_exec *exec);

#endif
