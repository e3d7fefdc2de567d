// SPDX-License-Identifier: Apache-2.0
// Cache: accesses of a basic block that are traced at one place, the last of them. A thread then
// leaves by one branch if none of their lines is looked at, and the compiler can have all of their
// loads under way at once. Records are ordered by the numbers of sites, so that it does not matter
// when they are written. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_TRACE_RUNS_H
#define GLINT_INSTRUMENT_TRACE_RUNS_H

#include "work.h"

enum { INSTRUMENT_TRACE_RUN_MOST = 16 };

// A run: its members in their order, and those of them whose lines must be tested. Any other member
// is in a line of one of these.
struct instrument_trace_run {
    const struct instrument_probe *members[INSTRUMENT_TRACE_RUN_MOST];
    const struct instrument_probe *tests[INSTRUMENT_TRACE_RUN_MOST];
    uint32_t count, test_count;
};

// Decides which accesses are traced where a later one is; sets `traced_with` and `traced_later` of
// probes.
void instrument_plan_trace_runs(struct instrument_body *body);

// Finds the run whose last member is given.
void instrument_find_trace_run(const struct instrument_body *body,
                               const struct instrument_probe *last,
                               struct instrument_trace_run *run);

#endif
