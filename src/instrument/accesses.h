// SPDX-License-Identifier: Apache-2.0
// Accessed values: combines the values that loads and stores of roots move. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_ACCESSES_H
#define GLINT_INSTRUMENT_ACCESSES_H

#include "work.h"

// Decides which accesses are combined, and with which others. The layouts of roots are known.
void instrument_plan_accesses(struct instrument_work *work, struct instrument_body *body);

// Declares the thread's registers, and writes the code that initialises them.
void instrument_emit_accessed_registers(struct instrument_work *work,
                                        const struct instrument_body *body);
void instrument_emit_nothing_accessed(struct instrument_work *work,
                                      const struct instrument_body *body);

// Writes the code that combines what an access moves with what the registers hold: before a store,
// behind a load.
void instrument_emit_observed(struct instrument_work *work, const struct instrument_body *body,
                              const struct instrument_probe *probe);

// Writes the code that combines the registers of all threads with what is in memory, where threads
// leave in that block; PTX_NO_BLOCK: somewhere.
void instrument_emit_accessed(struct instrument_work *work, const struct instrument_body *body,
                              uint32_t block);

// Writes the code that initialises registers, or combines them with what is in memory, at the start
// of a block and before, or behind, its last instruction.
void instrument_emit_accessed_in(struct instrument_work *work, const struct instrument_body *body,
                                 uint32_t block);
void instrument_emit_accessed_at(struct instrument_work *work, const struct instrument_body *body,
                                 const struct ptx_instr *instr, bool behind);

#endif
