// SPDX-License-Identifier: Apache-2.0
// Counters of words of shared memory: device memory for those of one launch, which is copied to the
// launch's record and cleared behind the launch.
#ifndef GLINT_INJECT_SHADOW_WORDS_H
#define GLINT_INJECT_SHADOW_WORDS_H

#include "model.h"

// Returns whether the ticket's kernel has words to count.
bool shadow_words_wanted(const struct shadow_ticket *ticket);
// Gives a launch counters in the pad. If there is no room, words are not counted, which is noted.
// What had fewer counters goes to *old. Needs shadow->lock.
void shadow_words_enter(struct shadow *shadow, struct shadow_pad *pad, struct shadow_ticket *ticket,
                        struct shadow_block *old);
// Finds the counts that the launch knows. If memory runs out, all accesses are counted.
void shadow_words_find(struct shadow_ticket *ticket, const struct instrument_launch *launch);
// Fills in what probes need to count words.
void shadow_words_point(const struct shadow_pad *pad, struct shadow_ticket *ticket,
                        struct instrument_context *context);
// Enqueues the copy to the record, before what completes it. Without a record, counters are only
// cleared.
CUresult shadow_words_fetch(const struct shadow_pad *pad, const struct shadow_ticket *ticket,
                            CUstream stream);
// Writes one record, or more, for each array of shared memory. The results have arrived.
void shadow_tell_words(const struct shadow_ticket *ticket, const uint64_t *tallies);

#endif
