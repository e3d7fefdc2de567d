// SPDX-License-Identifier: Apache-2.0
// Decides which loops of a function may wait for other threads.
#ifndef GLINT_GPUSIM_MACHINE_WAITS_H
#define GLINT_GPUSIM_MACHINE_WAITS_H

#include "ptx/ptx.h"

// Returns, by loop of the function, whether its rounds may depend on what other threads write.
// Jumps to arena->escape if memory runs out.
const bool *sim_waits_find(const struct ptx_ssa *ssa, struct base_arena *arena);

// Returns whether a jump from the block `from` to the start of the block `to`, which does not lie
// behind it, repeats a loop that may wait. `loops` is the result of sim_waits_find().
bool sim_waits_jump(const struct ptx_cfg *cfg, const bool *loops, uint32_t from, uint32_t to);

#endif
