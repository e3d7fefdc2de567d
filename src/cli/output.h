// SPDX-License-Identifier: Apache-2.0
// Where reports go: a file or standard output, how wide a line is there, and whether it has
// colours.
#ifndef GLINT_CLI_OUTPUT_H
#define GLINT_CLI_OUTPUT_H

#include "cli.h"
#include "report/report.h"

struct cli_output {
    FILE *file;
    int error; // errno of the first failure
};

// A report_write to a struct cli_output.
bool cli_output_put(void *user, const char *bytes, size_t length);
struct report_style cli_output_style(FILE *file);
// The two paths lead to one file.
bool cli_output_is_file(const char *one, const char *other);

// Writes a report.
typedef enum base_code cli_output_report(void *user, const struct report_style *style,
                                         report_write *write, void *to, struct base_error *error);

// Has a report written to a file, or to stdout where path is NULL or "-", but never over one of the
// files that it is of. False after a message.
bool cli_output_write(const char *path, const char *const *inputs, unsigned input_count,
                      cli_output_report *report, void *user);

#endif
