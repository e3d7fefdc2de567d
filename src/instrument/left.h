// SPDX-License-Identifier: Apache-2.0
// What the register of an address holds where its loop is left. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_LEFT_H
#define GLINT_INSTRUMENT_LEFT_H

#include "work.h"

// Finds the only instruction in the loop that sets the register. Sets *value to the value that it
// sets, or to PTX_NO_VALUE if none does. Returns false if there are several, or if it may not
// execute.
bool instrument_find_only(const struct instrument_body *body, uint32_t loop,
                          const struct ptx_reg *reg, uint32_t *value);

// Sets *distance to how much larger the register of the address is where the site's loop is left
// than it was at the last access, whose value is `value`. Returns false if that is unknown.
bool instrument_find_left(const struct instrument_body *body, const struct ptx_site *site,
                          uint32_t value, int64_t *distance);

#endif
