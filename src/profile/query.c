// SPDX-License-Identifier: Apache-2.0
// Runs one SQL statement of a user that only reads. Anything else is rejected while SQLite prepares
// it, before it runs.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "reader.h"

// Pragmas that only read.
static const char *const harmless[] = {"integrity_check", "quick_check", "table_info",
                                       "table_list",      "table_xinfo", "application_id",
                                       "user_version"};

static bool is_harmless(const char *pragma)
{
    for (unsigned i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        if (pragma && strcasecmp(pragma, harmless[i]) == 0)
            return true;
    }
    return false;
}

static bool sets_it(const char *pragma, const char *argument)
{
    return argument &&
           (strcasecmp(pragma, "application_id") == 0 || strcasecmp(pragma, "user_version") == 0);
}

static const char *what_it_does(int action)
{
    switch (action) {
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE: return "change rows";
    case SQLITE_ATTACH:
    case SQLITE_DETACH: return "attach or detach a database";
    case SQLITE_PRAGMA: return "use that pragma";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT: return "begin or end a transaction";
    case SQLITE_FUNCTION: return "use that function";
    default: return "change the file";
    }
}

int profile_authorize(void *user, int action, const char *first, const char *second,
                      const char *database, const char *view)
{
    struct profile *profile = user;
    (void)database;
    (void)view;
    bool fine = true;
    if (profile->in_query) {
        switch (action) {
        case SQLITE_SELECT:
        case SQLITE_READ:
        case SQLITE_RECURSIVE: break;
        // SQLite reports this when it registers a table-valued function such as json_each. A user
        // cannot change the schema: see SQLITE_DBCONFIG_DEFENSIVE.
        case SQLITE_UPDATE: fine = first && strcmp(first, "sqlite_master") == 0; break;
        case SQLITE_FUNCTION: fine = !second || strcasecmp(second, "load_extension") != 0; break;
        case SQLITE_PRAGMA: fine = is_harmless(first) && !sets_it(first, second); break;
        default: fine = false; break;
        }
    }
    if (!fine && !profile->refusal[0])
        snprintf(profile->refusal, sizeof(profile->refusal), "%s", what_it_does(action));
    return fine ? SQLITE_OK : SQLITE_DENY;
}

// Returns true if another statement follows.
static bool has_more(sqlite3 *db, const char *tail)
{
    while (*tail) {
        sqlite3_stmt *next = NULL;
        const char *rest = tail;
        if (sqlite3_prepare_v2(db, tail, -1, &next, &rest) != SQLITE_OK)
            return true;
        sqlite3_finalize(next);
        if (next || rest == tail)
            return next != NULL;
        tail = rest; // a comment or blanks
    }
    return false;
}

static enum base_code prepare(struct profile *profile, const char *sql, sqlite3_stmt **at,
                              struct base_error *error)
{
    const char *tail;
    profile->refusal[0] = '\0';
    int result = sqlite3_prepare_v2(profile->db, sql, -1, at, &tail);
    if (profile->refusal[0]) {
        sqlite3_finalize(*at);
        *at = NULL;
        return base_fail(error, BASE_INVALID, "profiles are read-only: the statement would %s",
                         profile->refusal);
    }
    if (result == SQLITE_ERROR || result == SQLITE_TOOBIG || result == SQLITE_RANGE)
        return base_fail(error, BASE_INVALID, "%s", sqlite3_errmsg(profile->db));
    if (result != SQLITE_OK)
        return profile_read_fail(profile, result, error);
    BASE_RETURN_IF(!*at, error, BASE_INVALID, "the query is empty");
    bool many = has_more(profile->db, tail);
    bool writes = !sqlite3_stmt_readonly(*at);
    if (many || writes) {
        sqlite3_finalize(*at);
        *at = NULL;
    }
    BASE_RETURN_IF(many, error, BASE_INVALID, "the query has more than one statement");
    BASE_RETURN_IF(writes, error, BASE_INVALID, "profiles are read-only");
    return BASE_OK;
}

static void read_cell(sqlite3_stmt *at, int column, struct profile_cell *cell)
{
    *cell = (struct profile_cell){.kind = PROFILE_CELL_NULL};
    switch (sqlite3_column_type(at, column)) {
    case SQLITE_INTEGER:
        cell->kind = PROFILE_CELL_INTEGER;
        cell->integer = sqlite3_column_int64(at, column);
        break;
    case SQLITE_FLOAT:
        cell->kind = PROFILE_CELL_REAL;
        cell->real = sqlite3_column_double(at, column);
        break;
    case SQLITE_TEXT:
        cell->kind = PROFILE_CELL_TEXT;
        cell->bytes.text = (const char *)sqlite3_column_text(at, column);
        cell->bytes.length = (size_t)sqlite3_column_bytes(at, column);
        break;
    case SQLITE_BLOB:
        cell->kind = PROFILE_CELL_BLOB;
        cell->bytes.text = sqlite3_column_blob(at, column);
        cell->bytes.length = (size_t)sqlite3_column_bytes(at, column);
        break;
    default: break;
    }
}

static enum base_code run(struct profile *profile, sqlite3_stmt *at,
                          const struct profile_sink *sink, struct base_error *error)
{
    unsigned count = (unsigned)sqlite3_column_count(at);
    const char **names = base_new_array(&profile->arena, const char *, count);
    struct profile_cell *cells = base_new_array(&profile->arena, struct profile_cell, count);
    if (!names || !cells)
        return base_no_memory(error);
    for (unsigned i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(at, (int)i);
        names[i] = name ? name : "";
    }
    bool more = sink->columns(sink->user, count, names);
    int result = SQLITE_DONE;
    errno = 0;
    while (more && (result = sqlite3_step(at)) == SQLITE_ROW) {
        for (unsigned i = 0; i < count; i++)
            read_cell(at, (int)i, &cells[i]);
        more = sink->row(sink->user, count, cells);
    }
    if (!more || result == SQLITE_DONE)
        return BASE_OK;
    if (result == SQLITE_ERROR)
        return base_fail(error, BASE_INVALID, "%s", sqlite3_errmsg(profile->db));
    return profile_read_fail(profile, result, error);
}

enum base_code profile_query(struct profile *profile, const char *sql,
                             const struct profile_sink *sink, struct base_error *error)
{
    sqlite3_stmt *at = NULL;
    profile->in_query = true;
    enum base_code code = prepare(profile, sql, &at, error);
    if (code == BASE_OK)
        code = run(profile, at, sink, error);
    sqlite3_finalize(at);
    profile->in_query = false;
    return code;
}
