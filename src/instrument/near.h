// SPDX-License-Identifier: Apache-2.0
// Shared: how most accesses are counted in spare shared memory, by code without branches. Internal
// to src/instrument.
#ifndef GLINT_INSTRUMENT_NEAR_H
#define GLINT_INSTRUMENT_NEAR_H

#include "work.h"

// Returns whether the access has such code.
bool instrument_is_near(const struct instrument_body *body, const struct instrument_probe *probe);

// Returns whether the increments that it makes are tallied with those of other accesses of its
// block.
bool instrument_is_steady(const struct instrument_body *body, const struct instrument_probe *probe);

// Writes the code, which goes to `past`, or falls through if the launch has no counters of 32 bits
// in spare memory. Registers are those of the template words_registers.
void instrument_emit_near(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe, uint32_t past);

#endif
