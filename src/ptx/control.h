// SPDX-License-Identifier: Apache-2.0
// Control dependence: which branches decide whether a block is reached. Internal to src/ptx.
#ifndef GLINT_PTX_CONTROL_H
#define GLINT_PTX_CONTROL_H

#include "cfg.h"

// A node is a block or, numbered behind the blocks, the end of a loop's iteration. The nodes
// branches[start[node]] to branches[start[node + 1] - 1] decide directly whether a node is reached
// in this iteration of the loops around it: one edge out of each always leads to the node, and
// another may not. Indirect control dependences follow from these.
struct ptx_controls {
    uint32_t *start, *branches;
};

// Finds the control dependences of all nodes.
struct ptx_controls *ptx_controls_find(const struct ptx_cfg *cfg, struct base_arena *arena);

// The blocks of a loop whose branches decide, directly or indirectly, when the loop is left. The
// first leave_count of them decide when threads go on behind the loop, the others when threads end.
struct ptx_deciders {
    uint32_t *blocks, count, leave_count;
};

// Returns an array indexed by loop.
struct ptx_deciders *ptx_deciders_find(const struct ptx_cfg *cfg,
                                       const struct ptx_controls *controls,
                                       struct base_arena *arena);

// Returns, by block, whether it lies on or between cycles that have two entries and are therefore
// not loops; NULL if there are none. Any branch among these blocks may decide how often they are
// reached.
bool *ptx_tangles_find(const struct ptx_cfg *cfg, struct base_arena *arena);

#endif
