// SPDX-License-Identifier: Apache-2.0
// Makes the tables and views of an empty profile. SQLite makes a view in four steps, in each of
// which it parses the text, and that for 59 views took longer than all else before the program
// starts. So views are entered into SQLite's own table, as SQLite does it: its documentation allows
// that (writable_schema), and a test compares the result with that of CREATE VIEW. If SQLite
// refuses it, it makes the views itself.
#include <string.h>

#include "reader.h"
#include "writer.h"

#define CREATE_VIEW "CREATE VIEW "

// Returns the statement's end: the semicolon behind it, or that of the text.
static const char *end_of(const char *statement)
{
    char quote = 0;
    const char *at = statement;
    for (; *at && (quote || *at != ';'); at++) {
        if (quote)
            quote = *at == quote ? 0 : quote;
        else if (*at == '\'' || *at == '"')
            quote = *at;
    }
    return at;
}

static int finish(sqlite3_stmt *statement)
{
    sqlite3_step(statement);
    return sqlite3_finalize(statement);
}

static int execute(sqlite3 *db, const char *sql, const char *end)
{
    sqlite3_stmt *statement = NULL;
    const int result = sqlite3_prepare_v2(db, sql, (int)(end - sql), &statement, NULL);
    return result == SQLITE_OK ? finish(statement) : result;
}

// Enters a view by a prepared statement.
static int enter(sqlite3_stmt *entry, const char *sql, const char *end)
{
    const char *name = sql + strlen(CREATE_VIEW);
    sqlite3_bind_text(entry, 1, name, (int)strcspn(name, " ("), SQLITE_STATIC);
    sqlite3_bind_text(entry, 2, sql, (int)(end - sql), SQLITE_STATIC);
    sqlite3_step(entry);
    return sqlite3_reset(entry);
}

// entry: NULL if SQLite makes views itself.
static int make(sqlite3 *db, sqlite3_stmt *entry, const char *schema)
{
    int result = SQLITE_OK;
    while (result == SQLITE_OK) {
        schema += strspn(schema, " \n;");
        if (!*schema)
            break;
        const char *end = end_of(schema);
        const bool is_view = strncmp(schema, CREATE_VIEW, strlen(CREATE_VIEW)) == 0;
        result = entry && is_view ? enter(entry, schema, end) : execute(db, schema, end);
        schema = end;
    }
    return result;
}

static int make_words(sqlite3 *db, const struct profile_words *words)
{
    sqlite3_stmt *row = NULL;
    char *sql =
        sqlite3_mprintf("CREATE TABLE \"%w\"(value INTEGER PRIMARY KEY, word TEXT)", words->table);
    int result = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    sql = sqlite3_mprintf("INSERT INTO \"%w\" VALUES(?1, ?2)", words->table);
    if (result == SQLITE_OK)
        result = sql ? sqlite3_prepare_v2(db, sql, -1, &row, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    for (unsigned i = 0; i < words->count && result == SQLITE_OK; i++) {
        if (!words->words[i])
            continue;
        sqlite3_bind_int64(row, 1, i);
        sqlite3_bind_text(row, 2, words->words[i], -1, SQLITE_STATIC);
        sqlite3_step(row);
        result = sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    return result;
}

static int make_all(sqlite3 *db, sqlite3_stmt *entry)
{
    static const char *const schemas[] = {
        profile_schema,           profile_probes_schema,      profile_uses_schema,
        profile_transfers_schema, profile_corrections_schema, profile_stacks_schema,
        profile_doubts_schema,    profile_values_schema,      profile_requests_schema,
        profile_shared_schema,    profile_lives_schema,       profile_reuse_schema,
        profile_caches_schema,    profile_sources_schema,     profile_ranks_schema,
        profile_nvtx_schema,      profile_collectives_schema,
    };
    int result = SQLITE_OK;
    for (unsigned i = 0; i < PROFILE_WORDS_TABLES && result == SQLITE_OK; i++)
        result = make_words(db, &profile_words[i]);
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]) && result == SQLITE_OK; i++)
        result = make(db, entry, schemas[i]);
    return result;
}

int profile_fill(sqlite3 *db)
{
    sqlite3_stmt *entry = NULL;
    // No other process sees the file before it is complete, so it needs no rollback.
    int result = sqlite3_exec(db,
                              "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
                              "PRAGMA writable_schema=ON; BEGIN",
                              NULL, NULL, NULL);
    if (result == SQLITE_OK &&
        sqlite3_prepare_v2(db, "INSERT INTO sqlite_master VALUES('view', ?1, ?1, 0, ?2)", -1,
                           &entry, NULL) != SQLITE_OK)
        entry = NULL;
    if (result == SQLITE_OK)
        result = make_all(db, entry);
    sqlite3_finalize(entry);
    if (result != SQLITE_OK)
        return result;
    char *sql = sqlite3_mprintf("INSERT INTO meta VALUES(1, %d, %d, %Q, 0, %d, NULL);"
                                "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT;"
                                "PRAGMA writable_schema=OFF",
                                PROFILE_MAJOR, PROFILE_MINOR, GLINT_VERSION, PROFILE_RECORDER_LOST,
                                PROFILE_APPLICATION_ID, PROFILE_VERSION);
    result = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return result;
}
