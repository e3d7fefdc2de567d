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

// Returns what follows the last dot of the file's name, in lower case; "" if path is NULL or has
// none, or if it is longer than the formats' extensions.
struct cli_extension {
    char text[16];
};
struct cli_extension cli_output_extension(const char *path);

// Finds out for a verb that writes text or JSON which is asked for: by the format, or if that is
// NULL by the output's extension. Returns false after a message if that is another format's.
bool cli_output_choose(const struct cli_verb *verb, const char *format, const char *output,
                       bool *json);

// Writes a report to a file, or to stdout if path is NULL or "-". Refuses to overwrite one of the
// input files, and without `force` any regular file. Returns false after a message.
bool cli_output_write(const char *path, bool force, const char *const *inputs, unsigned input_count,
                      cli_output_report *report, void *user);

#endif
