// SPDX-License-Identifier: Apache-2.0
// What the files of the report as text share. Inner header of src/report.
#ifndef GLINT_REPORT_TEXT_H
#define GLINT_REPORT_TEXT_H

#include "data.h"
#include "table.h"

struct report_text {
    const struct report_data *data;
    const struct report_choice *choice;
    const struct report_style *style;
    struct base_buf out;
    bool failed; // memory ran out
};

#define REPORT_COLUMNS(table) (table), sizeof(table) / sizeof((table)[0])

// Add a table of the rows, up to the limit; and a heading, after an empty line.
void report_text_table(struct report_text *text, const struct report_column *columns,
                       size_t column_count, const void *rows, size_t count, size_t row_bytes);
void report_text_heading(struct report_text *text, const char *heading);
// Adds words, wrapped to the width: the first line starts with `first`, the others with as many
// blanks. report_text_few adds at most that many lines; "..." stands for the rest.
void report_text_lines(struct report_text *text, const char *first, const struct base_buf *words);
void report_text_few(struct report_text *text, const char *first, const struct base_buf *words,
                     size_t most);
// Returns how many lines of the first screen are left, before its last one; SIZE_MAX if they do not
// count.
size_t report_text_left(const struct report_text *text);
// The same for a line of the head and of a finding, of which the first screen shows one.
void report_text_line(struct report_text *text, const char *first, const struct base_buf *words);

// text_head.c: adds what was run, how it ended, and what there is to gain.
void report_text_head(struct report_text *text);
// Adds the program's name and arguments, each after a blank.
void report_text_arguments(const struct report_text *text, struct base_buf *out);
// Adds an argument, quoted as for a shell.
void report_put_argument(struct base_buf *out, const char *argument);

// text_findings.c: add the findings by rank, and what each analysis found.
void report_text_findings(struct report_text *text);
void report_text_analyses(struct report_text *text);

// text_objects.c: add the peaks of memory with their objects; and all objects.
void report_text_peaks(struct report_text *text);
void report_text_objects(struct report_text *text);

// text_work.c: adds tables of kernels, copies and synchronizations.
void report_text_work(struct report_text *text);

// collectives.c: adds a table of calls of NCCL, if there are any.
void report_text_collectives(struct report_text *text);

// text_caches.c: adds tables of hits in caches; and what caches of the chosen sizes would serve.
void report_text_caches(struct report_text *text);
void report_text_what_if(struct report_text *text);

#endif
