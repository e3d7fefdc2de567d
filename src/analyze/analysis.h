// SPDX-License-Identifier: Apache-2.0
// What an analysis of a profile holds. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_ANALYSIS_H
#define GLINT_ANALYZE_ANALYSIS_H

#include "model.h"

// What is kept of a call when the model is emptied.
struct analyze_place {
    uint64_t number;
    uint32_t order;
};

struct analysis {
    struct analyze_model model; // emptied at the end, except for what findings point to
    struct analyze_thresholds thresholds;
    struct analyze_clocks *clocks;
    struct analyze_finding *findings;       // in the order of patterns
    const struct analyze_finding **ranking; // the same by rank
    size_t finding_count, worthwhile_count;
    struct analyze_place *places; // by number
    size_t place_count;
    struct analyze_peak *peaks;
    size_t peak_count;
    uint64_t peak_bytes; // analyze_peak_bytes()
    struct analyze_levels levels;
    uint64_t used_bytes; // by copies, sets and kernels
    uint64_t unseen_launches, passed_launches;
    uint64_t unseen_because[ANALYZE_UNSEEN_REASONS];
    struct analyze_contents_seen contents_seen;
    struct analyze_run_time run_time;
    struct analyze_wait_path *wait_paths; // by path, then by kind
    size_t wait_path_count;
    struct analyze_flow flow;
};

// Analyzes the model of an analysis by its thresholds. The caller calls analyze_free, also after a
// failure.
enum base_code analyze_model(struct analysis *analysis, struct base_error *error);

// sync.c: finds the patterns of waits and adds their findings to the run. Returns false when memory
// ran out.
struct analyze_run;
bool analyze_synchronisation(struct analysis *analysis, struct analyze_run *run);

// covered.c: of worthwhile findings, which are ranked, marks those that are covered by others as
// not worthwhile. The caller ranks again.
void analyze_cover(struct analysis *analysis, const struct analyze_run *run);

#endif
