// SPDX-License-Identifier: Apache-2.0
// The writer from inside: its transactions and its tables of what stands in the file once. Inner
// header of writer.c and of the files that turn rows into numbers.
#ifndef GLINT_PROFILE_WRITER_H
#define GLINT_PROFILE_WRITER_H

#include "schema.h"

// Rows of one table on their way. Most of the cost of a row is that of running a statement, so
// statements take many rows.
struct profile_pending {
    sqlite3_stmt *one, *many; // prepared when first needed
    int64_t *rows;
    unsigned count;
};

struct profile_writer {
    sqlite3 *db;
    char *path;
    struct profile_pending pending[PROFILE_TABLE_COUNT];
    sqlite3_stmt *put_string, *drop_path, *drop_graph, *set_waited;
    uint32_t highest_path; // of those that were given
    bool in_transaction;
    int64_t begun_ns;    // when the open transaction began
    int wal_pages;       // in the log after the last commit
    int wal_step_pages;  // every so many are brought into the file
    int wal_limit_pages; // beyond which that happens next
    struct base_arena arena;
    struct base_map strings, sites, launches, frames; // to the numbers of their rows
    uint64_t note_count;
    struct base_error failure; // the first one, that ended the writing
};

// Puts a row into the table, inside a transaction. The first row of what belongs together commits
// the one before it where that is old enough, so that what belongs together is in one.
enum base_code profile_put_first(struct profile_writer *writer, enum profile_table table,
                                 const int64_t *values, struct base_error *error);
enum base_code profile_put(struct profile_writer *writer, enum profile_table table,
                           const int64_t *values, struct base_error *error);
// Removes the rows that were put under a number. The statement is prepared at first.
enum base_code profile_drop(struct profile_writer *writer, sqlite3_stmt **statement,
                            enum profile_table table, const char *column, uint64_t number,
                            struct base_error *error);
// The number of a text in `strings`; 0 for NULL.
enum base_code profile_intern_text(struct profile_writer *writer, const char *text, int64_t *id,
                                   struct base_error *error);
// The number of a row in a table of rows that are written once: values[0] is for that number, and
// the others make the row what it is.
enum base_code profile_intern_row(struct profile_writer *writer, struct base_map *known,
                                  enum profile_table table, int64_t *values,
                                  struct base_error *error);

// Makes an empty profile at path, whole or not at all (create.c).
enum base_code profile_make_file(const char *path, bool overwrite, struct base_error *error);

#endif
