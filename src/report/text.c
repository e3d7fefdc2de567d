// SPDX-License-Identifier: Apache-2.0
// Writes the report as text. By default it is one screen: what there is to gain, what to fix first
// and how, what was searched for, and which command to run next. If verbose, it also contains
// tables of everything.
#include "text.h"

#include <string.h>

#include "units.h"

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

void report_text_lines(struct report_text *text, const char *first, const struct base_buf *words)
{
    struct base_buf *out = &text->out;
    const size_t indent = report_text_width(first);
    size_t column = indent;
    text->failed |= words->failed;
    base_buf_puts(out, first);
    for (const char *at = words->length ? words->text : ""; *at;) {
        size_t bytes = word_bytes(at), columns = 0;
        for (size_t i = 0; i < bytes; i++)
            columns += ((unsigned char)at[i] & 0xc0) != 0x80;
        if (column > indent) {
            bool fits = !text->style->wrap || column + 1 + columns <= text->style->width;
            if (fits)
                base_buf_putc(out, ' ');
            else
                base_buf_printf(out, "\n%*s", (int)indent, "");
            column = fits ? column + 1 : indent;
        }
        base_buf_add(out, at, bytes);
        column += columns;
        at += bytes;
        while (*at == ' ')
            at++;
    }
    base_buf_putc(out, '\n');
}

// Unless verbose, shows only the first few warnings.
static void put_notes(struct report_text *text)
{
    enum { FEW = 3 };
    const struct report_data *data = text->data;
    const bool verbose = text->choice->verbose;
    size_t told = 0, left = 0;
    for (size_t i = 0; i < data->notes.count; i++) {
        const struct report_note *note = &data->notes.items[i];
        if (!verbose && (note->severity == PROFILE_INFO || told == FEW)) {
            left++;
            continue;
        }
        struct base_buf words = {0};
        if (told++ == 0)
            report_text_heading(text, "Notes");
        base_buf_printf(&words, "%s: ", profile_severity_word(note->severity));
        report_put_text(&words, note->text);
        report_text_lines(text, "  ", &words);
        base_buf_fini(&words);
    }
    if (told && left)
        base_buf_printf(&text->out, "  ... and %zu more\n", left);
}

// Suggests the command that shows or finds more.
static void put_next(struct report_text *text)
{
    const struct report_data *data = text->data;
    const struct report_choice *choice = text->choice;
    struct base_buf *out = &text->out;
    const size_t shown = choice->verbose ? analyze_finding_count(data->analysis)
                                         : analyze_worthwhile_count(data->analysis);
    if (!choice->file || data->calls == 0)
        return;
    base_buf_puts(out, "\nNext: ");
    if (!data->has_elements && data->launches && shown == 0) {
        base_buf_puts(out, "glint record --analyses elements,counts --maps --");
        report_text_arguments(text);
        base_buf_puts(out, ", to find waste inside objects");
    } else if (!choice->verbose) {
        base_buf_puts(out, "glint report --verbose ");
        report_put_argument(out, choice->file);
        base_buf_puts(out, ", for all findings and tables");
    } else {
        base_buf_puts(out, "glint report --format html -o report.html ");
        report_put_argument(out, choice->file);
        base_buf_puts(out, ", for a page with charts");
    }
    base_buf_putc(out, '\n');
    if (shown)
        base_buf_printf(out, "      glint explain %s, for what a pattern means\n",
                        analyze_pattern_word(analyze_finding(data->analysis, 0)->pattern));
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

enum base_code report_text(struct profile *profile, const struct analyze_thresholds *thresholds,
                           const struct report_choice *choice, const struct report_style *style,
                           report_write *write, void *user, struct base_error *error)
{
    struct report_data data = {0};
    struct report_text text = {.data = &data, .choice = choice, .style = style};
    const bool asks_what_if = choice->l1_bytes || choice->l2_bytes;
    enum base_code code = report_data_load(&data, profile, thresholds, error);
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
        report_text_analyses(&text);
        if (choice->verbose) {
            report_text_work(&text);
            report_text_caches(&text);
            report_text_objects(&text);
        }
        if (asks_what_if)
            report_text_what_if(&text);
        put_notes(&text);
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
