// SPDX-License-Identifier: Apache-2.0
// Graphs, as the files about them share: nodes with operations and what they follow, and their
// executable form, an immutable list of steps in an order that respects the edges. Internal to
// src/gpusim/driver_graph*.c and capture.c.
#ifndef GLINT_GPUSIM_DRIVER_GRAPH_H
#define GLINT_GPUSIM_DRIVER_GRAPH_H

#include "driver.h"

struct driver_node {
    uint64_t magic;
    struct driver_graph *graph;
    CUgraphNodeType type;
    struct driver_op op;
    struct driver_node **follows;
    size_t follow_count;
    CUDA_MEMCPY3D copy; // of a memcpy node, as it was described
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    struct driver_graph *child;         // owned
    const struct driver_node *original; // of a clone's node
    void **param_pointers;              // owned: into the operation's parameters, for the asking
    size_t index;                       // scratch
};

struct driver_user_object;

// How many executables of a graph there are; the graph and each of them hold it.
struct driver_instances {
    _Atomic unsigned references, count;
};

struct driver_graph {
    uint64_t magic;
    BASE_ARRAY(struct driver_node *) nodes;          // owned
    bool is_child;                                   // belongs to a node
    bool is_moved;                                   // a child that the program gave away
    struct driver_instances *instances;              // held
    BASE_ARRAY(struct driver_user_object *) objects; // held, an entry for each reference
};

// One operation of an executable graph.
struct driver_step {
    struct driver_op op;
    CUgraphNodeType type;
    const struct driver_node *node; // only to be compared: it may be gone
    bool enabled;
    size_t *follows; // indices of earlier steps; owned
    size_t follow_count;
};

// Never changed once more than one holds it, so that a change does not reach launches under way.
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
struct driver_graph *driver_graph_copy(const struct driver_graph *graph); // NULL: no memory
// Takes over *op. Locked or not: a graph belongs to one thread at a time, as documented.
CUresult driver_graph_add(struct driver_graph *graph, CUgraphNodeType type, struct driver_op *op,
                          struct driver_node *const *follows, size_t follow_count,
                          struct driver_node **made);
// Whether it, or a child, allocates or frees. Such a graph has one executable at a time, is never
// copied, and loses no node or edge: as documented, and CUDA_ERROR_NOT_SUPPORTED otherwise.
bool driver_graph_has_memory(const struct driver_graph *graph);
void driver_instances_release(struct driver_instances *instances);
CUresult driver_node_follow(struct driver_node *node, struct driver_node *before);
bool driver_node_reaches(struct driver_node *from, const struct driver_node *to);
// A description of the copy that an operation does.
void driver_node_describe_copy(struct driver_node *node);

CUresult driver_exec_create(const struct driver_graph *graph, struct driver_exec **made,
                            const struct driver_node **bad);

// What a launch allocates must not be in use since the launch before, unless the launch itself is
// to free that. Locked.
CUresult driver_exec_check_memory(const struct driver_exec *exec, bool frees_first);
// Adds what a launch must follow, in whatever stream: who used or freed last what it allocates, so
// that a free that comes late does not end what the launch has allocated anew. False: no memory.
// The commands are borrowed. Locked.
struct driver_waits {
    BASE_ARRAY(struct driver_command *) of;
};
bool driver_exec_memory_waits(const struct driver_exec *exec, struct driver_waits *waits);
// From the launch on the program has what the graph allocates and does not free. Locked.
void driver_exec_give_memory(const struct driver_exec *exec, struct driver_command *command);

// Operations from descriptions; the nodes' own and their executable's.
CUresult driver_kernel_op(const CUDA_KERNEL_NODE_PARAMS *params, struct driver_op *op);
CUresult driver_copy_op(const CUDA_MEMCPY3D *params, struct driver_op *op);
CUresult driver_fill_op(const CUDA_MEMSET_NODE_PARAMS *params, struct driver_op *op);

#endif
