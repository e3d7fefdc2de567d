// SPDX-License-Identifier: Apache-2.0
// Decides which kernels access the same memory in every launch that has the same parameters.
// Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_REPEATS_H
#define GLINT_INSTRUMENT_REPEATS_H

#include "work.h"

// Returns whether the body's code, which has been analysed, proves that which places in memory the
// kernel accesses, and how often, depend on nothing but its parameters and the sizes of grid and
// blocks.
bool instrument_repeats(const struct instrument_body *body);

#endif
