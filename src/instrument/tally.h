// SPDX-License-Identifier: Apache-2.0
// Element level: counts how often threads execute each access. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_TALLY_H
#define GLINT_INSTRUMENT_TALLY_H

#include "work.h"

// Decides which accesses share a tally and where it is counted.
void instrument_place_tallies(struct instrument_work *work, struct instrument_body *body);

// Sets the size of a row, when all tallies are known.
void instrument_size_tallies(const struct instrument_body *body);

// Writes the code that counts one execution in the thread's registers.
void instrument_emit_tally(struct instrument_work *work, const struct instrument_body *body,
                           uint32_t tally);

// Writes the code that initialises the thread's tallies.
void instrument_emit_no_tallies(struct instrument_work *work, const struct instrument_body *body);
// The same for tallies that are initialised at the start of a block.
void instrument_emit_no_tallies_in(struct instrument_work *work, const struct instrument_body *body,
                                   uint32_t block);

// Writes the code that adds the thread's tallies to those in memory.
void instrument_emit_tallies(struct instrument_work *work, const struct instrument_body *body);

#endif
