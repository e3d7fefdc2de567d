// SPDX-License-Identifier: Apache-2.0
// Text tables. Each column is a row in an array of columns; one function writes all tables, aligned
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
    // Appends the cell of a row; an empty cell is shown as "-". The context is that of the table.
    void (*cell)(const void *context, const void *row, struct base_buf *out);
};

struct report_table {
    const struct report_column *columns;
    size_t column_count;
    const void *rows;
    size_t row_count, row_bytes;
    const void *context;
};

// Appends the table, indented by two. Returns false if memory runs out.
bool report_put_table(const struct report_table *table, const struct report_style *style,
                      struct base_buf *out);

// Appends a line, in bold if the style has colors.
void report_put_heading(const struct report_style *style, const char *text, struct base_buf *out);

#endif
