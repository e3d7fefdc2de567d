// SPDX-License-Identifier: Apache-2.0
// Element level: accesses of a block at different offsets from one register. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_UNIONS_H
#define GLINT_INSTRUMENT_UNIONS_H

#include "work.h"

// Decides which of them are marked as one; sets `before`, `behind`, `next` and `joined` of probes.
void instrument_plan_unions(const struct instrument_work *work, struct instrument_body *body);

#endif
