// SPDX-License-Identifier: Apache-2.0
// What some blocks of some launches load of objects in global memory: device memory for their
// counters and tables, which is laid out before the launch, copied to the launch's record as far as
// it is needed, and cleared behind the launch.
#ifndef GLINT_INJECT_SHADOW_REUSE_H
#define GLINT_INJECT_SHADOW_REUSE_H

#include "model.h"

// Gives the launch memory in the pad if it is its turn (turns.h). If there is no room, no block is
// looked at. What had less memory goes to *old. Needs shadow->lock.
void shadow_reuse_enter(struct shadow *shadow, struct shadow_pad *pad, struct shadow_ticket *ticket,
                        const struct shadow_launch *launch, struct shadow_block *old);
// Enqueues the copy of what probes need, and points the context to it. The batch keeps what is
// copied. Needs shadow->lock.
void shadow_reuse_point(struct shadow *shadow, const struct shadow_pad *pad,
                        struct shadow_ticket *ticket, struct shadow_batch *batch,
                        struct instrument_context *context);
// Enqueues the copy to the record, before what completes it.
CUresult shadow_reuse_fetch(const struct shadow_pad *pad, const struct shadow_ticket *ticket,
                            CUstream stream);
// Writes a record for each object of which a block has loaded something. The results have arrived.
void shadow_tell_reuse(const struct shadow_ticket *ticket);

#endif
