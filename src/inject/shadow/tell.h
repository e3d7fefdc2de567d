// SPDX-License-Identifier: Apache-2.0
// Records of what watched launches did.
#ifndef GLINT_INJECT_SHADOW_TELL_H
#define GLINT_INJECT_SHADOW_TELL_H

#include "model.h"

// Record what a launch did. shadow_tell uses what landed; flags is NULL if the kernel has none,
// frame if there is no table. shadow_tell_record, at element level, uses the launch's record.
void shadow_tell(const struct shadow_ticket *ticket, const unsigned char *flags,
                 const unsigned char *frame);
void shadow_tell_record(const struct shadow_ticket *ticket);
// Says that everything known of a launch, or a node, is recorded. doubts: sum of 1 << enum
// event_doubt.
void shadow_put_told(uint64_t call, uint32_t node, uint32_t doubts);
// Writes the notes that belong at the end of a profile.
void shadow_tell_notes(struct shadow *shadow);

#endif
