// SPDX-License-Identifier: Apache-2.0
// Shared: counts the words of what instructions access without naming each address: matrices that
// descriptors name, as the operands of wgmma.mma_async, and memory that bulk copies move, with
// their barriers. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_DESCRIBED_H
#define GLINT_INSTRUMENT_DESCRIBED_H

#include "work.h"

// Adds the operand to those that the kernel counts. `array`: the only one that it leads to, or
// INSTRUMENT_NONE. Returns false if it is unknown which bytes the matrix occupies.
bool instrument_add_described(struct instrument_work *work, struct instrument_body *body,
                              const struct ptx_described *described, uint32_t array);

// Returns whether the instruction copies as many bytes as an operand says.
bool instrument_is_bulk_copy(const struct ptx_instr *instr);

// The same for the end of a bulk copy in shared memory that the probe stands for. Returns false if
// it is unknown which bytes are copied.
bool instrument_add_copy(struct instrument_work *work, struct instrument_body *body,
                         const struct instrument_probe *probe, uint32_t array);

// The same for the barrier of a bulk copy. `site`: one of ptx_barrier_sites_find.
void instrument_add_barrier(struct instrument_work *work, struct instrument_body *body,
                            const struct ptx_site *site, uint32_t array);

// Writes the code that counts what was added for the following instruction, and notes what it does
// to live ranges; nothing if nothing was added.
void instrument_emit_described(struct instrument_work *work, const struct instrument_body *body,
                               const struct ptx_instr *instr);

// Writes the code that sets %glint$at to the address of the thread's current chunk of a matrix, or
// goes to the label `lost`.
void instrument_emit_described_address(struct instrument_work *work,
                                       const struct instrument_described *described, uint32_t lost);

#endif
