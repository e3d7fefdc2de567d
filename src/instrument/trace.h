// SPDX-License-Identifier: Apache-2.0
// Cache: writes down which lines of global memory warps reach, and in which order. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_TRACE_H
#define GLINT_INSTRUMENT_TRACE_H

#include "work.h"

// Decides whether the kernel is traced, and why not. The order of sites must be known.
void instrument_plan_trace(struct instrument_work *work, struct instrument_body *body);

// Returns whether the clone that is being written traces.
bool instrument_traces(const struct instrument_work *work, const struct instrument_body *body);

// Declares the register that counts basic blocks, and writes the code at the start of the kernel,
// at that of a basic block, before an instruction and where threads leave. Each writes nothing if
// the clone does not trace.
void instrument_emit_trace_registers(struct instrument_work *work,
                                     const struct instrument_body *body);
void instrument_emit_trace_entry(struct instrument_work *work, const struct instrument_body *body);
void instrument_emit_trace_step(struct instrument_work *work, const struct instrument_body *body);
void instrument_emit_trace(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe);
void instrument_emit_trace_end(struct instrument_work *work, const struct instrument_body *body);

#endif
