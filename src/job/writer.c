// SPDX-License-Identifier: Apache-2.0
// Collects profiles in a temporary database. Only the profile that is being added is in memory.
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KNOWN = 1 << 16, MOST_KNOWN_BYTES = 16 << 20 };

enum base_code job_sqlite_fail(sqlite3 *db, int result, struct base_error *error)
{
    switch (result & 0xff) {
    case SQLITE_NOMEM: return base_no_memory(error);
    case SQLITE_FULL: return base_fail(error, BASE_IO, "cannot merge: %s", strerror(ENOSPC));
    case SQLITE_CONSTRAINT:
        return base_fail(error, BASE_CORRUPT, "a job profile has a row twice: it is damaged");
    default:
        return base_fail(error, BASE_IO, "cannot merge: %s",
                         db ? sqlite3_errmsg(db) : sqlite3_errstr(result));
    }
}

enum base_code job_run(struct job_writer *writer, const char *sql, struct base_error *error)
{
    const int result = sqlite3_exec(writer->db, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? BASE_OK : job_sqlite_fail(writer->db, result, error);
}

static enum base_code prepare(struct job_writer *writer, const char *sql, sqlite3_stmt **at,
                              struct base_error *error)
{
    const int result = sqlite3_prepare_v3(writer->db, sql, -1, SQLITE_PREPARE_PERSISTENT, at, NULL);
    return result == SQLITE_OK ? BASE_OK : job_sqlite_fail(writer->db, result, error);
}

static enum base_code prepare_inserts(struct job_writer *writer, struct base_error *error)
{
    enum base_code code = BASE_OK;
    for (unsigned i = 0; i < JOB_TABLE_COUNT && code == BASE_OK; i++) {
        struct base_buf sql = {0};
        base_buf_printf(&sql, "INSERT INTO main.%s VALUES(?", job_tables[i].name);
        for (unsigned c = 1; c < job_tables[i].count; c++)
            base_buf_puts(&sql, ",?");
        base_buf_putc(&sql, ')');
        code = sql.failed ? base_no_memory(error)
                          : prepare(writer, sql.text, &writer->inserts[i], error);
        base_buf_fini(&sql);
    }
    return code;
}

static enum base_code fill(struct job_writer *writer, struct base_error *error)
{
    static const char *const statements[JOB_STATEMENTS] = {
        [JOB_FIND_TEXT] = "SELECT id FROM main.strings WHERE text = ?",
        [JOB_ADD_TEXT] = "INSERT INTO main.strings(text) VALUES(?)",
        [JOB_FIND_PATH] = "SELECT id FROM main.paths WHERE trace = ? AND function = ? AND file = ?"
                          " AND line = ?",
        [JOB_ADD_PATH] = "INSERT INTO main.paths(trace, function, file, line) VALUES(?,?,?,?)",
        [JOB_FIND_PROFILE] =
            "SELECT p.number, p.digest, f.text, f.text > n.text FROM main.profiles p"
            " LEFT JOIN main.strings f ON f.id = p.file LEFT JOIN main.strings n ON n.id = ?5"
            " WHERE p.start_unix_ns IS ?1 AND p.pid IS ?2 AND p.host IS ?3 AND p.rank IS ?4",
        [JOB_RENAME_PROFILE] = "UPDATE main.profiles SET file = ?2 WHERE number = ?1",
        [JOB_ADD_UNMERGED] = "INSERT OR IGNORE INTO main.unmerged VALUES(?,?)",
    };
    struct base_buf sql = {0};
    // 0 stands for an unknown text of a path, so that paths with one are equal.
    base_buf_puts(&sql,
                  "PRAGMA main.journal_mode=OFF; PRAGMA main.synchronous=OFF;"
                  "PRAGMA main.locking_mode=EXCLUSIVE; PRAGMA main.cache_size=-32000; BEGIN;"
                  "CREATE TABLE main.strings(id INTEGER PRIMARY KEY, text TEXT UNIQUE);"
                  "CREATE TABLE main.paths(id INTEGER PRIMARY KEY, trace, function, file, line,"
                  " UNIQUE(trace, function, file, line));"
                  "CREATE TABLE main.unmerged(file, reason, UNIQUE(file, reason));");
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++)
        job_put_table(&sql, "main", (enum job_table)i, false);
    base_buf_puts(&sql, "CREATE INDEX main.starts ON profiles(start_unix_ns, pid);"
                        "CREATE UNIQUE INDEX main.numbers ON profiles(number)");
    enum base_code code = sql.failed ? base_no_memory(error) : job_run(writer, sql.text, error);
    base_buf_fini(&sql);
    for (unsigned i = 0; i < JOB_STATEMENTS && code == BASE_OK; i++)
        code = prepare(writer, statements[i], &writer->statements[i], error);
    return code == BASE_OK ? prepare_inserts(writer, error) : code;
}

enum base_code job_create(struct job_writer **writer, struct base_error *error)
{
    struct job_writer *made = calloc(1, sizeof(*made));
    struct base_buf path = {0};
    *writer = NULL;
    BASE_RETURN_IF_NO_MEMORY(!made, error);
    base_arena_init(&made->known_texts, 0);
    enum base_code code = base_scratch_make("merge", 0, &made->scratch, error);
    if (code == BASE_OK) {
        base_buf_printf(&path, "%s/rows", made->scratch.path);
        const int result =
            path.failed
                ? SQLITE_NOMEM
                : sqlite3_open_v2(path.text, &made->db,
                                  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                  NULL);
        code = result == SQLITE_OK ? fill(made, error) : job_sqlite_fail(made->db, result, error);
    }
    base_buf_fini(&path);
    if (code == BASE_OK)
        *writer = made;
    else
        job_destroy(made);
    return code;
}

void job_destroy(struct job_writer *writer)
{
    if (!writer)
        return;
    for (unsigned i = 0; i < JOB_STATEMENTS; i++)
        sqlite3_finalize(writer->statements[i]);
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++)
        sqlite3_finalize(writer->inserts[i]);
    sqlite3_close(writer->db);
    base_scratch_remove(&writer->scratch);
    base_map_fini(&writer->known);
    base_arena_fini(&writer->known_texts);
    free(writer);
}

uint64_t job_count(const struct job_writer *writer)
{
    return writer->profiles;
}

// --- Texts and call paths ------------------------------------------------------------------------

// Runs a statement that gives one number or none, and resets it. *number is 0 for none.
static enum base_code ask(struct job_writer *writer, enum job_statement statement, int64_t *number,
                          struct base_error *error)
{
    sqlite3_stmt *at = writer->statements[statement];
    const int result = sqlite3_step(at);
    *number = result == SQLITE_ROW ? sqlite3_column_int64(at, 0) : 0;
    sqlite3_reset(at);
    return result == SQLITE_ROW || result == SQLITE_DONE
               ? BASE_OK
               : job_sqlite_fail(writer->db, result, error);
}

// Remembers the number of a text. Without memory for that, the text is looked up again.
static void remember(struct job_writer *writer, const char *text, size_t length, int64_t number)
{
    if (writer->known.live >= MOST_KNOWN ||
        writer->known_texts.allocated_bytes > MOST_KNOWN_BYTES) {
        base_map_fini(&writer->known);
        base_arena_fini(&writer->known_texts);
        writer->known = (struct base_map){0};
        base_arena_init(&writer->known_texts, 0);
    }
    const char *kept = base_alloc_text(&writer->known_texts, text, length);
    uint64_t *slot =
        kept ? base_map_put_str(&writer->known, (struct base_str){kept, length}, NULL) : NULL;
    if (slot)
        *slot = (uint64_t)number;
}

enum base_code job_number_text(struct job_writer *writer, const char *text, size_t length,
                               int64_t *number, struct base_error *error)
{
    const uint64_t *known = base_map_get_str(&writer->known, (struct base_str){text, length});
    if (known) {
        *number = (int64_t)*known;
        return BASE_OK;
    }
    sqlite3_bind_text64(writer->statements[JOB_FIND_TEXT], 1, text, length, SQLITE_STATIC,
                        SQLITE_UTF8);
    enum base_code code = ask(writer, JOB_FIND_TEXT, number, error);
    if (code == BASE_OK && *number == 0) {
        int64_t none;
        sqlite3_bind_text64(writer->statements[JOB_ADD_TEXT], 1, text, length, SQLITE_STATIC,
                            SQLITE_UTF8);
        code = ask(writer, JOB_ADD_TEXT, &none, error);
        *number = sqlite3_last_insert_rowid(writer->db);
        writer->texts = (uint64_t)*number;
    }
    if (code == BASE_OK)
        remember(writer, text, length, *number);
    return code;
}

enum base_code job_number_path(struct job_writer *writer, const struct job_path_texts *path,
                               int64_t *number, struct base_error *error)
{
    const int64_t values[] = {path->trace, path->function, path->file, path->line};
    enum base_code code = BASE_OK;
    *number = 0;
    for (unsigned s = JOB_FIND_PATH; s <= JOB_ADD_PATH && code == BASE_OK && *number == 0; s++) {
        for (int i = 0; i < 4; i++)
            sqlite3_bind_int64(writer->statements[s], i + 1, values[i]);
        code = ask(writer, (enum job_statement)s, number, error);
        if (s == JOB_ADD_PATH) {
            *number = sqlite3_last_insert_rowid(writer->db);
            writer->paths = (uint64_t)*number;
        }
    }
    return code;
}

static enum base_code number_place(struct job_writer *writer, const struct job_place *place,
                                   int64_t *number, struct base_error *error)
{
    struct job_path_texts path = {.line = place ? place->line : 0};
    const char *texts[] = {place ? place->trace : NULL, place ? place->function : NULL,
                           place ? place->file : NULL};
    int64_t *numbers[] = {&path.trace, &path.function, &path.file};
    enum base_code code = BASE_OK;
    *number = 0;
    for (unsigned i = 0; i < 3 && code == BASE_OK; i++) {
        if (texts[i])
            code = job_number_text(writer, texts[i], strlen(texts[i]), numbers[i], error);
    }
    return code == BASE_OK && place ? job_number_path(writer, &path, number, error) : code;
}

// --- Profiles ------------------------------------------------------------------------------------

static void bind(sqlite3_stmt *at, int position, const struct job_cell *cell)
{
    if (cell->known)
        sqlite3_bind_int64(at, position, cell->number);
    else
        sqlite3_bind_null(at, position);
}

enum base_code job_insert(struct job_writer *writer, enum job_table table,
                          const struct job_cell *cells, struct base_error *error)
{
    sqlite3_stmt *at = writer->inserts[table];
    for (unsigned i = 0; i < job_tables[table].count; i++)
        bind(at, (int)i + 1, &cells[i]);
    const int result = sqlite3_step(at);
    sqlite3_reset(at);
    return result == SQLITE_DONE ? BASE_OK : job_sqlite_fail(writer->db, result, error);
}

static enum base_code fail_conflict(struct job_writer *writer, const struct job_identity *identity,
                                    const char *file, struct base_error *error)
{
    sqlite3_stmt *at = NULL;
    const char *other = NULL;
    if (sqlite3_prepare_v2(writer->db, "SELECT text FROM main.strings WHERE id = ?", -1, &at,
                           NULL) == SQLITE_OK) {
        sqlite3_bind_int64(at, 1, identity->file.number);
        if (sqlite3_step(at) == SQLITE_ROW)
            other = (const char *)sqlite3_column_text(at, 0);
    }
    if (identity->rank.known)
        base_fail(error, BASE_CONFLICT,
                  "%s and %s have different profiles of the same process, rank %lld: "
                  "merge only one of them",
                  file ? file : "?", other ? other : "?", (long long)identity->rank.number);
    else
        base_fail(error, BASE_CONFLICT,
                  "%s and %s have different profiles of the same process, number %lld: "
                  "merge only one of them",
                  file ? file : "?", other ? other : "?", (long long)identity->pid.number);
    sqlite3_finalize(at);
    return BASE_CONFLICT;
}

// Of profiles that do not say which process they are of, only equal ones are of the same process.
static bool is_anonymous(const struct job_identity *identity)
{
    return !(identity->pid.known && identity->pid.number) ||
           !(identity->start.known && identity->start.number);
}

enum base_code job_number_profile(struct job_writer *writer, const struct job_identity *identity,
                                  int64_t *number, struct base_error *error)
{
    sqlite3_stmt *at = writer->statements[JOB_FIND_PROFILE];
    enum base_code code = BASE_OK;
    int64_t renamed = 0;
    bool found = false;
    bind(at, 1, &identity->start);
    bind(at, 2, &identity->pid);
    bind(at, 3, &identity->host);
    bind(at, 4, &identity->rank);
    bind(at, 5, &identity->file);
    *number = 0;
    int result;
    while ((result = sqlite3_step(at)) == SQLITE_ROW && !found && code == BASE_OK) {
        found = sqlite3_column_int64(at, 1) == identity->digest.number;
        if (found && sqlite3_column_int(at, 3))
            renamed = sqlite3_column_int64(at, 0);
        if (!found && !is_anonymous(identity))
            code = fail_conflict(writer, identity, (const char *)sqlite3_column_text(at, 2), error);
    }
    if (code == BASE_OK && result != SQLITE_ROW && result != SQLITE_DONE)
        code = job_sqlite_fail(writer->db, result, error);
    sqlite3_reset(at);
    if (renamed) {
        int64_t none;
        sqlite3_bind_int64(writer->statements[JOB_RENAME_PROFILE], 1, renamed);
        bind(writer->statements[JOB_RENAME_PROFILE], 2, &identity->file);
        code = ask(writer, JOB_RENAME_PROFILE, &none, error);
    }
    if (code == BASE_OK && !found)
        *number = (int64_t)++writer->profiles;
    return code;
}

// Replaces the texts and places of a row by their numbers.
static enum base_code number_row(struct job_writer *writer, enum job_table table,
                                 const struct job_cell *cells, int64_t profile,
                                 struct job_cell numbered[JOB_MOST_COLUMNS],
                                 struct base_error *error)
{
    const struct job_table_info *info = &job_tables[table];
    enum base_code code = BASE_OK;
    for (unsigned i = 0; i < info->count && code == BASE_OK; i++) {
        const struct job_cell *cell = &cells[i];
        numbered[i] = (struct job_cell){.known = cell->known, .number = cell->number};
        if (info->columns[i].type == JOB_PROFILE)
            numbered[i] = job_number((uint64_t)profile);
        else if (info->columns[i].type == JOB_TEXT && cell->known)
            code =
                job_number_text(writer, cell->text, strlen(cell->text), &numbered[i].number, error);
        else if (info->columns[i].type == JOB_PATH)
            code = number_place(writer, cell->place, &numbered[i].number, error);
    }
    return code;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

enum base_code job_add_part(struct job_writer *writer, struct job_part *part, const char *file,
                            struct base_error *error)
{
    char digest[JOB_DIGEST_BYTES];
    struct job_cell row[JOB_MOST_COLUMNS], numbered[JOB_MOST_COLUMNS];
    job_part_settle(part);
    BASE_RETURN_IF_NO_MEMORY(part->failed || !job_part_digest(part, digest), error);
    BASE_RETURN_IF(part->rows[JOB_PROFILES].count != 1, error, BASE_INVALID,
                   "a part is of one profile");
    memcpy(row, part->rows[JOB_PROFILES].items[0].cells, JOB_PROFILES_COUNT * sizeof(row[0]));
    row[JOB_PROFILES_file] = job_text(base_name(file));
    row[JOB_PROFILES_digest] = job_text(digest);
    enum base_code code = number_row(writer, JOB_PROFILES, row, 0, numbered, error);
    const struct job_identity identity = {
        numbered[JOB_PROFILES_rank],   numbered[JOB_PROFILES_host],
        numbered[JOB_PROFILES_pid],    numbered[JOB_PROFILES_start_unix_ns],
        numbered[JOB_PROFILES_digest], numbered[JOB_PROFILES_file]};
    int64_t number = 0;
    if (code == BASE_OK)
        code = job_number_profile(writer, &identity, &number, error);
    if (code != BASE_OK || number == 0)
        return code;
    numbered[JOB_PROFILES_number] = job_number((uint64_t)number);
    code = job_insert(writer, JOB_PROFILES, numbered, error);
    for (unsigned i = JOB_PROFILES + 1; i < JOB_TABLE_COUNT; i++) {
        for (size_t at = 0; at < part->rows[i].count && code == BASE_OK; at++) {
            code = number_row(writer, (enum job_table)i, part->rows[i].items[at].cells, number,
                              numbered, error);
            if (code == BASE_OK)
                code = job_insert(writer, (enum job_table)i, numbered, error);
        }
    }
    return code;
}

enum base_code job_add_unmerged(struct job_writer *writer, const char *file, const char *reason,
                                struct base_error *error)
{
    const char *texts[] = {base_name(file), reason};
    enum base_code code = BASE_OK;
    for (int i = 0; i < 2 && code == BASE_OK; i++) {
        int64_t number = 0;
        code = job_number_text(writer, texts[i], strlen(texts[i]), &number, error);
        sqlite3_bind_int64(writer->statements[JOB_ADD_UNMERGED], i + 1, number);
    }
    int64_t none;
    return code == BASE_OK ? ask(writer, JOB_ADD_UNMERGED, &none, error) : code;
}
