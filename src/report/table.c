// SPDX-License-Identifier: Apache-2.0
// Writes text tables. All cells are made first, because the widest cell decides the width of a
// column.
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "units.h"

enum { INDENT = 2, GAP = 2, LEAST_WIDTH = 12 };

void report_put_heading(const struct report_style *style, const char *text, struct base_buf *out)
{
    base_buf_printf(out, "%s%s%s\n", style->colour ? "\033[1m" : "", text,
                    style->colour ? "\033[0m" : "");
}

// Appends at most `count` characters of the text, from character `first` on.
static void put_characters(struct base_buf *out, const char *text, size_t first, size_t count)
{
    size_t at = 0;
    for (; *text; text++) {
        at += ((unsigned char)*text & 0xc0) != 0x80; // number of the character, counted from 1
        if (at > first && at <= first + count)
            base_buf_putc(out, *text);
    }
}

static void put_cut(struct base_buf *out, const char *text, size_t width, enum report_fit fit)
{
    size_t characters = report_text_width(text);
    if (characters <= width || fit == REPORT_WHOLE || width < 4) {
        base_buf_puts(out, text);
    } else if (fit == REPORT_CUT_END) {
        put_characters(out, text, 0, width - 3);
        base_buf_puts(out, "...");
    } else if (fit == REPORT_CUT_MIDDLE) {
        const size_t kept = width - 3, end = kept / 2;
        put_characters(out, text, 0, kept - end);
        base_buf_puts(out, "...");
        put_characters(out, text, characters - end, end);
    } else {
        base_buf_puts(out, "...");
        put_characters(out, text, characters - (width - 3), width - 3);
    }
}

static void put_row(const struct report_table *table, const size_t *widths,
                    const struct base_buf *cells, struct base_buf *out)
{
    base_buf_printf(out, "%*s", INDENT, "");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct report_column *column = &table->columns[i];
        const char *text = cells[i].length ? cells[i].text : "-";
        size_t width = report_text_width(text);
        bool last = i + 1 == table->column_count;
        int blanks = width < widths[i] ? (int)(widths[i] - width) : 0;
        if (column->right)
            base_buf_printf(out, "%*s", blanks, "");
        put_cut(out, text, widths[i], column->fit);
        if (!last)
            base_buf_printf(out, "%*s", GAP + (column->right ? 0 : blanks), "");
    }
    base_buf_putc(out, '\n');
}

// Narrows the widest columns that may be cut until the line fits or nothing more can be cut.
static void fit(const struct report_table *table, unsigned width, size_t *widths)
{
    size_t total = INDENT;
    for (size_t i = 0; i < table->column_count; i++)
        total += widths[i] + (i ? GAP : 0);
    while (width && total > width) {
        size_t widest = SIZE_MAX;
        for (size_t i = 0; i < table->column_count; i++) {
            if (table->columns[i].fit != REPORT_WHOLE && widths[i] > LEAST_WIDTH &&
                (widest == SIZE_MAX || widths[i] > widths[widest]))
                widest = i;
        }
        if (widest == SIZE_MAX)
            return;
        widths[widest]--;
        total--;
    }
}

bool report_put_table(const struct report_table *table, const struct report_style *style,
                      struct base_buf *out)
{
    size_t columns = table->column_count, count = (table->row_count + 1) * columns;
    struct base_buf *cells = calloc(count, sizeof(*cells));
    size_t *widths = calloc(columns, sizeof(*widths));
    bool good = cells && widths;
    for (size_t i = 0; good && i < count; i++) {
        const struct report_column *column = &table->columns[i % columns];
        if (i < columns)
            base_buf_puts(&cells[i], column->header);
        else
            column->cell(table->context,
                         (const char *)table->rows + (i / columns - 1) * table->row_bytes,
                         &cells[i]);
        good = !cells[i].failed;
        size_t width = cells[i].length ? report_text_width(cells[i].text) : 1;
        if (width > widths[i % columns])
            widths[i % columns] = width;
    }
    if (good) {
        fit(table, style->width, widths);
        for (size_t row = 0; row <= table->row_count; row++)
            put_row(table, widths, &cells[row * columns], out);
    }
    for (size_t i = 0; cells && i < count; i++)
        base_buf_fini(&cells[i]);
    free(cells);
    free(widths);
    return good && !out->failed;
}
