// SPDX-License-Identifier: Apache-2.0
// Object level: bounds checks where a loop is entered and left instead of in each round. Internal
// to src/instrument.
#ifndef GLINT_INSTRUMENT_WALKS_H
#define GLINT_INSTRUMENT_WALKS_H

#include "work.h"

// Returns whether the probe's access can be checked where its loop is entered and left, and then
// adds it to body->walks.
bool instrument_plan_walk(struct instrument_work *work, struct instrument_body *body,
                          const struct instrument_probe *probe);

// Removes walks whose checks follow from those of others.
void instrument_join_walks(struct instrument_body *body);

// Removes checks in rounds of a loop that follow from walks.
void instrument_thin_rounds(struct instrument_work *work, struct instrument_body *body);

// Writes the checks for the edge that a branch takes. Returns true if it wrote the branch, too.
bool instrument_emit_branch(struct instrument_work *work, const struct instrument_body *body,
                            const struct ptx_instr *instr);

// Writes, behind the instruction, the checks for the edge to the next instruction.
void instrument_emit_passing(struct instrument_work *work, const struct instrument_body *body,
                             const struct ptx_instr *instr);

#endif
