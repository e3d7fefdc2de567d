// SPDX-License-Identifier: Apache-2.0
// Counters of live ranges of words of shared memory. They follow the counters of words (words.h),
// in device memory and in the launch's record.
#ifndef GLINT_INJECT_SHADOW_RANGES_H
#define GLINT_INJECT_SHADOW_RANGES_H

#include "model.h"

// Returns the bytes that they take behind those of words.
uint64_t shadow_ranges_bytes(const struct shadow_ticket *ticket);
// Fills in what probes need to trace live ranges, if the launch has spare shared memory for that.
// `ranges` is the address of the counters.
void shadow_ranges_point(struct shadow_ticket *ticket, uint64_t ranges,
                         struct instrument_context *context);
// Writes the records of an array. The results have arrived, and they are complete.
void shadow_tell_ranges(const struct shadow_ticket *ticket, const struct instrument_range *ranges,
                        uint32_t array);

#endif
