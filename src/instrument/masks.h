// SPDX-License-Identifier: Apache-2.0
// Requests: the second clone of a kernel, for regular launches. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_MASKS_H
#define GLINT_INSTRUMENT_MASKS_H

#include "work.h"

// Decides which points are counted by masks. Returns whether there are some, so that the kernel has
// such a clone.
bool instrument_plan_masks(struct instrument_work *work, struct instrument_body *body);

// Returns whether the tally of whole warps is not counted in that clone, because that of another
// point is.
bool instrument_is_led(const struct instrument_body *body, uint32_t tally);

// Write the registers of that clone, and the code at the entry.
void instrument_emit_mask_registers(struct instrument_work *work,
                                    const struct instrument_body *body);
void instrument_emit_no_masks(struct instrument_work *work, const struct instrument_body *body);

// Writes the code before the statement if it begins a loop in which lanes stay together.
void instrument_emit_loop_mask(struct instrument_work *work, const struct instrument_body *body,
                               const struct ptx_stmt *stmt);

// Writes the code that counts with which lanes the warp comes by, at a masked point.
void instrument_emit_mask(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_point *point);

// Writes the code that counts rounds of loops, where threads leave.
void instrument_emit_loop_masks(struct instrument_work *work, const struct instrument_body *body);

#endif
