// SPDX-License-Identifier: Apache-2.0
// Compares two job profiles: the highest value of a rank and the mean of each finding, object,
// kernel, copy direction and wait. Inner header of src/report.
#ifndef GLINT_REPORT_JOB_DIFF_H
#define GLINT_REPORT_JOB_DIFF_H

#include "diff.h"
#include "job_data.h"

struct report_job_change {
    enum report_diff_kind kind;
    enum report_diff_change change;
    const struct report_job_row *rows[2];         // old, new; NULL: absent or a finding
    const struct report_job_finding *findings[2]; // the same for findings
    const char *measure;                          // what decided: "GPU time, max"
    enum report_diff_unit unit;
    uint64_t values[2]; // of it
};

struct report_job_total { // a row of the summary
    const char *name;
    enum report_diff_unit unit;
    uint64_t values[2];
    bool known, differs;
};

enum { REPORT_JOB_TOTALS = 6 };

struct report_job_diff {
    struct report_job jobs[2];
    struct base_arena arena;
    BASE_ARRAY(struct report_job_change) changes; // by change, then by kind, the largest first
    uint64_t same[REPORT_DIFF_KINDS];
    struct report_job_total totals[REPORT_JOB_TOTALS];
    uint32_t tolerance_percent;
    bool timed; // times of both are real
    bool no_memory;
};

// Loads and compares. The diff starts as {0}; the caller calls report_job_diff_fini, also after a
// failure.
enum base_code report_job_diff_load(struct report_job_diff *diff,
                                    const struct report_diff_request *request,
                                    struct base_error *error);
void report_job_diff_fini(struct report_job_diff *diff);
bool report_job_diff_is_empty(const struct report_job_diff *diff);

// Adds what the change is about: "stencil", "memory-leak at solve.cu:31".
void report_job_diff_put_name(const struct report_job_change *change, struct base_buf *out);

#endif
