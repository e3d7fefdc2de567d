// SPDX-License-Identifier: Apache-2.0
// Memory that nodes of graphs allocate.
#ifndef GLINT_GPUSIM_DRIVER_GRAPH_MEMORY_H
#define GLINT_GPUSIM_DRIVER_GRAPH_MEMORY_H

#include "memory.h"

// An allocation that graphs allocate. Its address stays reserved as long as a node or an executable
// graph allocates it, however often it is freed and launched again.
struct driver_graph_memory {
    _Atomic unsigned references; // the allocation, and each node and step that allocates it
    bool given;                  // a launch has allocated it and nothing has freed it since
    struct driver_command *last; // held: the last launch that allocated it, or the last free
};

// Locked, except hold and release.

// Makes an allocation of a pool one of a graph, and fills its node's operation.
CUresult driver_graph_memory_make(struct driver_allocation *allocation, struct driver_op *op);
void driver_graph_memory_hold(struct driver_graph_memory *memory);
void driver_graph_memory_release(struct driver_graph_memory *memory);
void driver_graph_memory_touch(struct driver_graph_memory *memory, struct driver_command *command);
void driver_graph_memory_freed(struct driver_graph_memory *memory, struct driver_command *command);
// Returns false if the address is of a graph's allocation that is not allocated at present.
bool driver_graph_memory_there(uint64_t address);
// Frees the allocations that no graph allocates any more and the program has freed.
void driver_graph_memory_collect(void);

#endif
