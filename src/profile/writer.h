// SPDX-License-Identifier: Apache-2.0
// The inside of the writer: transactions, and tables of what is stored only once. Internal header
// of writer.c and of the files that convert rows to integers.
#ifndef GLINT_PROFILE_WRITER_H
#define GLINT_PROFILE_WRITER_H

#include "schema.h"

// Rows of one table that are not written yet. Most of the cost of a row is running a statement, so
// a statement writes many rows.
struct profile_pending {
    sqlite3_stmt *one, *many; // prepared on first use
    int64_t *rows;
    unsigned count;
};

// A bounded cache of the numbers of recent rows. A row that recurs after the cache has dropped it
// is stored twice.
struct profile_recall {
    int64_t *rows; // by hash: the number, then the values of the row
    uint64_t count;
};

// A row of `maps` that is being assembled from pieces. There is one for each kind of map.
struct profile_open_map {
    struct profile_map piece; // the whole row; object 0: none. `piece.bits` is unused
    unsigned char *bits;      // PROFILE_MAP_ELEMENTS / 8 bytes, allocated on first use
    bool changed;             // since it was last written
};

struct profile_writer {
    sqlite3 *db;
    char *path;
    struct profile_place *place; // held until the writer ends
    struct profile_pending pending[PROFILE_TABLE_COUNT];
    sqlite3_stmt *put_string, *drop_path, *drop_graph, *set_waited;
    uint32_t highest_path; // highest number of a path written so far
    bool in_transaction;
    int64_t begun_ns;    // when the open transaction began
    int wal_pages;       // in the log after the last commit
    int wal_step_pages;  // pages between two checkpoints
    int wal_limit_pages; // size of the log at which the next checkpoint happens
    struct base_arena arena;
    struct base_map strings, sites, launches, frames; // from contents to row numbers
    uint64_t note_count;
    struct profile_recall shapes, distributions, values, runs, distances;
    uint64_t contents_count;
    struct profile_open_map maps[PROFILE_MAP_SHARED]; // by kind less 1
    sqlite3_stmt *put_map, *get_map;
    void *frame;               // buffer for a compressed row of `maps`
    struct base_error failure; // the error that ended the writing
};

// Add a row to a table, inside a transaction. profile_put_first is for the first of several rows
// that belong together: it commits the open transaction first if that is old enough, so that the
// rows end up in one transaction.
enum base_code profile_put_first(struct profile_writer *writer, enum profile_table table,
                                 const int64_t *values, struct base_error *error);
enum base_code profile_put(struct profile_writer *writer, enum profile_table table,
                           const int64_t *values, struct base_error *error);
// Removes the rows of a number. Prepares the statement on first use.
enum base_code profile_drop(struct profile_writer *writer, sqlite3_stmt **statement,
                            enum profile_table table, const char *column, uint64_t number,
                            struct base_error *error);
// Sets *id to the number of a text in `strings`, added if it is new; 0 for NULL.
enum base_code profile_intern_text(struct profile_writer *writer, const char *text, int64_t *id,
                                   struct base_error *error);
// Stores the numbers of the texts in the given columns of the row, then adds it as
// profile_put_first does:
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
// Sets values[0] to the number of the row that has the other values, and adds the row if it is new.
enum base_code profile_intern_row(struct profile_writer *writer, struct base_map *known,
                                  enum profile_table table, int64_t *values,
                                  struct base_error *error);

// The same with a bounded cache: sets values[0], and *is_new if the caller must add the row.
enum base_code profile_recall_row(struct profile_writer *writer, struct profile_recall *recall,
                                  int64_t *values, unsigned count, bool *is_new,
                                  struct base_error *error);

// Adds what is known of the program's rank, if anything is (ranks.c).
enum base_code profile_put_rank(struct profile_writer *writer, const struct profile_rank *rank,
                                struct base_error *error);

// Begins a transaction unless one is open.
enum base_code profile_begin(struct profile_writer *writer, struct base_error *error);
int profile_prepare(struct profile_writer *writer, const char *sql, sqlite3_stmt **statement);
// Stops writing permanently, with the error of SQLite's result. What was committed stays.
enum base_code profile_give_up(struct profile_writer *writer, int result, struct base_error *error);

// Write the maps that changed, returning an SQLite result, and free their memory (write_maps.c).
int profile_put_maps(struct profile_writer *writer);
void profile_free_maps(struct profile_writer *writer);

// Makes the tables and views of an empty profile (fill.c), and returns SQLite's result.
int profile_fill(sqlite3 *db);

// A reserved name (create.c).
struct profile_place {
    char *path;   // of the profile, with links resolved
    char *made;   // temporary name of the new file; NULL: it has its final name
    int lock;     // descriptor that locks the new file
    int old_lock; // descriptor that locks the file to replace; -1: there is none
};
// Renames the new file to its final name, unless it has it.
enum base_code profile_place_settle(struct profile_place *place, struct base_error *error);
// Frees the place and releases the name. Call it only after SQLite has closed the file: closing any
// descriptor of a file drops all locks that the process, and so SQLite, holds on it.
void profile_place_free(struct profile_place *place);

#endif
