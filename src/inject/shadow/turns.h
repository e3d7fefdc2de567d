// SPDX-License-Identifier: Apache-2.0
// Which launches are traced: their live ranges of words of shared memory (ranges.h), and what some
// of their blocks load of global memory (reuse.h); or which lines of it all of them reach
// (trace.h). All other facts are known of every launch.
#ifndef GLINT_INJECT_SHADOW_TURNS_H
#define GLINT_INJECT_SHADOW_TURNS_H

#include "shadow.h"

// Counts the launch, and returns whether it is its turn to be traced. Called once for each launch,
// before it gets memory. If memory runs out, it is not.
bool shadow_take_turn(const struct shadow_launch *launch);

#endif
