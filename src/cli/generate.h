// SPDX-License-Identifier: Apache-2.0
// Man pages and shell completions from the tables by which command lines are parsed.
#ifndef GLINT_CLI_GENERATE_H
#define GLINT_CLI_GENERATE_H

#include "cli.h"

// The row of --help, which every verb has beside its table.
extern const struct cli_option cli_generate_help;

// What an argument is, by what it is called.
enum cli_generate_argument {
    CLI_GENERATE_ANY,
    CLI_GENERATE_FILE,
    CLI_GENERATE_FOLDER,
    CLI_GENERATE_PROGRAM
};
enum cli_generate_argument cli_generate_argument_of(const struct cli_option *option);
// What follows the options of a verb.
enum cli_generate_argument cli_generate_rest_of(const struct cli_verb *verb);

// A page's source for scdoc: of a verb, or of glint where it is NULL.
void cli_generate_man(const struct cli_verb *verb, struct base_buf *out);
void cli_generate_bash(struct base_buf *out);
void cli_generate_zsh(struct base_buf *out);
void cli_generate_fish(struct base_buf *out);

#endif
