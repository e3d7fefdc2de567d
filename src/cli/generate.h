// SPDX-License-Identifier: Apache-2.0
// Man pages and shell completions from the tables by which command lines are parsed.
#ifndef GLINT_CLI_GENERATE_H
#define GLINT_CLI_GENERATE_H

#include "cli.h"

// The row of --help, which every verb has beside its table.
extern const struct cli_option generate_help;

// What an argument is, by what it is called.
enum generate_argument { GENERATE_ANY, GENERATE_FILE, GENERATE_FOLDER, GENERATE_PROGRAM };
enum generate_argument generate_argument_of(const struct cli_option *option);
// What follows the options of a verb.
enum generate_argument generate_rest_of(const struct cli_verb *verb);

// A page's source for scdoc: of a verb, or of glint where it is NULL.
void generate_man(const struct cli_verb *verb, struct base_buf *out);
void generate_bash(struct base_buf *out);
void generate_zsh(struct base_buf *out);
void generate_fish(struct base_buf *out);

#endif
