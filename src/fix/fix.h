// SPDX-License-Identifier: Apache-2.0
// The public face of src/fix: from what a profile shows to a plan of corrections (plan/plan.h),
// which libglint.so carries out in the program. Only the safe set is ever planned: call paths that
// were seen to be unnecessary, and never to be necessary. docs/fixing.md tells what is done.
#ifndef GLINT_FIX_FIX_H
#define GLINT_FIX_FIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analyze.h"
#include "base/base.h"
#include "plan/plan.h"
#include "profile/profile.h"

// The setting of a profile (profile_setting) by which it is known to be of a corrected run.
#define FIX_SETTING "corrected"

// Only objects of so many bytes are backed when they are used: two pieces of physical memory.
enum { FIX_LEAST_BACKED_BYTES = 2 * 2 << 20 };

enum fix_left {  // why a place is left as it is
    FIX_TAKEN,   // it is not
    FIX_CHOSEN,  // who runs glint wants it so
    FIX_NEEDED,  // it was seen to wait for what was needed there, or nobody can tell
    FIX_TIMED,   // the program reads the clock next: it measures a time there
    FIX_SMALL,   // the object is smaller than FIX_LEAST_BACKED_BYTES
    FIX_NO_PEAK, // the object is in no peak, or none gets lower: it would cost, and save nothing
    FIX_COSTLY,  // pinned memory for the copy would take longer than its waits did
    FIX_POOLED,  // another remedy has its memory from a pool
    FIX_UNSURE,  // its call path is not known to the end, or leads through code without a build id
    FIX_LEFT
};

// One remedy at one call path, as the findings suggest it.
struct fix_place {
    enum analyze_pattern pattern;
    enum plan_remedy remedy;
    enum fix_left left;
    uint32_t path;       // at which the remedy applies
    uint32_t other_path; // alloc-free-churn: of the allocation; late-deallocation: of the last use
    uint64_t last_use;   // which call on that path, counted from 1 behind the allocation
    // As it was recorded.
    enum profile_call_kind kind;
    uint64_t calls;
    uint64_t waited_ns;
    // What the finding promises for the remedy alone; 0: nothing, or there is no finding.
    uint64_t saved_ns;   // off the run time
    uint64_t peak_bytes; // off the peak
    uint64_t object;     // the number of one; 0: the place is about none
    const char *name;    // of the object; the profile's
};

// What a row of the plan comes from.
struct fix_row {
    size_t place; // its index; of several that share the row, the first
    bool waits;   // what is corrected there would wait; else it allocates
};

struct fix_avoided {
    uint32_t path;
    enum profile_call_kind kind;
};

struct fix {                             // begins as {0}
    BASE_ARRAY(struct fix_place) places; // by pattern, then by what they are worth
    BASE_ARRAY(struct fix_row) rows;     // of the plan, by number from 1
    // Call paths that wait, and are no places: because data was needed there, or nobody can tell.
    BASE_ARRAY(struct fix_avoided) avoided;
    uint64_t needed_paths, unknown_paths; // of synchronisations and copies
};

// What an analysis says that places rest on.
struct fix_evidence {
    const struct analyze_wait_path *const *waits;
    size_t wait_count;
    const struct analyze_finding *const *findings;
    size_t finding_count;
    bool peak_stays; // whatever is done about memory
};

// Finds the places, by an analysis or by what one says. It must be of that profile, which must stay
// open as long.
enum base_code fix_find(struct profile *profile, const struct analysis *analysis, struct fix *fix,
                        struct base_error *error);
enum base_code fix_find_by(struct profile *profile, const struct fix_evidence *evidence,
                           struct fix *fix, struct base_error *error);
void fix_fini(struct fix *fix);

// Adds the profile's plain kernels to the plan.
enum base_code fix_plain_kernels(struct profile *profile, struct plan *plan,
                                 struct base_error *error);

// Adds rows to an empty plan for all places that are not left. What cannot be sure of its call
// path, and memory that comes from a pool, is left from now on.
enum base_code fix_plan(struct profile *profile, struct fix *fix, struct plan *plan,
                        struct base_error *error);

#endif
