// SPDX-License-Identifier: Apache-2.0
// Memory that the driver's pools keep for reuse, and release when the program waits. A wait that is
// left out releases none; glint makes up for it before the program could notice.
#ifndef GLINT_INJECT_CORRECT_WAIT_RELEASE_H
#define GLINT_INJECT_CORRECT_WAIT_RELEASE_H

#include "inject/core/call.h"

void correct_release_start(void);
// Says that a wait was left out, or what the call has done.
void correct_release_left_out(void);
void correct_release_after(const struct core_call *call);
// Makes the driver release what it would have released. Waits if there may be such memory. Returns
// whether there may. Called in a hook, before the program learns how much memory there is, or when
// it has found none.
bool correct_release(void);

#endif
