// SPDX-License-Identifier: Apache-2.0
// Decides which rules a profile breaks, and by which findings. Inner header of src/report.
#ifndef GLINT_REPORT_CHECK_H
#define GLINT_REPORT_CHECK_H

#include "diff.h"

struct report_verdict { // on one rule
    bool broken;
    BASE_ARRAY(const struct analyze_finding *) findings; // which break the rule
};

struct report_check {
    const struct report_check_request *request;
    const struct report_data *data; // of the profile
    uint64_t peak_bytes, baseline_peak_bytes;
    struct report_verdict *verdicts; // one for each rule
    size_t verdict_count, broken;
    uint32_t *suppressed_by; // for each finding: which suppression, from 1; 0: none
    uint64_t *uses;          // for each suppression: findings that it matches
    uint64_t suppressed;     // findings
    // With a baseline, both profiles are in `diff`; otherwise the profile is in `own`.
    struct report_diff diff;
    struct report_data own;
};

// Loads the profiles and decides. The check starts as {0}; the caller calls report_check_fini, also
// after a failure.
enum base_code report_check_load(struct report_check *check,
                                 const struct report_check_request *request,
                                 struct base_error *error);
void report_check_fini(struct report_check *check);

// Adds why the rule is broken, in a sentence.
void report_check_put_why(const struct report_check *check, size_t rule, struct base_buf *out);
// Adds a suppression: "memory-leak, object cache_*, path init".
void report_check_put_suppression(const struct report_suppression *row, struct base_buf *out);

#endif
