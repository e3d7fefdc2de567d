// SPDX-License-Identifier: Apache-2.0
// Where accesses of a root go, as far as a launch knows it. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_AIMS_H
#define GLINT_INSTRUMENT_AIMS_H

#include "work.h"

// Finds the paths of the kernel's roots.
void instrument_plan_aims(struct instrument_work *work, struct instrument_body *body);

#endif
