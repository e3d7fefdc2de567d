// SPDX-License-Identifier: Apache-2.0
// Protects pages (mprotect) and opens them again, also if the system allows no more mappings. All
// functions need the lock of guard's table, or a thread that has interrupted its holder.
#ifndef GLINT_INJECT_GUARD_PROTECT_H
#define GLINT_INJECT_GUARD_PROTECT_H

#include <stdbool.h>
#include <stdint.h>

struct guard_range;

// Called before pages are protected: reserves mappings for opening them.
void guard_protect_prepare(void);
bool guard_protect(uint64_t low, uint64_t high);
// Opens the pages, and protected ones around them if they cannot be opened alone. Returns the
// bounds of what was opened in *low and *high.
void guard_unprotect(uint64_t *low, uint64_t *high);
// Opens pages of the range, or all of it.
void guard_unprotect_by_force(const struct guard_range *range, uint64_t low, uint64_t high);

#endif
