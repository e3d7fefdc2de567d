// SPDX-License-Identifier: Apache-2.0
// Adds the profiles of a job profile to another. The file may be hostile: every number of a text,
// call path or profile is checked.
#include <stdlib.h>
#include <string.h>

#include "writer.h"

struct numbers { // by number in the file: the writer's; 0: none
    BASE_ARRAY(int64_t) items;
};

struct adding {
    struct job_writer *writer;
    struct numbers texts, paths, profiles;
    enum job_table table;
    enum base_code code;
    struct base_error *error;
};

static bool fail_damaged(struct adding *adding)
{
    adding->code = base_fail(adding->error, BASE_CORRUPT, "the job profile is damaged");
    return false;
}

static bool put_number(struct adding *adding, struct numbers *numbers, int64_t at, int64_t number)
{
    if (at != (int64_t)numbers->items.count + 1) // they are numbered without gaps
        return fail_damaged(adding);
    int64_t *slot = base_array_push(&numbers->items);
    if (slot)
        *slot = number;
    else
        adding->code = base_no_memory(adding->error);
    return slot != NULL;
}

static const int64_t *number_at(const struct numbers *numbers, int64_t at)
{
    return at > 0 && (uint64_t)at <= numbers->items.count ? &numbers->items.items[at - 1] : NULL;
}

static bool is_number(const struct profile_cell *cell)
{
    return cell->kind == PROFILE_CELL_INTEGER;
}

static bool take_columns(void *user, unsigned count, const char *const *names)
{
    (void)user;
    (void)count;
    (void)names;
    return true;
}

static bool take_text(void *user, unsigned count, const struct profile_cell *cells)
{
    struct adding *adding = user;
    int64_t number = 0;
    (void)count;
    if (!is_number(&cells[0]) || cells[1].kind != PROFILE_CELL_TEXT)
        return fail_damaged(adding);
    adding->code = job_number_text(adding->writer, cells[1].bytes.text, cells[1].bytes.length,
                                   &number, adding->error);
    return adding->code == BASE_OK && put_number(adding, &adding->texts, cells[0].integer, number);
}

// Stores the writer's number of a text; 0 stays 0.
static bool find_text(struct adding *adding, const struct profile_cell *cell, int64_t *number)
{
    const int64_t *found = is_number(cell) ? number_at(&adding->texts, cell->integer) : NULL;
    *number = found ? *found : 0;
    return found || (is_number(cell) && cell->integer == 0) || fail_damaged(adding);
}

static bool take_path(void *user, unsigned count, const struct profile_cell *cells)
{
    struct adding *adding = user;
    struct job_path_texts path = {0};
    int64_t number = 0;
    (void)count;
    if (!is_number(&cells[0]) || !is_number(&cells[4]))
        return fail_damaged(adding);
    if (!find_text(adding, &cells[1], &path.trace) ||
        !find_text(adding, &cells[2], &path.function) || !find_text(adding, &cells[3], &path.file))
        return false;
    path.line = cells[4].integer;
    adding->code = job_number_path(adding->writer, &path, &number, adding->error);
    return adding->code == BASE_OK && put_number(adding, &adding->paths, cells[0].integer, number);
}

// Replaces the numbers of a row by the writer's. Sets *skip if the row is of a profile that the
// writer has already.
static bool translate(struct adding *adding, const struct profile_cell *cells,
                      struct job_cell row[JOB_MOST_COLUMNS], bool *skip)
{
    const struct job_table_info *info = &job_tables[adding->table];
    for (unsigned i = 0; i < info->count; i++) {
        const struct profile_cell *cell = &cells[i];
        const enum job_type type = info->columns[i].type;
        const bool is_null = cell->kind == PROFILE_CELL_NULL && info->columns[i].role != JOB_KEY;
        if (!is_null && !is_number(cell))
            return fail_damaged(adding);
        row[i] = (struct job_cell){.known = !is_null, .number = is_null ? 0 : cell->integer};
        if (is_null || type == JOB_NUMBER || (type == JOB_PATH && cell->integer == 0) ||
            (adding->table == JOB_PROFILES && type == JOB_PROFILE))
            continue;
        const int64_t *number = number_at(type == JOB_TEXT   ? &adding->texts
                                          : type == JOB_PATH ? &adding->paths
                                                             : &adding->profiles,
                                          cell->integer);
        if (!number)
            return fail_damaged(adding);
        row[i].number = *number;
        *skip |= type == JOB_PROFILE && *number == 0;
    }
    return true;
}

static bool take_profile(void *user, unsigned count, const struct profile_cell *cells)
{
    struct adding *adding = user;
    struct job_cell row[JOB_MOST_COLUMNS];
    bool skip = false;
    (void)count;
    if (!translate(adding, cells, row, &skip))
        return false;
    if (!row[JOB_PROFILES_digest].known || !row[JOB_PROFILES_file].known)
        return fail_damaged(adding);
    const struct job_identity identity = {row[JOB_PROFILES_rank],   row[JOB_PROFILES_host],
                                          row[JOB_PROFILES_pid],    row[JOB_PROFILES_start_unix_ns],
                                          row[JOB_PROFILES_digest], row[JOB_PROFILES_file]};
    const int64_t at = row[JOB_PROFILES_number].number;
    int64_t number = 0;
    adding->code = job_number_profile(adding->writer, &identity, &number, adding->error);
    if (adding->code != BASE_OK || !put_number(adding, &adding->profiles, at, number))
        return false;
    row[JOB_PROFILES_number] = job_number((uint64_t)number);
    if (number)
        adding->code = job_insert(adding->writer, JOB_PROFILES, row, adding->error);
    return adding->code == BASE_OK;
}

static bool take_row(void *user, unsigned count, const struct profile_cell *cells)
{
    struct adding *adding = user;
    struct job_cell row[JOB_MOST_COLUMNS];
    bool skip = false;
    (void)count;
    if (!translate(adding, cells, row, &skip))
        return false;
    if (!skip)
        adding->code = job_insert(adding->writer, adding->table, row, adding->error);
    return adding->code == BASE_OK;
}

static bool take_unmerged(void *user, unsigned count, const struct profile_cell *cells)
{
    struct adding *adding = user;
    sqlite3_stmt *at = adding->writer->statements[JOB_ADD_UNMERGED];
    int64_t file, reason;
    (void)count;
    if (!find_text(adding, &cells[0], &file) || !find_text(adding, &cells[1], &reason))
        return false;
    sqlite3_bind_int64(at, 1, file);
    sqlite3_bind_int64(at, 2, reason);
    const int result = sqlite3_step(at);
    sqlite3_reset(at);
    if (result != SQLITE_DONE)
        adding->code = job_sqlite_fail(adding->writer->db, result, adding->error);
    return adding->code == BASE_OK;
}

static void query(struct adding *adding, struct profile *job, const char *sql,
                  bool (*row)(void *user, unsigned count, const struct profile_cell *cells))
{
    const struct profile_sink sink = {take_columns, row, adding};
    if (adding->code != BASE_OK)
        return;
    const enum base_code code = profile_query(job, sql, &sink, adding->error);
    if (adding->code == BASE_OK && code != BASE_OK) // a table or column is missing
        adding->code = code == BASE_INVALID
                           ? base_fail(adding->error, BASE_CORRUPT, "the job profile is damaged")
                           : code;
}

enum base_code job_add_job(struct job_writer *writer, struct profile *job, struct base_error *error)
{
    struct adding adding = {.writer = writer, .error = error};
    query(&adding, job, "SELECT id, text FROM strings ORDER BY id", take_text);
    query(&adding, job, "SELECT id, trace, function, file, line FROM paths ORDER BY id", take_path);
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++) {
        struct base_buf sql = {0};
        adding.table = (enum job_table)i;
        for (unsigned c = 0; c < job_tables[i].count; c++)
            base_buf_printf(&sql, "%s%s", c ? ", " : "SELECT ", job_tables[i].columns[c].name);
        base_buf_printf(&sql, " FROM %s%s", job_tables[i].name,
                        i == JOB_PROFILES ? " ORDER BY number" : "");
        if (sql.failed && adding.code == BASE_OK)
            adding.code = base_no_memory(error);
        query(&adding, job, sql.text, i == JOB_PROFILES ? take_profile : take_row);
        base_buf_fini(&sql);
    }
    query(&adding, job, "SELECT file, reason FROM unmerged", take_unmerged);
    base_array_fini(&adding.texts.items);
    base_array_fini(&adding.paths.items);
    base_array_fini(&adding.profiles.items);
    return adding.code;
}
