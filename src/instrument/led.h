// SPDX-License-Identifier: Apache-2.0
// Calls in clones: they are redirected to the clones of the functions that they call. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_LED_H
#define GLINT_INSTRUMENT_LED_H

#include "work.h"

// State of the walk over a function's statements.
struct instrument_led {
    const struct ptx_stmt *call;  // the last call before which code was written
    const struct ptx_stmt *close; // the statement behind which a label is due, or NULL
    uint32_t done;                // that label
};

// Writes what must precede a statement that is a call, or that opens the scope of one.
void instrument_emit_before_call(struct instrument_work *work, const struct instrument_body *body,
                                 const struct ptx_stmt *stmt, struct instrument_led *led);

// Writes what must follow the statement.
void instrument_emit_after_call(struct instrument_work *work, const struct ptx_stmt *stmt,
                                struct instrument_led *led);

// Writes the call of a clone instead of the instruction. Returns false, and writes nothing, if the
// instruction does not call a function that has a clone.
bool instrument_emit_led(struct instrument_work *work, const struct instrument_body *body,
                         const struct ptx_instr *instr);

// Returns the call that the statement is, or that stands in the scope that it opens; NULL if there
// is none. Sets *close to the statement that closes the scope, or to the call.
const struct ptx_instr *instrument_call_of(const struct ptx_stmt *stmt,
                                           const struct ptx_stmt **close);

#endif
