// SPDX-License-Identifier: Apache-2.0
// Remedies of synchronisation while they are looked for: what each would change, call by call.
// Inner header of src/analyze.
#ifndef GLINT_ANALYZE_REMEDIES_H
#define GLINT_ANALYZE_REMEDIES_H

#include "analyses.h"
#include "sync.h"

struct analyze_act {
    uint32_t remedy, call; // indices
    uint8_t action;        // enum analyze_action
};

struct analyze_remedy {
    struct analyze_finding finding;
    uint64_t bound_ns; // that it can gain at most
    uint64_t cost_ns;  // that it takes once, for memory that is pinned
    bool left_out;     // while they are chosen
    size_t first_act, act_count;
};

struct analyze_remedies {
    const struct analyze_model *model;
    const struct analyze_thresholds *thresholds;
    struct analyze_waits waits;
    const struct analysis *analysis; // for what is known of call paths
    struct base_map keys;            // to index + 1
    BASE_ARRAY(struct analyze_remedy) remedies;
    BASE_ARRAY(struct analyze_act) acts;
    bool failed; // memory ran out
};

// The remedy of a pattern at two call paths, which must not be 0; made where there is none. NULL
// when memory ran out.
struct analyze_remedy *analyze_remedy_at(struct analyze_remedies *remedies,
                                         enum analyze_pattern pattern, uint32_t path,
                                         uint32_t other_path, uint64_t size_class);
// What it does with a call that is one of those that it is about, and what that can gain.
void analyze_add_act(struct analyze_remedies *remedies, const struct analyze_remedy *remedy,
                     uint32_t call, enum analyze_action action, uint64_t bound_ns);

// Each adds remedies.
void analyze_find_syncs(struct analyze_remedies *remedies);      // syncs.c
void analyze_find_transfers(struct analyze_remedies *remedies);  // syncs.c
void analyze_find_churn(struct analyze_remedies *remedies);      // churn.c
void analyze_find_duplicates(struct analyze_remedies *remedies); // duplicates.c

// Leaves those that are worth it, with their worth, and tells the analysis of the run with all of
// them, and of copies that cost too much. False when memory ran out.
bool analyze_rate_remedies(struct analyze_remedies *remedies, struct analysis *analysis);

#endif
