// SPDX-License-Identifier: Apache-2.0
// Counters of words of shared memory: device memory for those of one launch, which is copied to the
// launch's record and cleared behind the launch.
#ifndef GLINT_INJECT_SHADOW_WORDS_H
#define GLINT_INJECT_SHADOW_WORDS_H

#include "model.h"

// Gives the lane's launch counters, and its record the bytes to which they are copied, from *bytes
// on. If there is no room, they are not counted, which is noted. Needs shadow->lock.
void shadow_words_enter(struct shadow_lane *lane, struct shadow_ticket *ticket, uint64_t *bytes);
// Fills in what probes need to count words.
void shadow_words_point(const struct shadow_lane *lane, const struct shadow_ticket *ticket,
                        struct instrument_context *context);
// Finds the counts that the launch knows. Returns the context's `known`. If memory runs out, all
// accesses are counted.
uint32_t shadow_words_known(struct shadow_ticket *ticket, const struct instrument_launch *launch);
// Enqueues the copy to the record, before what completes it.
void shadow_words_launched(const struct shadow_lane *lane, struct shadow_ticket *ticket);
// Writes one record, or more, for each array of shared memory. The results have arrived.
void shadow_tell_words(const struct shadow_ticket *ticket, const uint64_t *tallies);
// Notes a launch, or a node of a graph, of a kernel with shared memory whose words are not counted.
// Needs shadow->lock.
void shadow_words_missed(struct shadow *shadow, const struct shadow_ticket *ticket);

#endif
