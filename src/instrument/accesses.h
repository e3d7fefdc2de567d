// SPDX-License-Identifier: Apache-2.0
// Accessed values: combines the values that loads and stores of roots move, in registers of the
// thread. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_ACCESSES_H
#define GLINT_INSTRUMENT_ACCESSES_H

#include "work.h"

// Decides which accesses are combined, and with which others. The layouts of roots are known.
void instrument_plan_accesses(struct instrument_work *work, struct instrument_body *body);

// Writes the code that combines what an access moves with what the registers hold: before a store,
// behind a load.
void instrument_emit_observed(struct instrument_work *work, const struct instrument_body *body,
                              const struct instrument_probe *probe);

#endif
