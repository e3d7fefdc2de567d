// SPDX-License-Identifier: Apache-2.0
// Objects that caches could serve better, and what would help: from the reuse distances and hit
// rates of the model of the caches. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_MISSES_H
#define GLINT_ANALYZE_MISSES_H

#include "analyses.h"

enum analyze_miss_remedy {
    ANALYZE_MISS_NONE,   // nothing that the numbers show
    ANALYZE_MISS_LAYOUT, // a layout in which warps take no more sectors than they need
    ANALYZE_MISS_SIZE,   // half as much data between two uses: a cache of twice the size has it
    ANALYZE_MISS_ORDER,  // an order of blocks in which the same data is used sooner again
};

// What a kernel does with an object, or with several of one name that are allocated in one place,
// in all launches that were modelled.
struct analyze_miss {
    const struct analyze_cache_kernel *kernel;
    uint32_t object; // index of the one with most sectors of device memory
    uint64_t call;   // number of the launch in which it has most
    uint32_t place;  // of the instruction with most of them, in model->sites; NONE: unknown
    struct analyze_cache_sum sum;
    struct analyze_cache_distances levels[2];
    bool has_distances[2];
    uint64_t taken, needed; // by its requests
    uint64_t key;
    // Which remedy helps, and how many sectors device memory need not deliver then. `in_l1`: it is
    // L1 of twice the size that has the data, rather than L2.
    enum analyze_miss_remedy remedy;
    uint64_t saved;
    bool in_l1;
};

// Calls `take` for each object with at least that many percent of a kernel's sectors of device
// memory, for which a remedy saves at least that many percent of the object's own. Objects about
// which too little is known are left out.
typedef void analyze_take_miss(struct analyze_run *run, const struct analyze_miss *miss);
void analyze_walk_misses(struct analyze_run *run, uint32_t least_percent, uint32_t saved_percent,
                         analyze_take_miss *take);

#endif
