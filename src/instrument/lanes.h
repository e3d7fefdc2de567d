// SPDX-License-Identifier: Apache-2.0
// Element level: what the lanes of a warp do together at an access. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_LANES_H
#define GLINT_INSTRUMENT_LANES_H

#include "work.h"

// Sets `lanes`, `step`, `behind` and `check` of each probe.
void instrument_plan_lanes(struct instrument_body *body);

// Sets *step to what the address grows by from lane to lane in a warp that is a piece of a row.
// Returns false if that is unknown.
bool instrument_lane_step(const struct instrument_body *body, const struct ptx_site *site,
                          int64_t *step);

// Returns whether lanes that execute the site together may be in different rounds of a loop.
bool instrument_lanes_may_meet(const struct ptx_facts *facts, const struct ptx_site *site);

#endif
