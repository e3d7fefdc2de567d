// SPDX-License-Identifier: Apache-2.0
// What may change memory, or show that other threads have; see quiet.c. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_QUIET_H
#define GLINT_INSTRUMENT_QUIET_H

#include "work.h"

// Returns whether the instruction is a barrier of the block, or announces that a thread reached
// one.
bool instrument_is_barrier(const struct ptx_instr *instr);

// Returns whether memory may be different behind the instruction, which is no store to global
// memory. Barriers are among these instructions.
bool instrument_may_change(const struct ptx_instr *instr);

// Returns the probe of an instruction that may store to global memory, or NULL.
const struct instrument_probe *instrument_store_at(const struct instrument_body *body,
                                                   const struct ptx_instr *instr);

// Returns whether no thread of a block can have written memory, or have learnt what others wrote,
// before any barrier. Barriers then change nothing.
bool instrument_is_quiet(struct instrument_work *work, const struct instrument_body *body);

#endif
