// SPDX-License-Identifier: Apache-2.0
// What the files that write the report as text share. Inner header of src/report.
#ifndef GLINT_REPORT_TEXT_H
#define GLINT_REPORT_TEXT_H

#include "data.h"
#include "table.h"

enum { REPORT_MOST_ROWS = 10 }; // of a table

struct report_text {
    const struct report_data *data;
    const struct report_style *style;
    struct base_buf out;
    bool failed; // memory ran out
};

#define REPORT_COLUMNS(table) (table), sizeof(table) / sizeof((table)[0])

// A table of the first rows; and a heading, after an empty line.
void report_text_table(struct report_text *text, const struct report_column *columns,
                       size_t column_count, const void *rows, size_t count, size_t row_bytes,
                       size_t most);
void report_text_heading(struct report_text *text, const char *heading);

// text_findings.c: what is wasted, what is worth most first.
void report_text_findings(struct report_text *text);

// text_objects.c: the peaks of memory and what they are made of; and all objects.
void report_text_peaks(struct report_text *text);
void report_text_objects(struct report_text *text);

#endif
