// SPDX-License-Identifier: Apache-2.0
// Launches that repeat earlier ones. What a kernel touches may follow from its parameters and the
// sizes of grid and blocks (instrument_kernel.repeats). Once such a launch has touched no element
// that was not already known to be touched by several launches, any launch like it touches the same
// elements, and changes nothing of what is known about objects. Its record is known before it runs:
// it runs without probes, and nothing is reduced. At object level, where nothing is known about
// elements, the record of any such launch is that of all.
#ifndef GLINT_INJECT_SHADOW_REPEATS_H
#define GLINT_INJECT_SHADOW_REPEATS_H

#include "model.h"

// Notes what identifies launches like this one, whose roots have been looked up.
void shadow_repeats_enter(struct shadow_ticket *ticket, const struct shadow_launch *launch);
// If such a launch was recorded, copies its record, sets ticket->repeated and returns true.
// `layout` is that of the ticket's record. Needs shadow->lock.
bool shadow_repeats_find(struct shadow_ticket *ticket, const struct device_reduction *layout);
// The same at object level: finds the flags that probes would have set (ticket->known_flags).
bool shadow_repeats_find_flags(struct shadow_ticket *ticket);
// Keep the record of the launch, which raised no doubts, for those like it.
void shadow_repeats_learn(const struct shadow_ticket *ticket,
                          const struct device_reduction *layout);
void shadow_repeats_learn_flags(const struct shadow_ticket *ticket, const unsigned char *flags);
void shadow_repeats_free(struct shadow_repeat *repeat);
// Needs shadow->lock.
void shadow_repeats_forget(struct shadow *shadow);

#endif
