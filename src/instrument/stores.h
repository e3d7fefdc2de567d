// SPDX-License-Identifier: Apache-2.0
// Values: marks the pieces of objects that instructions write, and counts stores that change
// nothing. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_STORES_H
#define GLINT_INSTRUMENT_STORES_H

#include "work.h"

// Decides which instructions are marked and which are examined.
void instrument_plan_stores(struct instrument_work *work, struct instrument_body *body);

// Writes the probe of an instruction that writes memory. Returns whether the instruction itself was
// written, too; otherwise the caller writes it next.
bool instrument_emit_write(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe);

// Returns the number of elements that a store writes.
uint32_t instrument_store_elements(const struct ptx_instr *instr);

// Writes the code that loads what a store overwrites, under a predicate and from the address in
// %glint$a, into registers from number `first` on: those named `narrow`, or `wide` if elements have
// 64 bits.
void instrument_emit_old(struct instrument_work *work, const struct instrument_probe *probe,
                         const char *under, const char *narrow, const char *wide, uint32_t first);

// Declares the registers that live through the function, and writes the code that initialises them
// and the code that adds what they hold to the table; nothing if the function needs none.
void instrument_emit_stored_registers(struct instrument_work *work,
                                      const struct instrument_body *body);
void instrument_emit_nothing_stored(struct instrument_work *work,
                                    const struct instrument_body *body);
void instrument_emit_leave_stored(struct instrument_work *work, const struct instrument_body *body);

#endif
