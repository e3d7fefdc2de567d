// SPDX-License-Identifier: Apache-2.0
// What an analysis of a profile holds. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_ANALYSIS_H
#define GLINT_ANALYZE_ANALYSIS_H

#include "model.h"

// What stays of a call.
struct analyze_place {
    uint64_t number;
    uint32_t order;
};

struct analysis {
    struct analyze_model model; // emptied when all is found, but for what findings point to
    struct analyze_thresholds thresholds;
    struct analyze_clocks *clocks;
    struct analyze_finding *findings;       // as they were found
    const struct analyze_finding **ranking; // the same in the order in which they are told
    size_t finding_count, worthwhile_count;
    struct analyze_place *places; // by number
    size_t place_count;
    struct analyze_peak *peaks;
    size_t peak_count;
    uint64_t achievable, least;
    uint64_t moved_bytes; // by copies and sets
    uint64_t unseen_launches;
    uint64_t unseen_because[ANALYZE_UNSEEN_REASONS];
    struct analyze_run_time run_time;
    struct analyze_wait_path *wait_paths; // by path, then by kind
    size_t wait_path_count;
};

// Analyses a model that is there, with thresholds; analyze_free is needed also where this failed.
enum base_code analyze_model(struct analysis *analysis, struct base_error *error);

// sync.c: finds what is to be found on synchronisation, and adds it to the run's findings. False
// when memory ran out.
struct analyze_run;
bool analyze_synchronisation(struct analysis *analysis, struct analyze_run *run);

#endif
