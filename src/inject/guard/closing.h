// SPDX-License-Identifier: Apache-2.0
// Closes and opens pages of ranges. Needs the lock of guard's table, unless a function says
// otherwise.
#ifndef GLINT_INJECT_GUARD_CLOSING_H
#define GLINT_INJECT_GUARD_CLOSING_H

#include <stdbool.h>
#include <stdint.h>

struct guard_range;

// Closes its pages, and arms it if it was pending. Returns false if that is not possible now; the
// range is then open, or has ended.
bool guard_close(struct guard_range *range);
// Opens pages. Ranges that have some of them are open from then on.
void guard_open(uint64_t low, uint64_t high);
// Opens the range's pages and drops it.
void guard_end(struct guard_range *range);
// Does the same because the program used it. Uses of other data in its pages may be missed from
// then on.
void guard_end_used(struct guard_range *range);
// Closes armed ranges that are open.
void guard_close_again(void);
// Marks that some of its pages are open.
void guard_set_open(struct guard_range *range);

// --- Without the lock ----------------------------------------------------------------------------

// Opens what is closed there although the thread may hold the lock. The next holder of the lock
// records all armed ranges as unknown.
void guard_force_open(uint64_t low, uint64_t high);

#endif
