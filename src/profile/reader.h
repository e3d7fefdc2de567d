// SPDX-License-Identifier: Apache-2.0
// The reader from inside: an open profile, and walking over the rows of a statement. Inner header
// of reader.c, of the files that make rows of numbers, and of query.c.
#ifndef GLINT_PROFILE_READER_H
#define GLINT_PROFILE_READER_H

#include "schema.h"

// What calls share, by its number less 1.
struct profile_site {
    enum profile_call_kind kind;
    uint32_t function, thread, context, stream, path, flags;
};

struct profile {
    sqlite3 *db;
    char *path;
    bool lacks_log;   // it was being written, and the log that belongs to it is not there
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

// Fails as SQLite did.
enum base_code profile_read_fail(struct profile *profile, int result, struct base_error *error);
// Fails because the file contradicts itself.
enum base_code profile_damaged(struct profile *profile, struct base_error *error);

// A text by its number in the column; NULL where it is 0 or there is no such text.
const char *profile_text_at(const struct profile *profile, sqlite3_stmt *at, int column);

// Calls take(profile, row, state) for every row of a statement until it returns other than BASE_OK;
// BASE_NOT_FOUND ends the walk and is no failure.
typedef enum base_code profile_take_row(struct profile *profile, sqlite3_stmt *at, void *state,
                                        struct base_error *error);
enum base_code profile_walk(struct profile *profile, const char *sql, profile_take_row *take,
                            void *state, struct base_error *error);

// Read `launches`, once.
enum base_code profile_load_launches(struct profile *profile, struct base_error *error);
// The launch of that number; all zero where there is none.
struct profile_launch profile_launch_at(const struct profile *profile, int64_t number);

// For sqlite3_set_authorizer (query.c): the user is profile.
int profile_authorize(void *user, int action, const char *first, const char *second,
                      const char *database, const char *view);

#endif
