// SPDX-License-Identifier: Apache-2.0
// Requests of whole warps whose cost follows from the launch alone. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_REGULAR_H
#define GLINT_INSTRUMENT_REGULAR_H

#include "work.h"

// Returns how the addresses of a warp's lanes follow from what a launch knows, in the memory of the
// module, or NULL if distances between them depend on something else.
struct instrument_form *instrument_form_of(struct instrument_work *work,
                                           const struct instrument_body *body,
                                           const struct instrument_probe *probe);

#endif
