// SPDX-License-Identifier: Apache-2.0
// Lanes and batches.
#ifndef GLINT_INJECT_SHADOW_LANE_H
#define GLINT_INJECT_SHADOW_LANE_H

#include "model.h"

// Returns the stream's lane, locked; NULL: there is none, and none can be made. shadow_lane_leave
// unlocks it.
struct shadow_lane *shadow_lane_take(struct shadow *shadow, struct core_stream *stream);
// Returns the stream's lane, which the caller has locked.
struct shadow_lane *shadow_lane_held(struct shadow *shadow, struct core_stream *stream);
void shadow_lane_leave(struct shadow_lane *lane);
// Makes room for one more launch of the ticket's kernel at object level, and fills the context.
bool shadow_lane_enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                       struct instrument_context *context);
// Enqueues the read-back of everything launched since the last call, on the lane's stream or on one
// that is ordered behind it.
void shadow_lane_close(struct shadow_lane *lane, CUstream stream);
// Adds a batch whose read-back was enqueued on the lane's stream to those in flight.
void shadow_lane_fly(struct shadow_lane *lane, struct shadow_batch *batch);
// Records the batches that have landed. Returns true if nothing is in flight.
bool shadow_lane_tell(struct shadow_lane *lane);
void shadow_lane_forget(struct shadow_lane *lane); // after the context and its memory are gone

// --- With shadow->lock ---------------------------------------------------------------------------

// Returns a batch without tickets, with this many bytes to land in, and an event if asked for;
// NULL: no room.
struct shadow_batch *shadow_batch_make(struct shadow *shadow, uint64_t bytes, bool event);
// Give back device memory that launches in flight in the lane, or in the batch, may still use.
void shadow_lane_give(struct shadow_lane *lane, struct shadow_block *block);
void shadow_batch_give(struct shadow_batch *batch, struct shadow_block *block);

void shadow_batch_free(struct shadow *shadow, struct shadow_batch *batch); // without the lock
void shadow_batch_add(struct shadow_batch *batch, struct shadow_ticket *ticket);

#endif
