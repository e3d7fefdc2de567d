// SPDX-License-Identifier: Apache-2.0
// The patterns in words for people: what each is called and means, and what to do about it. The
// full definitions are in docs/patterns.md. Inner header of src/report.
#ifndef GLINT_REPORT_PATTERNS_H
#define GLINT_REPORT_PATTERNS_H

#include "analyze/analyze.h"

struct report_pattern {
    const char *title;      // "Allocated too early"
    const char *definition; // a sentence
    const char *remedy;     // likewise
};

const struct report_pattern *report_pattern(enum analyze_pattern pattern);

#endif
