// SPDX-License-Identifier: Apache-2.0
// Lanes and batches.
#ifndef GLINT_INJECT_SHADOW_LANE_H
#define GLINT_INJECT_SHADOW_LANE_H

#include "model.h"

// The stream's lane, locked; NULL: there is none. shadow_lane_leave unlocks it.
struct shadow_lane *shadow_lane_take(struct shadow *shadow, struct core_stream *stream);
struct shadow_lane *shadow_lane_held(struct shadow *shadow,
                                     struct core_stream *stream); // by the caller
void shadow_lane_leave(struct shadow_lane *lane);
// Makes room for one more launch of the ticket's kernel at object level, and fills the context.
bool shadow_lane_enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                       struct instrument_context *context);
// Enqueues the read-back of everything launched since the last time, on the lane's stream or one
// that is ordered behind it.
void shadow_lane_close(struct shadow_lane *lane, CUstream stream);
// The batch's read-back was enqueued on the lane's stream.
void shadow_lane_fly(struct shadow_lane *lane, struct shadow_batch *batch);
// Records what has landed. Returns true if nothing is in flight.
bool shadow_lane_tell(struct shadow_lane *lane);
void shadow_lane_forget(struct shadow_lane *lane); // the context is gone, with all its memory

// --- With shadow->lock ---------------------------------------------------------------------------

// A batch without tickets, with so many bytes to land in, and an event; NULL: no room.
struct shadow_batch *shadow_batch_make(struct shadow *shadow, uint64_t bytes, bool event);
// Gives back device memory that launches in flight in the lane, or in the batch, may still use.
void shadow_lane_give(struct shadow_lane *lane, struct shadow_block *block);
void shadow_batch_give(struct shadow_batch *batch, struct shadow_block *block);

void shadow_batch_free(struct shadow *shadow, struct shadow_batch *batch); // without the lock
void shadow_batch_add(struct shadow_batch *batch, struct shadow_ticket *ticket);

#endif
