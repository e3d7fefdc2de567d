// SPDX-License-Identifier: Apache-2.0
// The tables of a job profile as data, and its views. Internal.
#ifndef GLINT_JOB_SCHEMA_H
#define GLINT_JOB_SCHEMA_H

#include "job.h"

struct job_column {
    const char *name;
    enum job_type type;
    enum job_role role;
};

struct job_table_info {
    const char *name;
    const struct job_column *columns;
    unsigned count, keys, profile; // profile: the column that says which profile it is
};

extern const struct job_table_info job_tables[JOB_TABLE_COUNT];
extern const char job_views[];

// Adds CREATE TABLE for the table of a database. In the file that is written, its keys are the
// primary key.
void job_put_table(struct base_buf *sql, const char *database, enum job_table table, bool keys);

#endif
