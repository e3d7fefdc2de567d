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

// Numbers of rows that are likely to come again soon. It forgets: rows that come again too late
// stand in the file twice, and its memory is bounded, however different rows are.
struct profile_recall {
    int64_t *rows; // by hash: number, then what makes the row what it is
    uint64_t count;
};

// A row of `maps` that is being put together. There is one for each kind of map.
struct profile_open_map {
    struct profile_map piece; // all of it; object 0: none. bits is not used
    unsigned char *bits;      // PROFILE_MAP_ELEMENTS / 8 bytes, made at first
    bool changed;             // since it was last put
};

struct profile_writer {
    sqlite3 *db;
    char *path;
    struct profile_place *place; // held as long as it is written
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
    struct profile_recall shapes, distributions;
    struct profile_open_map maps[PROFILE_MAP_SHARED]; // by kind less 1
    sqlite3_stmt *put_map, *get_map;
    void *frame;               // room for a compressed row of `maps`
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
// Interns the texts of a row, then puts it as a first one. Texts stand in it at the columns given:
//     PROFILE_PUT(writer, THREADS, values, error, {2, thread->name})
struct profile_text {
    unsigned column;
    const char *text;
};
enum base_code profile_put_with(struct profile_writer *writer, enum profile_table table,
                                int64_t *values, const struct profile_text *texts, unsigned count,
                                struct base_error *error);
#define PROFILE_PUT(writer, TABLE, values, error, ...)                                   \
    profile_put_with(                                                                    \
        (writer), PROFILE_TABLE_##TABLE, (values), (struct profile_text[]){__VA_ARGS__}, \
        sizeof((struct profile_text[]){__VA_ARGS__}) / sizeof(struct profile_text), (error))
// The number of a row in a table of rows that are written once: values[0] is for that number, and
// the others make the row what it is.
enum base_code profile_intern_row(struct profile_writer *writer, struct base_map *known,
                                  enum profile_table table, int64_t *values,
                                  struct base_error *error);

// The number of a row of so many values, the first of which is for it. *is_new: the caller has to
// put it.
enum base_code profile_recall_row(struct profile_writer *writer, struct profile_recall *recall,
                                  int64_t *values, unsigned count, bool *is_new,
                                  struct base_error *error);

// Begins a transaction where there is none.
enum base_code profile_begin(struct profile_writer *writer, struct base_error *error);
int profile_prepare(struct profile_writer *writer, const char *sql, sqlite3_stmt **statement);
// Ends the writing for good, as SQLite's result says. What was committed stays.
enum base_code profile_give_up(struct profile_writer *writer, int result, struct base_error *error);

// Puts the maps that were changed (write_maps.c); an SQLite result. And gives back their memory.
int profile_put_maps(struct profile_writer *writer);
void profile_free_maps(struct profile_writer *writer);

// A reserved name (create.c).
struct profile_place {
    char *path;   // where the profile will be, links followed
    char *made;   // the new file's name until it gets its own; NULL: it has it
    int lock;     // holds the new file
    int old_lock; // holds what will be replaced; -1: nothing will
};
// Gives the new file its name, if it does not have it yet.
enum base_code profile_place_settle(struct profile_place *place, struct base_error *error);
// Frees it, and the hold on the name. Any descriptor of a file that a process closes drops SQLite's
// locks on it: so only when SQLite has closed it too.
void profile_place_free(struct profile_place *place);

#endif
