// SPDX-License-Identifier: Apache-2.0
// Finds out which of the objects of back.h a call may use.
#ifndef GLINT_INJECT_CORRECT_MEMORY_USES_H
#define GLINT_INJECT_CORRECT_MEMORY_USES_H

#include "inject/core/call.h"

void correct_uses_start(void); // in a new process, alone
// Before every call's driver function: what the call may use gets its memory.
void correct_uses_before(struct core_call *call);
// A kernel is about to be launched with these parameters.
void correct_uses_launch(struct core_call *call, CUfunction function, void **params, void **extra);

#endif
