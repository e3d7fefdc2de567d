// SPDX-License-Identifier: Apache-2.0
// Weighing: the device code (src/device/weigh.h) that finds the value that most reads of a launch
// got, and the records that come of it. Launches with both counts and values have it.
#ifndef GLINT_INJECT_SHADOW_WEIGH_H
#define GLINT_INJECT_SHADOW_WEIGH_H

#include "model.h"

struct shadow_weighing; // one weighing, from before it is enqueued until it is recorded

// Enqueues the weighing of what the launch only read, behind it and before its reduction, with its
// lane locked. It lands with the batch.
void shadow_weigh_after(struct shadow_lane *lane, struct shadow_ticket *ticket,
                        struct shadow_batch *batch);
bool shadow_weigh_landed(const struct shadow_weighing *weighing);
void shadow_weigh_tell(const struct shadow_weighing *weighing);
void shadow_weigh_free(struct shadow *shadow,
                       struct shadow_weighing *weighing); // with shadow->lock

#endif
