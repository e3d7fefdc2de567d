// SPDX-License-Identifier: Apache-2.0
// Reads of the host's clock after a wait for the GPU. The wait then bounds a time that the program
// measures, so it is needed even if nothing uses its data. A recording says so (EVENT_USE_CLOCK). A
// corrected run first makes up for waits that the thread has left out.
#ifndef GLINT_INJECT_USES_CLOCK_READS_H
#define GLINT_INJECT_USES_CLOCK_READS_H

#include "inject/core/call.h"

// Called when the process starts to be recorded.
void uses_clock_start(void);
// Called at the end of a call of the thread. waits: it has waited for the GPU.
void uses_clock_call(const struct core_call *call, bool waits);
// Says that a wait of the thread was left out.
void uses_clock_left_out(void);

// Called before the thread reads a clock, for the function with that return address. Keeps errno.
// Any thread may call, also in a signal handler.
void uses_clock_now(const void *caller);

#endif
