// SPDX-License-Identifier: Apache-2.0
// Requests: counts by which instructions warps reach global and shared memory, and how many
// sectors, lines or wavefronts that takes. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_REQUESTS_H
#define GLINT_INSTRUMENT_REQUESTS_H

#include "work.h"

// Returns whether the requests of the instruction are counted.
bool instrument_has_requests(const struct instrument_probe *probe);

// Decides where requests are counted, finds the sites at which whole warps need only be counted,
// and gives them tallies.
void instrument_place_requests(struct instrument_work *work, struct instrument_body *body);

// Decides which sites are counted, and gives them tallies in memory.
void instrument_plan_requests(struct instrument_body *body);

// Writes the code that keeps the address of the instruction that follows, if it changes before it
// is counted.
void instrument_emit_saved(struct instrument_work *work, const struct instrument_probe *probe);

// Writes the code that counts requests before, or behind, the instruction. *next is the number of
// points that have been written. only: whole warps are here, and are only counted.
void instrument_emit_requests(struct instrument_work *work, const struct instrument_body *body,
                              const struct ptx_instr *instr, bool behind, bool only, size_t *next);

// Writes the device functions of that code.
void instrument_emit_request_functions(const struct instrument_work *work, struct base_buf *out);

#endif
