// SPDX-License-Identifier: Apache-2.0
// The records of a launch in runs, divided among multiprocessors. Records themselves are not moved:
// they are much larger, and those of a warp mostly lie together.
#ifndef GLINT_CACHE_RUNS_H
#define GLINT_CACHE_RUNS_H

#include "order.h"

// Records of one warp that follow each other, none of which is left out.
struct cache_run {
    uint32_t warp;
    uint32_t first, count; // records
};

struct cache_runs {
    struct cache_run *runs;  // by multiprocessor, in the order of the launch
    uint32_t *firsts;        // of each multiprocessor: its first run; at last, where all end
    uint32_t *record_firsts; // the same for records, if those of a multiprocessor lay together
    uint64_t steps;          // of work
};

// Uses up to so many threads. Returns false if memory runs out. In any case, there is something to
// free.
bool cache_runs_init(struct cache_runs *runs, const struct cache_schedule *schedule,
                     const struct cache_launch *launch, unsigned threads);
void cache_runs_fini(struct cache_runs *runs);

// Makes positions of counts, column after column of as many rows, and leaves in `firsts` where each
// column begins, and at last where all end.
void cache_sum_up(uint32_t *counts, size_t rows, size_t columns, uint32_t *firsts);

#endif
