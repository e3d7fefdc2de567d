// SPDX-License-Identifier: Apache-2.0
// Shared: counts what some blocks load of objects in global memory, and how many different words of
// each. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_REUSE_H
#define GLINT_INSTRUMENT_REUSE_H

#include "work.h"

// Decides which sites are counted. The order of sites must be known.
void instrument_plan_reuse(struct instrument_work *work, struct instrument_body *body);

// Declares the register that says whether the block is looked at, and writes the code that finds
// out, at the start of the kernel.
void instrument_emit_look_registers(struct instrument_work *work,
                                    const struct instrument_body *body);
void instrument_emit_look(struct instrument_work *work, const struct instrument_body *body);

// Writes the code that counts the words that the following instruction touches; nothing if it
// counts none.
void instrument_emit_reuse(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe);

void instrument_emit_reuse_functions(const struct instrument_work *work, struct base_buf *out);

#endif
