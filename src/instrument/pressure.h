// SPDX-License-Identifier: Apache-2.0
// Estimates how many registers a kernel needs. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_PRESSURE_H
#define GLINT_INSTRUMENT_PRESSURE_H

#include "work.h"

// Returns the register limit for the clone of a kernel; 0: none.
uint32_t instrument_register_limit(struct instrument_work *work,
                                   const struct instrument_body *body);

#endif
