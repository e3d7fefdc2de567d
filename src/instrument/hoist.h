// SPDX-License-Identifier: Apache-2.0
// Element level: accesses that are marked where their loop is left. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_HOIST_H
#define GLINT_INSTRUMENT_HOIST_H

#include "work.h"

// Decides which accesses wait for the end of their loop; fills body->sweeps and body->leaves.
void instrument_plan_sweeps(struct instrument_work *work, struct instrument_body *body);

// Writes the declarations and initial values of the registers that sweeps need.
void instrument_emit_waiting_entry(struct instrument_work *work,
                                   const struct instrument_body *body);

// Writes, at an access that waits, the code that keeps its address.
void instrument_emit_waiting(struct instrument_work *work, const struct instrument_probe *probe);

// Writes the code that marks what accesses of loops touched since they were last marked: of the
// loops that contain block `inside`, or, if that is PTX_NO_BLOCK, of the loops that an edge to
// block `to` leaves.
void instrument_emit_sweeps(struct instrument_work *work, const struct instrument_body *body,
                            uint32_t inside, uint32_t to);

#endif
