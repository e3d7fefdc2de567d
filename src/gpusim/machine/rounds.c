// SPDX-License-Identifier: Apache-2.0
// A path that spins takes the same jump backwards over and over. How many instructions it runs says
// little: a clone with probes runs a hundred times as many as its kernel, and lanes that wait at a
// join must not be let go earlier there, or the clone would make other requests than the kernel.
// Rounds of the kernel's loops are the same in both. Loops of probes end, and so do not count: a
// round of an outer loop clears the rounds of the loops in it.
//
// Loops are distinguished by the instruction that they jump to. One at a lower address counts as
// the outer one, so that the outermost loop of a path that spins keeps its count, whatever happens
// in it. If there are too many loops, rounds of inner ones count for the innermost known one: a
// path may then be said to spin too early, but a path that spins is always found.
#include "rounds.h"

static bool is_inside(const struct sim_loop *loop, uint32_t depth, uint32_t to)
{
    return depth > loop->depth || (depth == loop->depth && to >= loop->to);
}

bool sim_rounds_jump(struct sim_rounds *rounds, uint32_t depth, uint32_t from, uint32_t to,
                     bool may_wait)
{
    if (to > from)
        return false;
    while (rounds->count && !is_inside(&rounds->loops[rounds->count - 1], depth, to))
        rounds->count--;
    struct sim_loop *loop = rounds->count ? &rounds->loops[rounds->count - 1] : NULL;
    const bool same = loop && loop->depth == depth && loop->to == to;
    if (!same && rounds->count < KNOWN_LOOPS) {
        loop = &rounds->loops[rounds->count++];
        *loop = (struct sim_loop){.depth = depth, .to = to};
    }
    if (++loop->rounds <= (may_wait ? MOST_ROUNDS : MOST_OWN_ROUNDS))
        return false;
    rounds->count = 0;
    return true;
}

void sim_rounds_return(struct sim_rounds *rounds, uint32_t depth)
{
    while (rounds->count && rounds->loops[rounds->count - 1].depth > depth)
        rounds->count--;
}
