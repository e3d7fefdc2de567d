// SPDX-License-Identifier: Apache-2.0
// Whether data is worth being watched: what that may cost is bounded. Needs the lock of guard's
// table.
#ifndef GLINT_INJECT_GUARD_WORTH_H
#define GLINT_INJECT_GUARD_WORTH_H

#include <stdbool.h>
#include <stdint.h>

struct guard_range;

// Returns whether data of these call paths should be watched this time: not always, once it was
// seen to be used often enough. guard_count counts a use.
bool guard_wanted(uint32_t sync_path, uint32_t copy_path);
void guard_count(const struct guard_range *range);
// Returns whether closing pages has taken too much of the program's time so far.
bool guard_is_too_slow(void);

#endif
