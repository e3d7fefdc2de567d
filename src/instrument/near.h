// SPDX-License-Identifier: Apache-2.0
// Shared: how most accesses are counted, by code without branches that lanes take differently.
// Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_NEAR_H
#define GLINT_INSTRUMENT_NEAR_H

#include "work.h"

// Returns whether the access has such code.
bool instrument_is_near(const struct instrument_body *body, const struct instrument_probe *probe);

// Writes the code, which may go to `past`. Registers are those of the template words_registers.
void instrument_emit_near(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe, uint32_t past);

// Declares the register that lives through a kernel, and writes the code that sets it: the address
// of spare memory.
void instrument_emit_near_registers(struct instrument_work *work,
                                    const struct instrument_body *body);
void instrument_emit_near_entry(struct instrument_work *work, const struct instrument_body *body);

#endif
