// SPDX-License-Identifier: Apache-2.0
// Values of thresholds, for the code that uses them. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_THRESHOLDS_H
#define GLINT_ANALYZE_THRESHOLDS_H

#include "analyze.h"

// How many of the highest peaks are kept; the one threshold that belongs to no pattern.
extern const struct analyze_threshold analyze_peaks_looked_at;

// Returns the value of a threshold that some pattern's description names. It searches a list, so it
// should not be called in loops.
uint32_t analyze_limit(const struct analyze_thresholds *thresholds,
                       const struct analyze_threshold *threshold);
// Returns a pointer to that value.
uint32_t *analyze_limit_at(struct analyze_thresholds *thresholds,
                           const struct analyze_threshold *threshold);

#endif
