// SPDX-License-Identifier: Apache-2.0
// Control dependence: which branches decide whether a block is reached. Internal to src/ptx.
#ifndef GLINT_PTX_CONTROL_H
#define GLINT_PTX_CONTROL_H

#include "cfg.h"

// A node is a block, or, numbered behind the blocks, the place where a loop's rounds end. What
// decides directly whether a node is reached, in this round of the loops around it, are the nodes
// branches[start[node]] to branches[start[node + 1] - 1]: one way out of each surely leads to it
// and another perhaps not. What decides at second hand is found from there.
struct ptx_controls {
    uint32_t *start, *branches;
};

struct ptx_controls *ptx_controls_find(const struct ptx_cfg *cfg, struct base_arena *arena);

// For each loop the members whose branches decide, at first or at second hand, when it is left: the
// first leave_count of them for what follows, the others by ending the thread.
struct ptx_deciders {
    uint32_t *blocks, count, leave_count;
};

// By loop.
struct ptx_deciders *ptx_deciders_find(const struct ptx_cfg *cfg,
                                       const struct ptx_controls *controls,
                                       struct base_arena *arena);

// Blocks on or between cycles that are no loops, having two entries; NULL where there are none. How
// often such a block is reached, any branch among them may decide.
bool *ptx_tangles_find(const struct ptx_cfg *cfg, struct base_arena *arena);

#endif
