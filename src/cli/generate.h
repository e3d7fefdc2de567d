// SPDX-License-Identifier: Apache-2.0
// Generates man pages and shell completions from the tables that also parse the command line, and
// documentation from the descriptions of patterns.
#ifndef GLINT_CLI_GENERATE_H
#define GLINT_CLI_GENERATE_H

#include "cli.h"

// The row of --help, which every verb has in addition to its table.
extern const struct cli_option cli_generate_help;

// The kind of an argument, derived from its name in the table.
enum cli_generate_argument {
    CLI_GENERATE_ANY,
    CLI_GENERATE_FILE,
    CLI_GENERATE_FOLDER,
    CLI_GENERATE_PROGRAM,
    CLI_GENERATE_PATTERN
};
enum cli_generate_argument cli_generate_argument_of(const struct cli_option *option);
// The kind of the arguments after the options of a verb.
enum cli_generate_argument cli_generate_rest_of(const struct cli_verb *verb);

// Appends the scdoc source of the man page of a verb, or of glint if verb is NULL.
void cli_generate_man(const struct cli_verb *verb, struct base_buf *out);
void cli_generate_bash(struct base_buf *out);
void cli_generate_zsh(struct base_buf *out);
void cli_generate_fish(struct base_buf *out);

// Append docs/reference/patterns.md or docs/reference/report.schema.json, read from the file, with
// their generated parts replaced. Return false after a message.
bool cli_generate_patterns(const char *file, struct base_buf *out);
bool cli_generate_schema(const char *file, struct base_buf *out);
// Checks that the descriptions of all patterns are complete. Returns false after a message.
bool cli_generate_check_patterns(void);

#endif
