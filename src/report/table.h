// SPDX-License-Identifier: Apache-2.0
// Tables of text: a column is a row in a table of columns, and one routine writes them all, aligned
// and cut to the width of a line.
#ifndef GLINT_REPORT_TABLE_H
#define GLINT_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "report.h"

enum report_fit {
    REPORT_WHOLE,      // never cut: numbers
    REPORT_CUT_END,    // "a_long_name..."
    REPORT_CUT_START,  // "...folder/file.cu:12"
    REPORT_CUT_MIDDLE, // "a_lon...name #2"
};

struct report_column {
    const char *header;
    bool right; // aligned to the right
    enum report_fit fit;
    // Writes the cell of a row. The context is the table's. Nothing written: "-".
    void (*cell)(const void *context, const void *row, struct base_buf *out);
};

struct report_table {
    const struct report_column *columns;
    size_t column_count;
    const void *rows;
    size_t row_count, row_bytes;
    const void *context;
};

// Adds the table to out, indented by two. False when memory ran out.
bool report_put_table(const struct report_table *table, const struct report_style *style,
                      struct base_buf *out);

// Adds a line in bold, where there are colours.
void report_put_heading(const struct report_style *style, const char *text, struct base_buf *out);

#endif
