// SPDX-License-Identifier: Apache-2.0
// The rows of one profile, in their canonical order. Internal header of src/job.
#ifndef GLINT_JOB_PART_H
#define GLINT_JOB_PART_H

#include "schema.h"

struct job_row {
    const struct job_cell *cells; // of all columns; that of the profile's number is unused
};

struct job_part {
    struct base_arena arena;
    BASE_ARRAY(struct job_row) rows[JOB_TABLE_COUNT];
    bool failed; // memory ran out
};

// Sorts the rows of all tables by their keys and joins those with equal keys.
void job_part_settle(struct job_part *part);

// Computes the hash of what the settled part holds, without the file's name.
enum { JOB_DIGEST_BYTES = 33 }; // in hexadecimal, with the terminating 0
bool job_part_digest(const struct job_part *part, char digest[JOB_DIGEST_BYTES]);

#endif
