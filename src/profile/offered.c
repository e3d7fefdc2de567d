// SPDX-License-Identifier: Apache-2.0
// Rows in memory as a table that users' queries can read, by SQLite's interface for virtual tables.
// The file is not changed, and temporary tables, which query_only forbids, are not needed.
#include <stdlib.h>

#include "reader.h"

struct table {
    sqlite3_vtab base; // must be first
    const struct profile_rows *rows;
};

struct cursor {
    sqlite3_vtab_cursor base; // must be first
    size_t row;
};

static const struct profile_rows *rows_of(const sqlite3_vtab_cursor *cursor)
{
    return ((const struct table *)cursor->pVtab)->rows;
}

static int connect_table(sqlite3 *db, void *user, int count, const char *const *arguments,
                         sqlite3_vtab **out, char **message)
{
    const struct profile_rows *rows = user;
    (void)count, (void)arguments, (void)message;
    int result = sqlite3_declare_vtab(db, rows->declaration);
    struct table *table = result == SQLITE_OK ? calloc(1, sizeof(*table)) : NULL;
    if (!table)
        return result == SQLITE_OK ? SQLITE_NOMEM : result;
    table->rows = rows;
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

// All rows are visited, in their order.
static int choose_plan(sqlite3_vtab *table, sqlite3_index_info *plan)
{
    const struct profile_rows *rows = ((const struct table *)table)->rows;
    plan->estimatedCost = (double)rows->row_count;
    plan->estimatedRows = (sqlite3_int64)rows->row_count;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    (void)table;
    void *cursor = calloc(1, sizeof(struct cursor)); // which begins with what SQLite knows
    *out = cursor;
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int begin(sqlite3_vtab_cursor *cursor, int plan, const char *text, int count,
                 sqlite3_value **values)
{
    (void)plan, (void)text, (void)count, (void)values;
    ((struct cursor *)cursor)->row = 0;
    return SQLITE_OK;
}

static int go_on(sqlite3_vtab_cursor *cursor)
{
    ((struct cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *cursor)
{
    return ((const struct cursor *)cursor)->row >= rows_of(cursor)->row_count;
}

static int put_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column)
{
    const struct profile_rows *rows = rows_of(cursor);
    const struct profile_cell *cell =
        &rows->cells[((const struct cursor *)cursor)->row * rows->column_count + (unsigned)column];
    switch (cell->kind) {
    case PROFILE_CELL_INTEGER: sqlite3_result_int64(out, cell->integer); break;
    case PROFILE_CELL_REAL: sqlite3_result_double(out, cell->real); break;
    case PROFILE_CELL_TEXT:
        sqlite3_result_text64(out, cell->bytes.text, cell->bytes.length, SQLITE_STATIC,
                              SQLITE_UTF8);
        break;
    default: sqlite3_result_null(out); break;
    }
    return SQLITE_OK;
}

static int put_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *number)
{
    *number = (sqlite3_int64)((const struct cursor *)cursor)->row + 1;
    return SQLITE_OK;
}

enum base_code profile_offer_rows(struct profile *profile, const struct profile_rows *table,
                                  struct base_error *error)
{
    // Without xCreate, the table exists by its name alone, and no statement can make another.
    static const sqlite3_module module = {.xConnect = connect_table,
                                          .xBestIndex = choose_plan,
                                          .xDisconnect = disconnect,
                                          .xOpen = open_cursor,
                                          .xClose = close_cursor,
                                          .xFilter = begin,
                                          .xNext = go_on,
                                          .xEof = is_at_end,
                                          .xColumn = put_column,
                                          .xRowid = put_number};
    const int result =
        sqlite3_create_module_v2(profile->db, table->name, &module, (void *)(uintptr_t)table, NULL);
    return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
}
