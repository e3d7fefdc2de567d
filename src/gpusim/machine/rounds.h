// SPDX-License-Identifier: Apache-2.0
// Counts the rounds of the loops that a path is in, to find paths that may spin.
#ifndef GLINT_GPUSIM_MACHINE_ROUNDS_H
#define GLINT_GPUSIM_MACHINE_ROUNDS_H

#include "machine.h"

// Notes that the path, whose frame has that depth, has jumped from one instruction to another of
// its function. Returns whether it has repeated a loop so often that others should not wait for it,
// and then forgets the loops. may_wait: the loop may wait for other threads.
bool sim_rounds_jump(struct sim_rounds *rounds, uint32_t depth, uint32_t from, uint32_t to,
                     bool may_wait);
// Notes that the path has returned to a frame of that depth.
void sim_rounds_return(struct sim_rounds *rounds, uint32_t depth);

#endif
