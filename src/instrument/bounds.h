// SPDX-License-Identifier: Apache-2.0
// Object level: checks that accesses stay in the objects of their roots. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_BOUNDS_H
#define GLINT_INSTRUMENT_BOUNDS_H

#include "work.h"

// Decides where bounds are checked.
void instrument_plan_bounds(struct instrument_work *work, struct instrument_body *body);

// Writes the check at an access.
void instrument_emit_bounds(struct instrument_work *work, const struct instrument_probe *probe);

// Writes the check of the probe's access at the address in %glint$a, to which `low` has been added.
// Changes %glint$a, %glint$d0 and %glint$d1.
void instrument_emit_within(struct instrument_work *work, const struct instrument_probe *probe);

#endif
