// SPDX-License-Identifier: Apache-2.0
// How many blocks of a launch a multiprocessor holds at once. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_OCCUPANCY_H
#define GLINT_ANALYZE_OCCUPANCY_H

#include <stdint.h>

#include "model.h"

// Returns how many blocks of that shape a multiprocessor holds if each has so many bytes of shared
// memory; 0: unknown.
uint32_t analyze_resident_blocks(const struct analyze_shape *shape, uint64_t shared_bytes);

// Returns how many more blocks a multiprocessor would hold, of those that the launch has, if each
// used so many bytes of shared memory less. Sets *known.
uint32_t analyze_more_blocks(const struct analyze_shape *shape, uint64_t less_bytes, bool *known);

#endif
