// SPDX-License-Identifier: Apache-2.0
// Where requests are counted. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_POINTS_H
#define GLINT_INSTRUMENT_POINTS_H

#include "work.h"

// Finds the points of a kernel, in the order in which they are written.
void instrument_find_points(struct instrument_work *work, struct instrument_body *body);

// Write the registers of points, the code at the entry, and the code at the start of a block: which
// blocks were executed whose requests are counted behind them.
void instrument_emit_point_registers(struct instrument_work *work,
                                     const struct instrument_body *body);
void instrument_emit_nothing_ran(struct instrument_work *work, const struct instrument_body *body);
void instrument_emit_ran(struct instrument_work *work, const struct instrument_body *body,
                         uint32_t block);

#endif
