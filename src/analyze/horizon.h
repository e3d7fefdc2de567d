// SPDX-License-Identifier: Apache-2.0
// Until when memory is needed, where streams work at the same time. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_HORIZON_H
#define GLINT_ANALYZE_HORIZON_H

#include "model.h"

// The calls at which the memory of some object starts to be needed. One thread uses it.
struct analyze_horizon {
    const struct analyze_model *model;
    const struct analyze_clocks *clocks; // of these calls
    uint32_t *calls;                     // indices, in order
    size_t count;
    struct base_map streams; // number to index + 1 in `least`
    // For each stream, and for each of these calls, the minimum of the clocks from that call on.
    BASE_ARRAY(uint32_t *) least;
};

// Makes it of the calls for which `starts`, by index, is true. Returns false when memory ran out.
// The caller calls analyze_horizon_fini, also then.
bool analyze_horizon_init(struct analyze_horizon *horizon, const struct analyze_model *model,
                          const struct analyze_clocks *clocks, const bool *starts);
// The same of the calls at which objects are first used, or first needed.
bool analyze_horizon_of_objects(struct analyze_horizon *horizon, const struct analyze_model *model,
                                const struct analyze_clocks *clocks);
void analyze_horizon_fini(struct analyze_horizon *horizon);

// Stores the index of the call before which memory is needed whose last access is in the call
// `last`, at most `end`: objects that start to be needed earlier may be accessed at the same time.
// Returns false when memory ran out.
bool analyze_needed_until(struct analyze_horizon *horizon, uint32_t last, uint32_t end,
                          uint32_t *until);

#endif
