// SPDX-License-Identifier: Apache-2.0
// Managed memory, whose first uses are not watched. Records say when they may have happened.
#ifndef GLINT_INJECT_USES_MANAGED_H
#define GLINT_INJECT_USES_MANAGED_H

#include "inject/core/call.h"

void uses_managed_start(void);
bool uses_has_managed(void);      // some object is or was managed memory
void uses_managed_launched(void); // the GPU was given work

// Returns whether, as far as is known, no work of the GPU runs that could touch memory by page
// tables. The caller must not hold the lock of guard's table, which ranks after core_state.lock.
bool uses_is_all_idle(const struct core_call *call);
// Called when a call has waited; idle: for everything. Records that the program may use what
// kernels may have written. Needs the lock of guard's table.
void uses_managed_sync(const struct core_call *call, bool idle);

#endif
