// SPDX-License-Identifier: Apache-2.0
// Writes a job profile in its canonical form. Texts are numbered in the order of their bytes, call
// paths and profiles by what they hold, and rows are inserted in the order of their keys into a new
// file, in one transaction. So the file depends on nothing but the set of its profiles.
//
// The version of SQLite that wrote a file is in its header. It is replaced by a fixed one, which no
// reader looks at.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer.h"

enum { VERSION_AT = 96, SQLITE_OF_FILES = 3040000 }; // in the file's header

struct order { // new numbers by those of the writer; 0: not used
    uint32_t *texts, *paths, *profiles;
    uint64_t text_count, path_count, profile_count;
};

static void number_of(sqlite3_context *context, const uint32_t *numbers, uint64_t count,
                      sqlite3_value *value)
{
    const int64_t at = sqlite3_value_int64(value);
    if (sqlite3_value_type(value) == SQLITE_NULL)
        sqlite3_result_null(context);
    else
        sqlite3_result_int64(context, at > 0 && (uint64_t)at <= count ? numbers[at] : 0);
}

static void text_number(sqlite3_context *context, int count, sqlite3_value **values)
{
    const struct order *order = sqlite3_user_data(context);
    (void)count;
    number_of(context, order->texts, order->text_count, values[0]);
}

static void path_number(sqlite3_context *context, int count, sqlite3_value **values)
{
    const struct order *order = sqlite3_user_data(context);
    (void)count;
    number_of(context, order->paths, order->path_count, values[0]);
}

static void profile_number(sqlite3_context *context, int count, sqlite3_value **values)
{
    const struct order *order = sqlite3_user_data(context);
    (void)count;
    number_of(context, order->profiles, order->profile_count, values[0]);
}

// --- Numbering -----------------------------------------------------------------------------------

// Passes the numbers of every row of a statement to `take`.
static enum base_code each(struct job_writer *writer, const char *sql,
                           void (*take)(struct order *order, sqlite3_stmt *at), struct order *order,
                           struct base_error *error)
{
    sqlite3_stmt *at = NULL;
    int result = sqlite3_prepare_v2(writer->db, sql, -1, &at, NULL);
    if (result == SQLITE_OK) {
        while ((result = sqlite3_step(at)) == SQLITE_ROW)
            take(order, at);
    }
    const enum base_code code = result == SQLITE_DONE || result == SQLITE_OK
                                    ? BASE_OK
                                    : job_sqlite_fail(writer->db, result, error);
    sqlite3_finalize(at);
    return code;
}

static void mark(uint32_t *numbers, uint64_t count, int64_t at)
{
    if (at > 0 && (uint64_t)at <= count)
        numbers[at] = 1;
}

static void mark_texts(struct order *order, sqlite3_stmt *at)
{
    for (int i = 0; i < sqlite3_column_count(at); i++)
        mark(order->texts, order->text_count, sqlite3_column_int64(at, i));
}

static void mark_paths(struct order *order, sqlite3_stmt *at)
{
    for (int i = 0; i < sqlite3_column_count(at); i++)
        mark(order->paths, order->path_count, sqlite3_column_int64(at, i));
}

static void mark_texts_of_path(struct order *order, sqlite3_stmt *at)
{
    const int64_t path = sqlite3_column_int64(at, 0);
    for (int i = 1; i < 4 && order->paths[path]; i++)
        mark(order->texts, order->text_count, sqlite3_column_int64(at, i));
}

// Marks the texts and call paths that rows use: texts of profiles that were there already, or that
// had another name, are in the database, too.
static enum base_code mark_used(struct job_writer *writer, struct order *order,
                                struct base_error *error)
{
    enum base_code code = BASE_OK;
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++) {
        for (unsigned type = JOB_TEXT; type <= JOB_PATH && code == BASE_OK; type++) {
            struct base_buf sql = {0};
            for (unsigned c = 0; c < job_tables[i].count; c++) {
                if (job_tables[i].columns[c].type == type)
                    base_buf_printf(&sql, "%s%s", sql.length ? ", " : "SELECT ",
                                    job_tables[i].columns[c].name);
            }
            if (sql.length)
                base_buf_printf(&sql, " FROM main.%s", job_tables[i].name);
            if (sql.failed)
                code = base_no_memory(error);
            else if (sql.length)
                code = each(writer, sql.text, type == JOB_TEXT ? mark_texts : mark_paths, order,
                            error);
            base_buf_fini(&sql);
        }
    }
    if (code == BASE_OK)
        code = each(writer, "SELECT file, reason FROM main.unmerged", mark_texts, order, error);
    if (code == BASE_OK)
        code = each(writer, "SELECT id, trace, function, file FROM main.paths", mark_texts_of_path,
                    order, error);
    return code;
}

static void give_text(struct order *order, sqlite3_stmt *at)
{
    uint32_t *number = &order->texts[sqlite3_column_int64(at, 0)];
    if (*number)
        *number = ++order->texts[0];
}

static void give_path(struct order *order, sqlite3_stmt *at)
{
    uint32_t *number = &order->paths[sqlite3_column_int64(at, 0)];
    if (*number)
        *number = ++order->paths[0];
}

static void give_profile(struct order *order, sqlite3_stmt *at)
{
    order->profiles[sqlite3_column_int64(at, 0)] = ++order->profiles[0];
}

// Place 0 of each array counts. Numbers 0 stand for nothing, so it is set back to 0.
static enum base_code number_all(struct job_writer *writer, struct order *order,
                                 struct base_error *error)
{
    order->text_count = writer->texts;
    order->path_count = writer->paths;
    order->profile_count = writer->profiles;
    order->texts = calloc(writer->texts + 1, sizeof(*order->texts));
    order->paths = calloc(writer->paths + 1, sizeof(*order->paths));
    order->profiles = calloc(writer->profiles + 1, sizeof(*order->profiles));
    BASE_RETURN_IF_NO_MEMORY(!order->texts || !order->paths || !order->profiles, error);
    enum base_code code = mark_used(writer, order, error);
    if (code == BASE_OK)
        code = each(writer, "SELECT id FROM main.strings ORDER BY text", give_text, order, error);
    order->texts[0] = 0;
    if (code == BASE_OK)
        code = each(writer,
                    "SELECT id FROM main.paths ORDER BY text_number(trace), text_number(function),"
                    " text_number(file), line",
                    give_path, order, error);
    order->paths[0] = 0;
    if (code == BASE_OK)
        code = each(writer,
                    "SELECT number FROM main.profiles ORDER BY rank IS NULL, rank,"
                    " text_number(host), start_unix_ns, pid, text_number(digest)",
                    give_profile, order, error);
    order->profiles[0] = 0;
    return code;
}

// --- The file ------------------------------------------------------------------------------------

static void put_columns(struct base_buf *sql, const struct job_table_info *info)
{
    static const char *const functions[] = {[JOB_NUMBER] = "",
                                            [JOB_TEXT] = "text_number",
                                            [JOB_PATH] = "path_number",
                                            [JOB_PROFILE] = "profile_number"};
    for (unsigned i = 0; i < info->count; i++)
        base_buf_printf(sql, "%s%s(%s)", i ? ", " : "", functions[info->columns[i].type],
                        info->columns[i].name);
}

static void put_statements(struct base_buf *sql)
{
    base_buf_printf(
        sql,
        "PRAGMA out.journal_mode=OFF; PRAGMA out.synchronous=OFF; PRAGMA out.cache_size=-16000;"
        "BEGIN; PRAGMA out.application_id=%d; PRAGMA out.user_version=%d;"
        "CREATE TABLE out.meta(id INTEGER PRIMARY KEY, major, minor);"
        "CREATE TABLE out.strings(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
        "CREATE TABLE out.paths(id INTEGER PRIMARY KEY, trace, function, file, line);"
        "CREATE TABLE out.unmerged(file, reason, PRIMARY KEY(file, reason)) WITHOUT ROWID;",
        PROFILE_JOB_APPLICATION_ID, PROFILE_JOB_MAJOR * 1000 + PROFILE_JOB_MINOR);
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++)
        job_put_table(sql, "out", (enum job_table)i, true);
    base_buf_printf(sql,
                    "INSERT INTO out.meta VALUES(1, %d, %d);"
                    "INSERT INTO out.strings SELECT text_number(id) AS n, text FROM main.strings"
                    " WHERE text_number(id) ORDER BY text;"
                    "INSERT INTO out.paths SELECT path_number(id) AS n, text_number(trace),"
                    " text_number(function), text_number(file), line FROM main.paths"
                    " WHERE path_number(id) ORDER BY n;"
                    "INSERT INTO out.unmerged SELECT text_number(file), text_number(reason)"
                    " FROM main.unmerged ORDER BY 1, 2;",
                    PROFILE_JOB_MAJOR, PROFILE_JOB_MINOR);
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++) {
        base_buf_printf(sql, "INSERT INTO out.%s SELECT ", job_tables[i].name);
        put_columns(sql, &job_tables[i]);
        base_buf_printf(sql, " FROM main.%s ORDER BY 1", job_tables[i].name);
        for (unsigned k = 1; k < job_tables[i].keys; k++)
            base_buf_printf(sql, ", %u", k + 1);
        base_buf_putc(sql, ';');
    }
}

// The statements of the views name no database, so they are run with the file as the main one.
static enum base_code add_views(const char *path, struct base_error *error)
{
    sqlite3 *db = NULL;
    struct base_buf sql = {0};
    base_buf_printf(&sql, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN; %s COMMIT",
                    job_views);
    int result =
        sql.failed ? SQLITE_NOMEM
                   : sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(db, sql.text, NULL, NULL, NULL);
    const enum base_code code = result == SQLITE_OK ? BASE_OK : job_sqlite_fail(db, result, error);
    sqlite3_close(db);
    base_buf_fini(&sql);
    return code;
}

static enum base_code build(struct job_writer *writer, const char *path, struct order *order,
                            struct base_error *error)
{
    static const struct {
        const char *name;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"text_number", text_number},
                     {"path_number", path_number},
                     {"profile_number", profile_number}};
    enum base_code code = BASE_OK;
    for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]) && code == BASE_OK; i++) {
        const int result =
            sqlite3_create_function_v2(writer->db, functions[i].name, 1, SQLITE_UTF8, order,
                                       functions[i].function, NULL, NULL, NULL);
        if (result != SQLITE_OK)
            code = job_sqlite_fail(writer->db, result, error);
    }
    if (code == BASE_OK)
        code = job_run(writer, "COMMIT", error);
    if (code == BASE_OK)
        code = number_all(writer, order, error);
    char *attach = sqlite3_mprintf("ATTACH %Q AS out", path);
    if (code == BASE_OK)
        code = attach ? job_run(writer, attach, error) : base_no_memory(error);
    sqlite3_free(attach);
    struct base_buf sql = {0};
    put_statements(&sql);
    base_buf_puts(&sql, "COMMIT; DETACH out");
    if (code == BASE_OK)
        code = sql.failed ? base_no_memory(error) : job_run(writer, sql.text, error);
    base_buf_fini(&sql);
    return code == BASE_OK ? add_views(path, error) : code;
}

// --- Putting it into its place -------------------------------------------------------------------

static enum base_code fix_version(const char *path, struct base_error *error)
{
    const unsigned char version[4] = {SQLITE_OF_FILES >> 24 & 0xff, SQLITE_OF_FILES >> 16 & 0xff,
                                      SQLITE_OF_FILES >> 8 & 0xff, SQLITE_OF_FILES & 0xff};
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const bool good =
        file >= 0 && pwrite(file, version, sizeof(version), VERSION_AT) == (ssize_t)sizeof(version);
    enum base_code code =
        good ? BASE_OK : base_fail(error, BASE_IO, "cannot write %s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return code;
}

static bool pour(int from, int to)
{
    char piece[1 << 16];
    ssize_t got;
    while ((got = read(from, piece, sizeof(piece))) != 0) {
        if (got < 0 && errno != EINTR)
            return false;
        for (ssize_t done = 0; done < got;) {
            const ssize_t put = write(to, piece + done, (size_t)(got - done));
            if (put < 0 && errno != EINTR)
                return false;
            done += put > 0 ? put : 0;
        }
    }
    return fsync(to) == 0;
}

// Copies the file into the folder of `path` and renames it, so that nobody sees a part of it.
static enum base_code move(const char *from, const char *path, struct base_error *error)
{
    struct base_buf name = {0};
    base_buf_printf(&name, "%s.XXXXXX", path);
    BASE_RETURN_IF_NO_MEMORY(name.failed, error);
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const int out = in >= 0 ? mkostemp(name.text, O_CLOEXEC) : -1;
    const mode_t mask = umask(0);
    umask(mask);
    bool good = out >= 0 && pour(in, out) && fchmod(out, 0666 & ~mask) == 0;
    if (in >= 0)
        close(in);
    if (out >= 0)
        good &= close(out) == 0;
    good = good && rename(name.text, path) == 0;
    enum base_code code =
        good ? BASE_OK : base_fail(error, BASE_IO, "cannot write %s: %s", path, strerror(errno));
    if (!good && out >= 0)
        unlink(name.text);
    base_buf_fini(&name);
    return code;
}

enum base_code job_write(struct job_writer *writer, const char *path, struct base_error *error)
{
    struct order order = {0};
    struct base_buf made = {0};
    base_buf_printf(&made, "%s/job", writer->scratch.path);
    enum base_code code =
        made.failed ? base_no_memory(error) : build(writer, made.text, &order, error);
    if (code == BASE_OK)
        code = fix_version(made.text, error);
    if (code == BASE_OK)
        code = move(made.text, path, error);
    free(order.texts);
    free(order.paths);
    free(order.profiles);
    base_buf_fini(&made);
    return code;
}
