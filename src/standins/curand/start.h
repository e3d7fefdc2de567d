// SPDX-License-Identifier: Apache-2.0
// The states with which the columns of a generator begin.
#ifndef GLINT_STANDINS_CURAND_START_H
#define GLINT_STANDINS_CURAND_START_H

#include "sequences.h"

// Fills the states of all columns for a seed, `offset` results into the sequence. The position of
// the next result is offset % columns; for Philox offset % (4 * columns).
void curand_start(enum curand_sequence sequence, uint32_t columns, uint64_t seed, uint64_t offset,
                  struct curand_state *states);

#endif
