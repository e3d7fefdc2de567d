// SPDX-License-Identifier: Apache-2.0
// Requests: counts by which instructions warps reach global and shared memory, and how many
// sectors, lines or wavefronts that takes. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_REQUESTS_H
#define GLINT_INSTRUMENT_REQUESTS_H

#include "work.h"

// Decides which sites are counted, and gives them tallies.
void instrument_plan_requests(struct instrument_body *body);

// Writes the code that counts the request of the instruction that follows; nothing if it is not
// counted.
void instrument_emit_request(struct instrument_work *work, const struct instrument_body *body,
                             const struct instrument_probe *probe);

// Writes the device functions of that code.
void instrument_emit_request_functions(const struct instrument_work *work, struct base_buf *out);

#endif
