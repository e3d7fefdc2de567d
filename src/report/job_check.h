// SPDX-License-Identifier: Apache-2.0
// Decides which rules a job profile breaks, and on which ranks. Inner header of src/report.
#ifndef GLINT_REPORT_JOB_CHECK_H
#define GLINT_REPORT_JOB_CHECK_H

#include "job_data.h"

struct report_job_breach {             // a finding that breaks a rule
    struct report_job_finding_row row; // on the first rank of those
    BASE_ARRAY(size_t) profiles;
};

struct report_job_verdict { // on one rule
    bool broken;
    BASE_ARRAY(struct report_job_breach) findings;
    BASE_ARRAY(size_t) profiles; // whose peak is too high
};

struct report_job_check {
    const struct report_check_request *request;
    struct report_job job, baseline; // baseline: if there is one
    struct base_map known;           // findings of the baseline by their key: index + 1
    struct report_job_verdict *verdicts;
    size_t verdict_count, broken;
    uint64_t *uses;      // for each suppression: findings that it matches
    uint64_t suppressed; // findings of ranks
    bool no_memory;
};

// Loads the jobs and decides. Fails with BASE_INVALID if a rule cannot be decided. The check starts
// as {0}; the caller calls report_job_check_fini, also after a failure.
enum base_code report_job_check_load(struct report_job_check *check,
                                     const struct report_check_request *request,
                                     struct base_error *error);
void report_job_check_fini(struct report_job_check *check);

#endif
