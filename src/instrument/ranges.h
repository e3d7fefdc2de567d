// SPDX-License-Identifier: Apache-2.0
// Shared: attributes each load of a word of shared memory to the last store to the word before it,
// which begins a live range. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_RANGES_H
#define GLINT_INSTRUMENT_RANGES_H

#include "work.h"

// Decides which sites begin live ranges and lists them in the kernel. Sites that count words are
// known.
void instrument_plan_ranges(struct instrument_work *work, struct instrument_body *body);

// Writes the code that prepares tags, where the kernel begins.
void instrument_emit_no_ranges(struct instrument_work *work, const struct instrument_body *body);

// Writes the code that notes what the following instruction does to live ranges; nothing if the
// kernel has none.
void instrument_emit_ranges(struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *probe);

#endif
