// SPDX-License-Identifier: Apache-2.0
// Accessed values: the registers of a thread, and how they are combined over the launch. The
// numbers are those of the kernel's `accessed`. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_COMBINE_H
#define GLINT_INSTRUMENT_COMBINE_H

#include "work.h"

enum { INSTRUMENT_MOST_NUMBERS = 16 };

// Declares the thread's registers, and writes the code that initialises them at the entry.
void instrument_emit_accessed_registers(struct instrument_work *work,
                                        const struct instrument_body *body);
void instrument_emit_nothing_accessed(struct instrument_work *work,
                                      const struct instrument_body *body);

// Writes the code that looks at memory early, if it belongs behind this load.
void instrument_emit_seen(struct instrument_work *work, const struct instrument_body *body,
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
