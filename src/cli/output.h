// SPDX-License-Identifier: Apache-2.0
// Writes reports to a file or to standard output, and determines the width of lines and whether
// colors are used there.
#ifndef GLINT_CLI_OUTPUT_H
#define GLINT_CLI_OUTPUT_H

#include "cli.h"
#include "report/report.h"

struct cli_output {
    FILE *file;
    int error; // errno of the first failure
};

// A report_write whose user is a struct cli_output.
bool cli_output_put(void *user, const char *bytes, size_t length);
struct report_style cli_output_style(FILE *file);
// Returns whether the two paths refer to the same file.
bool cli_output_is_file(const char *one, const char *other);

// Writes a report.
typedef enum base_code cli_output_report(void *user, const struct report_style *style,
                                         report_write *write, void *to, struct base_error *error);

// Writes a report to a file, or to stdout if path is NULL or "-". Refuses to overwrite one of the
// input files. Returns false after a message.
bool cli_output_write(const char *path, const char *const *inputs, unsigned input_count,
                      cli_output_report *report, void *user);

#endif
