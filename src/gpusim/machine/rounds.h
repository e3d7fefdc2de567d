// SPDX-License-Identifier: Apache-2.0
// Counts the rounds of the loops that a path is in, to find paths that may spin.
#ifndef GLINT_GPUSIM_MACHINE_ROUNDS_H
#define GLINT_GPUSIM_MACHINE_ROUNDS_H

#include "machine.h"

// Rounds for which others wait at a join. A loop that cannot wait for other threads (waits.h) may
// have many. It has a limit too, because that analysis does not follow values through all memory.
enum { MOST_ROUNDS = 1 << 12, MOST_OWN_ROUNDS = 1 << 24 };

// Notes that the path, whose frame has that depth, has jumped from one instruction to another of
// its function. Returns whether it has repeated a loop so often that others should not wait for it,
// and then forgets the loops. may_wait: the loop may wait for other threads.
bool sim_rounds_jump(struct sim_rounds *rounds, uint32_t depth, uint32_t from, uint32_t to,
                     bool may_wait);

// The same for a jump back, faster where it repeats the innermost loop.
static inline bool sim_rounds_repeat(struct sim_rounds *rounds, uint32_t depth, uint32_t from,
                                     uint32_t to, bool may_wait)
{
    struct sim_loop *loop = &rounds->loops[rounds->count ? rounds->count - 1 : 0];
    if (!rounds->count || loop->depth != depth || loop->to != to || loop->rounds >= MOST_ROUNDS)
        return sim_rounds_jump(rounds, depth, from, to, may_wait);
    loop->rounds++;
    return false;
}

// Notes that the path has returned to a frame of that depth.
void sim_rounds_return(struct sim_rounds *rounds, uint32_t depth);

#endif
