// SPDX-License-Identifier: Apache-2.0
// The public header of src/fix: turns the findings of a profile into a plan of corrections
// (plan/plan.h), which libglint.so applies in the program. A plan contains only what is safe: call
// paths that were observed to be unnecessary and never to be necessary. docs/guide/fixing.md
// explains the corrections.
#ifndef GLINT_FIX_FIX_H
#define GLINT_FIX_FIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analyze.h"
#include "base/base.h"
#include "plan/plan.h"
#include "profile/profile.h"

// The profile setting (struct profile_setting) that marks the profile of a corrected run.
#define FIX_SETTING "corrected"

// Only objects of at least this size are backed on use: two pages of physical memory.
enum { FIX_LEAST_BACKED_BYTES = 2 * 2 << 20 };

// Why a place is not corrected.
enum fix_left {
    FIX_TAKEN,  // it is corrected
    FIX_CHOSEN, // the user excluded it
    FIX_NEEDED, // it was observed to wait for data that was needed there, or that is unknown; or it
                // may show what kernels print
    FIX_TIMED,  // the program reads the clock next: it measures a time there
    FIX_SMALL,  // the object is smaller than FIX_LEAST_BACKED_BYTES
    FIX_NO_PEAK, // the correction would lower no memory peak
    FIX_PASSED,  // kernels without probes may use the object in ways that arguments do not show
    FIX_COSTLY,  // allocating pinned memory for the copy would take longer than its waits did
    FIX_POOLED,  // another remedy serves its memory from a pool
    FIX_UNSURE,  // its call path is incomplete, or leads through code without a build id
    FIX_LEFT
};

// One remedy at one call path, as a finding suggests it.
struct fix_place {
    enum analyze_pattern pattern;
    enum plan_remedy remedy;
    enum fix_left left;
    uint32_t path;       // at which the remedy applies
    uint32_t other_path; // alloc-free-churn: of the allocation; late-deallocation: of the last use
    uint64_t last_use;   // which call on that path, counted from 1 after the allocation
    // As recorded.
    enum profile_call_kind kind;
    uint64_t calls;
    uint64_t waited_ns;
    // What the finding estimates for this remedy alone; 0: nothing, or there is no finding.
    uint64_t saved_ns;   // reduction of the run time
    uint64_t peak_bytes; // reduction of the memory peak
    uint64_t object;     // number of the object; 0: the place is not about an object
    const char *name;    // of the object; belongs to the profile
};

// The origin of a row of the plan.
struct fix_row {
    size_t place; // index of the first place that shares the row
    bool waits;   // the corrected call waits; otherwise it allocates
};

struct fix_avoided {
    uint32_t path;
    enum profile_call_kind kind;
};

struct fix {                             // initialize with {0}
    BASE_ARRAY(struct fix_place) places; // by pattern, then by benefit
    BASE_ARRAY(struct fix_row) rows;     // of the plan; index 0 is row 1
    // Call paths that wait and are not places: data was needed there, or it is unknown whether.
    BASE_ARRAY(struct fix_avoided) avoided;
    uint64_t needed_paths, unknown_paths; // of synchronizations and copies
};

// The results of an analysis that places are made of.
struct fix_evidence {
    const struct analyze_wait_path *const *waits;
    size_t wait_count;
    const struct analyze_finding *const *findings;
    size_t finding_count;
    bool peak_stays; // no remedy about memory lowers the peak
    bool passes;     // some launches are known only by their arguments
};

// Find the places, from an analysis or from its results. The analysis must be of this profile,
// which must stay open as long as `fix` is used.
enum base_code fix_find(struct profile *profile, const struct analysis *analysis, struct fix *fix,
                        struct base_error *error);
enum base_code fix_find_by(struct profile *profile, const struct fix_evidence *evidence,
                           struct fix *fix, struct base_error *error);
void fix_fini(struct fix *fix);

// Adds the profile's plain kernels to the plan.
enum base_code fix_plain_kernels(struct profile *profile, struct plan *plan,
                                 struct base_error *error);

// Adds rows to an empty plan for all places with FIX_TAKEN. Sets other places to FIX_UNSURE or
// FIX_POOLED if their call path is not certain or a pool serves their memory.
enum base_code fix_plan(struct profile *profile, struct fix *fix, struct plan *plan,
                        struct base_error *error);

#endif
