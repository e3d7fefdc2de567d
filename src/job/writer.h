// SPDX-License-Identifier: Apache-2.0
// The inside of the writer: a temporary database, in which texts, call paths and profiles are
// numbered as they come. Internal header of src/job.
#ifndef GLINT_JOB_WRITER_H
#define GLINT_JOB_WRITER_H

#include <sqlite3.h>

#include "part.h"

enum job_statement {
    JOB_FIND_TEXT,
    JOB_ADD_TEXT,
    JOB_FIND_PATH,
    JOB_ADD_PATH,
    JOB_FIND_PROFILE,
    JOB_RENAME_PROFILE,
    JOB_ADD_UNMERGED,
    JOB_STATEMENTS
};

struct job_writer {
    sqlite3 *db;
    struct base_scratch scratch;
    sqlite3_stmt *statements[JOB_STATEMENTS];
    sqlite3_stmt *inserts[JOB_TABLE_COUNT];
    uint64_t profiles, texts, paths; // how many the database has; they are numbered from 1
    // Numbers of the texts that were used most recently, which saves looking them up.
    struct base_map known;
    struct base_arena known_texts;
};

// Fails with SQLite's error.
enum base_code job_sqlite_fail(sqlite3 *db, int result, struct base_error *error);
// Runs statements on the writer's database.
enum base_code job_run(struct job_writer *writer, const char *sql, struct base_error *error);

// Stores the number of a text, which is added if it is new.
enum base_code job_number_text(struct job_writer *writer, const char *text, size_t length,
                               int64_t *number, struct base_error *error);
// The same for a call path, by the numbers of its texts; 0: none.
struct job_path_texts {
    int64_t trace, function, file, line;
};
enum base_code job_number_path(struct job_writer *writer, const struct job_path_texts *path,
                               int64_t *number, struct base_error *error);
// Inserts a row of numbers; NULL for those that are not known.
enum base_code job_insert(struct job_writer *writer, enum job_table table,
                          const struct job_cell *cells, struct base_error *error);

// Decides whether the profile of this row is new. Stores its number if it is, else 0; an equal
// profile of another file gives the smaller name to the job. Texts are numbers.
struct job_identity {
    struct job_cell rank, host, pid, start, digest, file;
};
enum base_code job_number_profile(struct job_writer *writer, const struct job_identity *identity,
                                  int64_t *number, struct base_error *error);

#endif
