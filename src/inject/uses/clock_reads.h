// SPDX-License-Identifier: Apache-2.0
// Reads of the host's clock behind a wait for the GPU: the wait bounds a time that the program
// measures, so it is needed for itself, whatever becomes of its data. In a recording that is told
// (EVENT_USE_CLOCK); in a corrected run, waits that the thread has left out are made up for first.
#ifndef GLINT_INJECT_USES_CLOCK_READS_H
#define GLINT_INJECT_USES_CLOCK_READS_H

#include "inject/core/call.h"

// At the end of a call of the thread: `waits` it has waited for the GPU, or would have.
void clock_reads_call(const struct call *call, bool waits);
// A wait of the thread's was left out.
void clock_reads_left_out(void);

// The thread is about to read a clock, for who has that return address; errno stays. Any thread,
// also in a signal handler.
void clock_reads_now(const void *caller);

#endif
