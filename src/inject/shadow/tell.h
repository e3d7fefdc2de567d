// SPDX-License-Identifier: Apache-2.0
// Records of what watched launches did.
#ifndef GLINT_INJECT_SHADOW_TELL_H
#define GLINT_INJECT_SHADOW_TELL_H

#include "model.h"

// Records what a launch did, from what landed (NULL: its kernel has no flags; no table); the
// second, at element level, from its record.
void shadow_tell(const struct shadow_ticket *ticket, const unsigned char *flags,
                 const unsigned char *frame);
void shadow_tell_record(const struct shadow_ticket *ticket);
// Everything known of a launch, or a node, is recorded. doubts: sum of 1 << enum event_doubt.
void shadow_put_told(uint64_t call, uint32_t node, uint32_t doubts);
// Writes the notes that come at the end.
void shadow_tell_notes(struct shadow *shadow);

#endif
