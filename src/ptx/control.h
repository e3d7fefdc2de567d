// SPDX-License-Identifier: Apache-2.0
// Control dependence: which branches decide whether a block is reached. Internal to src/ptx.
#ifndef GLINT_PTX_CONTROL_H
#define GLINT_PTX_CONTROL_H

#include "cfg.h"

// A node is a block, or, numbered behind the blocks, the place where a loop's rounds end.
struct ptx_control {
    struct ptx_control *next;
    uint32_t branch; // a node one way out of which surely leads here and another perhaps not
};

// By node, block_count + loop_count of them: what decides directly whether it is reached in this
// round of the loops around it. What decides at second hand is found from there.
struct ptx_control **ptx_controls_find(const struct ptx_cfg *cfg, struct base_arena *arena);

// Blocks on or between cycles that are no loops, having two entries; NULL where there are none. How
// often such a block is reached, any branch among them may decide.
bool *ptx_tangles_find(const struct ptx_cfg *cfg, struct base_arena *arena);

#endif
