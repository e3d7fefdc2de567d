// SPDX-License-Identifier: Apache-2.0
// What an analysis of a profile holds. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_ANALYSIS_H
#define GLINT_ANALYZE_ANALYSIS_H

#include "model.h"

struct analysis {
    struct analyze_model model;
    struct analyze_thresholds thresholds;
    struct analyze_clocks *clocks;
    struct analyze_finding *findings;
    size_t finding_count;
    struct analyze_peak *peaks;
    size_t peak_count;
    uint64_t achievable, least;
};

// Analyses a model that is there, with thresholds; analyze_free is needed also where this failed.
enum base_code analyze_model(struct analysis *analysis, struct base_error *error);

#endif
