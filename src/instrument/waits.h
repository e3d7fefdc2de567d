// SPDX-License-Identifier: Apache-2.0
// Decides which kernels may wait for other blocks through memory. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_WAITS_H
#define GLINT_INSTRUMENT_WAITS_H

#include "work.h"

// Sets body->may_wait to whether the body's code, which has been analysed, may wait for other
// blocks.
void instrument_find_waits(struct instrument_body *body);

// Adds to may_wait of every function that of the functions it calls.
void instrument_spread_waits(struct instrument_work *work);

#endif
