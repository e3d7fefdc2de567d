// SPDX-License-Identifier: Apache-2.0
// Says to the recorder that the library is in this process, and what became of recording it. All
// functions keep errno, and do nothing if there is no recorder.
#ifndef GLINT_INJECT_CORE_PRESENCE_H
#define GLINT_INJECT_CORE_PRESENCE_H

#include "event/event.h"

// When the library is loaded.
void core_presence_begin(void);
// At the first call of CUDA in the process, which may be a child of fork.
void core_presence_call(void);
// When the recorder's socket has taken the ring (EVENT_REFUSED_NOTHING), or when that failed.
void core_presence_meet(enum event_refusal refusal, int error);
// Adds EVENT_PRESENT_* to what is said of the process; of its parent, in a child of fork that has
// not called CUDA. Any thread may call.
void core_presence_add(uint32_t flags);
// In the exit handlers.
void core_presence_end(void);

#endif
