// SPDX-License-Identifier: Apache-2.0
// Shared: counts the words of matrices that instructions name by descriptors, as the operands of
// wgmma.mma_async. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_DESCRIBED_H
#define GLINT_INSTRUMENT_DESCRIBED_H

#include "work.h"

// Adds the operand to those that the kernel counts. `array`: the only one that it leads to, or
// INSTRUMENT_NONE. Returns false if it is unknown which bytes the matrix occupies.
bool instrument_add_described(struct instrument_work *work, struct instrument_body *body,
                              const struct ptx_described *described, uint32_t array);

// Writes the code that counts the operands of the following instruction, and notes what it does to
// live ranges; nothing if it has no such operands.
void instrument_emit_described(struct instrument_work *work, const struct instrument_body *body,
                               const struct ptx_instr *instr);

// Writes the code that sets %glint$at to the address of the thread's current chunk, or goes to the
// label `lost`.
void instrument_emit_described_address(struct instrument_work *work,
                                       const struct instrument_described *described, uint32_t lost);

#endif
