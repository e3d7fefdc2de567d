// SPDX-License-Identifier: Apache-2.0
// The inside of the reader: an open profile, and iteration over the rows of a statement. Internal
// header of reader.c, query.c and the files that convert integers to rows.
#ifndef GLINT_PROFILE_READER_H
#define GLINT_PROFILE_READER_H

#include "schema.h"

// Columns, by number, of the current row of the statement `at`.
#define I32(column)      sqlite3_column_int(at, column)
#define U32(column)      ((uint32_t)sqlite3_column_int64(at, column))
#define I64(column)      sqlite3_column_int64(at, column)
#define U64(column)      ((uint64_t)sqlite3_column_int64(at, column))
#define BOOL(column)     (sqlite3_column_int64(at, column) != 0)
#define TEXT(column)     profile_text_at(profile, at, column)
#define WORD(column)     profile_word_at(profile, at, column)
// Numbers that order the rows. KEY is the first of them; a walk reads only one column as KEY.
#define NUMBER(column)   profile_number_at(profile, at, column, INT64_MAX)
#define NUMBER32(column) ((uint32_t)profile_number_at(profile, at, column, UINT32_MAX))
#define KEY(column)      profile_key_at(profile, at, column, INT64_MAX)
#define KEY32(column)    ((uint32_t)profile_key_at(profile, at, column, UINT32_MAX))

// Fields that many calls share; index 0 is site 1.
struct profile_site {
    enum profile_call_kind kind;
    uint32_t function, thread, context, stream, path, flags;
};

struct profile {
    sqlite3 *db;
    char *path;
    bool is_job;      // a job profile, of which only queries are possible
    bool lacks_log;   // the file was being written, and its "-wal" file is missing
    bool row_skipped; // a row is not valid and must be skipped: see NUMBER
    bool row_damaged; // a row has an impossible number: see TEXT and NUMBER
    int64_t last_key; // of the current walk
    unsigned minor;   // version in the file's header
    bool in_query;    // the statement is the user's
    char refusal[80]; // what the user's statement tried and may not do
    struct base_arena arena;
    struct profile_meta meta;
    struct profile_program program;
    BASE_ARRAY(const char *) strings;      // index 0 is string 1
    BASE_ARRAY(struct profile_site) sites; // this and the next two are read when first needed
    BASE_ARRAY(struct profile_launch) launches;
    BASE_ARRAY(struct profile_frame) frames;
};

// Opens the file and begins the read transaction (open.c). Does not change the file.
enum base_code profile_open_database(struct profile *profile, struct base_error *error);

// Make and remove a private copy of an unfinished profile with its log or journal (recover.c). The
// copy may be removed while it is open.
struct profile_copy_folder {
    struct base_scratch folder;
    char *file; // owned
};
enum base_code profile_copy_unfinished(const char *path, struct profile_copy_folder *copy,
                                       struct base_error *error);
void profile_remove_copy(struct profile_copy_folder *copy);

// Fails with the error of SQLite.
enum base_code profile_read_fail(struct profile *profile, int result, struct base_error *error);
// Fails because the file contradicts itself.
enum base_code profile_damaged(struct profile *profile, struct base_error *error);

// Returns the text whose number is in the column, or NULL for number 0. A number without a text is
// damage, which ends the walk.
const char *profile_text_at(struct profile *profile, sqlite3_stmt *at, int column);
// Returns a number from 0 to `most` that orders the rows. A larger number or another type is
// damage, because rows would be out of order. A negative number stands for one beyond INT64_MAX,
// which only invalid records have: the row is skipped.
uint64_t profile_number_at(struct profile *profile, sqlite3_stmt *at, int column, uint64_t most);
// Returns true if the current row must be skipped. Called once for each row that has a NUMBER.
bool profile_skips_row(struct profile *profile);
// Passes a row that was read to walk->each, unless it is skipped or damaged. The value is what the
// function that reads the row returns.
#define PROFILE_PASS_ROW(profile, walk, row, error)                        \
    (profile_skips_row(profile)          ? BASE_OK                         \
     : (profile)->row_damaged            ? profile_damaged(profile, error) \
     : (walk)->each((walk)->user, (row)) ? BASE_OK                         \
                                         : BASE_NOT_FOUND)
// As profile_number_at; also damage if it is less than in the previous row, as in a damaged B-tree.
uint64_t profile_key_at(struct profile *profile, sqlite3_stmt *at, int column, uint64_t most);
// As profile_text_at, but returns "" for number 0: for texts that callers require.
const char *profile_word_at(struct profile *profile, sqlite3_stmt *at, int column);

// Calls `take` for every row of a statement until it returns something other than BASE_OK.
// BASE_NOT_FOUND ends the walk and is not a failure.
typedef enum base_code profile_take_row(struct profile *profile, sqlite3_stmt *at, void *state,
                                        struct base_error *error);
enum base_code profile_walk(struct profile *profile, const char *sql, profile_take_row *take,
                            void *state, struct base_error *error);
// Does the same with rows that the profile keeps in an array, unless it has some. If that fails, it
// has none, so that a part is never taken for the whole. take gets NULL.
enum base_code profile_load(struct profile *profile, const char *sql, profile_take_row *take,
                            size_t *count, struct base_error *error);

// Returns true if profiles of this version have the table.
bool profile_has(const struct profile *profile, enum profile_table table);

// Prepares one of the reader's own statements.
enum base_code profile_read_prepare(struct profile *profile, const char *sql, sqlite3_stmt **at,
                                    struct base_error *error);

// Defines profile_each_WHAT from the table it needs, its statement, and the initializers of its
// row.
#define PROFILE_DEFINE_EACH(what, row_type, TABLE, sql, ...)                                      \
    struct each_##what {                                                                          \
        bool (*each)(void *user, const struct profile_##row_type *row);                           \
        void *user;                                                                               \
    };                                                                                            \
    static enum base_code give_##what(struct profile *profile, sqlite3_stmt *at, void *state,     \
                                      struct base_error *error)                                   \
    {                                                                                             \
        const struct each_##what *to = state;                                                     \
        struct profile_##row_type row = {__VA_ARGS__};                                            \
        if (profile_skips_row(profile))                                                           \
            return BASE_OK;                                                                       \
        if (profile->row_damaged)                                                                 \
            return profile_damaged(profile, error);                                               \
        return to->each(to->user, &row) ? BASE_OK : BASE_NOT_FOUND;                               \
    }                                                                                             \
    PROFILE_EACH(what, row_type)                                                                  \
    {                                                                                             \
        if (!profile_has(profile, PROFILE_TABLE_##TABLE))                                         \
            return BASE_OK;                                                                       \
        return profile_walk(profile, sql, give_##what, &(struct each_##what){each, user}, error); \
    }

// Returns the value of an enumeration, or `other` for a value that a newer version added.
static inline int profile_known(sqlite3_stmt *at, int column, int first, int end, int other)
{
    int64_t value = I64(column);
    return value >= first && value < end ? (int)value : other;
}

// Reads the program's rank (ranks.c).
enum base_code profile_load_rank(struct profile *profile, struct base_error *error);
// Reads `launches`, unless that was done before.
enum base_code profile_load_launches(struct profile *profile, struct base_error *error);
// Returns the launch of this number, or zeros if there is none.
struct profile_launch profile_launch_at(const struct profile *profile, int64_t number);

// The callback for sqlite3_set_authorizer (query.c); `user` is the profile.
int profile_authorize(void *user, int action, const char *first, const char *second,
                      const char *database, const char *view);

#endif
