// SPDX-License-Identifier: Apache-2.0
// The reader from inside: an open profile, and walking over the rows of a statement. Inner header
// of reader.c, of the files that make rows of numbers, and of query.c.
#ifndef GLINT_PROFILE_READER_H
#define GLINT_PROFILE_READER_H

#include "schema.h"

// Columns of the row that the statement `at` stands at, by their number.
#define I32(column)      sqlite3_column_int(at, column)
#define U32(column)      ((uint32_t)sqlite3_column_int64(at, column))
#define I64(column)      sqlite3_column_int64(at, column)
#define U64(column)      ((uint64_t)sqlite3_column_int64(at, column))
#define BOOL(column)     (sqlite3_column_int64(at, column) != 0)
#define TEXT(column)     profile_text_at(profile, at, column)
#define WORD(column)     profile_word_at(profile, at, column)
// By which rows are in order; KEY: first of all, and in each walk of one kind only.
#define NUMBER(column)   profile_number_at(profile, at, column, INT64_MAX)
#define NUMBER32(column) ((uint32_t)profile_number_at(profile, at, column, UINT32_MAX))
#define KEY(column)      profile_key_at(profile, at, column, INT64_MAX)
#define KEY32(column)    ((uint32_t)profile_key_at(profile, at, column, UINT32_MAX))

// What calls share, by its number less 1.
struct profile_site {
    enum profile_call_kind kind;
    uint32_t function, thread, context, stream, path, flags;
};

struct profile {
    sqlite3 *db;
    char *path;
    bool lacks_log;   // it was being written, and the log that belongs to it is not there
    bool row_skipped; // a row that was read makes no sense: see NUMBER
    bool row_damaged; // a row that was read has a number that cannot be: see TEXT and NUMBER
    int64_t last_key; // of the walk under way
    unsigned minor;   // version, as the file's head tells
    bool in_query;    // statements are the user's
    char refusal[80]; // what the user's statement may not do
    struct base_arena arena;
    struct profile_meta meta;
    struct profile_program program;
    BASE_ARRAY(const char *) strings;      // by number less 1
    BASE_ARRAY(struct profile_site) sites; // read when first needed, as the two below
    BASE_ARRAY(struct profile_launch) launches;
    BASE_ARRAY(struct profile_frame) frames;
};

// Opens the file and begins the read transaction (open.c). Changes nothing but for the profile.
enum base_code profile_open_database(struct profile *profile, struct base_error *error);

// A private copy of an unfinished profile with its log or journal (recover.c), and its removal,
// which files that are open survive.
struct profile_copy_folder {
    char *folder, *file; // owned
};
enum base_code profile_copy_unfinished(const char *path, struct profile_copy_folder *copy,
                                       struct base_error *error);
void profile_remove_copy(struct profile_copy_folder *copy);

// Fails as SQLite did.
enum base_code profile_read_fail(struct profile *profile, int result, struct base_error *error);
// Fails because the file contradicts itself.
enum base_code profile_damaged(struct profile *profile, struct base_error *error);

// A text by its number in the column; NULL where it is 0. A number without a text is damage, at
// which the walk over the rows ends.
const char *profile_text_at(struct profile *profile, sqlite3_stmt *at, int column);
// A number from 0 to `most` that rows are ordered by. What is larger, or no integer, would come in
// another order than it is promised, and is damage. A negative one was written for a number beyond
// INT64_MAX, which only a record that makes no sense has: the row is skipped.
uint64_t profile_number_at(struct profile *profile, sqlite3_stmt *at, int column, uint64_t most);
// Whether the row that was just read is skipped; asked once for each row that has a NUMBER.
bool profile_skips_row(struct profile *profile);
// The same, and not less than in the row before, as it may be where a file's tree is damaged.
uint64_t profile_key_at(struct profile *profile, sqlite3_stmt *at, int column, uint64_t most);
// As profile_text_at, and "" where the number is 0: for rows that make no sense without it.
const char *profile_word_at(struct profile *profile, sqlite3_stmt *at, int column);

// Calls take(profile, row, state) for every row of a statement until it returns other than BASE_OK;
// BASE_NOT_FOUND ends the walk and is no failure.
typedef enum base_code profile_take_row(struct profile *profile, sqlite3_stmt *at, void *state,
                                        struct base_error *error);
enum base_code profile_walk(struct profile *profile, const char *sql, profile_take_row *take,
                            void *state, struct base_error *error);

// Whether profiles of its version have the table.
bool profile_has(const struct profile *profile, enum profile_table table);

// Prepares a statement of the reader's own.
enum base_code profile_read_prepare(struct profile *profile, const char *sql, sqlite3_stmt **at,
                                    struct base_error *error);

// Defines profile_each_WHAT: the table it needs, the statement, and the row that its columns make.
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

// A value that a newer version may have added: `other` for one that this one does not know.
static inline int profile_known(sqlite3_stmt *at, int column, int first, int end, int other)
{
    int64_t value = I64(column);
    return value >= first && value < end ? (int)value : other;
}

// Read `launches`, once.
enum base_code profile_load_launches(struct profile *profile, struct base_error *error);
// The launch of that number; all zero where there is none.
struct profile_launch profile_launch_at(const struct profile *profile, int64_t number);

// For sqlite3_set_authorizer (query.c): the user is profile.
int profile_authorize(void *user, int action, const char *first, const char *second,
                      const char *database, const char *view);

#endif
