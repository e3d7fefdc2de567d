// SPDX-License-Identifier: Apache-2.0
// Cache: which lines of global memory the warps of a launch reach (src/instrument/trace.c).
#ifndef GLINT_INJECT_SHADOW_TRACE_H
#define GLINT_INJECT_SHADOW_TRACE_H

#include "model.h"

// With shadow->lock held: gives the launch memory if it is its turn (turns.h), and says so in the
// context. If there is no room, the launch is not traced, which is noted at the end.
void shadow_trace_enter(struct shadow *shadow, struct shadow_ticket *ticket,
                        const struct shadow_launch *launch, struct instrument_context *context);

// Says that the launch has ended: what it wrote is read back from now on, step by step.
void shadow_tell_trace(struct shadow_ticket *ticket);

// With shadow->lock held, and the context current: records what has arrived, and reads on. Returns
// whether there is nothing left.
bool shadow_trace_step(struct shadow *shadow);

// With shadow->lock held: gives up the memory of a launch that is not recorded, or of all after the
// context's end.
void shadow_trace_drop(struct shadow *shadow, struct shadow_trace *trace);
void shadow_trace_forget(struct shadow *shadow);

#endif
