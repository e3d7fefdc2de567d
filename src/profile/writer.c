// SPDX-License-Identifier: Apache-2.0
// The writer: transactions, and rows as arrays of integers. write_rows.c, write_calls.c,
// write_probes.c and write_maps.c make the rows.
//
// The file is in SQLite's WAL mode while it is written: transactions are appended to a log beside
// it (FILE-wal), so that readers never block the writer, and a kill loses at most the open
// transaction. `synchronous` is off: what was handed to the system survives a kill, and waiting for
// the disk would let the ring fill up. The log is checkpointed into the file when it reaches
// WAL_PAGES. At the end the file leaves WAL mode and needs no other file. After a kill, the file
// without its log has the state of the last checkpoint.
#include "writer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sweep.h"

enum {
    COMMIT_NS = 50 * 1000 * 1000, // age at which a transaction is committed
    MANY_ROWS = 32,               // that one statement writes
    RECALLED = 1024,              // rows
    WAL_PAGES = 16384,            // 64 MiB: a checkpoint of tens of milliseconds
    FINISH_WAIT_MS = 200,         // for readers, before the log stays beside the file
};

// Has a resolution of a few milliseconds and is cheap enough to read for every row.
static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

enum base_code profile_give_up(struct profile_writer *writer, int result, struct base_error *error)
{
    profile_sqlite_fail(writer->db, result, "write", writer->path, &writer->failure);
    if (!sqlite3_get_autocommit(writer->db))
        sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
    writer->in_transaction = false;
    if (error)
        *error = writer->failure;
    return writer->failure.code;
}

static enum base_code refuse(const struct profile_writer *writer, struct base_error *error)
{
    if (error)
        *error = writer->failure;
    return writer->failure.code;
}

static enum base_code no_memory(struct profile_writer *writer, struct base_error *error)
{
    return profile_give_up(writer, SQLITE_NOMEM, error);
}

static int note_wal(void *user, sqlite3 *db, const char *name, int pages)
{
    struct profile_writer *writer = user;
    (void)db;
    (void)name;
    writer->wal_pages = pages;
    return SQLITE_OK;
}

enum base_code profile_begin(struct profile_writer *writer, struct base_error *error)
{
    errno = 0; // so that it can explain a failure of SQLite
    if (writer->failure.code != BASE_OK)
        return refuse(writer, error);
    if (writer->in_transaction)
        return BASE_OK;
    int result = sqlite3_exec(writer->db, "BEGIN", NULL, NULL, NULL);
    if (result != SQLITE_OK)
        return profile_give_up(writer, result, error);
    writer->in_transaction = true;
    writer->begun_ns = now_ns();
    return BASE_OK;
}

int profile_prepare(struct profile_writer *writer, const char *sql, sqlite3_stmt **statement)
{
    return sqlite3_prepare_v3(writer->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
}

static int prepare_put(struct profile_writer *writer, enum profile_table table, unsigned rows,
                       sqlite3_stmt **statement)
{
    struct base_buf sql = {0};
    const struct profile_table_info *info = &profile_tables[table];
    base_buf_printf(&sql, "%s INTO %s VALUES", info->verb, info->name);
    for (unsigned row = 0; row < rows; row++) {
        base_buf_puts(&sql, row ? ",(?" : "(?");
        for (unsigned i = 1; i < info->columns; i++)
            base_buf_puts(&sql, ",?");
        base_buf_putc(&sql, ')');
    }
    int result = sql.failed ? SQLITE_NOMEM : profile_prepare(writer, sql.text, statement);
    base_buf_fini(&sql);
    return result;
}

// Runs the statement with `count` pending rows.
static int run_rows(struct profile_writer *writer, enum profile_table table, unsigned first,
                    unsigned rows, sqlite3_stmt **statement)
{
    int result = *statement ? SQLITE_OK : prepare_put(writer, table, rows, statement);
    if (result != SQLITE_OK)
        return result;
    unsigned columns = profile_tables[table].columns;
    const int64_t *values = writer->pending[table].rows + (size_t)first * columns;
    for (unsigned i = 0; i < rows * columns; i++)
        sqlite3_bind_int64(*statement, (int)i + 1, values[i]);
    sqlite3_step(*statement);
    return sqlite3_reset(*statement);
}

// Writes the pending rows of a table.
static int flush(struct profile_writer *writer, enum profile_table table)
{
    struct profile_pending *pending = &writer->pending[table];
    int result = SQLITE_OK;
    unsigned first = 0;
    for (; result == SQLITE_OK && pending->count - first >= MANY_ROWS; first += MANY_ROWS)
        result = run_rows(writer, table, first, MANY_ROWS, &pending->many);
    for (; result == SQLITE_OK && first < pending->count; first++)
        result = run_rows(writer, table, first, 1, &pending->one);
    pending->count = 0;
    return result;
}

enum base_code profile_put(struct profile_writer *writer, enum profile_table table,
                           const int64_t *values, struct base_error *error)
{
    enum base_code code = profile_begin(writer, error);
    if (code != BASE_OK)
        return code;
    struct profile_pending *pending = &writer->pending[table];
    size_t row_bytes = profile_tables[table].columns * sizeof(*values);
    if (!pending->rows && !(pending->rows = malloc(MANY_ROWS * row_bytes)))
        return no_memory(writer, error);
    memcpy((char *)pending->rows + pending->count * row_bytes, values, row_bytes);
    pending->count++;
    int result = pending->count == MANY_ROWS ? flush(writer, table) : SQLITE_OK;
    return result == SQLITE_OK ? BASE_OK : profile_give_up(writer, result, error);
}

enum base_code profile_commit(struct profile_writer *writer, struct base_error *error)
{
    if (writer->failure.code != BASE_OK)
        return refuse(writer, error);
    if (!writer->in_transaction)
        return BASE_OK;
    errno = 0;
    int result = profile_put_maps(writer);
    for (unsigned i = 0; i < PROFILE_TABLE_COUNT && result == SQLITE_OK; i++)
        result = flush(writer, (enum profile_table)i);
    if (result == SQLITE_OK)
        result = sqlite3_exec(writer->db, "COMMIT", NULL, NULL, NULL);
    if (result != SQLITE_OK)
        return profile_give_up(writer, result, error);
    writer->in_transaction = false;
    if (writer->wal_pages >= writer->wal_limit_pages) {
        // A passive checkpoint copies what no reader needs and never waits. If it fails (a full
        // disk), everything is still in the log.
        sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        writer->wal_limit_pages = writer->wal_pages + writer->wal_step_pages;
    } else if (writer->wal_pages + writer->wal_step_pages < writer->wal_limit_pages) {
        writer->wal_limit_pages = writer->wal_step_pages; // the log was restarted
    }
    return BASE_OK;
}

enum base_code profile_tick(struct profile_writer *writer, struct base_error *error)
{
    if (writer->failure.code != BASE_OK)
        return refuse(writer, error);
    return writer->in_transaction && now_ns() - writer->begun_ns >= COMMIT_NS
               ? profile_commit(writer, error)
               : BASE_OK;
}

enum base_code profile_put_first(struct profile_writer *writer, enum profile_table table,
                                 const int64_t *values, struct base_error *error)
{
    enum base_code code = profile_tick(writer, error);
    return code == BASE_OK ? profile_put(writer, table, values, error) : code;
}

// Changes rows, some of which may still be pending. Prepares the statement on first use.
static enum base_code change(struct profile_writer *writer, sqlite3_stmt **statement,
                             enum profile_table table, const char *sql, const int64_t *values,
                             int count, struct base_error *error)
{
    enum base_code code = profile_begin(writer, error);
    if (code != BASE_OK)
        return code;
    int result = flush(writer, table);
    if (result == SQLITE_OK && !*statement)
        result = profile_prepare(writer, sql, statement);
    if (result == SQLITE_OK) {
        for (int i = 0; i < count; i++)
            sqlite3_bind_int64(*statement, i + 1, values[i]);
        sqlite3_step(*statement);
        result = sqlite3_reset(*statement);
    }
    return result == SQLITE_OK ? BASE_OK : profile_give_up(writer, result, error);
}

enum base_code profile_drop(struct profile_writer *writer, sqlite3_stmt **statement,
                            enum profile_table table, const char *column, uint64_t number,
                            struct base_error *error)
{
    char sql[80];
    snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s=?", profile_tables[table].name, column);
    return change(writer, statement, table, sql, (int64_t[]){(int64_t)number}, 1, error);
}

enum base_code profile_set_waited(struct profile_writer *writer, uint64_t call, uint64_t waited_ns,
                                  struct base_error *error)
{
    return change(writer, &writer->set_waited, PROFILE_TABLE_CALLS,
                  "UPDATE calls SET waited=? WHERE number=?",
                  (int64_t[]){(int64_t)waited_ns, (int64_t)call}, 2, error);
}

// Returns where the number of these bytes is stored, 0 if they are new. Returns NULL if memory ran
// out.
static uint64_t *find(struct profile_writer *writer, struct base_map *known, struct base_str bytes)
{
    uint64_t *number = base_map_get_str(known, bytes);
    if (number)
        return number;
    char *kept = base_alloc_text(&writer->arena, bytes.text, bytes.length);
    return kept ? base_map_put_str(known, (struct base_str){kept, bytes.length}, NULL) : NULL;
}

enum base_code profile_intern_text(struct profile_writer *writer, const char *text, int64_t *id,
                                   struct base_error *error)
{
    *id = 0;
    if (!text)
        return BASE_OK;
    enum base_code code = profile_begin(writer, error);
    if (code != BASE_OK)
        return code;
    struct base_str view = base_str(text);
    uint64_t *number = find(writer, &writer->strings, view);
    if (!number)
        return no_memory(writer, error);
    if (*number == 0) {
        if (!writer->put_string) {
            int result =
                profile_prepare(writer, "INSERT INTO strings VALUES(?,?)", &writer->put_string);
            if (result != SQLITE_OK)
                return profile_give_up(writer, result, error);
        }
        sqlite3_bind_int64(writer->put_string, 1, (int64_t)writer->strings.live);
        sqlite3_bind_text64(writer->put_string, 2, view.text, view.length, SQLITE_STATIC,
                            SQLITE_UTF8);
        sqlite3_step(writer->put_string);
        int result = sqlite3_reset(writer->put_string);
        sqlite3_clear_bindings(writer->put_string);
        if (result != SQLITE_OK)
            return profile_give_up(writer, result, error);
        *number = writer->strings.live;
    }
    *id = (int64_t)*number;
    return BASE_OK;
}

enum base_code profile_put_with(struct profile_writer *writer, enum profile_table table,
                                int64_t *values, const struct profile_text *texts, unsigned count,
                                struct base_error *error)
{
    for (unsigned i = 0; i < count; i++) {
        enum base_code code =
            profile_intern_text(writer, texts[i].text, &values[texts[i].column], error);
        if (code != BASE_OK)
            return code;
    }
    return profile_put_first(writer, table, values, error);
}

enum base_code profile_intern_row(struct profile_writer *writer, struct base_map *known,
                                  enum profile_table table, int64_t *values,
                                  struct base_error *error)
{
    struct base_str bytes = {(const char *)(values + 1),
                             (profile_tables[table].columns - 1) * sizeof(*values)};
    uint64_t *number = find(writer, known, bytes);
    if (!number)
        return no_memory(writer, error);
    values[0] = (int64_t)(*number ? *number : known->live);
    if (*number)
        return BASE_OK;
    *number = known->live;
    return profile_put(writer, table, values, error);
}

enum base_code profile_recall_row(struct profile_writer *writer, struct profile_recall *recall,
                                  int64_t *values, unsigned count, bool *is_new,
                                  struct base_error *error)
{
    size_t bytes = (count - 1) * sizeof(*values);
    if (!recall->rows && !(recall->rows = calloc(RECALLED, count * sizeof(*values))))
        return no_memory(writer, error);
    int64_t *known = recall->rows + base_hash(values + 1, bytes) % RECALLED * count;
    *is_new = known[0] == 0 || memcmp(known + 1, values + 1, bytes) != 0;
    values[0] = *is_new ? (int64_t)++recall->count : known[0];
    memcpy(known, values, count * sizeof(*values));
    return BASE_OK;
}

// --- Begin and end -------------------------------------------------------------------------------

static int open_for_writing(struct profile_writer *writer)
{
    struct base_buf path = {0};
    profile_plain_path(&path, writer->path);
    int result = path.failed ? SQLITE_NOMEM
                             : sqlite3_open_v2(path.text, &writer->db,
                                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    base_buf_fini(&path);
    if (result != SQLITE_OK)
        return result;
    sqlite3_extended_result_codes(writer->db, 1);
    sqlite3_busy_timeout(writer->db, FINISH_WAIT_MS);
    sqlite3_wal_hook(writer->db, note_wal, writer);
    // If the file system does not support a log (no shared memory), SQLite keeps a rollback
    // journal: as safe, but readers must wait.
    return sqlite3_exec(writer->db,
                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
                        "PRAGMA cache_size=-8192; BEGIN IMMEDIATE; UPDATE meta SET complete=0;"
                        "COMMIT",
                        NULL, NULL, NULL);
}

enum base_code profile_create_at(struct profile_place *place, struct profile_writer **writer,
                                 struct base_error *error)
{
    *writer = NULL;
    struct profile_writer *made = calloc(1, sizeof(*made));
    if (made)
        made->path = strdup(place->path);
    if (!made || !made->path) {
        free(made);
        profile_release(place);
        return base_no_memory(error);
    }
    atomic_fetch_add(&profile_writing, 1);
    base_arena_init(&made->arena, 0);
    made->wal_step_pages = made->wal_limit_pages = WAL_PAGES;
    enum base_code code = profile_place_settle(place, error);
    if (code == BASE_OK) {
        int result = open_for_writing(made);
        if (result != SQLITE_OK)
            code = profile_sqlite_fail(made->db, result, "write", made->path, error);
    }
    if (code == BASE_OK) {
        made->place = place;
        *writer = made;
    } else {
        profile_abandon(made);
        profile_release(place); // removes the empty profile
    }
    return code;
}

enum base_code profile_create(const char *path, bool overwrite, struct profile_writer **writer,
                              struct base_error *error)
{
    struct profile_place *place;
    bool taken;
    *writer = NULL;
    enum base_code code = profile_reserve(path, overwrite, &place, &taken, error);
    return code == BASE_OK ? profile_create_at(place, writer, error) : code;
}

static void finalize_all(struct profile_writer *writer)
{
    for (unsigned i = 0; i < PROFILE_TABLE_COUNT; i++) {
        struct profile_pending *pending = &writer->pending[i];
        sqlite3_finalize(pending->one);
        sqlite3_finalize(pending->many);
        free(pending->rows);
    }
    sqlite3_finalize(writer->put_string);
    sqlite3_finalize(writer->drop_path);
    sqlite3_finalize(writer->drop_graph);
    sqlite3_finalize(writer->set_waited);
    sqlite3_finalize(writer->put_map);
    sqlite3_finalize(writer->get_map);
    memset(writer->pending, 0, sizeof(writer->pending));
    writer->put_string = writer->drop_path = writer->drop_graph = writer->set_waited = NULL;
    writer->put_map = writer->get_map = NULL;
}

static void destroy(struct profile_writer *writer)
{
    finalize_all(writer);
    sqlite3_close(writer->db);
    atomic_fetch_sub(&profile_writing, 1);
    if (writer->place)
        profile_place_free(writer->place);
    base_map_fini(&writer->strings);
    base_map_fini(&writer->sites);
    base_map_fini(&writer->launches);
    base_map_fini(&writer->frames);
    free(writer->shapes.rows);
    free(writer->distributions.rows);
    free(writer->values.rows);
    free(writer->runs.rows);
    free(writer->distances.rows);
    profile_free_maps(writer);
    base_arena_fini(&writer->arena);
    free(writer->path);
    free(writer);
}

void profile_abandon(struct profile_writer *writer)
{
    if (!writer)
        return;
    if (writer->failure.code == BASE_OK)
        profile_commit(writer, NULL);
    if (writer->db)
        sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    destroy(writer);
}

enum base_code profile_finish(struct profile_writer *writer, enum profile_ending ending,
                              int32_t code, struct base_error *error)
{
    // Written alone and last: if it can be read, everything else is in the file.
    enum base_code result = profile_commit(writer, error);
    if (result == BASE_OK)
        result = profile_begin(writer, error);
    if (result == BASE_OK) {
        char sql[120], number[16];
        snprintf(number, sizeof(number), "%d", (int)code);
        bool has_code = ending == PROFILE_EXITED || ending == PROFILE_SIGNALLED;
        snprintf(sql, sizeof(sql), "UPDATE meta SET complete=1, ending=%d, code=%s", (int)ending,
                 has_code ? number : "NULL");
        int done = sqlite3_exec(writer->db, sql, NULL, NULL, NULL);
        result = done == SQLITE_OK ? profile_commit(writer, error)
                                   : profile_give_up(writer, done, error);
    }
    bool alone = false;
    if (result == BASE_OK) {
        finalize_all(writer);
        alone =
            sqlite3_exec(writer->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) == SQLITE_OK;
    }
    if (alone)
        destroy(writer);
    else
        profile_abandon(writer); // leaves the log, which is complete
    return result;
}
