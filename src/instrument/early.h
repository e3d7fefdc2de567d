// SPDX-License-Identifier: Apache-2.0
// Values: stores whose old values are loaded together, before the first of them. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_EARLY_H
#define GLINT_INSTRUMENT_EARLY_H

#include "work.h"

// Decides which stores are examined together: adds to body->bundles, and sets `early` of their
// probes.
void instrument_plan_early(struct instrument_work *work, struct instrument_body *body);

// Declares the registers that hold old values.
void instrument_emit_early_registers(struct instrument_work *work,
                                     const struct instrument_body *body);

// Writes the loads of the stores that are examined together from this instruction on.
void instrument_emit_early(struct instrument_work *work, const struct instrument_body *body,
                           const struct ptx_instr *instr);

// Writes the code that makes the old value of such a store that of the probe, and loads it if it
// could not be loaded early.
void instrument_emit_late(struct instrument_work *work, const struct instrument_probe *probe);

#endif
