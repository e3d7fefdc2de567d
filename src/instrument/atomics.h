// SPDX-License-Identifier: Apache-2.0
// Atomic operations in clones: those that are written as reductions, and, with values, whether they
// change the word. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_ATOMICS_H
#define GLINT_INSTRUMENT_ATOMICS_H

#include "work.h"

// Returns whether an atomic operation can be a reduction, because its result is not read. The
// compiler only replaces it itself if it sees a whole program.
bool instrument_is_reduction(const struct instrument_body *body, const struct ptx_instr *instr);

// Writes such an operation as a reduction.
void instrument_emit_reduction(struct instrument_work *work, const struct ptx_instr *instr);

// Values: returns whether a probe can tell if the operation changes the word.
bool instrument_can_examine_atomic(const struct ptx_instr *instr);

// Values: writes an operation that is examined, and the code that sets %glint$same if %glint$look
// is set and the operation does not change the word. `under` is its guard as an operand, or NULL.
void instrument_emit_atomic(struct instrument_work *work, const struct instrument_body *body,
                            const struct ptx_instr *instr, const char *under);

#endif
