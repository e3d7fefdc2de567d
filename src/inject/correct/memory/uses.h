// SPDX-License-Identifier: Apache-2.0
// Finds the objects of back.h that a call may use.
#ifndef GLINT_INJECT_CORRECT_MEMORY_USES_H
#define GLINT_INJECT_CORRECT_MEMORY_USES_H

#include "inject/core/call.h"

void correct_uses_start(void); // in a new process, while other threads wait
// Called before every call's driver function. Backs everything that the call may use.
void correct_uses_before(struct core_call *call);
// Called before a kernel is launched with these parameters.
void correct_uses_launch(struct core_call *call, CUfunction function, void **params, void **extra);

#endif
