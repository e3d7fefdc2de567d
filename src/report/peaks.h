// SPDX-License-Identifier: Apache-2.0
// Peaks of memory in use, from when pieces of it live. Knows nothing of objects and profiles.
#ifndef GLINT_REPORT_PEAKS_H
#define GLINT_REPORT_PEAKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define REPORT_NEVER UINT64_MAX

// Bytes that are in use after the call `start` and no more after the call `end`.
struct report_life {
    uint64_t start, end; // end REPORT_NEVER: to the end of the program
    uint64_t bytes;
};

struct report_peak {
    uint64_t bytes; // in use; UINT64_MAX for more than that
    uint64_t start; // the call after which they first are
    uint64_t end;   // and the call after which fewer are; REPORT_NEVER: none
    uint64_t times; // that so many are in use at a peak
};

// A peak is a level that is reached by a rise and left by a fall, or not left at all. Finds the
// `most` highest levels, the highest first, and how many of them there are. Changes by one call are
// one change. BASE_NO_MEMORY.
enum base_code report_find_peaks(const struct report_life *lives, size_t count,
                                 struct report_peak *peaks, size_t most, size_t *found,
                                 struct base_error *error);

#endif
