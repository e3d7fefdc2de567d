// SPDX-License-Identifier: Apache-2.0
// Requests: counts by which instructions warps reach global and shared memory, and how many
// sectors, lines or wavefronts that takes. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_REQUESTS_H
#define GLINT_INSTRUMENT_REQUESTS_H

#include "work.h"

// Finds the sites at which whole warps need only be counted, and gives their blocks tallies.
void instrument_place_wholes(struct instrument_work *work, struct instrument_body *body);

// Decides which sites are counted, and gives them tallies in memory.
void instrument_plan_requests(struct instrument_body *body);

// Writes the code that counts the request of the instruction that follows; nothing if it is not
// counted, or where its block ends.
void instrument_emit_request(struct instrument_work *work, const struct instrument_body *body,
                             const struct instrument_probe *probe);

// Writes the code that counts requests where a block ends. The instruction that ends it, if there
// is one, must follow.
void instrument_emit_block_requests(struct instrument_work *work,
                                    const struct instrument_body *body, uint32_t block);

// Writes the device functions of that code.
void instrument_emit_request_functions(const struct instrument_work *work, struct base_buf *out);

#endif
