// SPDX-License-Identifier: Apache-2.0
// glint query: answers SQL queries about a profile. Results of any size are written row by row;
// only the table for a terminal reads some rows ahead to find the widths of its columns.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "profile/profile.h"
#include "report/report.h"

enum query_format { FORMAT_AUTO, FORMAT_TABLE, FORMAT_TABS, FORMAT_CSV, FORMAT_JSON };

enum {
    ROWS_AHEAD = 1000, // whose cells decide the widths of a table's columns
    WIDEST = 60,       // a longer cell shifts the rest of its row
};

static const struct cli_option options[] = {
    CLI_FORMAT_OPTION("table, tabs, csv or json; default: table on a terminal, else tabs",
                      "table tabs csv json"),
    {0, "csv", NULL, "the same as --format csv"},
    {0, "json", NULL, "the same as --format json"},
    {0, NULL, NULL, NULL},
};

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    enum query_format *format = user;
    const char *word = argument ? argument : option->name;
    *format = strcmp(word, "table") == 0  ? FORMAT_TABLE
              : strcmp(word, "tabs") == 0 ? FORMAT_TABS
              : strcmp(word, "csv") == 0  ? FORMAT_CSV
                                          : FORMAT_JSON;
    return true;
}

// The result being written. `text` buffers what is written to stdout in pieces.
struct cli_query_output {
    enum query_format format;
    unsigned columns;
    char **names;
    struct base_buf text;
    bool failed; // to write, or memory ran out
    // The cells of a table's rows, in order, until the widths are known.
    BASE_ARRAY(char *) ahead;
    size_t *widths;
    bool *is_number; // every cell so far is a number: align to the right
    bool decided;    // the widths are known
    struct base_json json;
};

static void send_out(struct cli_query_output *output, size_t at_least)
{
    if (output->text.failed)
        output->failed = true;
    if (output->failed || output->text.length < at_least)
        return;
    if (output->text.length && fwrite(output->text.text, output->text.length, 1, stdout) != 1)
        output->failed = true;
    output->text.length = 0;
}

// Appends the cell as text, without escapes.
static void put_cell(struct base_buf *out, const struct profile_cell *cell)
{
    char number[40];
    switch (cell->kind) {
    case PROFILE_CELL_NULL: break;
    case PROFILE_CELL_INTEGER: base_buf_i64(out, cell->integer); break;
    case PROFILE_CELL_REAL:
        // The fewest digits that read back as the same number.
        snprintf(number, sizeof(number), "%.15g", cell->real);
        if (strtod(number, NULL) != cell->real)
            snprintf(number, sizeof(number), "%.17g", cell->real);
        base_buf_puts(out, number);
        break;
    case PROFILE_CELL_TEXT: base_buf_add(out, cell->bytes.text, cell->bytes.length); break;
    case PROFILE_CELL_BLOB:
        for (size_t i = 0; i < cell->bytes.length; i++)
            base_buf_hex(out, (unsigned char)cell->bytes.text[i], 2);
        break;
    }
}

// --- Formats -------------------------------------------------------------------------------------

// Appends text as one line without control characters. Backslashes are doubled, so that the
// original text can be restored.
static void put_escaped(struct base_buf *out, struct base_str text)
{
    while (text.length) {
        const char *backslash = memchr(text.text, '\\', text.length);
        const size_t before = backslash ? (size_t)(backslash - text.text) : text.length;
        base_buf_visible(out, (struct base_str){text.text, before}, "");
        if (backslash)
            base_buf_puts(out, "\\\\");
        text.text += before + (backslash != NULL);
        text.length -= before + (backslash != NULL);
    }
}

// CSV keeps newlines and tabs, in quotes.
static void put_csv(struct base_buf *out, struct base_str text)
{
    struct base_buf visible = {0};
    base_buf_visible(&visible, text, "\n\t");
    base_buf_puts(&visible, "");
    const char *at = visible.text ? visible.text : "";
    const bool quoted = strpbrk(at, ",\"\n") != NULL;
    if (quoted)
        base_buf_putc(out, '"');
    for (; *at; at++) {
        if (*at == '"')
            base_buf_putc(out, '"');
        base_buf_putc(out, *at);
    }
    if (quoted)
        base_buf_putc(out, '"');
    out->failed |= visible.failed;
    base_buf_fini(&visible);
}

static void put_separated(struct cli_query_output *output, unsigned column, struct base_str text)
{
    bool csv = output->format == FORMAT_CSV;
    if (column)
        base_buf_putc(&output->text, csv ? ',' : '\t');
    if (csv)
        put_csv(&output->text, text);
    else
        put_escaped(&output->text, text);
}

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80; // characters, not bytes, of UTF-8
    return width;
}

static void put_table_row(struct cli_query_output *output, char *const *cells)
{
    size_t start = output->text.length;
    for (unsigned i = 0; i < output->columns; i++) {
        size_t width = width_of(cells[i]);
        size_t blanks = width < output->widths[i] ? output->widths[i] - width : 0;
        if (i)
            base_buf_puts(&output->text, "  ");
        if (output->is_number[i])
            base_buf_printf(&output->text, "%*s", (int)blanks, "");
        base_buf_puts(&output->text, cells[i]);
        if (!output->is_number[i] && i + 1 < output->columns)
            base_buf_printf(&output->text, "%*s", (int)blanks, "");
    }
    while (output->text.length > start && output->text.text[output->text.length - 1] == ' ')
        output->text.length--;
    base_buf_putc(&output->text, '\n');
    send_out(output, 1 << 16);
}

// Writes the names of the columns and the buffered rows.
static void decide(struct cli_query_output *output)
{
    if (output->decided)
        return;
    output->decided = true;
    for (unsigned i = 0; i < output->columns; i++) {
        size_t widest = 0;
        for (size_t cell = i; cell < output->ahead.count; cell += output->columns) {
            size_t width = width_of(output->ahead.items[cell]);
            widest = width > widest ? width : widest;
        }
        size_t name = width_of(output->names[i]);
        widest = widest < WIDEST ? widest : WIDEST;
        output->widths[i] = widest > name ? widest : name;
    }
    put_table_row(output, output->names);
    for (size_t cell = 0; cell < output->ahead.count; cell += output->columns)
        put_table_row(output, &output->ahead.items[cell]);
}

static void drop_ahead(struct cli_query_output *output)
{
    for (size_t i = 0; i < output->ahead.count; i++)
        free(output->ahead.items[i]);
    output->ahead.count = 0;
}

// Buffers a row of a table until the widths are known.
static void add_table_row(struct cli_query_output *output, const struct profile_cell *cells)
{
    for (unsigned i = 0; i < output->columns && !output->failed; i++) {
        struct base_buf raw = {0}, text = {0};
        put_cell(&raw, &cells[i]);
        put_escaped(&text, (struct base_str){raw.text, raw.length});
        base_buf_puts(&text, "");
        char **slot = base_array_push(&output->ahead);
        output->failed = raw.failed || text.failed || !slot;
        if (slot)
            *slot = text.text;
        else
            base_buf_fini(&text);
        base_buf_fini(&raw);
        if (!output->decided)
            output->is_number[i] &=
                cells[i].kind != PROFILE_CELL_TEXT && cells[i].kind != PROFILE_CELL_BLOB;
    }
    if (output->failed)
        return;
    if (output->decided) {
        put_table_row(output, output->ahead.items);
        drop_ahead(output);
    } else if (output->ahead.count >= (size_t)ROWS_AHEAD * output->columns) {
        decide(output);
        drop_ahead(output);
    }
}

static void add_json_row(struct cli_query_output *output, const struct profile_cell *cells)
{
    base_json_begin_object(&output->json);
    for (unsigned i = 0; i < output->columns; i++) {
        const struct profile_cell *cell = &cells[i];
        struct base_buf hex = {0};
        base_json_key(&output->json, output->names[i]);
        switch (cell->kind) {
        case PROFILE_CELL_NULL: base_json_null(&output->json); break;
        case PROFILE_CELL_INTEGER: base_json_i64(&output->json, cell->integer); break;
        case PROFILE_CELL_REAL: base_json_double(&output->json, cell->real); break;
        case PROFILE_CELL_TEXT: base_json_str(&output->json, cell->bytes); break;
        case PROFILE_CELL_BLOB:
            put_cell(&hex, cell);
            base_json_string(&output->json, hex.text ? hex.text : "");
            break;
        }
        output->failed |= hex.failed;
        base_buf_fini(&hex);
    }
    base_json_end_object(&output->json);
    send_out(output, 1 << 16);
}

// --- Callbacks of profile_query ------------------------------------------------------------------

static bool take_columns(void *user, unsigned count, const char *const *names)
{
    struct cli_query_output *output = user;
    output->columns = count;
    output->names = calloc(count + 1, sizeof(*output->names));
    output->widths = calloc(count + 1, sizeof(*output->widths));
    output->is_number = malloc(count + 1);
    output->failed = !output->names || !output->widths || !output->is_number;
    for (unsigned i = 0; i < count && !output->failed; i++) {
        output->is_number[i] = true;
        struct base_buf name = {0};
        if (output->format == FORMAT_TABLE)
            put_escaped(&name, base_str(names[i]));
        else
            base_buf_puts(&name, names[i]);
        base_buf_puts(&name, "");
        output->failed = name.failed;
        output->names[i] = name.text;
        if (output->format == FORMAT_CSV || output->format == FORMAT_TABS)
            put_separated(output, i, base_str(names[i]));
    }
    if (output->format == FORMAT_CSV || output->format == FORMAT_TABS)
        base_buf_putc(&output->text, '\n');
    if (output->format == FORMAT_JSON) {
        base_json_init_buf(&output->json, &output->text, 0);
        base_json_begin_array(&output->json);
    }
    return !output->failed;
}

static bool take_row(void *user, unsigned count, const struct profile_cell *cells)
{
    struct cli_query_output *output = user;
    if (output->format == FORMAT_TABLE) {
        add_table_row(output, cells);
    } else if (output->format == FORMAT_JSON) {
        add_json_row(output, cells);
    } else {
        for (unsigned i = 0; i < count; i++) {
            struct base_buf text = {0};
            put_cell(&text, &cells[i]);
            put_separated(output, i, (struct base_str){text.text, text.length});
            output->failed |= text.failed;
            base_buf_fini(&text);
        }
        base_buf_putc(&output->text, '\n');
        send_out(output, 1 << 16);
    }
    return !output->failed;
}

// Writes the rest. Returns false after a message if writing failed.
static bool finish(struct cli_query_output *output)
{
    if (output->format == FORMAT_TABLE && output->columns)
        decide(output);
    if (output->format == FORMAT_JSON && output->columns) {
        base_json_end_array(&output->json);
        output->failed |= !base_json_finish(&output->json);
        base_buf_putc(&output->text, '\n');
    }
    send_out(output, 0);
    if (fflush(stdout) != 0)
        output->failed = true;
    if (output->failed)
        cli_message(output->text.failed ? "out of memory" : "cannot write the output: %m");
    return !output->failed;
}

static void fini(struct cli_query_output *output)
{
    drop_ahead(output);
    base_array_fini(&output->ahead);
    for (unsigned i = 0; output->names && i < output->columns; i++)
        free(output->names[i]);
    free(output->names);
    free(output->widths);
    free(output->is_number);
    base_buf_fini(&output->text);
}

static int query(enum query_format format, const char *path, const char *sql)
{
    struct base_error error = {0};
    struct profile *profile = NULL;
    const bool is_job = profile_is_job(path); // it has its findings as rows
    const enum base_code opened =
        is_job ? profile_open_job(path, &profile, &error) : profile_open(path, &profile, &error);
    if (opened != BASE_OK) {
        cli_error(&error);
        return CLI_FAILURE;
    }
    struct cli_query_output output = {.format = format};
    struct profile_sink sink = {take_columns, take_row, &output};
    struct report_findings_table *findings = NULL; // found only if the query may read them
    enum base_code code = !is_job && strcasestr(sql, "v_findings")
                              ? report_findings_table(profile, NULL, &findings, &error)
                              : BASE_OK;
    if (code == BASE_OK)
        code = profile_query(profile, sql, &sink, &error);
    bool good = (code != BASE_OK && output.columns == 0) || finish(&output);
    if (code != BASE_OK)
        cli_error(&error);
    fini(&output);
    profile_close(profile);
    report_findings_table_free(findings);
    return code == BASE_OK && good ? 0 : CLI_FAILURE;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    enum query_format format = FORMAT_AUTO;
    int first = cli_options(verb, argc, argv, take_option, &format);
    if (first == -2)
        return 0;
    if (first < 0)
        return CLI_FAILURE;
    if (argc - first != 2) {
        cli_message("%s; try 'glint query --help'",
                    argc == first       ? "no profile given"
                    : argc - first == 1 ? "no SQL statement given"
                                        : "the SQL statement must be one argument, in quotes");
        return CLI_FAILURE;
    }
    if (format == FORMAT_AUTO)
        format = isatty(STDOUT_FILENO) ? FORMAT_TABLE : FORMAT_TABS;
    return query(format, argv[first], argv[first + 1]);
}

const struct cli_verb cli_query = {
    .name = "query",
    .arguments = "FILE SQL",
    .summary = "run an SQL query on a profile",
    .details =
        "A profile is an SQLite database. docs/reference/profile.md describes its views: v_calls,\n"
        "v_objects, v_launches, v_copies, v_syncs, v_call_paths and others. v_findings has what\n"
        "glint report finds. docs/reference/job.md describes the views of job profiles. The\n"
        "statement can only read.\n\n"
        "  glint query FILE 'SELECT name, bytes FROM v_objects ORDER BY bytes DESC LIMIT 10'\n"
        "  glint query FILE 'SELECT place, pattern, worth FROM v_findings WHERE worthwhile'\n\n"
        "Tabs and tables begin with a line of column names. Control characters in texts are\n"
        "written as \\t, \\n, \\r, \\xNN or \\uNNNN, and a backslash as \\\\. CSV keeps newlines, "
        "tabs and\n"
        "backslashes. JSON is an array with an object for each row. Binary data is written in\n"
        "hexadecimal.\n",
    .options = options,
    .run = run,
};
