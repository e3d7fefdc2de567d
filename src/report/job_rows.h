// SPDX-License-Identifier: Apache-2.0
// Reading the rows of a job profile's tables, for job_data.c. Inner header of src/report.
#ifndef GLINT_REPORT_JOB_ROWS_H
#define GLINT_REPORT_JOB_ROWS_H

#include "job_data.h"

struct report_job_reading {
    struct report_job *job;
    struct base_error *error;
    bool damaged, no_memory;
    void *user;
};

// Runs a query, whose rows `take` gets with the reading as `user`. Fails if it set one of the
// flags.
enum base_code report_job_query(struct report_job_reading *reading, const char *sql,
                                bool (*take)(void *user, unsigned count,
                                             const struct profile_cell *cells));
// Return what a cell refers to, NULL for none. They set `damaged` if there is no such row.
const char *report_job_text_at(struct report_job_reading *reading, const struct profile_cell *cell);
const struct job_place *report_job_place_at(struct report_job_reading *reading,
                                            const struct profile_cell *cell);
size_t report_job_profile_at(struct report_job_reading *reading, const struct profile_cell *cell);

// A number of each profile, and room to sort them.
struct report_job_values {
    uint64_t *numbers, *sorted;
    size_t *profiles; // of the numbers, if those are not of all profiles
};
bool report_job_values_init(struct report_job_values *values, size_t count);
void report_job_values_fini(struct report_job_values *values);
// Returns how the first numbers spread.
struct report_job_spread report_job_spread(const struct report_job_values *values, size_t count);

enum base_code report_job_read_rows(struct report_job *job, enum report_job_kind kind,
                                    struct base_error *error);
enum base_code report_job_read_findings(struct report_job *job, const struct report_rules *rules,
                                        struct base_error *error);

#endif
