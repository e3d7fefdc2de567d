// SPDX-License-Identifier: Apache-2.0
// A profile that is being summed up for a job profile. job_part.c does most of it. Inner header of
// src/report.
#ifndef GLINT_REPORT_JOB_PARTING_H
#define GLINT_REPORT_JOB_PARTING_H

#include "data.h"
#include "job/job.h"

struct report_parting {
    struct report_data data;
    struct job_part *part;
    struct base_map places; // by number of a call path: const struct job_place *
    bool failed;            // memory ran out
};

// Adds a row to the part.
void report_parting_put(struct report_parting *of, enum job_table table,
                        const struct job_cell *cells);
// Returns the part's copy of a call path that the data has; NULL for number 0.
const struct job_place *report_parting_place(struct report_parting *of, uint32_t path);

// job_part_communication.c: adds collectives and ranges of NVTX.
enum base_code report_parting_put_communication(struct report_parting *of,
                                                struct base_error *error);

#endif
