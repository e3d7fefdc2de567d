// SPDX-License-Identifier: Apache-2.0
// Steps of addresses from round to round of a loop. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_STEPS_H
#define GLINT_INSTRUMENT_STEPS_H

#include "work.h"

// Returns whether the register of the address changes from round to round by 64-bit additions only,
// of constants and of sign-extended 32-bit parameters, so that its step is certain. Sets *phi to
// the value at the loop's header from which the register has an exact distance, or to PTX_NO_VALUE.
bool instrument_steps_are_wide(const struct instrument_body *body, const struct ptx_site *site,
                               uint32_t *phi);

// Joins sweeps that the compiler made of one by unrolling, and sweeps that follow each other
// without a gap.
void instrument_join_sweeps(struct instrument_body *body);

#endif
