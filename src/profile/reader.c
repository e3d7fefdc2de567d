// SPDX-License-Identifier: Apache-2.0
// Opens a profile with its meta data, its program and its texts, and iterates over rows, with the
// checks that detect damage. All reading is one read transaction, so that a file that is being
// written looks the same throughout. open.c opens the database.
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum base_code profile_damaged(struct profile *profile, struct base_error *error)
{
    if (profile->lacks_log)
        return base_fail(error, BASE_CORRUPT,
                         "%s is incomplete: its recorder was killed, and %s-wal, which "
                         "holds the rest, is missing",
                         profile->path, profile->path);
    return base_fail(error, BASE_CORRUPT, "%s is damaged", profile->path);
}

enum base_code profile_read_fail(struct profile *profile, int result, struct base_error *error)
{
    if ((result & 0xff) == SQLITE_CORRUPT)
        return profile_damaged(profile, error);
    return profile_sqlite_fail(profile->db, result, "read", profile->path, error);
}

const char *profile_text_at(struct profile *profile, sqlite3_stmt *at, int column)
{
    int64_t number = sqlite3_column_int64(at, column);
    if (number > 0 && (uint64_t)number <= profile->strings.count)
        return profile->strings.items[number - 1];
    profile->row_damaged |= number != 0;
    return NULL;
}

uint64_t profile_number_at(struct profile *profile, sqlite3_stmt *at, int column, uint64_t most)
{
    int64_t number = sqlite3_column_int64(at, column);
    if (sqlite3_column_type(at, column) == SQLITE_INTEGER && number >= 0 &&
        (uint64_t)number <= most)
        return (uint64_t)number;
    if (sqlite3_column_type(at, column) == SQLITE_INTEGER && number < 0)
        profile->row_skipped = true;
    else
        profile->row_damaged = true;
    return 0;
}

bool profile_skips_row(struct profile *profile)
{
    const bool skipped = profile->row_skipped;
    profile->row_skipped = false;
    return skipped;
}

uint64_t profile_key_at(struct profile *profile, sqlite3_stmt *at, int column, uint64_t most)
{
    const uint64_t number = profile_number_at(profile, at, column, most);
    if (!profile->row_skipped) {
        profile->row_damaged |= (int64_t)number < profile->last_key;
        profile->last_key = (int64_t)number;
    }
    return number;
}

const char *profile_word_at(struct profile *profile, sqlite3_stmt *at, int column)
{
    const char *text = profile_text_at(profile, at, column);
    return text ? text : "";
}

bool profile_has(const struct profile *profile, enum profile_table table)
{
    return profile_tables[table].since <= profile->minor;
}

enum base_code profile_read_prepare(struct profile *profile, const char *sql, sqlite3_stmt **at,
                                    struct base_error *error)
{
    errno = 0;
    int result = sqlite3_prepare_v2(profile->db, sql, -1, at, NULL);
    if (result == SQLITE_ERROR) // the file lacks tables of this version
        return profile_damaged(profile, error);
    return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
}

enum base_code profile_walk(struct profile *profile, const char *sql, profile_take_row *take,
                            void *state, struct base_error *error)
{
    sqlite3_stmt *at;
    int result = SQLITE_DONE;
    enum base_code code = profile_read_prepare(profile, sql, &at, error);
    if (code != BASE_OK)
        return code;
    const int64_t last_key = profile->last_key; // of the enclosing walk
    profile->row_damaged = profile->row_skipped = false;
    profile->last_key = -1;
    while (code == BASE_OK && (result = sqlite3_step(at)) == SQLITE_ROW) {
        code = take(profile, at, state, error);
        if ((code == BASE_OK || code == BASE_NOT_FOUND) && profile->row_damaged)
            code = profile_damaged(profile, error);
    }
    if (code == BASE_OK && result != SQLITE_DONE)
        code = profile_read_fail(profile, result, error);
    profile->last_key = last_key;
    sqlite3_finalize(at);
    return code == BASE_NOT_FOUND ? BASE_OK : code;
}

enum base_code profile_load(struct profile *profile, const char *sql, profile_take_row *take,
                            size_t *count, struct base_error *error)
{
    if (*count)
        return BASE_OK;
    const enum base_code code = profile_walk(profile, sql, take, NULL, error);
    if (code != BASE_OK)
        *count = 0;
    return code;
}

// --- What is read of every profile ---------------------------------------------------------------

static const char *keep_text(struct profile *profile, sqlite3_stmt *at, int column)
{
    const char *text = (const char *)sqlite3_column_text(at, column);
    return base_alloc_text(&profile->arena, text ? text : "",
                           text ? (size_t)sqlite3_column_bytes(at, column) : 0);
}

static enum base_code take_string(struct profile *profile, sqlite3_stmt *at, void *state,
                                  struct base_error *error)
{
    (void)state;
    if (sqlite3_column_int64(at, 0) != (int64_t)profile->strings.count + 1)
        return profile_damaged(profile, error);
    const char **slot = base_array_push(&profile->strings);
    if (slot)
        *slot = keep_text(profile, at, 1);
    return slot && *slot ? BASE_OK : base_no_memory(error);
}

static enum base_code take_meta(struct profile *profile, sqlite3_stmt *at, void *state,
                                struct base_error *error)
{
    int ending = sqlite3_column_int(at, 4);
    profile->meta = (struct profile_meta){.major = (uint32_t)sqlite3_column_int64(at, 0),
                                          .minor = (uint32_t)sqlite3_column_int64(at, 1),
                                          .glint = keep_text(profile, at, 2),
                                          .complete = sqlite3_column_int(at, 3) != 0,
                                          .ending = ending > 0 && ending < PROFILE_ENDINGS
                                                        ? (enum profile_ending)ending
                                                        : PROFILE_RECORDER_LOST,
                                          .code = sqlite3_column_int(at, 5)};
    *(bool *)state = true;
    return profile->meta.glint ? BASE_OK : base_no_memory(error);
}

static enum base_code take_program(struct profile *profile, sqlite3_stmt *at, void *state,
                                   struct base_error *error)
{
    (void)state;
    (void)error;
    profile->program =
        (struct profile_program){.executable = profile_text_at(profile, at, 0),
                                 .folder = profile_text_at(profile, at, 1),
                                 .pid = sqlite3_column_int(at, 2),
                                 .parent = sqlite3_column_int(at, 3),
                                 .driver_version = (uint32_t)sqlite3_column_int64(at, 4),
                                 .start_monotonic_ns = sqlite3_column_int64(at, 5),
                                 .start_unix_ns = sqlite3_column_int64(at, 6),
                                 .simulated = sqlite3_column_int(at, 7) != 0,
                                 .timestamps = sqlite3_column_int(at, 8) != 0,
                                 .has_end = sqlite3_column_type(at, 9) != SQLITE_NULL,
                                 .end_ns = sqlite3_column_int64(at, 9),
                                 .calls_made = (uint64_t)sqlite3_column_int64(at, 10),
                                 .objects_made = (uint64_t)sqlite3_column_int64(at, 11)};
    return BASE_OK;
}

struct arguments {
    BASE_ARRAY(const char *) texts;
};

static enum base_code take_argument(struct profile *profile, sqlite3_stmt *at, void *state,
                                    struct base_error *error)
{
    struct arguments *arguments = state;
    const char **slot = base_array_push_in(&arguments->texts, &profile->arena);
    BASE_RETURN_IF_NO_MEMORY(!slot, error);
    const char *text = profile_text_at(profile, at, 0);
    *slot = text ? text : "";
    return BASE_OK;
}

// Checks that the tables are tables: a malicious file could have views in their place.
static enum base_code take_name(struct profile *profile, sqlite3_stmt *at, void *state,
                                struct base_error *error)
{
    (void)error;
    const char *name = (const char *)sqlite3_column_text(at, 0);
    for (unsigned i = 0; name && i < PROFILE_TABLE_COUNT; i++)
        *(unsigned *)state += profile_has(profile, (enum profile_table)i) &&
                              strcmp(profile_tables[i].name, name) == 0;
    *(unsigned *)state += name && (strcmp(name, "meta") == 0 || strcmp(name, "strings") == 0);
    return BASE_OK;
}

static enum base_code load(struct profile *profile, struct base_error *error)
{
    unsigned tables = 0, wanted = 2; // two besides those of the list
    for (unsigned i = 0; i < PROFILE_TABLE_COUNT; i++)
        wanted += profile_has(profile, (enum profile_table)i);
    bool has_meta = false;
    struct arguments arguments = {{0}};
    enum base_code code =
        profile_walk(profile, "SELECT name FROM sqlite_schema WHERE type='table' AND rootpage>0",
                     take_name, &tables, error);
    if (code == BASE_OK && tables != wanted)
        code = profile_damaged(profile, error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT major, minor, glint, complete, ending, code FROM meta "
                            "WHERE id=1",
                            take_meta, &has_meta, error);
    if (code == BASE_OK && !has_meta)
        code = profile_damaged(profile, error);
    if (code == BASE_OK)
        code = profile_walk(profile, "SELECT id, text FROM strings ORDER BY id", take_string, NULL,
                            error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT executable, folder, pid, parent, driver_version,"
                            " start_monotonic, start_unix, simulated, timestamps, end, calls,"
                            " objects FROM program LEFT JOIN program_end USING(id) WHERE id=1",
                            take_program, NULL, error);
    if (code == BASE_OK)
        code = profile_walk(profile, "SELECT text FROM arguments ORDER BY position", take_argument,
                            &arguments, error);
    if (code == BASE_OK)
        code = profile_load_rank(profile, error);
    profile->program.arguments = arguments.texts.items;
    profile->program.argument_count = (uint32_t)arguments.texts.count;
    return code;
}

// --- Opening -------------------------------------------------------------------------------------

static enum base_code open_as(const char *path, bool is_job, struct profile **profile,
                              struct base_error *error)
{
    *profile = NULL;
    struct profile *made = calloc(1, sizeof(*made));
    if (made)
        made->path = strdup(path);
    if (!made || !made->path) {
        free(made);
        return base_no_memory(error);
    }
    base_arena_init(&made->arena, 0);
    made->is_job = is_job;
    enum base_code code = profile_open_database(made, error);
    if (code == BASE_OK && !is_job)
        code = load(made, error);
    if (code == BASE_OK) {
        sqlite3_set_authorizer(made->db, profile_authorize, made);
        *profile = made;
        return BASE_OK;
    }
    profile_close(made);
    return code;
}

enum base_code profile_open(const char *path, struct profile **profile, struct base_error *error)
{
    return open_as(path, false, profile, error);
}

enum base_code profile_open_job(const char *path, struct profile **profile,
                                struct base_error *error)
{
    return open_as(path, true, profile, error);
}

void profile_close(struct profile *profile)
{
    if (!profile)
        return;
    sqlite3_close(profile->db);
    base_array_fini(&profile->strings);
    base_array_fini(&profile->sites);
    base_array_fini(&profile->launches);
    base_array_fini(&profile->frames);
    base_arena_fini(&profile->arena);
    free(profile->path);
    free(profile);
}

const struct profile_meta *profile_meta(const struct profile *profile)
{
    return &profile->meta;
}

const struct profile_program *profile_program(const struct profile *profile)
{
    return &profile->program;
}

void profile_interrupt(struct profile *profile)
{
    sqlite3_interrupt(profile->db);
}
