// SPDX-License-Identifier: Apache-2.0
// Writes the report as text. By default it is one screen: what there is to gain, what to fix first
// and how, what was searched for, and which command to run next. If verbose, it also contains
// tables of everything.
#include "text.h"

#include <string.h>

#include "choice.h"
#include "findings.h"
#include "short_names.h"
#include "suppress.h"
#include "units.h"

enum { SCREEN_LINES = 24, FEW_WARNINGS = 3 };

void report_text_table(struct report_text *text, const struct report_column *columns,
                       size_t column_count, const void *rows, size_t count, size_t row_bytes)
{
    const size_t most =
        text->choice->limit && text->choice->limit < count ? text->choice->limit : count;
    const struct report_table table = {columns, column_count, rows, most, row_bytes, text->data};
    text->failed |= !report_put_table(&table, text->style, &text->out);
    if (count > most)
        base_buf_printf(&text->out, "  ... and %zu more\n", count - most);
}

void report_text_heading(struct report_text *text, const char *heading)
{
    base_buf_putc(&text->out, '\n');
    report_put_heading(text->style, heading, &text->out);
}

static size_t word_bytes(const char *at)
{
    return strcspn(at, " ");
}

static size_t columns_of(const char *text, size_t bytes)
{
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

void report_text_few(struct report_text *text, const char *first, const struct base_buf *words,
                     size_t most)
{
    enum { DOTS = 4 }; // columns of " ..."
    struct base_buf *out = &text->out;
    const size_t indent = report_text_width(first), width = text->style->width;
    size_t column = indent, lines = 1;
    text->failed |= words->failed;
    base_buf_puts(out, first);
    size_t cut = out->length; // where "..." fits
    for (const char *at = words->length ? words->text : ""; *at;) {
        const size_t bytes = word_bytes(at), columns = columns_of(at, bytes);
        const bool fits = !text->style->wrap || column == indent || column + 1 + columns <= width;
        if (!fits && lines == most) {
            out->length = cut;
            base_buf_puts(out, " ...");
            break;
        }
        if (!fits) {
            base_buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
            lines++;
        } else if (column > indent) {
            base_buf_putc(out, ' ');
            column++;
        }
        base_buf_add(out, at, bytes);
        column += columns;
        if (column + DOTS <= width)
            cut = out->length;
        at += bytes;
        while (*at == ' ')
            at++;
    }
    base_buf_putc(out, '\n');
}

static size_t lines_of(const struct base_buf *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->length; i++)
        lines += text->text[i] == '\n';
    return lines;
}

size_t report_text_left(const struct report_text *text)
{
    const size_t used = lines_of(&text->out) + 1; // and the last line
    return text->choice->verbose || !text->style->wrap ? SIZE_MAX
           : used < SCREEN_LINES                       ? SCREEN_LINES - used
                                                       : 0;
}

void report_text_lines(struct report_text *text, const char *first, const struct base_buf *words)
{
    report_text_few(text, first, words, SIZE_MAX);
}

void report_text_line(struct report_text *text, const char *first, const struct base_buf *words)
{
    report_text_few(text, first, words, text->choice->verbose ? SIZE_MAX : 1);
}

static bool is_told_first(const struct report_data *data, const struct report_note *note)
{
    // What the head says is not said again.
    return note->severity != PROFILE_INFO &&
           (!data->failures.fault ||
            strncmp(note->text, FACTS_FAULT_NOTE, strlen(FACTS_FAULT_NOTE)) != 0);
}

static void put_note(struct report_text *text, const struct report_note *note)
{
    struct base_buf words = {0};
    base_buf_printf(&words, "%s: ", profile_severity_word(note->severity));
    report_put_note(text->data, &words, note->text);
    report_text_line(text, "  ", &words);
    base_buf_fini(&words);
}

static void put_all_notes(struct report_text *text)
{
    const struct report_data *data = text->data;
    for (size_t i = 0; i < data->notes.count; i++) {
        if (i == 0)
            report_text_heading(text, "Notes");
        put_note(text, &data->notes.items[i]);
    }
}

// On the first screen, shows as many warnings as there is room for, each in one line.
static void put_warnings(struct report_text *text, size_t room)
{
    const struct report_data *data = text->data;
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < data->notes.count; i++)
        count += is_told_first(data, &data->notes.items[i]);
    room = room < FEW_WARNINGS ? room : FEW_WARNINGS;
    const size_t most = count <= room ? count : room > 1 ? room - 1 : 0;
    for (size_t i = 0; i < data->notes.count && shown < most; i++) {
        if (is_told_first(data, &data->notes.items[i])) {
            put_note(text, &data->notes.items[i]);
            shown++;
        }
    }
    if (shown < count)
        base_buf_printf(&text->out, "  %zu %swarning%s: --verbose lists %s\n", count - shown,
                        shown ? "more " : "", count - shown == 1 ? "" : "s",
                        count - shown == 1 ? "it" : "them");
}

// Adds the command that records what was not recorded; returns false if nothing seems worth it.
static bool put_next_recording(struct report_text *text, struct base_buf *out)
{
    const struct report_data *data = text->data;
    const size_t shown = analyze_worthwhile_count(data->analysis);
    uint64_t waits = 0;
    for (size_t i = 0; i < data->wait_rows.count; i++)
        waits += data->wait_rows.items[i].sum.count;
    const bool sync = waits && report_lacks_first_uses(data),
               elements = !data->has_elements && data->launches;
    if (shown || data->failures.count || !(sync || elements))
        return false;
    base_buf_printf(out, "glint record --analyses %s --",
                    sync && elements ? "all"
                    : sync           ? "sync"
                                     : "elements,counts --maps");
    report_text_arguments(text, out);
    return true;
}

// Suggests the command that shows or finds more.
static void put_next(struct report_text *text)
{
    static const char next[] = "Next: ";
    const struct report_data *data = text->data;
    const struct report_choice *choice = text->choice;
    struct base_buf command = {0}, *out = &text->out;
    struct base_buf more = {0}; // that is left out if there is no room
    if (!choice->file || data->calls == 0)
        return;
    if (choice->verbose) {
        base_buf_puts(&command, "glint report --format html -o report.html ");
        report_put_argument(&command, choice->file);
        base_buf_puts(&more, ", for a page with charts");
    } else if (put_next_recording(text, &command)) {
        base_buf_puts(&more, ", to search for more");
    } else {
        base_buf_puts(&command, "glint report --verbose ");
        report_put_argument(&command, choice->file);
        if (analyze_worthwhile_count(data->analysis))
            base_buf_printf(&more, ", glint explain %s",
                            analyze_pattern_word(analyze_finding(data->analysis, 0)->pattern));
    }
    const bool fits = !text->style->wrap || strlen(next) +
                                                    columns_of(command.text, command.length) +
                                                    columns_of(more.text, more.length) <=
                                                text->style->width;
    base_buf_printf(out, "%s%s%s%s\n", choice->verbose ? "\n" : "", next,
                    command.text ? command.text : "", fits && more.text ? more.text : "");
    text->failed |= command.failed || more.failed;
    base_buf_fini(&command);
    base_buf_fini(&more);
}

// Says how many waits could not be judged, where that is a large part of them: without findings the
// program may have needless waits all the same. Returns false if there is nothing to say.
static bool put_unknown_waits(struct report_text *text)
{
    struct base_buf words = {0};
    const bool some =
        report_matter_unknown_waits(text->data) && report_put_unknown_waits(text->data, &words);
    if (some)
        report_text_few(text, "  ", &words, 1);
    text->failed |= words.failed;
    base_buf_fini(&words);
    return some;
}

static bool has_distances(const struct report_data *data)
{
    const struct analyze_caches *caches = analyze_caches(data->analysis);
    bool has = false;
    for (size_t i = 0; i < caches->kernels.count; i++)
        has |=
            caches->kernels.items[i].has_distances[0] || caches->kernels.items[i].has_distances[1];
    return has;
}

enum base_code report_text(struct profile *profile, const struct report_rules *rules,
                           const struct report_choice *choice, const struct report_style *style,
                           report_write *write, void *user, struct base_error *error)
{
    struct report_data data = {0};
    struct report_text text = {.data = &data, .choice = choice, .style = style};
    const bool asks_what_if = choice->l1_bytes || choice->l2_bytes;
    enum base_code code = report_data_load_by(&data, profile, rules, error);
    if (code == BASE_OK)
        code = report_check_choice(&data, choice, error);
    if (code == BASE_OK && asks_what_if && !has_distances(&data))
        code = base_fail(error, BASE_NOT_FOUND,
                         "%s has no reuse distances of caches, because it "
                         "was recorded without --analyses cache",
                         choice->file ? choice->file : "the profile");
    if (code == BASE_OK) {
        report_text_head(&text);
        if (choice->verbose)
            report_text_peaks(&text);
        report_text_findings(&text);
        if (!choice->verbose && analyze_worthwhile_count(data.analysis) &&
            report_lacks_lines(&data))
            base_buf_puts(&text.out, "  " REPORT_NO_LINES "\n");
        report_text_analyses(&text);
        if (choice->verbose) {
            report_text_work(&text);
            report_text_collectives(&text);
            report_text_caches(&text);
            report_text_objects(&text);
        }
        if (asks_what_if)
            report_text_what_if(&text);
        if (choice->verbose) {
            put_all_notes(&text);
        } else {
            size_t used = lines_of(&text.out) + 1; // and the last line
            used += used < SCREEN_LINES && put_unknown_waits(&text);
            put_warnings(&text, used < SCREEN_LINES ? SCREEN_LINES - used : 0);
        }
        put_next(&text);
        if (text.failed || text.out.failed)
            code = base_no_memory(error);
        else if (!write(user, text.out.text, text.out.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&text.out);
    report_data_fini(&data);
    return code;
}
