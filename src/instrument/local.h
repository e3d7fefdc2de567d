// SPDX-License-Identifier: Apache-2.0
// Requests on local memory. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_LOCAL_H
#define GLINT_INSTRUMENT_LOCAL_H

#include "work.h"

// Returns whether the site's requests reach local memory and can be counted.
bool instrument_is_local(const struct ptx_site *site);

// Returns a form, in the memory of the module, if all lanes that execute the site together have the
// same offset; else NULL.
struct instrument_form *instrument_local_form(struct instrument_work *work,
                                              const struct instrument_body *body,
                                              const struct ptx_site *site);

// Returns what each request of a whole warp takes at such a site, by the bytes of an access.
struct instrument_cost instrument_local_cost(uint32_t bytes);

// Writes the code that turns a generic address in %glint$a into an offset; nothing if it is one.
void instrument_emit_local_offset(struct base_buf *out, const struct ptx_site *site);

// Writes the device function that counts a request.
void instrument_emit_local_function(const struct instrument_work *work, struct base_buf *out);

#endif
