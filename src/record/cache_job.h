// SPDX-License-Identifier: Apache-2.0
// One traced launch on its way through the model of caches. Internal.
#ifndef GLINT_RECORD_CACHE_JOB_H
#define GLINT_RECORD_CACHE_JOB_H

#include "base/base.h"
#include "cache/cache.h"
#include "cache_state.h"
#include "event/event.h"
#include "profile/profile.h"

// An object as it was when the launch was made.
struct record_cache_job_object {
    uint64_t first, bytes, number;
    bool is_part; // of another object, which it takes the place of
};

struct record_cache_job {
    struct record_cache_job *next;
    struct event_trace about;
    const struct cache_preset *preset;
    bool cold;                    // it begins with empty caches
    struct event_traced *records; // about.records and about.blocks of them
    struct event_traced_block *blocks;
    size_t record_count, block_count; // that have arrived
    BASE_ARRAY(struct record_cache_job_object) objects;
    BASE_ARRAY(struct record_cache_state_move)
    moves;          // before the launch, and after the one before it
    uint8_t *kinds; // by number of the site: enum cache_kind
    uint32_t site_count;
    // The results.
    bool done; // false: memory ran out, or the trace contradicts itself
    struct profile_cache_launch launch;
    BASE_ARRAY(struct profile_cache) rows;
    BASE_ARRAY(struct profile_cache_reuse) reuse;
};

// Runs the launch. The jobs of a state are run by one thread, in order.
void record_cache_job_run(struct record_cache_job *job, struct record_cache_state *state,
                          unsigned threads);
void record_cache_job_destroy(struct record_cache_job *job);

#endif
