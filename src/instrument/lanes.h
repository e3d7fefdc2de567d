// SPDX-License-Identifier: Apache-2.0
// Element level: what the lanes of a warp do together at an access. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_LANES_H
#define GLINT_INSTRUMENT_LANES_H

#include "work.h"

// Sets `lanes`, `step`, `behind` and `check` of each probe.
void instrument_plan_lanes(struct instrument_body *body);

#endif
